"""Two analyses side by side: two logs, two days, two engines.

A difference is *beyond the spread* when nothing that either log says of itself explains it: the
ranges of the value over a log's own halves and over the cost coefficients of its sensitivity band do
not meet those of the other. Where a document has neither, nothing is said.

Evidence: rank 2, a document compared with itself differs nowhere, and the two sides swapped swap
every column; rank 4, ranges and capacities on the other's curve by hand (tests).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cache_worthy.advise import sections
from cache_worthy.advise.quantity import TITLES, Quantity, Spread, Unit
from cache_worthy.advise.reader import Reader
from cache_worthy.numbers import gib, ratio, shown


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents."""

    file: str
    source: str
    sha256: str
    version: str
    requests: int


@dataclass(frozen=True, slots=True)
class Setting:
    """A choice that differs; ``consequence`` is what it takes away, or ""."""

    name: str
    a: str
    b: str
    consequence: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One quantity."""

    name: str
    unit: Unit
    a: int | float | str | None
    """None where the document does not have it."""
    b: int | float | str | None
    change: float | None
    """Of shares b - a, of other numbers b / a - 1."""
    beyond: bool | None
    """Beyond the spread of both logs; None where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """Quantities of one question."""

    title: str
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True, slots=True)
class Crossed:
    """What the capacity that one log asks for costs on the other, under the curve's policy."""

    asked_by: str
    on: str
    bytes: int
    low: float | None
    """Least cost over compulsory at the measured capacities around it; None below the floor."""
    high: float | None
    """The largest."""
    text: str


@dataclass(frozen=True, slots=True)
class SharedPin:
    """A prefix in both lists of question 6; ranks start at 0."""

    block: str
    rank_a: int
    rank_b: int
    references_a: int
    references_b: int
    protected_fraction_a: float
    protected_fraction_b: float


@dataclass(frozen=True, slots=True)
class SharedPins:
    """Question 6 of both."""

    comparable: bool
    """Whether equal block ids mean equal prefixes."""
    reason: str
    """Why, or why not."""
    listed_a: int
    listed_b: int
    shared: tuple[SharedPin, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both analyses."""

    a: Side
    b: Side
    settings: tuple[Setting, ...]
    """What was chosen otherwise."""
    changes: tuple[str, ...]
    """What came out otherwise, a sentence each."""
    sections: tuple[ComparedSection, ...]
    crossed: tuple[Crossed, ...]
    pins: SharedPins


def compare(a: Reader, b: Reader) -> Comparison:
    """Both documents, side by side.

    Raises
    ------
    UsageError
        If a field that is needed is missing or of another kind.
    """
    settings = tuple(_settings(a, b))
    one, two = quantities(a), quantities(b)
    compared = tuple(_sections(one, two))
    cut = sorted({s.name for s in settings} & {name.replace("_", " ") for name in _CUT})
    return Comparison(
        a=_side(a),
        b=_side(b),
        settings=settings,
        changes=tuple(_changes(compared, [one, two])),
        sections=compared,
        crossed=(*_crossed(a, b, of=("A", "B")), *_crossed(b, a, of=("B", "A"))),
        pins=_pins(a, b, cut),
    )


def _side(d: Reader) -> Side:
    return Side(
        file=d.file,
        source=d.text("input", "source"),
        sha256=d.text("input", "sha256"),
        version=d.text("version"),
        requests=d.integer("input", "requests"),
    )


_CUT = ("block_tokens", "chars_per_block", "tokenizer", "template")
"""Fields of ``input`` that say how prompts became blocks."""

_BLOCKS = "blocks, depths and hit rates count different things"
_CONSEQUENCES = {
    "model": "costs, cost ratios and GiB are of different models",
    "costs": "costs and cost ratios are of different cost functions",
    **dict.fromkeys(_CUT, _BLOCKS),
}


def _settings(a: Reader, b: Reader) -> Iterable[Setting]:
    estimated = all(d.maybe("input", "characters_by_kind") is not None for d in (a, b))
    for place, names in (("input", _CUT), ("parameters", None)):
        one, two = a.get(place), b.get(place)
        for name in dict.fromkeys([*one.names(), *two.names()]) if names is None else names:
            left, right = one.maybe(name), two.maybe(name)
            # What was found in the log is no choice, and what is priced follows from the model.
            if name == "priced" or (name == "chars_per_token" and estimated):
                continue
            if (left and left.value) != (right and right.value):
                effect = _CONSEQUENCES.get(name, "")
                yield _differing(name.replace("_", " "), left, right, effect=effect)
    fractions = [d.maybe("sample", "fraction") for d in (a, b)]
    if any(f is not None for f in fractions):  # said of two equal ones too
        effect = "capacities, costs and policies are estimates, with the errors of their documents"
        yield _differing("sample", *fractions, effect=effect)


def _differing(name: str, a: Reader | None, b: Reader | None, *, effect: str) -> Setting:
    return Setting(name, a=_setting(a), b=_setting(b), consequence=effect)


def _setting(here: Reader | None) -> str:
    """A choice in words; of an object its name."""
    if here is None or here.value is None:
        return "none"
    if isinstance(here.value, dict):
        return here.text("name")
    if isinstance(here.value, list):
        parts = (Reader(here.file, value, here.place) for value in here.value)
        return ", ".join(map(_setting, parts)) or "none"
    return str(here.value)


Quantities = Mapping[str, Mapping[str, Quantity]]
"""By the head that they stand under, by name."""


def quantities(document: Reader) -> Quantities:
    """What the sections of an analysis give to compare of one document."""
    found: dict[str, dict[str, Quantity]] = {title: {} for title in TITLES}
    for section in sections.SECTIONS:
        for title, quantity in section.quantities(document):
            found.setdefault(title, {})[quantity.name] = quantity
    return found


def _sections(a: Quantities, b: Quantities) -> Iterator[ComparedSection]:
    for title in dict.fromkeys([*a, *b]):
        one, two = a.get(title, {}), b.get(title, {})
        names = dict.fromkeys([*one, *two])
        found = (_row(name, one.get(name), two.get(name)) for name in names)
        yield ComparedSection(title, tuple(r for r in found if r.a is not None or r.b is not None))


def _row(name: str, a: Quantity | None, b: Quantity | None) -> ComparedRow:
    here = a if a is not None else b
    if here is None:
        raise ValueError(f"{name}: in neither document")
    one, two = (None if q is None else q.value for q in (a, b))
    change = beyond = None
    if isinstance(one, int | float) and isinstance(two, int | float):
        if here.unit == "share":
            change = two - one
        elif one:
            change = two / one - 1
    if a is not None and b is not None and a.spread is not None and b.spread is not None:
        beyond = not _meet(a.spread, b.spread)
    return ComparedRow(name=name, unit=here.unit, a=one, b=two, change=change, beyond=beyond)


def _meet(a: Spread, b: Spread) -> bool:
    """Whether two spreads have something in common.

    Examples
    --------
    >>> _meet((1, 2), (2, 3)), _meet((1, 2), (3, 4)), _meet(frozenset({"lru"}), frozenset({"gdsf"}))
    (True, False, False)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] <= b[1] and b[0] <= a[1]
    return isinstance(a, frozenset) and isinstance(b, frozenset) and bool(a & b)


def _changes(compared: Sequence[ComparedSection], documents: Sequence[Quantities]) -> Iterator[str]:
    """What came out otherwise, of the quantities that are answers."""
    answers = {
        quantity.name: quantity.answer
        for document in documents
        for found in document.values()
        for quantity in found.values()
        if quantity.answer
    }
    for row in (row for section in compared for row in section.rows if row.name in answers):
        if row.a == row.b or row.a is None or row.b is None:
            continue
        beyond = {
            True: ", beyond the spread of both logs",
            False: ", within the spread of a log (its halves, other cost coefficients)",
            None: "",
        }[row.beyond]
        values = f"{shown(row.unit, row.a)} to {shown(row.unit, row.b)}"
        yield f"{answers[row.name]}: {values}{beyond}."


def _crossed(asking: Reader, other: Reader, *, of: tuple[str, str]) -> Iterator[Crossed]:
    """The capacity that one document, the first ``of`` two, asks for, on the curve of the other."""
    name, on = of
    curve, theirs = asking.maybe("capacity"), other.maybe("capacity")
    if curve is None or theirs is None:
        return
    size = curve.integer("recommended_bytes")
    points = [(p.integer("bytes"), p.number("cost_ratio")) for p in theirs.rows("points")]
    if not points:
        return
    low, high = on_curve(points, size)
    if high is None:
        text = f"cannot serve {on}, whose floor is {gib(points[0][0])}"
    else:
        what = ratio(high) if low == high else f"{ratio(low)} to {ratio(high)}"
        text = f"costs {what} on {on}, which asks for {gib(theirs.integer('recommended_bytes'))}"
    yield Crossed(asked_by=name, on=on, bytes=size, low=low, high=high, text=text)


def on_curve(
    points: Sequence[tuple[int, float | None]], size: int
) -> tuple[float | None, float | None]:
    """Costs at the measured capacities around ``size``: the least and the largest of the two.

    Both None below the first; the last alone above it.

    Examples
    --------
    >>> curve = [(10, 2.0), (20, 1.5), (40, 1.0)]
    >>> on_curve(curve, 20), on_curve(curve, 30), on_curve(curve, 9), on_curve(curve, 99)
    ((1.5, 1.5), (1.0, 1.5), (None, None), (1.0, 1.0))
    """
    below = [cost for capacity, cost in points if capacity <= size]
    above = [cost for capacity, cost in points if capacity >= size]
    around = [c for c in (*below[-1:], *above[:1]) if c is not None]
    if not below or not around:
        return None, None
    return min(around), max(around)


def _pins(a: Reader, b: Reader, cut: Sequence[str]) -> SharedPins:
    """Question 6 of both; ``cut`` names the options on blocks that differ."""
    lists = [d.some("pin", "pins") for d in (a, b)]
    comparable, reason = _comparable(a, b, cut)
    return SharedPins(
        comparable=comparable,
        reason=reason,
        listed_a=len(lists[0]),
        listed_b=len(lists[1]),
        shared=tuple(_shared(*lists)) if comparable else (),
    )


def _comparable(a: Reader, b: Reader, cut: Sequence[str]) -> tuple[bool, str]:
    """Whether equal block ids mean equal prefixes, and why."""
    if cut:
        return False, f"prompts were cut otherwise ({', '.join(cut)})"
    if all(_hashed(d.get("input")) for d in (a, b)):
        return True, "block ids are hashes of the prompts' beginnings"
    if a.text("input", "sha256") == b.text("input", "sha256"):
        return True, "block ids are those of one log"
    return False, "block ids are each log's own, not of what was in the prompt"


def _hashed(log: Reader) -> bool:
    """Whether the blocks were cut from prompts, so that an id is a hash of its prefix."""
    return any(log.get(name).value is not None for name in ("chars_per_block", "tokenizer"))


def _shared(a: Sequence[Reader], b: Sequence[Reader]) -> Iterator[SharedPin]:
    ranks = {_identity(pin): rank for rank, pin in enumerate(b)}
    for rank, pin in enumerate(a):
        other = ranks.get(_identity(pin))
        if other is not None:
            yield SharedPin(
                block=str(pin.get("last_block_id").value),
                rank_a=rank,
                rank_b=other,
                references_a=pin.integer("references"),
                references_b=b[other].integer("references"),
                protected_fraction_a=pin.number("protected_fraction") or 0.0,
                protected_fraction_b=b[other].number("protected_fraction") or 0.0,
            )


def _identity(pin: Reader) -> str:
    return repr(pin.get("last_block_id").value)
