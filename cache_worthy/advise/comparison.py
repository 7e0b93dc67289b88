"""Two analyses side by side: two logs, two days, two engines.

A difference is *beyond the spread* when nothing that either log says of itself explains it: the
ranges of the value over a log's own halves and over the cost coefficients of its sensitivity band do
not meet those of the other. Where a document has neither, nothing is said.

Evidence: rank 2, a document compared with itself differs nowhere, and the two sides swapped swap
every column; rank 4, ranges and capacities on the other's curve by hand (tests).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cache_worthy.advise.policy import FRACTIONS
from cache_worthy.documents import schema_id
from cache_worthy.errors import UsageError
from cache_worthy.report.layout import counted, gib, percent, plain, ratio
from cache_worthy.report.words.causes import NAMES

Unit = Literal["count", "bytes", "share", "ratio", "words"]
Value = int | float | str | None


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
    """One quantity.

    Attributes
    ----------
    unit : {"count", "bytes", "share", "ratio", "words"}
    a, b : int, float, str or None
        None where a document does not have it.
    change : float or None
        Of shares b - a, of other numbers b / a - 1.
    beyond : bool or None
        Beyond the spread of both logs; None where nothing is known of it.
    """

    name: str
    unit: Unit
    a: int | float | str | None
    b: int | float | str | None
    change: float | None
    beyond: bool | None


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """Quantities of one question."""

    title: str
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True, slots=True)
class Crossed:
    """What the capacity that one log asks for costs on the other, under the curve's policy.

    Attributes
    ----------
    asked_by, on : {"A", "B"}
    bytes : int
    low, high : float or None
        Cost over compulsory at the measured capacities around it; None where it is below the floor.
    text : str
    """

    asked_by: str
    on: str
    bytes: int
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class SharedPin:
    """A prefix that both lists of question 6 have; ranks from 0."""

    block: str
    rank_a: int
    rank_b: int
    references_a: int
    references_b: int
    protected_fraction_a: float
    protected_fraction_b: float


@dataclass(frozen=True, slots=True)
class SharedPins:
    """Question 6 of both.

    Attributes
    ----------
    comparable : bool
        Whether equal block ids mean equal prefixes.
    reason : str
        Why, or why not.
    listed_a, listed_b : int
    shared : tuple of SharedPin
    """

    comparable: bool
    reason: str
    listed_a: int
    listed_b: int
    shared: tuple[SharedPin, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both analyses.

    Attributes
    ----------
    settings : tuple of Setting
        What was chosen otherwise.
    changes : tuple of str
        What came out otherwise, a sentence each.
    """

    a: Side
    b: Side
    settings: tuple[Setting, ...]
    changes: tuple[str, ...]
    sections: tuple[ComparedSection, ...]
    crossed: tuple[Crossed, ...]
    pins: SharedPins


LARGEST = 10**30
"""No figure of a document is larger: FLOPs of a log are below 1e25."""


class Reader:
    """A place in a document; whatever is not there, or of another kind, is a usage error."""

    def __init__(self, file: str, value: object, place: str = "") -> None:
        self.file = file
        self.value = value
        self.place = place

    def _wrong(self, what: str, expected: str) -> UsageError:
        return UsageError(f"{self.file}: no whole analyze document: {what}: expected {expected}")

    def get(self, *names: str) -> Reader:
        """A field, or one inside of it."""
        here = self
        for name in names:
            place = f"{here.place}.{name}".lstrip(".")
            if not isinstance(here.value, dict) or name not in here.value:
                raise self._wrong(place, "the field to be there")
            here = Reader(self.file, here.value[name], place)
        return here

    def maybe(self, name: str) -> Reader | None:
        """A field, None where it is null or not there."""
        there = isinstance(self.value, dict) and self.value.get(name) is not None
        return self.get(name) if there else None

    def rows(self, name: str) -> list[Reader]:
        """The elements of a list."""
        found = self.get(name)
        if not isinstance(found.value, list):
            raise self._wrong(found.place, "a list")
        return [Reader(self.file, v, f"{found.place}.{n}") for n, v in enumerate(found.value)]

    def integer(self, *names: str) -> int:
        """An integer."""
        found = self.get(*names)
        if type(found.value) is not int:
            raise self._wrong(found.place, "an integer")
        found.bounded(found.value)
        return found.value

    def number(self, *names: str) -> float | None:
        """A number, or null."""
        found = self.get(*names)
        if found.value is None:
            return None
        if isinstance(found.value, bool) or not isinstance(found.value, int | float):
            raise self._wrong(found.place, "a number or null")
        found.bounded(found.value)
        return found.value

    def bounded(self, value: float) -> None:
        """Refuse what no analysis writes and no ratio of two can hold."""
        if abs(value) > LARGEST:
            raise self._wrong(self.place, f"a number of at most {LARGEST:.0e}")

    def text(self, *names: str) -> str:
        """A string."""
        found = self.get(*names)
        if not isinstance(found.value, str):
            raise self._wrong(found.place, "a string")
        return found.value


def read_document(file: str) -> Reader:
    """An ``analyze --json`` document of this schema version.

    Raises
    ------
    UsageError
        For anything else.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{file}: cannot read: {reason}") from error
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not JSON: {error}; write it with analyze --json") from error
    if not isinstance(value, dict) or value.get("tool") != "cache-worthy":
        raise UsageError(f"{file}: no document of cache-worthy; write it with analyze --json")
    if value.get("command") != "analyze":
        raise UsageError(
            f"{file}: a document of {str(value.get('command'))[:40]!r}; expected one of analyze --json"
        )
    if value.get("schema") != schema_id("analyze"):
        raise UsageError(
            f"{file}: follows schema {str(value.get('schema'))[:60]}; this version reads "
            f"{schema_id('analyze')}: write both documents with one version"
        )
    return Reader(file, value)


def _no_number(constant: str) -> object:
    raise ValueError(f"holds {constant}, which strict JSON has not")


def compare(a: Reader, b: Reader) -> Comparison:
    """Both documents, side by side.

    Raises
    ------
    UsageError
        If a field that is needed is missing or of another kind.
    """
    settings = tuple(_settings(a, b))
    sections = tuple(_sections(a, b))
    return Comparison(
        a=_side(a),
        b=_side(b),
        settings=settings,
        changes=tuple(_changes(sections)),
        sections=sections,
        crossed=tuple(_crossed(a, b, "A", "B")) + tuple(_crossed(b, a, "B", "A")),
        pins=_pins(a, b, {s.name for s in settings}),
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
    for place, names in (("input", _CUT), ("parameters", None)):
        one, two = a.get(place).value, b.get(place).value
        if not isinstance(one, dict) or not isinstance(two, dict):
            raise UsageError(f"{a.file}, {b.file}: no whole analyze document: {place}: no object")
        for name in dict.fromkeys([*one, *two]) if names is None else names:
            values = one.get(name), two.get(name)
            if values[0] != values[1]:
                left, right = map(_setting, values)
                effect = _CONSEQUENCES.get(name, "")
                yield Setting(name.replace("_", " "), left, right, effect)
    samples = [d.maybe("sample") for d in (a, b)]
    fractions = [None if s is None else s.maybe("fraction") for s in samples]
    if any(f is not None for f in fractions):  # said of two equal ones too
        left, right = (_setting(None if f is None else f.value) for f in fractions)
        effect = "capacities, costs and policies are estimates, with the errors of their documents"
        yield Setting("sample", left, right, effect)


def _setting(value: object) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, dict):
        return str(value.get("name"))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _sections(a: Reader, b: Reader) -> Iterable[ComparedSection]:
    one, two = _quantities(a), _quantities(b)
    for title, rows in one.items():
        other = two[title]
        names = list(dict.fromkeys([*rows, *other]))
        found = (_row(name, rows.get(name), other.get(name)) for name in names)
        yield ComparedSection(title, tuple(r for r in found if r.a is not None or r.b is not None))


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A value of one document, with what the log says of its spread."""

    unit: Unit
    value: Value
    spread: tuple[float, float] | frozenset[str] | None = None


def _row(name: str, a: _Quantity | None, b: _Quantity | None) -> ComparedRow:
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
    return ComparedRow(name, here.unit, one, two, change, beyond)


def _meet(a: tuple[float, float] | frozenset[str], b: tuple[float, float] | frozenset[str]) -> bool:
    """Whether two spreads have something in common.

    Examples
    --------
    >>> _meet((1, 2), (2, 3)), _meet((1, 2), (3, 4)), _meet(frozenset({"lru"}), frozenset({"gdsf"}))
    (True, False, False)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] <= b[1] and b[0] <= a[1]
    return isinstance(a, frozenset) and isinstance(b, frozenset) and bool(a & b)


def _spread(value: float | None, *others: Iterable[float | None]) -> tuple[float, float] | None:
    """From the least to the largest of a value and its alternatives; None without alternatives."""
    found = [v for values in others for v in values if v is not None]
    return None if value is None or not found else (min(value, *found), max(value, *found))


def _quantities(d: Reader) -> dict[str, dict[str, _Quantity]]:
    """Every compared quantity of one document, by section and name."""
    w, band, splits = d.get("workload"), d.maybe("band"), d.maybe("splits")
    halves = [
        p for p in (() if splits is None else splits.rows("parts")) if p.text("name")[:4] == "half"
    ]
    members = () if band is None else band.rows("members")

    def of_log(name: str, unit: Unit) -> _Quantity:
        value = w.number(name)
        return _Quantity(unit, value, _spread(value, (p.number(name) for p in halves)))

    ceiling = d.number("worth", "ceiling")
    workload = {
        "requests": _Quantity("count", w.integer("requests")),
        "block references": _Quantity("count", w.integer("block_references")),
        "distinct blocks": _Quantity("count", w.integer("distinct_blocks")),
        "reuse": _Quantity("share", w.number("reuse_fraction")),
        "reuse distance, p50": _Quantity("count", w.number("reuse_distance", "p50")),
        "request depth, p50": _Quantity("count", w.number("depth", "p50")),
        "request depth, max": _Quantity("count", w.number("depth", "max")),
        "working set": _Quantity("bytes", w.integer("working_set_bytes")),
        "ceiling of caching": _Quantity(
            "share",
            ceiling,
            _spread(
                ceiling,
                (p.number("ceiling") for p in halves),
                (m.number("ceiling") for m in members),
            ),
        ),
    }
    sections = {
        "WORKLOAD": workload,
        "CAPACITY": {"floor": of_log("floor_bytes", "bytes")},
        "RECOVERABLE at the recommended capacity": {},
        "POLICY": {},
        "SINGLE REQUESTS under lru at the recommended capacity": {},
        "WHY NO HIT, as a share of the uncached prefill cost": _causes(d),
    }
    curve, table = d.maybe("capacity"), d.maybe("policy")
    if curve is None or table is None:
        sections["CAPACITY"]["recommended"] = _Quantity("words", "not worth caching")
        return sections
    size, cost = curve.integer("recommended_bytes"), curve.number("recommended_cost_ratio")
    across = None if band is None else band.maybe("capacity")
    sections["CAPACITY"] |= {
        "recommended": _Quantity(
            "bytes",
            size,
            _spread(
                size,
                (p.number("recommended_bytes") for p in halves),
                () if across is None else map(across.number, ("low_bytes", "high_bytes")),
            ),
        ),
        "of the working set": _Quantity("share", curve.number("recommended_fraction")),
        "cost there": _Quantity(
            "ratio",
            cost,
            _spread(
                cost,
                (p.number("recommended_cost_ratio") for p in halves),
                (m.number("recommended_cost_ratio") for m in members),
                _estimates(d, curve, cost),
            ),
        ),
    }
    for p in table.rows("rows"):
        if p.integer("bytes") == size:
            sections["POLICY"] |= {
                "cheapest, recommended": _Quantity("words", p.text("best"), _ties(band, size)),
                "saves against lru": _Quantity("share", p.number("saving_fraction")),
            }
    for fraction in FRACTIONS:
        best, lru = _Quantity("words", None), _Quantity("ratio", None)
        for p in table.rows("rows"):
            here = p.number("fraction")
            if here is not None and abs(here - fraction) < 1e-6:
                best = _Quantity("words", p.text("best"), _ties(band, p.integer("bytes")))
                costs = {c.text("policy"): c.number("cost_ratio") for c in p.rows("cells")}
                lru = _Quantity("ratio", costs.get("lru"))
        sections["POLICY"] |= {f"cheapest at {fraction:.0%}": best, f"lru at {fraction:.0%}": lru}
    engine = d.maybe("engine")
    if engine is not None:
        sections["POLICY"]["engine's option"] = _Quantity("words", engine.text("best"))
    bound = d.maybe("bound")
    for row in () if bound is None else bound.rows("rows"):
        if row.integer("bytes") == size:
            sections["RECOVERABLE at the recommended capacity"] = {
                "verdict": _Quantity("words", row.text("word")),
                "only memory": _Quantity("share", row.number("only_memory")),
                "undecided": _Quantity("share", row.number("undecided")),
                "foresight": _Quantity("share", row.number("foresight")),
                "best shipped": _Quantity("share", row.number("best_shipped")),
            }
    title = "SINGLE REQUESTS under lru at the recommended capacity"
    cold = d.maybe("coldstart")
    for row in () if cold is None else cold.rows("rows"):
        if row.integer("bytes") == size:
            sections[title] |= {
                "token hit rate, cold": _Quantity("share", row.number("cold", "token")),
                "token hit rate, warm half": _Quantity("share", row.number("warm", "token")),
                "requests until warm": _Quantity("count", row.number("reached_after")),
            }
    tails = d.maybe("tails")
    for at in () if tails is None else tails.rows("capacities"):
        for row in at.rows("rows") if at.integer("bytes") == size else ():
            if row.text("policy") == "lru":
                sections[title]["p99 over a request's own"] = _Quantity(
                    "ratio", row.number("own_p99")
                )
    return sections


def _causes(d: Reader) -> dict[str, _Quantity]:
    causes = d.maybe("causes")
    if causes is None:
        return {}
    evicted = causes.maybe("evicted")
    found = {}
    for cause in [*causes.rows("new"), *([] if evicted is None else [evicted])]:
        known = cause.get("known").value is True
        name = cause.text("name")
        found[NAMES.get(name, name)] = _Quantity(
            "share", cause.number("fraction") if known else None
        )
    return found


def _estimates(d: Reader, curve: Reader, cost: float | None) -> tuple[float, ...]:
    """The ends of the error of the cost at the recommended capacity, where it is from a sample."""
    sample = d.maybe("sample")
    points = [] if sample is None else sample.rows("curve")
    index = curve.integer("recommended_index")
    if cost is None or not 0 <= index < len(points):
        return ()
    error = points[index].number("error") or 0.0
    return (cost - error, cost + error)


def _ties(band: Reader | None, size: int) -> frozenset[str] | None:
    """Policies that are cheapest under some cost function of the band, at one capacity."""
    if band is None or band.maybe("policy") is None:
        return None
    for row in band.rows("policy"):
        if row.integer("bytes") == size:
            best = row.maybe("best")
            names = (
                [row.text("best")] if best is not None else [str(r.value) for r in row.rows("tied")]
            )
            return frozenset(names)
    return None


def _changes(sections: Sequence[ComparedSection]) -> Iterable[str]:
    """What came out otherwise, the answers first."""
    rows = {row.name: row for section in sections for row in section.rows}
    for name, what in (
        ("ceiling of caching", "What caching can remove"),
        ("floor", "The least memory"),
        ("recommended", "The memory to give"),
        ("cost there", "The cost there"),
        ("verdict", "What bounds it"),
        ("cheapest, recommended", "The cheapest policy there"),
    ):
        row = rows.get(name)
        if row is None or row.a == row.b or row.a is None or row.b is None:
            continue
        beyond = {
            True: ", beyond the spread of both logs",
            False: ", within the spread of a log (its halves, other cost coefficients)",
            None: "",
        }[row.beyond]
        yield f"{what}: {shown(row.unit, row.a)} to {shown(row.unit, row.b)}{beyond}."


def shown(unit: Unit, value: Value) -> str:
    """A value in its unit; ``--`` for None.

    Examples
    --------
    >>> shown("share", 0.5), shown("bytes", 2**30), shown("ratio", None), shown("bytes", "none")
    ('50.0%', '1.00 GiB', '--', 'none')
    """
    if value is None:
        return "--"
    if isinstance(value, str):
        return value
    if unit == "bytes":
        return gib(int(value))
    if unit == "share":
        return percent(value)
    return ratio(value) if unit == "ratio" else f"{value:.6g}"


def _crossed(asking: Reader, other: Reader, name: str, on: str) -> Iterable[Crossed]:
    curve, theirs = asking.maybe("capacity"), other.maybe("capacity")
    if curve is None or theirs is None:
        return
    size = curve.integer("recommended_bytes")
    points = [(p.integer("bytes"), p.number("cost_ratio")) for p in theirs.rows("points")]
    low, high = on_curve(points, size)
    if high is None:
        text = f"cannot serve {on}, whose floor is {gib(points[0][0])}"
    else:
        what = ratio(high) if low == high else f"{ratio(low)} to {ratio(high)}"
        text = f"costs {what} on {on}, which asks for {gib(theirs.integer('recommended_bytes'))}"
    yield Crossed(name, on, size, low, high, text)


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


def _pins(a: Reader, b: Reader, differing: set[str]) -> SharedPins:
    one, two = a.maybe("pin"), b.maybe("pin")
    lists = [[] if p is None else p.rows("pins") for p in (one, two)]
    same = a.text("input", "sha256") == b.text("input", "sha256")
    cut = differing & {name.replace("_", " ") for name in _CUT}
    hashed = all(
        d.get("input", "chars_per_block").value is not None
        or d.get("input", "tokenizer").value is not None
        for d in (a, b)
    )
    if cut:
        comparable, reason = False, f"prompts were cut otherwise ({', '.join(sorted(cut))})"
    elif hashed:
        comparable, reason = True, "block ids are hashes of the prompts' beginnings"
    elif same:
        comparable, reason = True, "block ids are those of one log"
    else:
        comparable, reason = False, "block ids are each log's own, not of what was in the prompt"
    shared = []
    if comparable:
        ranks = {_identity(p): n for n, p in enumerate(lists[1])}
        for n, p in enumerate(lists[0]):
            other = ranks.get(_identity(p))
            if other is None:
                continue
            q = lists[1][other]
            shared.append(
                SharedPin(
                    block=str(p.get("last_block_id").value),
                    rank_a=n,
                    rank_b=other,
                    references_a=p.integer("references"),
                    references_b=q.integer("references"),
                    protected_fraction_a=p.number("protected_fraction") or 0.0,
                    protected_fraction_b=q.number("protected_fraction") or 0.0,
                )
            )
    return SharedPins(comparable, reason, len(lists[0]), len(lists[1]), tuple(shared))


def _identity(pin: Reader) -> str:
    return repr(pin.get("last_block_id").value)


def render_comparison(c: Comparison) -> str:
    """Both columns in 80 characters."""
    from cache_worthy.report.layout import fact, prose, title

    out = title("COMPARED")
    for name, side in (("A", c.a), ("B", c.b)):
        out += fact(name, f"{side.file}: {side.source}, {counted(side.requests, 'request')}")
    for s in c.settings:
        effect = f": {s.consequence}" if s.consequence else ""
        out += fact("DIFFERENT", f"{s.name}: {s.a} in A, {s.b} in B{effect}")
    out.append("")
    for text in c.changes or ("The answers are the same.",):
        out += prose(text)
    marked = False
    for section in c.sections:
        if not section.rows:
            continue
        out += title(section.title)
        out.append(f"  {'':<28}{'A':>19}{'B':>19}{'change':>10}")
        for row in section.rows:
            marked |= bool(row.beyond)
            line = (
                f"  {row.name:<28}{_cut(shown(row.unit, row.a)):>19}"
                f"{_cut(shown(row.unit, row.b)):>19}{change_text(row):>10}"
            )
            out.append(line + (" *" if row.beyond else ""))
    if marked:
        out += ["", "  * beyond the spread of both logs: halves and cost coefficients"]
    if c.crossed:
        out += title("EACH CAPACITY ON THE OTHER'S CURVE   under lru, over compulsory")
        for x in c.crossed:
            out += fact(f"{x.asked_by}'s {gib(x.bytes)}", x.text)
    out += title("PINS")
    p = c.pins
    if not p.comparable:
        out += prose(f"Not compared: {p.reason}.")
    else:
        out += prose(
            f"{len(p.shared)} of {p.listed_a} in A and {p.listed_b} in B are the same prefix "
            f"({p.reason})."
        )
        if p.shared:
            out += ["", f"  {'A':<5}{'B':<5}{'references':>20}{'protects':>22}   block"]
        out += [
            f"  #{s.rank_a:<4}#{s.rank_b:<4}{f'{s.references_a} / {s.references_b}':>20}"
            f"{f'{percent(s.protected_fraction_a)} / {percent(s.protected_fraction_b)}':>22}   "
            f"{s.block[:22]}"
            for s in p.shared
        ]
    return plain("\n".join(out) + "\n")


def change_text(row: ComparedRow) -> str:
    """The change as the table shows it: points of a share, percent of other numbers.

    Examples
    --------
    >>> change_text(ComparedRow("x", "share", 0.1, 0.15, 0.05, None))
    '+5.0 pts'
    >>> change_text(ComparedRow("x", "bytes", 10, 5, -0.5, None))
    '-50.0%'
    >>> change_text(ComparedRow("x", "words", "lru", "gdsf", None, None))
    'other'
    """
    if row.a == row.b:
        return "="
    if row.change is None:
        return "other"
    if row.unit == "share":
        return f"{100 * row.change:+.1f} pts"
    return f"{100 * row.change:+.1f}%" if abs(row.change) < 100 else f"x{1 + row.change:.3g}"


def _cut(text: str) -> str:
    return text if len(text) <= 18 else text[:16] + ".."
