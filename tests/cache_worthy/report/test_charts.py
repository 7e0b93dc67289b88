"""Charts and scales by hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from cache_worthy.report.charts import (
    GIB,
    Bar,
    CapacityChart,
    Draw,
    HistogramChart,
    Interval,
    IntervalChart,
    Point,
    SplitChart,
    lower_steps,
)
from cache_worthy.report.drawing import NARROW, WIDE, Drawing, log_ticks, nice_step, within


def test_the_bound_between_capacities_is_that_of_the_larger() -> None:
    """By hand: a bound holds at every smaller capacity, never at a larger one."""
    assert lower_steps(10, 100, [(10, 1.5), (20, 1.2), (40, 1.0)]) == (
        (10, 1.5), (10, 1.5), (10, 1.2), (20, 1.2), (20, 1.0), (40, 1.0), (40, 1.0), (100, 1.0),
    )  # fmt: skip


def test_scales() -> None:
    for low, high in ((0.001, 0.0011), (0.3, 4000), (5, 5.1), (0.51, 0.93), (1e-6, 1e6)):
        ticks = log_ticks(low, high, 6)
        assert 2 <= len(ticks) <= 7
        assert ticks == sorted(ticks)
        assert all(low <= t <= high for t in ticks)
    for span in (1e-9, 0.37, 1, 12, 9.99e5):
        step = nice_step(span, 5)
        assert span / step <= 5 * (1 + 1e-9)
        assert f"{step:e}"[0] in "125"


def test_anchors_keep_text_in_the_picture() -> None:
    assert (within(2, "label", 100), within(50, "label", 100), within(99, "label", 100)) == (
        "start",
        "middle",
        "end",
    )


def drawn(chart: Draw, wide: bool = True) -> ET.Element:
    return ET.fromstring(f"<svg>{chart(wide).markup}</svg>")


def numbers(path: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path.get("d") or "")]


def curve(*values: tuple[int, float], steps: tuple[tuple[int, float], ...] = ()) -> CapacityChart:
    points = tuple(Point(size * GIB, value, "p") for size, value in values)
    return CapacityChart(points, points[:1], points[:1] * bool(steps), steps, (("m", 2 * GIB),))


def test_the_capacity_curve_by_hand() -> None:
    """1, 4 and 16 GiB are equally far apart; costs of 1 stand on the axis, dearer ones higher."""
    root = drawn(curve((1, 1.5), (4, 1.25), (16, 1.0)))
    (line,) = (e for e in root.iter("path") if e.get("class") == "lru-line")
    (a, b, c), foot = numbers(line), 340 - 44
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.11)
    assert c[1] == foot
    assert foot - b[1] == pytest.approx((foot - a[1]) / 2, abs=0.11)
    ticks = [e.text for e in root.iter("text") if float(e.get("y", 0)) == foot + 18]
    assert ticks == ["1", "2", "5", "10"]
    (mark,) = (e for e in root.iter("line") if e.get("class") == "rule")
    assert float(mark.get("x1", 0)) == pytest.approx((a[0] + b[0]) / 2, abs=0.11)


def test_nobody_is_below_the_bound() -> None:
    """The shaded part ends where the bound does, and begins at the axis."""
    steps = lower_steps(GIB, 16 * GIB, [(GIB, 1.3), (4 * GIB, 1.1)])
    root = drawn(curve((1, 1.5), (4, 1.25), (16, 1.0), steps=steps))
    shaded, bound = (
        next(numbers(e) for e in root.iter("path") if e.get("class") == name)
        for name in ("never", "bound-line")
    )
    assert shaded[1:-1] == bound
    assert shaded[0][1] == shaded[-1][1] == 340 - 44
    assert bound[0][1] < bound[2][1] < bound[4][1] == 340 - 44


@pytest.mark.parametrize("wide", [True, False])
def test_a_curve_of_one_capacity_is_drawn(wide: bool) -> None:
    """Floor and working set may be the same, and nothing may cost more than it must."""
    root = drawn(curve((1, 1.0), (1, 1.0)), wide)
    assert "nan" not in ET.tostring(root, encoding="unicode")


def test_errors_do_not_reach_below_the_minimum() -> None:
    points = (Point(GIB, 1.02, "p", error=0.5), Point(4 * GIB, 1.0, "p"))
    root = drawn(CapacityChart(points, (), (), (), ()))
    (error,) = (e for e in root.iter("line") if e.get("class") == "error")
    assert float(error.get("y1", 0)) == 340 - 44


@pytest.mark.parametrize("wide", [True, False])
def test_the_pieces_of_a_bar_are_its_whole(wide: bool) -> None:
    bars = (
        Bar("a", "v", " (more)", ((0.25, "memory", "m"), (0.0, "undecided", "u"), (0.75, "foresight", "f")), 0.5),
        Bar("b", "v", "", (), None),
    )  # fmt: skip
    root = drawn(SplitChart(bars, "nothing"), wide)
    width = WIDE if wide else NARROW
    boxes = [e for e in root.iter("rect") if e.get("class") != "empty"]
    assert [e.get("class") for e in boxes] == ["memory", "foresight"]
    first, second = ((float(e.get("x", 0)), float(e.get("width", 0))) for e in boxes)
    assert first == (0, width / 4)
    assert second == (width / 4 + 1, 3 * width / 4 - 1)  # two pieces never touch
    (tick,) = (e for e in root.iter("line") if e.get("class") == "tick")
    assert float(tick.get("x1", 0)) == width / 2
    words = [e.text for e in root.iter("text")]
    assert words == ["a (more)" if wide else "a", "v", "25.0%", "75.0%", "b", "v", "nothing"]


def test_the_heights_of_a_histogram() -> None:
    bins = (("1", 0.5, "one"), ("2", 0.25, "two"), ("4", 0.001, "four"), ("8", 0.0, "none"))
    root = drawn(HistogramChart(bins, "axis"))
    one, two, few, none = (float(e.get("height", 0)) for e in root.iter("rect"))
    assert two == pytest.approx(one / 2, abs=0.11)
    assert none == 0 < few
    words = [e.text for e in root.iter("text")]
    assert "<1%" in words
    assert "50%" in words
    assert words[-1] == "axis"


def test_a_narrow_histogram_leaves_labels_out() -> None:
    bins = tuple((str(2**n), 1 / 16, "b") for n in range(16))
    words = [e.text for e in drawn(HistogramChart(bins, "axis"), wide=False).iter("text")]
    shown = [w for w in words if w and w.isdigit()]
    assert 2 < len(shown) < 16
    assert shown == [str(2**n) for n in range(0, 16, 16 // len(shown) + (16 % len(shown) > 0))]


@pytest.mark.parametrize("log", [True, False])
def test_intervals_by_hand(log: bool) -> None:
    """From low to high with a point between them; an axis without a span is widened."""
    rows = (Interval("a", "v", 1.0, 4.0, 2.0, "t"), Interval("b", "v", 1.0, 1.0, 1.0, "t"))
    root = drawn(IntervalChart(rows, "axis", mark=(4.0, "mark"), log=log))
    spans = [e for e in root.iter("line") if e.get("class") == "span"]
    low, high = float(spans[0].get("x1", 0)), float(spans[0].get("x2", 0))
    point = float(next(root.iter("circle")).get("cx", 0))
    assert (point - low) / (high - low) == pytest.approx(0.5 if log else 1 / 3, abs=0.001)
    assert spans[1].get("x1") == spans[1].get("x2")
    (rule,) = (e for e in root.iter("line") if e.get("class") == "rule")
    assert float(rule.get("x1", 0)) == high
    flat = drawn(IntervalChart(rows[1:], "axis", mark=(1.0, "mark"), log=log))
    assert "nan" not in ET.tostring(flat, encoding="unicode")


def test_text_in_drawings_is_escaped() -> None:
    drawing = Drawing(100, 100)
    drawing.label(1, 1, "<b>&\x00\ud800")
    drawing.box((0, 0), (1, 1), css="plain", title="</title><script>")
    drawing.mark("dot", (1, 1), css="lru", title='"<')
    root = ET.fromstring(drawing.svg('"><script>', "wide"))
    assert root.get("aria-label") == '"><script>'
    assert [e.text for e in root.iter("text")] == ["<b>&\\x00\\ud800"]
    assert [e.text for e in root.iter("title")] == ["</title><script>", '"<']
    assert not list(root.iter("script"))
