"""Whether the longest prompts of a log were cut without a mark (vLLM's ``--max-log-len N``).

The option cuts a prompt's text to N characters and its ids to N. Nothing in a line says so; what the
lengths of all lines together say:

* Lines with a text *or* ids: many prompts of exactly one greatest length. They count as cut where that
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


class _Longest:
    """Requests of the greatest length so far: their places, whole blocks, and last blocks."""

    def __init__(self) -> None:
        self.length = 0
        self.whole: dict[int, int] = {}
        self.different: set[BlockId] = set()

    def longer(self, length: int) -> bool:
        """Whether ``length`` is at least the greatest so far; a greater one begins anew."""
        if length > self.length:
            self.length = length
            self.whole.clear()
            self.different.clear()
        return length == self.length

    def add(self, place: int, whole: int, last: BlockId | None) -> None:
        self.whole[place] = whole
        if last is not None:
            self.different.add(last)


class Lengths:
    """Lengths of the prompts of a log that may be cut without a mark."""

    def __init__(self) -> None:
        self._one, self._both = _Longest(), _Longest()
        self._seen: set[int] = set()
        self._equal: set[int] = set()

    def watch(
        self,
        place: int,
        length: int,
        *,
        whole: int,
        last: BlockId | None,
        characters: int | None = None,
    ) -> None:
        """A line with a text or ids.

        Parameters
        ----------
        place : int
            Among the requests.
        length : int
            Characters or ids in the line.
        whole : int
            Whole blocks in them.
        last : int, str or None
            Last block id: it tells prompts apart.
        characters : int or None
            Of the text, where the line has one beside its ids.
        """
        if characters is not None:
            longest = self._both.longer(max(characters, length))
            if characters == length >= CUT_LENGTH:
                if len(self._equal) < SEEN_LENGTHS:
                    self._equal.add(length)
                if longest:
                    self._both.add(place, whole, last)
            return
        if len(self._seen) < SEEN_LENGTHS:
            self._seen.add(length)
        if self._one.longer(length):
            self._one.add(place, whole, last)

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
        for certain, found in (
            (self._pairs_are_cut(), self._both),
            (self._one_is_cut(requests), self._one),
        ):
            if certain is None:
                continue
            if certain:
                cut |= found.whole
            else:
                perhaps += len(found.whole)
        return cut, perhaps

    def _pairs_are_cut(self) -> bool | None:
        found = self._both
        if not found.whole:
            return None
        return len(found.different) > 1 and self._equal == {found.length}

    def _one_is_cut(self, requests: int) -> bool | None:
        most, count = self._one.length, len(self._one.whole)
        if most < CUT_LENGTH or len(self._one.different) < 3 or 20 * count <= requests:
            return None
        varied = len(self._seen - {most}) >= 3 and 20 * (requests - count) >= requests
        return varied and (most % 100 == 0 or most % 256 == 0 or most & (most - 1) == 0)
