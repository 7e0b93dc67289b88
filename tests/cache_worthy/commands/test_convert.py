"""cache-worthy convert: round trips, compression, and what --anonymise keeps and hides (rank 2)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
CHAT = (FOLDER / "litellm.csv", "--block-size", "16")


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def shape(text: str) -> list[list[int]]:
    """Paths with blocks numbered by first appearance: all that sharing is."""
    number: dict[object, int] = {}
    return [[number.setdefault(i, len(number)) for i in r["hash_ids"]] for r in rows(text)]


@pytest.mark.parametrize("name", ["litellm.csv", "bailian.jsonl", "weka.json", "vllm_debug.log"])
def test_the_trace_reads_back_as_the_log(run: Run, tmp_path: Path, name: str) -> None:
    """Blocks of 16 tokens stay blocks of 16 tokens."""
    size = [] if name in ("bailian.jsonl", "weka.json") else ["--block-size", "16"]
    trace = tmp_path / "trace.jsonl"
    assert run("convert", FOLDER / name, *size, "-o", trace)[0] == 0
    first = json.loads(run("analyze", FOLDER / name, *size, "--json", "--no-bound")[1])
    again = json.loads(run("analyze", trace, "--json", "--no-bound")[1])
    for document in (first, again):
        for pin in document["pin"]["pins"]:
            del pin["last_block_id"]
    for part in ("workload", "worth", "capacity", "policy", "pin"):
        assert first[part] == again[part]
    assert again["input"]["block_tokens"] == 16
    assert run("convert", trace)[1] == trace.read_text(encoding="utf-8")


def test_compressed_output(run: Run, tmp_path: Path) -> None:
    _, plain, _ = run("convert", *CHAT)
    packed = tmp_path / "t.jsonl.gz", tmp_path / "t.jsonl.zst"
    for file in packed:
        assert run("convert", *CHAT, "-o", file)[0] == 0
        assert read_log(file).requests == read_log(packed[0]).requests
    assert gzip.decompress(packed[0].read_bytes()).decode() == plain
    assert zstandard.decompress(packed[1].read_bytes()).decode() == plain


def test_anonymise_keeps_sharing_and_lengths_only(run: Run) -> None:
    _, plain, _ = run("convert", *CHAT)
    code, once, err = run("convert", *CHAT, "--anonymise")
    _, twice, _ = run("convert", *CHAT, "--anonymise")
    assert code == 0
    assert "still readable: prompt and answer lengths" in err
    assert shape(once) == shape(twice) == shape(plain)
    for a, b in zip(rows(once), rows(plain), strict=True):
        assert a["input_length"] == b["input_length"]
        assert a.keys() == b.keys() <= {"timestamp", "input_length", "block_size", "hash_ids"}
    ids = [{i for r in rows(t) for i in r["hash_ids"]} for t in (plain, once, twice)]
    assert not ids[1] & ids[2]
    assert not ids[0] & ids[1]


def test_anonymise_coarsens_times(run: Run, write: Callable[..., Path]) -> None:
    times = [1_760_000_000_123, 1_760_000_059_000, 1_760_000_060_200.5, 1_760_000_600_000]
    file = write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate(times)])
    _, out, _ = run("convert", file, "--anonymise", "-q")
    assert [r["timestamp"] for r in rows(out)] == [0, 0, 60_000, 540_000]


@pytest.mark.parametrize("unit", [1000, 10**6, 10**9, 1], ids=["ms", "us", "ns", "s"])
def test_anonymised_times_are_minutes_in_every_unit(
    run: Run, write: Callable[..., Path], unit: int
) -> None:
    """Time since 1970, as clocks give it: seconds too. The order is kept."""
    seconds = [1_760_000_000, 1_760_000_059, 1_760_000_060, 1_760_000_601, 1_760_086_400]
    times = [t * unit + unit // 3 for t in seconds]
    file = write(*[{"timestamp": t, "prompt": str(i)} for i, t in enumerate(times)])
    _, out, _ = run("convert", file, "--anonymise", "-q")
    assert [r["timestamp"] for r in rows(out)] == [0, 0, 60_000, 600_000, 86_400_000]


def test_long_logs_of_milliseconds_are_no_seconds(run: Run, write: Callable[..., Path]) -> None:
    """A month from the log's own start."""
    times = [0, 59_999, 60_000, 2_592_000_000]
    file = write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate(times)])
    _, out, _ = run("convert", file, "--anonymise", "-q")
    assert [r["timestamp"] for r in rows(out)] == [0, 0, 60_000, 2_592_000_000]


def test_nothing_of_the_text_is_written(run: Run) -> None:
    """No word of the traffic, no model, no request id, in either form."""
    from sample_traffic import MODEL, WORDS

    for option in ([], ["--anonymise"]):
        _, out, _ = run("convert", *CHAT, *option, "-q")
        assert not any(word in out for word in [*WORDS, MODEL, "chatcmpl", "user"])


def test_a_lone_surrogate_in_an_id_can_be_printed(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"hash_ids": ["\\ud800", "b"], "model": "\\udfff"}\n' * 3, encoding="utf-8")
    target = tmp_path / "out.json"
    assert run("analyze", file, "--json", "-o", target, "--no-bound")[0] == 0
    document = json.loads(target.read_bytes())
    assert document["input"]["models"] == {"\\udfff": 3}
