"""Charts of lines: where points, ticks and words are; the figures of the study by their values."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from study_cases import runs_of

from cache_worthy.report.lines import Axis, Chart, Line, lines_picture
from cache_worthy.report.study import _log, _study
from cache_worthy.study.results import LogPoint

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart: Chart) -> ET.Element:
    return ET.fromstring(lines_picture([chart], "x.svg"))


def test_points_are_where_the_axes_say() -> None:
    """On a logarithmic axis 10 is half way from 1 to 100; on the other, so is 50 from 0 to 100."""
    line = Line(((1.0, 0.0), (10.0, 50.0), (100.0, 100.0)), "one & two", 0, mark=3)
    root = drawn(
        Chart(
            "Title",
            across=Axis("x", log=True),
            up=Axis("y"),
            lines=(line,),
            notes=((10.0, 50.0, "here"),),
        )
    )
    *_, path = (e.get("d") or "" for e in root.iter(f"{SVG}path"))
    (left, foot), (middle, half), (right, top) = (
        map(float, point.split()) for point in path[1:].split("L")
    )
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert half == pytest.approx((top + foot) / 2, abs=0.1)
    assert left < right
    assert top < foot
    places = {
        e.text: (float(e.get("x") or 0), float(e.get("y") or 0)) for e in root.iter(f"{SVG}text")
    }
    assert places["10"][0] == middle
    assert places["here"] == pytest.approx((middle, half - 8), abs=0.1)
    assert {"Title", "one & two", "x", "y", "1", "100", "0", "80"} <= set(places)


@pytest.mark.parametrize("values", [(1.0, 1.0), (1e-9, 1e24), (3.0, 3.1)])
@pytest.mark.parametrize("log", [False, True])
def test_any_range_has_ticks(values: tuple[float, float], log: bool) -> None:
    line = Line(tuple((v, v) for v in values), "", 1)
    root = drawn(Chart("", across=Axis("", log), up=Axis("", log), lines=(line,)))
    assert sum(e.get("class") == "grid" for e in root.iter(f"{SVG}line")) >= 2
    numbers = re.findall(r'd="M([^"]*)"', ET.tostring(root, "unicode"))
    assert "nan" not in "".join(numbers)


def test_the_figure_of_the_study_shows_its_medians() -> None:
    rows = runs_of([(n, on, n + 1 + 2 * on) for n in (0, 64) for on in (False, True)])
    times, tokens = _study(rows)
    assert {line.label: [y for _, y in line.points] for line in times.lines} == {
        "cache off, p50": [1, 65],
        "cache off, p99": [2, 130],
        "cache on, p50": [3, 67],
        "cache on, p99": [6, 134],
    }
    assert {line.label: [y for _, y in line.points] for line in tokens.lines} == {
        "cache off": [50, 50],
        "cache on": [40, 40],
    }
    assert [words for *_, words in tokens.notes] == ["20 % skipped"] * 2


def test_the_figure_of_a_log_shows_its_points_and_its_fit() -> None:
    """Points (0, 1), (1, 3), (2, 2): slope 1/2, intercept 3/2, R^2 1/4."""
    points = [LogPoint(i, 9, 5 * (i == 1), i * 10**9, s) for i, s in enumerate((1.0, 3.0, 2.0))]
    fresh, cached, fit = _log(points).lines
    assert fresh.points == ((0.0, 1000.0), (2.0, 2000.0))
    assert cached.points == ((1.0, 3000.0),)
    assert [pytest.approx(p) for p in fit.points] == [(0.0, 1500.0), (2.0, 2500.0)]
    assert fit.label.startswith("least squares: R² 0.250; |residual| / measured: median 33 %")
