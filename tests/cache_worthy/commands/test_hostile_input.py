"""What an independent review broke once: extreme numbers, closed streams, links, odd policies."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.mark.parametrize(
    "argv",
    [
        ["replay", "--policy", "lru", "--capacity-gib", "1e300"],
        ["bound", "--capacity-gib", "1e300"],
        ["analyze", "--capacity-gib", "1e300"],
        ["analyze", "--chars-per-token", "1e306"],
        ["analyze", "--chars-per-token", "1e-9"],
        ["analyze", "--engine", "sglang", "--gpu-gib", "1e306"],
        ["replay", "--policy", "lru", "--capacity-blocks", "9" * 4000],
    ],
)
def test_numbers_out_of_all_proportion(run: Run, sample: Path, argv: list[str]) -> None:
    code, out, err = run(argv[0], sample, *argv[1:])
    assert (code, out) == (2, "")
    assert "expected a" in err


@pytest.mark.parametrize("layers", [10**300, 10**4000])
def test_a_model_out_of_all_proportion(run: Run, sample: Path, tmp_path: Path, layers: int) -> None:
    model = tmp_path / "m.json"
    fields = {"d_model": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 128}
    model.write_text(json.dumps(fields)[:-1] + f', "layers": {layers}}}', encoding="utf-8")
    code, out, err = run("analyze", sample, "--model", model)
    assert (code, out) == (2, "")
    assert "layers: expected an integer from 1 to" in err
    assert len(err) < 400


def _shell(line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = line.replace("CW", f"{sys.executable} -m cache_worthy.cli")
    return subprocess.run(
        command, shell=True, capture_output=True, check=False, env={**os.environ, **env}
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout(sample: Path) -> None:
    done = _shell(f"CW analyze --no-bound {sample} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"No space left" in done.stderr
    done = _shell(f"CW replay --policy lru --capacity-blocks 900 {sample} 2> /dev/full")
    assert done.returncode == 0
    assert b"cost_ratio" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="shell redirections")
def test_closed_streams(sample: Path) -> None:
    done = _shell("CW policies >&-")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    done = _shell(f"CW analyze {sample} --no-bound --json 2>&-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["command"] == "analyze"
    assert _shell("CW analyze nothing 2>&-").returncode == 2
    done = _shell("CW analyze - <&-")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_text_that_the_terminal_lacks(write: Write, tmp_path: Path) -> None:
    log = write('{"prompt": "a", "model": "\\ud800"}', '{"prompt": "a", "model": "\\ud800"}')
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for env in ({}, plain):
        for options in ("", "--json"):
            done = _shell(f"CW analyze --no-bound {options} {log}", **env)
            assert b"Traceback" not in done.stderr
            assert done.returncode == 0
    json.loads(done.stdout)


def test_a_file_name_no_system_takes(run: Run, sample: Path) -> None:
    for argv in (["--model", "x" * 300 + ".json"], ["-o", "y" * 300]):
        code, out, err = run("analyze", sample, *argv)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1


def test_links_are_files_too(run: Run, sample: Path, tmp_path: Path) -> None:
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    code, _, err = run("policies", "-o", dangling)
    assert code == 2
    assert "exists" in err
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o600)
    link.symlink_to(target)
    code, _, _ = run("policies", "-o", link, "--force")
    assert code == 0
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") != "old"
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_log_is_not_its_own_result(run: Run, sample: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(sample.read_bytes())
    for command in (["analyze"], ["convert"], ["bound", "--capacity-fraction", "0.1"]):
        code, _, err = run(command[0], log, *command[1:], "-o", log, "--force")
        assert code == 2
        assert "is the log itself" in err
    assert log.read_bytes() == sample.read_bytes()


def test_a_certificate_needs_a_file_of_its_own(run: Run, sample: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    base = ("bound", sample, "--capacity-fraction", "0.1", "--certificate")
    for argv in ((both, "-o", both), ("-",)):
        code, out, err = run(*base, *argv)
        assert (code, out) == (2, "")
        assert "a file of its own" in err
    both.write_text("x", encoding="utf-8")
    code, _, err = run(*base, both)
    assert code == 2
    assert f"--certificate {both}: exists" in err


def test_a_sorted_log_points_to_convert(run: Run, write: Write, tmp_path: Path) -> None:
    rows = [{"timestamp": 9 - t, "hash_ids": [1, t % 3]} for t in range(9)]
    code, _, err = run(
        "bound", write(*rows), "--capacity-blocks", 2, "--certificate", tmp_path / "c.json"
    )
    assert code == 0
    assert "cache-worthy convert" in err


def test_nothing_before_a_cut_is_lost(run: Run, tmp_path: Path) -> None:
    """A gzip file without its end gives every whole record that zcat would."""
    lines = [json.dumps({"hash_ids": [t * 7919 % 100003, t]}) for t in range(30_000)]
    packed = gzip.compress("\n".join(lines).encode() + b"\n")
    file = tmp_path / "log.jsonl.gz"
    file.write_bytes(packed[:-100])
    done = subprocess.run(["zcat", str(file)], capture_output=True, check=False)
    whole = done.stdout.count(b"\n")
    assert 29_000 < whole < 30_000
    code, out, err = run("replay", file, "--policy", "lru", "--capacity-fraction", "0.9", "--json")
    assert code == 0
    assert whole - 1 <= json.loads(out)["requests"] <= whole
    assert "ends too early" in err


def test_the_first_unusable_record_is_named(run: Run, write: Write) -> None:
    rows: list[object] = [{"hash_ids": [t % 5]} for t in range(60)]
    rows[40] = {"hash_ids": [1.5]}
    file = write(*rows)
    code, _, err = run("analyze", file, "--no-bound")
    assert code == 0
    assert "1 unusable" in err
    assert f"{file}: line 41: hash_ids[0]: expected an integer or a string" in err


ODD = """
import random, time, sys
from cache_worthy.sim.radix.policies import EvictionPolicy
print("a line on import")

class Random(EvictionPolicy):
    name = "random"
    def priority(self, node, clock):
        return random.random()

class Nested(EvictionPolicy):
    name = "nested"
    def priority(self, node, clock):
        return ((float("nan"),),)

class Age(EvictionPolicy):
    name = "age"
    def on_insert(self, node, clock):
        node.key = clock
    on_hit = on_insert
    def priority(self, node, clock):
        return node.freq / (clock - node.key + 1)

class DynamicAge(Age):
    dynamic = True

class Leaves(EvictionPolicy):
    name = "leaves"
    def priority(self, node, clock):
        raise SystemExit(0)
"""


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "odd_policies.py").write_text(ODD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "odd_policies", raising=False)
    return "odd_policies"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Random", "must be deterministic"),
        ("Nested", "NaN"),
        ("Age", "set dynamic = True"),
        ("Leaves", "SystemExit"),
    ],
)
def test_policies_that_misbehave(
    coarse: Run, sample: Path, odd: str, name: str, words: str
) -> None:
    code, out, err = coarse(
        "replay", sample, "--policy", f"{odd}:{name}", "--capacity-fraction", "0.05"
    )
    assert (code, out) == (2, "")
    assert words in err


def test_a_declared_dynamic_policy_runs_and_may_print(coarse: Run, sample: Path, odd: str) -> None:
    argv = ("--policy", f"{odd}:DynamicAge", "--capacity-fraction", "0.05", "--json")
    code, out, err = coarse("replay", sample, *argv)
    assert code == 0
    assert json.loads(out)["covered"] is False
    assert "a line on import" in err
