"""Prompts that a log cut without a mark, told by their lengths (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16, chars_per_token=4)


def sized(n: int, size: int) -> str:
    """A line of vLLM's log with a prompt of ``size`` characters and no token ids."""
    text = (f"{n} " + "word " * 400)[:size]
    return f"INFO 01-01 00:{n // 60:02}:{n % 60:02} [logger.py:39] Received request c{n}: prompt: {text!r}, params: p, prompt_token_ids: None."


def both(n: int, characters: int, ids: int) -> str:
    """A line with a text and token ids, different from every other ``n``."""
    text, tokens = f"{n} ".ljust(characters, "w"), [n] * ids
    return f"INFO 03-04 10:00:{n:02} [logger.py:39] Received request c{n}: prompt: {text!r}, params: p, prompt_token_ids: {tokens}."


def test_vllm_max_log_len_is_noticed(write: Write) -> None:
    """Many prompts of one round, greatest length beside shorter ones of other lengths."""
    short = [90, 91, 92]
    lines = [*[sized(n, 500) for n in range(5)], *[sized(n + 5, s) for n, s in enumerate(short)]]
    cut = read_log(write(*lines), SMALL)
    assert cut.records.cut == 5
    assert cut.records.perhaps_cut == 0
    assert [len(r.hash_ids) for r in cut.requests] == [500 // 64] * 5 + [-(-90 // 64)] * 3
    assert read_log(write(*[sized(n, 90 + n) for n in range(5)]), SMALL).records.cut == 0


@pytest.mark.parametrize(
    "sizes",
    [
        [1000] * 200,  # all equal: a benchmark, or everything is cut
        [1000] * 199 + [40],  # a trial request before the benchmark
        [777] * 20 + list(range(100, 140)),  # no number anybody would set
    ],
)
def test_equal_lengths_alone_are_no_cut(write: Write, run: Run, sizes: list[int]) -> None:
    """What may be chance is noted, in JSON too, and nothing is dropped."""
    file = write(*[sized(n, s) for n, s in enumerate(sizes)])
    log = read_log(file, SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (0, sizes.count(max(sizes)))
    assert [len(r.hash_ids) for r in log.requests] == [-(-s // 64) for s in sizes]
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound")
    assert "perhaps cut" in " ".join(out.split())
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound", "--json", "-q")
    assert json.loads(out)["input"]["records"]["perhaps_cut"] == sizes.count(max(sizes))


def test_equal_prompts_of_a_few_characters_are_nothing(write: Write) -> None:
    log = read_log(write(*[sized(n, 20) for n in range(100, 160)]), SMALL)
    assert "perhaps" not in log.records.text()


def test_text_beside_ids_shows_that_nothing_is_cut(write: Write) -> None:
    """A random benchmark: 1,024 ids each, but longer texts, so no limit stood at 1,024."""
    ids = [(n, list(range(n, n + 1024))) for n in range(20)]
    lines = [
        f"INFO 01-01 00:00:{n:02} [logger.py:39] Received request c{n}: prompt: {'ab ' * (1300 + n)!r}, params: p, prompt_token_ids: {i}."
        for n, i in ids
    ]
    log = read_log(write(*lines), SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (0, 0)


@pytest.mark.parametrize(
    ("lines", "cut", "perhaps", "blocks"),
    [
        ([(40, 40), (40, 40), (40, 11)], 2, 0, [2, 2, 1]),  # cut at 40
        ([(40, 40), (30, 11)], 0, 1, [3, 1]),  # one may be chance
        ([(40, 40), (90, 40)], 0, 0, [3, 3]),  # a text of 90 characters: no limit at 40
        ([(40, 40), (40, 40), (35, 35)], 0, 2, [3, 3, 3]),  # a tokeniser of one id a character
        ([(20, 20), (20, 20)], 0, 0, [2, 2]),  # too short for a limit
    ],
)
def test_as_many_ids_as_characters_is_a_cut(
    write: Write, lines: list[tuple[int, int]], cut: int, perhaps: int, blocks: list[int]
) -> None:
    """Where two different prompts show it, at the greatest length, and no shorter one does."""
    log = read_log(write(*[both(n, *line) for n, line in enumerate(lines)]), SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (cut, perhaps)
    assert [len(r.hash_ids) for r in log.requests] == blocks
