"""What a log's prompts say about why they share nothing, kept while reading, since text is not.

* *Near-identical first blocks.* A prompt whose first block is new is compared with a few others of
  the same model and salt. It counts if the two differ in one stretch of at most ``Rule.stretch``
  characters and continue alike for ``Rule.alike`` (or to the end of what is kept, at least
  ``Rule.probe``): what a timestamp or an id in a preamble looks like. Not claimed: that it is one,
  or that the rest of the prompt would be shared without it. Not seen: stretches beyond the first
  block or beyond ``KEPT`` characters, others than the ``TEMPLATES`` last matched, and what comes
  after ``PATIENCE`` new first blocks in a row of which none was.
* *Tool order.* A list of tools that came before in another order. The prompt is cut a second time
  with the tools as they came first, to count what that alone would have shared.

* *Common starts.* Of a prompt whose first block is new, how much of that block is also the start of an
  earlier prompt of the same model and salt: what a smaller block would share. Compared with the first
  ``STARTS`` different first blocks, in the order of the file.

Memory: ``TEMPLATES`` texts of ``KEPT`` characters, one set entry per distinct first block and one
integer per near-identical one; ``LISTS`` lists of tools of ``LIST_CHARS`` characters together; the block
ids of the distinct prompts with reordered tools; and ``STARTS`` first blocks, one number for each other.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from cache_worthy.logs.chat import canonical
from cache_worthy.sim.trace import BlockId

KEPT = 4096
"""Characters or tokens kept of a prompt to compare others with."""

TEMPLATES = 16
"""Prompts kept; the least recently matched one is dropped first."""

PATIENCE = 4000
"""New first blocks in a row without a match after which nothing more is compared."""

SNIPPET = 30
"""Characters shown of a text on each side of a difference."""

STARTS, START_CHARS = 20_000, 1 << 24
"""First blocks kept, and their characters together."""

LISTS, LIST_CHARS = 1000, 1 << 24
"""Lists of tools that are told apart; more are not compared."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When two beginnings count as near-identical, in characters or tokens."""

    stretch: int
    alike: int
    probe: int


TEXT = Rule(stretch=64, alike=256, probe=32)
TOKENS = Rule(stretch=16, alike=64, probe=8)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two near-identical beginnings, with the texts around the first difference (empty for tokens)."""

    first_block: BlockId  # of the later prompt
    position: int  # characters or tokens before the difference
    readable: bool  # found in text, not in token ids
    before: str
    earlier: str
    later: str


def common_prefix(a: str, b: str, start_a: int = 0, start_b: int = 0) -> int:
    """Characters from the given places on that two texts have in common. Time: the result.

    Examples
    --------
    >>> common_prefix("time 10:00", "time 11:00"), common_prefix("xab", "ab", 1)
    (6, 2)
    """
    most = min(len(a) - start_a, len(b) - start_b)
    if most <= 0 or a[start_a] != b[start_b]:
        return 0
    low, step = 1, 16
    while low < most:  # slices compare faster than characters: in growing strides, then halves
        part = min(step, most - low)
        if a[start_a + low : start_a + low + part] == b[start_b + low : start_b + low + part]:
            low += part
            step *= 4
        else:
            most = low + part - 1
            step = max(part // 2, 1)
    return low


def near_identical(a: str, b: str, rule: Rule) -> int | None:
    """Where two different texts first differ, if they are near-identical by the rule.

    Examples
    --------
    >>> rest = " You are a careful assistant who answers in one short sentence." * 4
    >>> near_identical("Now: 10:00." + rest, "Now: 9:41 am." + rest, TEXT)
    5
    >>> near_identical("Now: 10:00." + rest, "Now: 10:00. Something else" * 9, TEXT) is None
    True
    """
    at = common_prefix(a, b)
    behind = at + rule.stretch
    probe = a[behind : behind + rule.probe]
    if len(probe) < rule.probe:
        return None
    found = b.find(probe, at, behind + rule.stretch + rule.probe)
    if found < 0:
        return None
    alike = common_prefix(a, b, start_a=behind, start_b=found)
    if alike < min(rule.alike, len(a) - behind, len(b) - found):
        return None
    while behind > at and found > at and a[behind - 1] == b[found - 1]:
        behind, found = behind - 1, found - 1
    return at if max(behind, found) - at <= rule.stretch else None


@dataclass(slots=True)
class Preambles:
    """Near-identical first blocks among the prompts of a log.

    Attributes
    ----------
    alike : dict
        By first block id of a prompt near-identical to a kept one: the number of the kept one's
        example, or -1.
    examples : list of Divergence
        The first match of each kept prompt (at most ``TEMPLATES``).
    compared : int
        New first blocks that were compared.
    given_up : bool
        Whether ``PATIENCE`` ran out; nothing was compared from then on.
    """

    alike: dict[BlockId, int] = field(default_factory=dict)
    examples: list[Divergence] = field(default_factory=list)
    compared: int = 0
    given_up: bool = False
    _matched: int = 0  # the value of ``compared`` at the last match
    _seen: set[BlockId] = field(default_factory=set)
    _kept: OrderedDict[BlockId, tuple[Hashable, Rule, str]] = field(default_factory=OrderedDict)
    _numbers: dict[BlockId, int] = field(default_factory=dict)

    def add(self, first: BlockId, text: str, *, apart: Hashable, rule: Rule = TEXT) -> None:
        """Compare a prompt with the kept ones of an equal ``apart`` (model, salt), if it is new."""
        if first in self._seen or self.given_up:
            return
        self._seen.add(first)
        text = text[:KEPT]
        self.compared += 1
        for key in reversed(self._kept):
            owner, same, kept = self._kept[key]
            if owner != apart or same is not rule:
                continue
            at = near_identical(kept, text, rule)
            if at is None:
                continue
            self._matched = self.compared
            self._kept.move_to_end(key)
            if key not in self._numbers and len(self.examples) < TEMPLATES:
                self._numbers[key] = len(self.examples)
                self.examples.append(_divergence(first, at, rule, texts=(kept, text)))
            self.alike[first] = self._numbers.get(key, -1)
            return
        self._kept[first] = (apart, rule, text)
        if len(self._kept) > TEMPLATES:
            self._kept.popitem(last=False)
        if self.compared - self._matched >= PATIENCE:
            self.given_up = True
            self._seen.clear()
            self._kept.clear()

    def add_tokens(self, first: BlockId, tokens: Sequence[int], *, apart: Hashable) -> None:
        """The same for a prompt of token ids, as characters."""
        if first in self._seen or self.given_up:
            return
        head = tokens[:KEPT]
        if max(head) < 0x110000:  # no vocabulary is larger
            self.add(first, "".join(map(chr, head)), apart=apart, rule=TOKENS)


def _divergence(first: BlockId, at: int, rule: Rule, *, texts: tuple[str, str]) -> Divergence:
    if rule is TOKENS:
        return Divergence(first, at, False, before="", earlier="", later="")
    earlier, later = (printable(text[at : at + SNIPPET])[:SNIPPET] for text in texts)
    before = printable(texts[0][max(at - SNIPPET, 0) : at])[-SNIPPET:]
    return Divergence(first, at, True, before=before, earlier=earlier, later=later)


def printable(text: str) -> str:
    """Text for one line of a terminal: what does not print is escaped.

    Examples
    --------
    >>> printable("a\\nb\\x1b[1m")
    'a\\\\nb\\\\x1b[1m'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass(slots=True)
class ToolOrders:
    """Lists of tools by their content."""

    prompts: int = 0  # with tools
    full: bool = False  # a list came that could not be kept and was not compared
    _firsts: dict[str, str] = field(default_factory=dict)
    _orders: dict[tuple[str, ...], str] = field(default_factory=dict)
    _chars: int = 0

    def first_order(self, tools: str) -> str:
        """The same tools, as a :class:`~cache_worthy.logs.chat.Chat` has them, in their first order.

        Examples
        --------
        >>> orders = ToolOrders()
        >>> orders.first_order('[1,2]'), orders.first_order('[2,1]'), orders.first_order('[2]')
        ('[1,2]', '[1,2]', '[2]')
        """
        self.prompts += 1
        first = self._firsts.get(tools)
        if first is not None:
            return first
        if len(self._firsts) >= LISTS or self._chars + 2 * len(tools) > LIST_CHARS:
            self.full = True
            return tools
        # The sorted tools cost their text once more, for one of the orders.
        kind = tuple(sorted(map(canonical, json.loads(tools))))
        first = self._orders.setdefault(kind, tools)
        self._firsts[tools] = first
        self._chars += len(tools) * (2 if first is tools else 1)
        return first


@dataclass(slots=True)
class Starts:
    """Common starts shorter than a block.

    Attributes
    ----------
    shares : dict
        By first block id: the share of the block that is the start of an earlier prompt.

    Examples
    --------
    >>> starts = Starts()
    >>> for number, text in enumerate(["abcd", "abxy", "zzzz", "ab"]):
    ...     starts.add(number, text, apart=None)
    >>> starts.shares
    {0: 0.0, 1: 0.5, 2: 0.0, 3: 1.0}
    """

    shares: dict[BlockId, float] = field(default_factory=dict)
    _sorted: dict[Hashable, list[str]] = field(default_factory=dict)
    _kept: int = 0
    _chars: int = 0

    def add(self, first: BlockId, start: str | Sequence[int], *, apart: Hashable) -> None:
        """Compare the first block of a prompt with earlier ones of an equal ``apart``."""
        if first in self.shares or not start:
            return
        if not isinstance(start, str):
            # No vocabulary is larger.
            start = "".join(map(chr, start)) if max(start) < 0x110000 else ""
        known = self._sorted.setdefault(apart, [])
        at = bisect_left(known, start)  # the longest common start is with a neighbour
        shared = max(
            (common_prefix(start, other) for other in known[max(at - 1, 0) : at + 1]), default=0
        )
        self.shares[first] = shared / len(start) if start else 0.0
        if self._kept < STARTS and self._chars + len(start) <= START_CHARS:
            known.insert(at, start)
            self._kept += 1
            self._chars += len(start)


@dataclass(slots=True)
class Evidence:
    """What was kept of a log's prompts.

    ``reordered``: by the last block id of a prompt whose tools came before in another order (which
    stands for the whole prompt), the block ids that it would have in that order. ``texts``, ``tokens``:
    whether the log has prompts as text, as token ids.
    """

    preambles: Preambles = field(default_factory=Preambles)
    tools: ToolOrders = field(default_factory=ToolOrders)
    reordered: dict[BlockId, tuple[BlockId, ...]] = field(default_factory=dict)
    starts: Starts = field(default_factory=Starts)
    texts: bool = False
    tokens: bool = False
