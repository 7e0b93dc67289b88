"""Scaled traces: N times everything, nothing shared between copies, the forest of each unchanged.

Rank 2: counts scale exactly by N. Rank 4: a two-record log written out by hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Done, script
from copies import scaled
from hypothesis import given
from hypothesis import strategies as st

IDS = st.integers(-(2**70), 2**70) | st.text("ab#12", max_size=3)
LOGS = st.lists(st.lists(IDS, max_size=5), min_size=1, max_size=6)


def write(path: Path, paths: list[list[int | str]]) -> Path:
    lines = [json.dumps({"timestamp": t, "hash_ids": p}) for t, p in enumerate(paths)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def scale(*words: object) -> Done:
    return script("make/scaled_trace.py", *words)


def run(*words: object) -> list[list[int | str]]:
    done = scale(*words)
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(r["constructed"] is True for r in records)
    return [r["hash_ids"] for r in records]


def test_by_hand(tmp_path: Path) -> None:
    log = str(write(tmp_path / "log.jsonl", [[5, 6], [5, "x"]]))
    # Integers 5..6 span two values, so copy 1 shifts by 2 and copy 2 by 4.
    assert run(log, "--copies", "3") == [
        [5, 6],
        [5, "x"],
        [7, 8],
        [7, "x#1"],
        [9, 10],
        [9, "x#2"],
    ]
    assert run(log, "--copies", "2", "--interleave") == [
        [5, 6],
        [7, 8],
        [5, "x"],
        [7, "x#1"],
    ]


@given(LOGS, st.integers(1, 4), st.booleans())
def test_copies_share_nothing_and_each_is_the_log(
    paths: list[list[int | str]], copies: int, interleave: bool
) -> None:
    records = [{"hash_ids": p} for p in paths]
    try:
        out = list(scaled(records, copies, interleave=interleave))
    except ValueError:
        names = {i for p in paths for i in p if isinstance(i, str)}
        assert any(f"{n}#{c}" in names for n in names for c in range(1, copies))
        return
    distinct = {i for p in paths for i in p}
    assert len(out) == copies * len(paths)
    assert len({i for r in out for i in r["hash_ids"]}) == copies * len(distinct)
    for copy in range(copies):
        mine = [r["hash_ids"] for r in out if r["copy"] == copy]
        back = dict(zip((i for p in mine for i in p), (i for p in paths for i in p), strict=True))
        assert [[back[i] for i in p] for p in mine] == paths


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    log = str(write(tmp_path / "log.jsonl", [[1]]))
    out = tmp_path / "out.jsonl"
    assert scale(log, "--copies", "2", "-o", out).returncode == 0
    whole = out.read_bytes()
    assert whole.count(b"\n") == 2
    assert scale(log, "--copies", "3", "-o", out).returncode == 2
    assert out.read_bytes() == whole
    assert scale(log, "--copies", "3", "-o", out, "--force").returncode == 0
    assert out.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no record"),
        ("nonsense\n", ":1: expected a JSON object"),
        ("[" * 10**5 + "\n", ":1: expected a JSON object"),
        ('{"hash_ids": [1]}\n{"prompt": "x"}\n', ":2: expected a native record"),
        ('{"hash_ids": [1.5]}\n', ":1: expected a native record"),
        ('{"hash_ids": [true]}\n', ":1: expected a native record"),
        ('{"hash_ids": ["a", "a#1"]}\n', "'a#1' is what copy 1"),
    ],
)
def test_bad_logs_exit_2_in_one_line(tmp_path: Path, content: str, told: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(content, encoding="utf-8")
    done = scale(log, "--copies", "2")
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_file_exits_2(tmp_path: Path) -> None:
    done = scale(tmp_path / "none", "--copies", "2")
    assert done.returncode == 2
    assert "none" in done.stderr


def test_copies_below_one_is_a_usage_error() -> None:
    done = scale("-", "--copies", "0")
    assert done.returncode == 2
    assert "1 or more" in done.stderr
