"""Options of reading, as Python users give them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.errors import UsageError
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
Run = Callable[..., tuple[int, str, str]]


def test_options_by_name_are_the_options() -> None:
    file = FOLDER / "openai_chat.jsonl"
    by_name = read_log(file, block_size=16, template="chatml")
    assert by_name == read_log(file, ReadOptions(block_size=16, template="chatml"))
    assert by_name == read_log([file], ReadOptions(template="chatml"), block_size=16)
    assert by_name != read_log(file, block_size=16)


def test_the_same_log_as_the_command_line_reads(run: Run, tmp_path: Path) -> None:
    """Compressed, with blocks of 16 tokens, in another order than the file's."""
    lines = (FOLDER / "native" / "chat.jsonl").read_text(encoding="utf-8").splitlines()
    file = tmp_path / "log.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(reversed(lines)).encode()))
    log = read_log(file)
    assert (log.block_tokens, log.moved > 0) == (16, True)
    _, out, _ = run("analyze", file, "--json", "--no-bound", "-q")
    told = json.loads(out)["input"]
    assert told["sha256"] == log.sha256
    assert told["requests"] == len(log.requests)
    assert told["order"] == log.order
    _, out, _ = run("convert", file, "-q")
    rows = [json.loads(line)["hash_ids"] for line in out.splitlines()]
    assert rows == [list(r.hash_ids) for r in log.requests]


def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match=r"no option 'blocksize'; expected one of .*block_size"):
        read_log(FOLDER / "native.jsonl", blocksize=16)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("order", "tme"),
        ("template", "vicuna"),
        ("block_size", 0),
        ("block_size", 16.0),
        ("block_size", True),
        ("block_size", (1 << 20) + 1),
        ("chars_per_token", 0),
        ("chars_per_token", "4"),
        ("chars_per_token", float("nan")),
    ],
)
def test_values_out_of_their_range(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name}: expected .*, got {value!r}".replace("(", r"\(")):
        read_log(FOLDER / "native.jsonl", **{name: value})


def test_a_format_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="nope: unknown; expected auto"):
        read_log(FOLDER / "native.jsonl", format="nope")
