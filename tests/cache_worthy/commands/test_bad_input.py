"""Bad input gets one or two clear lines and exit code 2; nothing is lost or overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

GOOD = {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}

BAD_LOGS = [
    ("empty", [], "empty"),
    ("blank lines only", ["", "  "], "empty"),
    ("no JSON", ["hello"], "line 1: not JSON"),
    ("no JSON later", [GOOD, "hello"], "line 2: not JSON"),
    ("cut in the middle", [GOOD, '{"hash_ids": [1', GOOD], "line 2: not JSON"),
    ("only a cut line", ['{"hash_ids": [1'], "line 1: not JSON"),
    ("a list", [[1, 2]], "line 1: expected a JSON object, got a list"),
    ("no field", [{"a": 1}], "line 1: no prompt: expected one of the fields hash_ids, prompt"),
    ("mixed", [GOOD, {"prompt": "x"}], "line 2: has 'prompt', but line 1 has 'hash_ids'"),
    ("mixed text", [{"prompt": "x"}, {"text": "x"}], "line 2: has 'text', but line 1"),
    ("field lost", [GOOD, {"input_length": 3}], "line 2: has no prompt field, but line 1"),
    ("NaN", ['{"hash_ids": [NaN]}'], "line 1: NaN is not a JSON number"),
    ("infinity", ['{"hash_ids": [1], "input_length": Infinity}'], "Infinity is not"),
    ("float id", [{"hash_ids": [1, 2.0]}], "hash_ids[1]: expected an integer or a string"),
    ("boolean id", [{"hash_ids": [True]}], "hash_ids[0]: expected an integer or a string"),
    ("null id", [{"hash_ids": [None]}], "got null"),
    ("list id", [{"hash_ids": [[1]]}], "got a list"),
    ("ids no list", [{"hash_ids": "1,2"}], "line 1: hash_ids: expected a list"),
    ("null ids", [{"hash_ids": None}], "line 1: hash_ids: expected a list of block ids, got null"),
    ("negative length", [{"hash_ids": [1], "input_length": -1}], "input_length: expected"),
    ("float length", [{"hash_ids": [1], "input_length": 1.5}], "input_length: expected"),
    ("boolean length", [{"hash_ids": [1], "input_length": True}], "input_length: expected"),
    ("prompt a number", [{"prompt": 7}], "line 1: prompt: expected a string, got int"),
    ("messages a string in a list", [{"messages": ["hi"]}], "messages[0]: expected an object"),
    ("messages null", [{"messages": None}], "messages: expected a list of messages"),
    ("deep", ["[" * 100_000], "line 1: nested too deeply"),
]


@pytest.mark.parametrize("command", ["analyze", "replay"])
@pytest.mark.parametrize(("name", "records", "words"), BAD_LOGS, ids=[b[0] for b in BAD_LOGS])
def test_bad_logs(
    run: Run, write: Write, command: str, name: str, records: list[object], words: str
) -> None:
    file = write(*records)
    extra = [] if command == "analyze" else ["--policy", "lru", "--capacity-fraction", "0.5"]
    code, out, err = run(command, file, *extra)
    assert code == 2
    assert out == ""
    assert words in err
    assert str(file) in err
    assert err.count("\n") <= 2
    assert "Traceback" not in err


def test_unreadable_and_missing_files(run: Run, tmp_path: Path) -> None:
    for target in (tmp_path / "absent.jsonl", tmp_path):
        code, out, err = run("analyze", target)
        assert (code, out) == (2, "")
        assert str(target) in err
        assert "cannot read" in err
        assert err.count("\n") == 1


def test_not_utf8(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "latin1.jsonl"
    file.write_text('{"prompt": "caf\u00e9"}', encoding="latin-1")
    code, _, err = run("analyze", file)
    assert code == 2
    assert "line 1: not UTF-8" in err


BAD_OPTIONS = [
    (["--policy", "nope"], "--policy nope: unknown; expected one of lru, recursive_lru"),
    (["--policy", "no.such.module:X"], "cannot import no.such.module"),
    (["--policy", "json:loads"], "expected a subclass of"),
    (["--policy", "lru", "--model", "gpt-9"], "expected one of Llama-3.1-8B, Llama-3.1-70B"),
    (["--policy", "lru", "--model", "absent.json"], "absent.json: cannot read"),
    (["--policy", "lru", "--chars-per-token", "0"], "expected a number >= 0.1 and <= 1e+06"),
    (["--policy", "lru", "--chars-per-token", "nan"], "expected a number >= 0.1"),
    (["--policy", "lru", "--chars-per-token", "inf"], "expected a number >= 0.1"),
    (["--policy", "lru", "--unknown"], "--unknown"),
]


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS)
def test_bad_options(run: Run, sample: Path, options: list[str], words: str) -> None:
    code, out, err = run("replay", sample, "--capacity-fraction", "0.5", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") <= 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "one of the arguments --capacity-fraction --capacity-gib --capacity-blocks"),
        (["--capacity-fraction", "0"], "expected a number > 0 and <= 1"),
        (["--capacity-fraction", "1.5"], "expected a number > 0 and <= 1"),
        (["--capacity-gib", "-3"], "expected a number > 0"),
        (["--capacity-blocks", "0"], "expected an integer >= 1"),
        (["--capacity-blocks", "2.5"], "expected an integer >= 1"),
        (["--capacity-blocks", "5"], "is under the floor of this log: its deepest request"),
        (["--capacity-fraction", "0.001"], "is under the floor of this log"),
        (["--capacity-gib", "0.01"], "is under the floor of this log"),
        (["--capacity-blocks", "9", "--capacity-gib", "1"], "not allowed with"),
    ],
)
def test_bad_capacities(run: Run, sample: Path, options: list[str], words: str) -> None:
    code, out, err = run("replay", sample, "--policy", "lru", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") <= 2


def test_the_floor_that_the_message_names_is_accepted(coarse: Run, sample: Path) -> None:
    _, _, err = coarse("replay", sample, "--policy", "lru", "--capacity-blocks", "5")
    fraction = err.split("(fraction ")[1].split(" ")[0]
    code, _, _ = coarse("replay", sample, "--policy", "lru", "--capacity-fraction", fraction)
    assert code == 0
    code, _, _ = coarse("replay", sample, "--policy", "lru", "--capacity-blocks", "6")
    assert code == 0
    code, out, err = coarse("analyze", sample, "--capacity-fraction", "0.001")
    assert (code, out) == (2, "")
    assert "under the floor" in err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers": 0}, "layers: expected an integer from 1 to 1000000000, got 0"),
        ({"layers": True}, "layers: expected an integer"),
        ({"d_ff": 1.5}, "d_ff: expected an integer"),
        ({"kv_heads": 5}, "kv_heads: expected a divisor of heads"),
        ({"typo": 1}, "unknown key 'typo'"),
        ({"name": 3}, "name: expected a string"),
        ({"heads": None}, "heads: expected an integer"),
    ],
)
def test_bad_model_files(
    run: Run, sample: Path, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    model = {
        "layers": 4, "d_model": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 128
    }  # fmt: skip
    file = tmp_path / "m.json"
    file.write_text(json.dumps(model), encoding="utf-8")
    code, out, _ = run("analyze", sample, "--model", file)
    assert code == 0
    assert "model            m\n" in out
    file.write_text(json.dumps({**model, **change}), encoding="utf-8")
    code, out, err = run("analyze", sample, "--model", file)
    assert (code, out) == (2, "")
    assert words in err
    file.write_text(json.dumps({"layers": 3}), encoding="utf-8")
    code, _, err = run("analyze", sample, "--model", file)
    assert code == 2
    assert "lacks d_model heads" in err
    file.write_text("[", encoding="utf-8")
    code, _, err = run("analyze", sample, "--model", file)
    assert code == 2
    assert "not JSON" in err


def test_an_existing_file_is_kept(run: Run, sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("precious", encoding="utf-8")
    code, out, err = run("analyze", sample, "--json", "-o", target)
    assert (code, out) == (2, "")
    assert "--force" in err
    assert target.read_text(encoding="utf-8") == "precious"
    code, _, err = run("analyze", tmp_path / "absent", "--json", "-o", target, "--force")
    assert code == 2
    assert target.read_text(encoding="utf-8") == "precious"
    code, out, _ = run("analyze", sample, "--json", "-o", target, "--force")
    assert (code, out) == (0, "")
    assert json.loads(target.read_text(encoding="utf-8"))["tool"] == "cache-worthy"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]
    code, _, err = run("analyze", sample, "-o", tmp_path / "no" / "such" / "folder")
    assert code == 2
    assert "no folder" in err
    code, _, err = run("analyze", sample, "-o", tmp_path)
    assert code == 2
    assert "is a folder" in err
