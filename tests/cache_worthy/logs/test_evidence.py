"""What is kept of prompts while a log is read: when two count as near-identical, and tool orders."""

from __future__ import annotations

import json
import random
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs import evidence
from cache_worthy.logs.blocks import Cutter
from cache_worthy.logs.evidence import (
    KEPT,
    PATIENCE,
    SNIPPET,
    TEMPLATES,
    TEXT,
    TOKENS,
    Preambles,
    Rule,
    ToolOrders,
    common_prefix,
    near_identical,
    printable,
)
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.prompts import Prompt, Tokens

LETTERS = "abcdefghijklmnopqrstuvwxyz"
REST = "".join(random.Random(7).choices(LETTERS, k=600))


@given(st.text("ab"), st.text("ab"), st.text("ab"))
def test_common_prefix(shared: str, a: str, b: str) -> None:
    """Against a comparison character by character."""
    a, b = shared * 7 + a, shared * 7 + b
    assert common_prefix(a, b) == sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    )
    assert common_prefix("!!" + a, b, 2, 0) == common_prefix(a, b)


def test_near_identical_by_hand() -> None:
    """The stretch may be 64 characters long, not 65; 256 behind it must be alike, 255 are not enough."""
    rule = TEXT
    assert near_identical(f"id: 1 {REST}", f"id: 27 {REST}", rule) == 4
    assert near_identical("1" + REST, "2" + REST, rule) == 0
    for size, expected in ((64, 4), (65, None)):
        assert near_identical(f"id: x{REST}", f"id: {'y' * size}{REST}", rule) == expected
    for alike, expected in ((256, 0), (255, None)):
        # The stretch is 1 here, and 63 characters more of what follows lie before the probe.
        a, b = "1" + REST[: 63 + alike] + "P" * 50, "2" + REST[: 63 + alike] + "Q" * 50
        assert near_identical(a, b, rule) == expected
    # A prompt that ends sooner has to be alike to its end, and long enough to tell.
    assert near_identical("1" + REST[:95], "2" + REST[:95], rule) == 0
    assert near_identical("1" + REST[:94], "2" + REST[:94], rule) is None


@given(
    st.text(LETTERS, max_size=40),
    st.text(LETTERS + "0123456789:-", max_size=70),
    st.text(LETTERS + "0123456789:-", max_size=70),
)
def test_near_identical_is_what_it_says(before: str, one: str, two: str) -> None:
    a, b = before + one + REST, before + two + REST
    at = near_identical(a, b, TEXT)
    if at is not None:
        assert at == common_prefix(a, b)
    if a != b and max(len(one), len(two)) <= TEXT.stretch - 8:
        # Both stretches are short, and no more than a few characters of the rest join them.
        assert at is not None


def test_preambles_by_hand() -> None:
    found = Preambles()
    found.add(1, "You are A. " + REST, apart=None)
    found.add(2, "Now 10:00 " + REST[::-1], apart=None)
    found.add(3, "Now 10:01 " + REST[::-1], apart=None)
    found.add(4, "Now 11:00 " + REST[::-1], apart=None)
    found.add(5, "something else entirely", apart=None)
    found.add(6, "You are B. " + REST, apart=None)
    found.add(3, "not looked at: its first block is known", apart=None)
    assert found.alike == {3: 0, 4: 0, 6: 1}
    assert [(e.first_block, e.position) for e in found.examples] == [(3, 8), (6, 8)]
    first = found.examples[0]
    assert (first.before, first.earlier[:2], first.later[:2]) == ("Now 10:0", "0 ", "1 ")
    assert max(map(len, (first.before, first.earlier, first.later))) <= SNIPPET
    assert (found.compared, found.given_up) == (6, False)


def test_only_what_may_share_is_compared() -> None:
    """Another salt or model keeps caches apart; tokens and characters do not compare."""
    found = Preambles()
    found.add(1, "1" + REST, apart=("m", "tenant a"))
    found.add(2, "2" + REST, apart=("m", "tenant b"))
    found.add_tokens(3, [ord(c) for c in "3" + REST], apart=("m", "tenant a"))
    assert not found.alike
    found.add(4, "4" + REST, apart=("m", "tenant b"))
    found.add_tokens(5, [ord(c) for c in "5" + REST], apart=("m", "tenant a"))
    assert found.alike == {4: 0, 5: 1}
    assert [e.readable for e in found.examples] == [True, False]
    assert found.examples[1].before == found.examples[1].later == ""


def test_token_ids_beyond_any_vocabulary_are_passed_over() -> None:
    found = Preambles()
    found.add_tokens(1, [0x110000, *range(200)], apart=None)
    found.add_tokens(2, [0x10FFFF, *range(200)], apart=None)
    found.add_tokens(
        3, [0xD800, *range(200)], apart=None
    )  # a surrogate by number is a token like another
    assert found.alike == {3: 0}
    assert TOKENS.stretch < TEXT.stretch


def test_memory_is_bounded() -> None:
    """A million prompts that share nothing: a few are kept, then none."""
    rng = random.Random(1)
    found = Preambles()
    for n in range(PATIENCE + 10):
        found.add(n, f"{rng.random()}" * 400, apart=None)
        assert len(found._kept) <= TEMPLATES
        assert all(len(text) <= KEPT for *_, text in found._kept.values())
    assert found.given_up
    assert found.compared == PATIENCE
    assert not found._kept
    assert not found._seen


def test_a_match_renews_patience() -> None:
    """Of every thousand new first blocks ten are alike, next to each other."""
    rng = random.Random(2)
    found = Preambles()
    for n in range(2 * PATIENCE):
        text = f"{n:06d}" + REST if n % 1000 < 10 else f"{rng.random()}" * 30
        found.add(n, text, apart=None)
    assert not found.given_up
    # Before the next ten come, the kept one has made room: the first of each ten has no match.
    assert set(found.alike) == {n for n in range(2 * PATIENCE) if 0 < n % 1000 < 10}


def test_tool_orders() -> None:
    a, b, c = ({"name": n, "parameters": {}} for n in "abc")

    def text(*tools: object) -> str:
        return json.dumps(list(tools), separators=(",", ":"))

    orders = ToolOrders()
    first = text(b, a)
    assert orders.first_order(first) == first
    assert orders.first_order(text(a, b)) == first
    assert orders.first_order(text(a, b)) == first
    assert orders.first_order(text(a, b, b)) == text(a, b, b)  # not the same tools
    assert orders.first_order(text(b, b, a)) == text(a, b, b)
    assert orders.first_order(text(c)) == text(c)
    assert (orders.prompts, orders.full) == (6, False)


def test_tool_lists_are_bounded() -> None:
    orders = ToolOrders()
    for n in range(evidence.LISTS + 5):
        assert orders.first_order(f"[{n},0]") == f"[{n},0]"
    assert orders.full
    assert orders.first_order("[7,0]") == "[7,0]"
    assert len(orders._firsts) == evidence.LISTS
    huge = ToolOrders()
    assert huge.first_order("[" + "1," * (evidence.LIST_CHARS // 2) + "1]")
    assert huge.full


def test_what_does_not_print_is_escaped() -> None:
    assert printable("tab\tesc\x1b[31m\u202e\ud800 ok é") == "tab\\tesc\\x1b[31m\\u202e\\ud800 ok é"


def test_evidence_says_what_it_saw() -> None:
    cutter = Cutter(ReadOptions())
    seen = cutter.evidence
    assert (seen.texts, seen.tokens) == (False, False)
    cutter.request(Prompt(Tokens([1, 2])))
    assert (seen.texts, seen.tokens) == (False, True)
    cutter.request(Prompt("a"))
    assert (seen.texts, seen.tokens) == (True, True)
    assert isinstance(TEXT, Rule)
