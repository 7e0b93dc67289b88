"""Tokens of a text without its tokeniser, estimated from the kinds of its characters.

One ratio for all text is wrong by a factor of two to four where a log holds Chinese, Japanese, Korean
or dense JSON. Here each character counts a fixed share of a token, by its script or kind. The shares
are fitted to three tokenisers (``scripts/figures/characters_per_token.py`` prints the fit and its
errors): English and code come out within 6 percent of all three, JSON within 20; for other scripts the
tokenisers themselves differ by a factor of two, and the estimate lies between them.

A share depends on the character alone, so two prompts have the same estimated blocks exactly as far as
they have the same characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIT = 24
"""Shares of one token."""

KINDS: tuple[tuple[str, int, tuple[tuple[int, int], ...]], ...] = (
    ("other", 24, ()),
    ("letters", 3, ((0x41, 0x5A), (0x61, 0x7A))),
    ("spaces", 13, ((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0))),
    ("digits", 24, ((0x30, 0x39),)),
    ("punctuation", 11, ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0x2010, 0x205E))),
    ("accented Latin", 18, ((0xC0, 0x24F), (0x1E00, 0x1EFF))),
    ("Greek", 10, ((0x370, 0x3FF),)),
    ("Cyrillic", 6, ((0x400, 0x52F),)),
    ("Hebrew", 10, ((0x590, 0x5FF),)),
    ("Arabic", 8, ((0x600, 0x6FF), (0x750, 0x77F))),
    ("Devanagari", 12, ((0x900, 0x97F),)),
    ("Thai", 12, ((0xE00, 0xE7F),)),
    ("Japanese kana", 18, ((0x3040, 0x30FF),)),
    ("Chinese characters", 20, ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x3134F))),
    ("Hangul", 15, ((0xAC00, 0xD7AF), (0x1100, 0x11FF))),
    ("CJK punctuation", 10, ((0x3000, 0x303F), (0xFF00, 0xFFEF))),
)
"""Name, share of a token in 24ths, ranges of code points (both ends included)."""


_OFTEN = (1, 2, 3, 4)
"""Kinds of most characters."""


@cache
def _tables() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """By code point: the number of the kind, and its share."""
    import numpy as np

    kinds = np.zeros(0x110000, dtype=np.uint8)
    for number, (_, _, ranges) in enumerate(KINDS):
        for first, last in ranges:
            kinds[first : last + 1] = number
    return kinds, np.array([share for _, share, _ in KINDS], dtype=np.uint8)[kinds]


@cache
def _ascii() -> tuple[bytes, bytes]:
    """The same for ASCII, as tables of ``bytes.translate``, which is ten times faster."""
    kinds, shares = (table[:128].tobytes() + bytes(128) for table in _tables())
    return kinds, shares


def _looked_up(text: str, table: int) -> NDArray[np.uint8]:
    """Per character its kind (table 0) or share (table 1)."""
    import numpy as np

    if text.isascii():
        return np.frombuffer(text.encode("ascii").translate(_ascii()[table]), dtype=np.uint8)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return _tables()[table][points]


def token_ends(text: str, block_tokens: int) -> tuple[list[int], int]:
    """Where the blocks of a text end, in characters, and its estimated length in tokens.

    The last block may be partial. Time: linear in the characters.

    Examples
    --------
    >>> token_ends("a shared start", 2)
    ([10, 14], 3)
    >>> token_ends("\u4f60\u662f\u4e00\u5bb6", 2)
    ([3, 4], 4)
    >>> token_ends("", 2)
    ([], 0)
    """
    import numpy as np

    if not text:
        return [], 0
    narrow = len(text) < 1 << 26  # a sum of so many shares fits
    total = np.cumsum(_looked_up(text, 1), dtype=np.int32 if narrow else np.int64)
    size = block_tokens * UNIT
    # A character counts at most one token, so that no two blocks end at the same one.
    marks = np.arange(1, int(total[-1]) // size + 1, dtype=total.dtype) * size
    ends: list[int] = (np.searchsorted(total, marks) + 1).tolist()
    if ends and ends[-1] == len(text):  # what the last character has too much is no further token
        return ends, len(ends) * block_tokens
    return [*ends, len(text)], -(-int(total[-1]) // UNIT)


def shares(kinds: Mapping[str, int]) -> dict[str, float] | None:
    """Shares of characters by kind, the most frequent first; None without characters.

    Examples
    --------
    >>> shares({"digits": 1, "letters": 3}), shares({})
    ({'letters': 0.75, 'digits': 0.25}, None)
    """
    whole = sum(kinds.values())
    ranked = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    return {name: n / whole for name, n in ranked} if whole else None


def count_kinds(text: str) -> dict[str, int]:
    """Characters by kind, those that occur.

    Examples
    --------
    >>> count_kinds("ab 1")
    {'letters': 2, 'spaces': 1, 'digits': 1}
    """
    import numpy as np

    kinds, left, out = _looked_up(text, 0), len(text), {}
    for number in _OFTEN:  # a pass per kind is faster than one that tells all apart
        if left and (n := int(np.count_nonzero(kinds == number))):
            out[KINDS[number][0]] = n
            left -= n
    if left:
        rest = np.bincount(kinds[kinds > max(_OFTEN)], minlength=len(KINDS)).tolist()
        rest[0] = left - sum(rest)
        out |= {KINDS[number][0]: n for number, n in enumerate(rest) if n}
    return out
