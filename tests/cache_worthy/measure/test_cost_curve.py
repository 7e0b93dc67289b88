"""A measured cost curve: read strictly, interpolated exactly, used relatively (ranks 2 and 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cache_worthy.errors import UsageError
from cache_worthy.measure.cost_curve import RESOLUTION, CostCurve, load_curve
from cache_worthy.sim.cost import DEFAULT_MODEL

Run = Callable[..., tuple[int, str, str]]

REST = "bound,splits,tails,coldstart,causes,pinsim"


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        file = tmp_path / "curve"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(
    "text",
    [
        "512,1\n1536,4.5\n",
        "tokens,milliseconds\n512, 1\n\n1536, 4.5",
        "\ufefftokens,cost\r\n512,1\r\n1536,4.5\r\n",
        "[[512, 1], [1536, 4.5]]",
        ' [{"tokens": 512, "cost": 1.0}, {"cost": 45e-1, "tokens": 1536}]',
    ],
)
def test_every_spelling_is_the_same_curve(put: Callable[[str], Path], text: str) -> None:
    """By hand: 1 at 512 and 4.5 at 1536 are 1/2 at 256, 2.75 at 1024."""
    curve = load_curve(str(put(text)))
    assert (curve.points, curve.first_tokens, curve.last_tokens) == (2, 512, 1536)
    assert [curve.at(n) for n in (0, 256, 512, 1024, 1536)] == [
        0,
        Fraction(1, 2),
        1,
        Fraction(11, 4),
        Fraction(9, 2),
    ]
    assert curve.cumulative(3, 512) == [0, 4, 11, 18]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no pair"),
        ("tokens,cost\n", "holds no pair"),
        ("[]", "holds no pair"),
        ("512,2\n1024,2", "line 2: cost 2.0 after 2.0"),
        ("512,2\n1024,1", "both rise"),
        ("1024,1\n512,2", "line 2: tokens 512 after 1024"),
        ("512,0", "line 1: cost 0.0; expected positive"),
        ("512,-1", "line 1: cost -1.0"),
        ("0,1", "line 1: tokens 0"),
        ("-5,1", "line 1: tokens -5"),
        ("5.5,1", "an integer from 1"),
        ("9999999999,1", "an integer from 1"),
        ("512,nan", "line 1: cost NaN"),
        ("512,sNaN", "line 1: cost sNaN"),
        ("512,inf", "line 1: cost Infinity"),
        ("512,1e999999999", "a positive number"),
        ("512,1e-999999999", "a positive number"),
        ("512,1\n1024,two", "line 2: expected two numbers"),
        ("512,1,1", "3 columns"),
        ("512", "1 column"),
        ('512,"1', "not CSV"),
        ("[[512, 1]", "not JSON"),
        ("{}", "expected an array"),
        ("[[512]]", "point 1"),
        ('[{"tokens": 512}]', "point 1"),
        ('[[512, "1"]]', "point 1: cost 1"),
        ("[[512, true]]", "point 1: cost True"),
        ("[[true, 1]]", "point 1: tokens True"),
        ("[[512, NaN]]", "point 1: cost nan"),
        ("[[512, " + "9" * 5000 + "]]", "not JSON"),
    ],
)
def test_a_bad_curve_is_one_line(
    run: Run, sample: Path, put: Callable[[str], Path], text: str, says: str
) -> None:
    file = put(text)
    code, out, err = run("analyze", sample, "--cost-curve", file)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith(f"cache-worthy: --cost-curve {file}: ")
    assert says in err


def test_files_that_cannot_be_read(run: Run, sample: Path, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    for name in (tmp_path / "absent", tmp_path, binary):
        code, out, err = run("analyze", sample, "--cost-curve", name)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_it_is_a_member_of_the_band_only(
    run: Run, sample: Path, put: Callable[[str], Path]
) -> None:
    code, _, err = run("analyze", sample, "--cost-curve", put("9999,1"), "--skip", "band")
    assert (code, "--skip band" in err) == (2, True)
    code, _, err = run("analyze", sample, "--cost-curve", put("9999,1"), "--sample", "0.5")
    assert (code, "--sample 0.5 leaves out" in err) == (2, True)


def test_nothing_is_extrapolated(coarse: Run, sample: Path, put: Callable[[str], Path]) -> None:
    """The sample's deepest prompt is 6 blocks of 512 tokens."""
    code, out, err = coarse("analyze", sample, "--cost-curve", put("512,1\n3071,2"))
    assert (code, out) == (2, "")
    assert "ends at 3071 tokens, and this log has prompts of 3072" in err
    assert coarse("analyze", sample, "--cost-curve", put("512,1\n3072,2"), "--skip", REST)[0] == 0


def band(run: Run, *argv: object) -> dict[str, Any]:
    code, out, err = run("analyze", *argv, "--skip", REST, "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["parameters"]["cost_curve"].keys() == {
        "source",
        "points",
        "first_tokens",
        "last_tokens",
    }
    found: dict[str, Any] = document["band"]
    return found


@pytest.mark.parametrize("unit", ["1", "3", "0.0001"])
def test_the_model_s_own_curve_answers_as_the_model_in_any_unit(
    coarse: Run, sample: Path, put: Callable[[str], Path], unit: str
) -> None:
    """Points at block boundaries, so that interpolation adds nothing."""
    rows = [f"{512 * n},{DEFAULT_MODEL.prefill(512 * n) * Fraction(unit)}" for n in range(1, 7)]
    if unit == "0.0001":
        rows = [f"{512 * n},{DEFAULT_MODEL.prefill(512 * n)}e-4" for n in range(1, 7)]
    found = band(coarse, sample, "--cost-curve", put("\n".join(rows)))
    own, measured = found["members"][0], found["members"][-1]
    assert (own["name"], measured["name"]) == (DEFAULT_MODEL.name, "measured curve")
    assert (measured["linear"], measured["quadratic"]) == (None, None)
    assert measured["ceiling"] == own["ceiling"]
    for key in ("worth_caching", "recommended_fraction", "block_bytes", "top_pin"):
        assert measured[key] == own[key]
    for one, other in zip(own["rows"], measured["rows"], strict=True):
        assert one["best"] == other["best"]
        assert one["cost_ratios"] == other["cost_ratios"]


def test_a_linear_curve_answers_as_linear_only(
    run: Run, sample: Path, put: Callable[[str], Path]
) -> None:
    members = {m["name"]: m for m in band(run, sample, "--cost-curve", put("600000,7"))["members"]}
    one, other = members["linear only"], members["measured curve"]
    assert other["ceiling"] == one["ceiling"]
    assert [r["cost_ratios"] for r in other["rows"]] == [r["cost_ratios"] for r in one["rows"]]
    text = " ".join(
        run("analyze", sample, "--cost-curve", put("600000,7"), "--skip", REST)[1].split()
    )
    assert "the measured curve has its file's unit and enters relatively" in text


@pytest.mark.parametrize(
    ("text", "falls"),
    [("600000,7", False), ("512,1\n600000,9999", False), ("512,9\n600000,99", True)],
)
def test_a_curve_that_breaks_the_hypothesis_of_cosigned_is_noted(
    run: Run, sample: Path, put: Callable[[str], Path], text: str, falls: bool
) -> None:
    assert load_curve(str(put(text))).falls == falls
    argv = ("analyze", sample, "--cost-curve", put(text), "--skip", REST)
    assert "cosigned" not in run(*argv)[1]
    said = " ".join(run(*argv, "--policies", "all")[1].split())
    assert ("cosigned's worst-case guarantee does not hold under it" in said) == falls


POINTS = st.lists(
    st.tuples(st.integers(1, 3000), st.fractions(Fraction(1, 1000), 1000)), min_size=1, max_size=8
)


@settings(deadline=None)
@given(POINTS, st.integers(150, 700))
def test_interpolation_is_monotone_and_meets_the_points(
    steps: list[tuple[int, Fraction]], block: int
) -> None:
    """(Rank 2.) The integers never fall; they are in proportion, or rounded once."""
    tokens, costs = [0], [Fraction(0)]
    for more, cost in steps:
        tokens.append(tokens[-1] + more)
        costs.append(costs[-1] + cost)
    curve = CostCurve("", len(steps), tokens[1], tokens[-1], tuple(tokens[1:]), tuple(costs[1:]))
    assert [curve.at(n) for n in tokens] == costs
    middle = Fraction(tokens[-1] + tokens[-2], 2)
    if middle.denominator == 1:
        assert curve.at(int(middle)) == (costs[-1] + costs[-2]) / 2
    table = curve.cumulative(tokens[-1] // block, block)
    assert table[0] == 0
    assert table == sorted(table)
    exact = [curve.at(n * block) for n in range(len(table))]
    if all(v * exact[-1] == e * table[-1] for v, e in zip(table, exact, strict=True)):
        return
    for value, e in zip(table, exact, strict=True):
        assert abs(value - e / costs[-1] * RESOLUTION) <= Fraction(1, 2)


def test_lengths_without_a_common_factor_are_rounded_once() -> None:
    tokens, costs = (10007, 20021, 30059, 40087), [Fraction(n, 7919) for n in (1, 3, 8, 9)]
    curve = CostCurve("", 4, tokens[0], tokens[-1], tokens, tuple(costs))
    table = curve.cumulative(40, 1000)
    assert table == [round(curve.at(1000 * n) * 7919 * RESOLUTION / 9) for n in range(41)]
    assert max(table) <= RESOLUTION


def test_past_the_end_is_refused() -> None:
    curve = CostCurve("f", 1, 10, 10, (10,), (Fraction(1),))
    with pytest.raises(UsageError, match="ends at 10 tokens"):
        curve.at(11)
