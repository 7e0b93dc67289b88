"""Names and messages of others: clean, on two lines at most where a message was meant, within 80 columns."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

EVIL = "\x1b]0;gone\x07\x1b[2J\r\u202e\nsecond line\u2028third"
WIDE = ("\u65e5\u672c\u8a9e\u30e2\u30c7\u30eb" * 20, "\U0001f600 \U0001f680" * 40, "Zu\u0308" * 90)

RAISING = """
from cache_worthy.sim.radix.policies import EvictionPolicy

class Raising(EvictionPolicy):
    name = "raising"
    def priority(self, node, clock):
        raise RuntimeError(MESSAGE)
"""


def shown_width(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1
        for c in line
    )


def assert_clean(err: str) -> None:
    assert err.startswith("cache-worthy: ")
    assert err.endswith("\n")
    assert err[:-1].count("\n") <= 1  # a hint may have a line of its own
    assert err[:-1].replace("\n  ", "", 1).isprintable()
    assert max(map(shown_width, err.splitlines())) < 1100


def model_named(name: str, folder: Path) -> Path:
    fields = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
    file = folder / "model.json"
    file.write_text(json.dumps({"name": name, **dict.fromkeys(fields, 1)}), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", [EVIL, "m" * 100_000, WIDE[0] * 100])
def test_a_refusal_that_lists_models(run: Run, write: Write, name: str) -> None:
    rows = [{"prompt": "word " * 50, "model": m} for m in (name, name + "2", "other")]
    code, out, err = run("analyze", write(*rows))
    assert (code, out) == (2, "")
    assert_clean(err)
    assert "requests of 3 models" in err
    assert "choose one with --model-field" in err


@pytest.mark.parametrize("message", [EVIL, "x" * 100_000, "\n".join("abcdefgh" * 400)])
def test_the_message_of_a_policy(
    coarse: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    code = RAISING.replace("MESSAGE", repr(message))
    (tmp_path / "raising_policy.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "raising_policy", raising=False)
    for command in (("analyze",), ("replay", "--capacity-fraction", "0.05")):
        own = ("--policy", "raising_policy:Raising")
        exit_code, out, err = coarse(command[0], sample, *own, *command[1:])
        assert (exit_code, out) == (2, "")
        assert_clean(err)
        assert "RuntimeError" in err


def test_a_note_and_a_name_of_a_file(run: Run, write: Write, tmp_path: Path) -> None:
    file = tmp_path / f"log{EVIL.replace('/', '')}.jsonl"
    rows: list[object] = [{"hash_ids": [t % 5]} for t in range(60)]
    rows[40] = {"hash_ids": [EVIL, 1.5]}
    file.write_bytes(write(*rows).read_bytes())
    code, out, err = run("analyze", file, "--no-bound")
    assert code == 0
    assert_clean(err)
    assert "1 unusable" in err
    assert out.replace("\n", "").isprintable()
    code, _, err = run("analyze", tmp_path / f"absent{EVIL}")
    assert code == 2
    assert_clean(err)


@pytest.mark.parametrize("name", [EVIL, "m" * 100_000, *WIDE])
def test_the_name_of_a_model_on_stdout(run: Run, write: Write, tmp_path: Path, name: str) -> None:
    log = write(*[{"hash_ids": [n % 7, 10 + n % 3]} for n in range(40)])
    model = model_named(name, tmp_path)
    half = ("--capacity-fraction", "0.5")
    for argv in (("replay", "--policy", "lru", *half), ("bound", *half), ("analyze",)):
        code, out, _ = run(argv[0], log, "--model", model, *argv[1:])
        assert code == 0
        assert out.replace("\n", "").isprintable()
        assert max(map(shown_width, out.splitlines())) <= 80
        assert len(out) < 50_000


@pytest.mark.parametrize("name", [EVIL, *WIDE])
def test_names_in_a_comparison(run: Run, write: Write, tmp_path: Path, name: str) -> None:
    log = write(*[{"hash_ids": [n % 7, 10 + n % 3]} for n in range(40)])
    file = tmp_path / "a.json"
    model = model_named(name, tmp_path)
    assert run("analyze", log, "--model", model, "--no-bound", "--json", "-o", file)[0] == 0
    other = tmp_path / "b.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["input"]["source"] = name * 3
    document["parameters"]["own_policies"] = [name]
    document["parameters"]["model"]["name"] = name * 2
    other.write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = run("compare", file, other)
    assert code == 0
    assert out.replace("\n", "").isprintable()
    assert max(map(shown_width, out.splitlines())) <= 80
