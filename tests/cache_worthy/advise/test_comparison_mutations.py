"""``compare`` of damaged documents: a result or an error of one line, whatever is missing.

Every place of two documents (a whole analysis, and that of a sample) is removed or replaced in
turn, and compared with the document as it was, on either side.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.advise import comparison
from cache_worthy.advise.reader import Reader
from cache_worthy.documents import document, to_json
from cache_worthy.errors import UsageError
from cache_worthy.report.terminal import render_sections
from cache_worthy.report.words.comparison import sections

Run = Callable[..., tuple[int, str, str]]
SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
GONE = object()
OTHERS: tuple[object, ...] = (GONE, None, [], {}, "", "x", 0, -1, 1.5, True, [[]], [{}], 10**40)


Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every field and every element below a place."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in inside:
        yield (*place, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*place, key))


def places_read(whole: Any, monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The places that a comparison looks at, and all below those that it reads as they are."""
    seen: set[str] = set()
    made = Reader.__init__

    def noted(self: Reader, file: str, value: object, place: str = "") -> None:
        seen.add(place)
        made(self, file, value, place)

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "__init__", noted)
        comparison.compare(Reader("A.json", whole), Reader("B.json", whole))
    return [
        place
        for place in places(whole)
        if ".".join(map(str, place)) in seen or place[0] in ("input", "parameters")
    ]


def changed(body: Any, place: tuple[str | int, ...], other: object) -> Any:
    """The document with another value at one place."""
    found = here = copy.copy(body)
    for key in place[:-1]:
        here[key] = copy.copy(here[key])
        here = here[key]
    if other is GONE:
        del here[place[-1]]
    else:
        here[place[-1]] = other
    return found


def wrong(a: Any, b: Any) -> str:
    """What is wrong with comparing two documents; "" where nothing is."""
    try:
        result = comparison.compare(Reader("A.json", a), Reader("B.json", b))
        text = render_sections(sections(result))
        json.loads(to_json(document("compare", result)))
    except UsageError as error:
        return "" if "\n" not in str(error) and str(error) else f"message {str(error)!r}"
    except Exception as error:  # noqa: BLE001 (any other is the finding)
        return f"{type(error).__name__}: {error}"
    return "prints None" if "None in " in text or " in B: None" in text else ""


@pytest.mark.parametrize(
    "options",
    [("--no-bound",), ("--sample", "0.95")],
    ids=["whole", "sample"],
)
def test_a_damaged_document_is_compared_or_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    code, out, _ = run("analyze", SAMPLE, "--json", *options)
    assert code == 0
    whole = json.loads(out)
    read = places_read(whole, monkeypatch)
    assert len(read) > 100
    found = {}
    for n, (place, other) in enumerate(itertools.product(read, OTHERS)):
        damaged = changed(whole, place, other)
        sides = ((damaged, whole), (whole, damaged), (damaged, damaged))
        if said := wrong(*sides[n % 3]):
            found[(place, repr(other))] = said
    assert found == {}


def test_the_mutations_bite(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that trusts the curve to have points, and one that prints None, are noticed."""
    whole = json.loads(run("analyze", SAMPLE, "--json", "--no-bound")[1])
    empty = changed(whole, ("capacity", "points"), [])
    assert wrong(whole, empty) == ""
    with monkeypatch.context() as trusting:
        first = lambda a, b, *, of: [b.value["capacity"]["points"][0]]
        trusting.setattr(comparison, "_crossed", first)
        assert wrong(whole, empty).startswith("IndexError")
    unnamed = changed(whole, ("parameters", "skip"), [None])
    assert wrong(unnamed, whole) == ""
    with monkeypatch.context() as printing:
        printing.setattr(comparison, "_setting", lambda here: "None")
        assert wrong(unnamed, whole) == "prints None"


def test_two_documents_without_a_field_are_not_called_different(run: Run) -> None:
    whole = json.loads(run("analyze", SAMPLE, "--json", "--no-bound")[1])
    empty = changed(whole, ("parameters", "model"), {})
    with pytest.raises(UsageError, match=r"A\.json: .*parameters\.model\.name"):
        comparison.compare(Reader("A.json", empty), Reader("B.json", whole))
