"""The benchmark runs, says so when its yardstick is missing, and fails on different work."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Done, script

#: Stands for libcachesim: each policy misses the first so many of its requests.
BINDING = """
import sys, types

never = 2**63 - 1
MISSES = dict.fromkeys(("LRU", "S3FIFO", "FIFO", "Belady"), 3) | {peer!r}

def policy(name):
    class Policy:
        def __init__(self, capacity, **options):
            self.asked, self.upcoming = 0, []

        def get(self, request):
            self.asked += 1
            if name == "Belady":
                self.upcoming.append(request.next_access_vtime)
                if self.asked == 12:
                    assert self.upcoming == [2, 5, 4, 7, 6, 9, 8, 11, 10, never, never, never]
            return self.asked > MISSES[name]
    return Policy

binding = types.ModuleType("libcachesim")
binding.Request = types.SimpleNamespace
for name in MISSES:
    setattr(binding, name, policy(name))
sys.modules["libcachesim"] = binding
"""
ABSENT = "import sys\nsys.modules['libcachesim'] = None"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    line = '{"input_length": 1000, "hash_ids": [1, 2]}\n{"input_length": 900, "hash_ids": [1, 3]}\n'
    (tmp_path / "conversation_trace.jsonl").write_text(line * 3)
    return tmp_path


def bench(folder: Path, planted: str) -> Done:
    options = ("--traces", folder, "--capacity", "20", "--rounds", "1")
    return script("bench/blocks.py", *options, planted=planted)


def test_a_missing_yardstick_is_said(folder: Path) -> None:
    done = bench(folder, ABSENT)
    assert done.returncode == 0
    assert "SKIPPED" in done.stderr
    assert "12 references" in done.stdout


@pytest.mark.parametrize(
    ("peer", "misses", "code"), [("LRU", 3, 0), ("LRU", 4, 1), ("Belady", 4, 1), ("S3FIFO", 4, 0)]
)
def test_different_work_fails(peer: str, misses: int, code: int, folder: Path) -> None:
    done = bench(folder, BINDING.format(peer={peer: misses}))
    assert done.returncode == code, done.stderr
    assert (f"and libcachesim {peer}," in done.stderr) == bool(code)
    assert "SKIPPED" not in done.stderr


def test_a_missing_trace_is_named(tmp_path: Path) -> None:
    done = script("bench/blocks.py", "--traces", tmp_path)
    assert done.returncode == 2
    assert "conversation_trace.jsonl" in done.stderr
