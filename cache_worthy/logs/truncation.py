"""Whether the longest prompts of a log were cut without a mark (vLLM's ``--max-log-len N``).

The option cuts a prompt's text to N characters and its ids to N. Nothing in a line says so, but the
lengths of all lines together do:

* Lines with a text *or* ids: many prompts of exactly one greatest length. They count as cut if that
  length is a number people set (a multiple of 100 or 256, or a power of two) and there are enough
  shorter prompts of other lengths, since equal prompts of a benchmark look the same.
* Lines with both: as many ids as characters, at the greatest length of all such lines. Two different
  prompts like that count as cut, unless a shorter line has as many ids as characters too: then one
  id per character is how this tokeniser works. One alone may be chance.

What may be chance is only counted ("perhaps cut").
"""

from __future__ import annotations

from cache_worthy.sim.trace import BlockId

CUT_LENGTH = 32
"""Least length of equal prompts that may be a limit of the log."""

SEEN_LENGTHS = 1000
"""Different prompt lengths kept to tell whether a log's lengths vary."""


class _Kind:
    """Lines of one kind: the lengths seen, and requests of the greatest length."""

    def __init__(self) -> None:
        self.longest = 0
        self.seen: set[int] = set()
        self.whole: dict[int, int] = {}  # by place: whole blocks
        self.different: set[BlockId] = set()  # last blocks, which tell prompts apart

    def add(self, length: int, place: int, *, whole: int, last: BlockId | None) -> None:
        if len(self.seen) < SEEN_LENGTHS:
            self.seen.add(length)
        if self.longer(length):
            self.whole[place] = whole
            if last is not None:
                self.different.add(last)

    def longer(self, length: int) -> bool:
        """Whether ``length`` is at least the greatest so far; a greater one starts anew."""
        if length > self.longest:
            self.longest = length
            self.whole.clear()
            self.different.clear()
        return length == self.longest


class Lengths:
    """Lengths of the prompts of a log that may be cut without a mark."""

    def __init__(self) -> None:
        self._one, self._both = _Kind(), _Kind()

    def watch(
        self, place: int, length: int, *, whole: int, last: BlockId | None, characters: int | None
    ) -> None:
        """Take note of the request at ``place``.

        Its line has ``length`` characters or ids, of them ``whole`` whole blocks, and, beside ids,
        ``characters`` of text or None.
        """
        if characters is None:
            self._one.add(length, place, whole=whole, last=last)
        elif characters == length >= CUT_LENGTH:
            self._both.add(length, place, whole=whole, last=last)
        else:
            self._both.longer(max(characters, length))

    def judge(self, requests: int) -> tuple[dict[int, int], int]:
        """Whole blocks of the requests that are cut, by place, and how many only may be.

        Examples
        --------
        >>> lengths = Lengths()
        >>> lengths.watch(0, 4000, characters=4000, whole=250, last=7)
        >>> lengths.judge(1)
        ({}, 1)
        >>> lengths.watch(1, 4000, characters=4000, whole=250, last=8)
        >>> lengths.judge(2)
        ({0: 250, 1: 250}, 0)
        """
        cut: dict[int, int] = {}
        perhaps = 0
        one, both = self._one, self._both
        if len(both.different) > 1 and both.seen == {both.longest}:
            cut |= both.whole
        else:
            perhaps += len(both.whole)
        most, count = one.longest, len(one.whole)
        if most >= CUT_LENGTH and len(one.different) >= 3 and 20 * count > requests:
            varied = len(one.seen - {most}) >= 3 and 20 * (requests - count) >= requests
            if varied and (most % 100 == 0 or most % 256 == 0 or most & (most - 1) == 0):
                cut |= one.whole
            else:
                perhaps += count
        return cut, perhaps
