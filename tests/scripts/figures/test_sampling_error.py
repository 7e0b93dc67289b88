"""The errors of samples are printed for both logs, and a sample of everything has none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import script
from sampled_errors import Errors

LOGS = ("conversation", "synthetic")


def test_both_logs_are_measured(write: Callable[..., Path], tmp_path: Path) -> None:
    # 150 conversations of three turns in rounds: each block comes back after 150 requests.
    records = [
        {"timestamp": i, "input_length": 512 * (turn + 2), "output_length": 1,
         "hash_ids": [10 * c + t for t in range(turn + 2)]}
        for i, (turn, c) in enumerate((turn, c) for turn in range(3) for c in range(150))
    ]  # fmt: skip
    for name in LOGS:
        write(*records, name=f"{name}_trace.jsonl")
    options = ("--traces", tmp_path, "--seeds", "1", "--fractions", "1", "0.5", "0.01")
    done = script("figures/sampling_error.py", *options)
    assert done.returncode == 0, done.stderr
    out = done.stdout
    for name in LOGS:
        whole, half, small = (
            f"{name}, F = {f}, {n} of 1" for f, n in ((1, 1), (0.5, 1), (0.01, 0))
        )
        assert whole in out
        assert half in out
        assert small in out
    figures = [float(x) for x in re.findall(r"cost ratio: mean \|error\| ([0-9.]+)", out)]
    assert len(figures) == 4
    assert figures[0] == figures[2] == 0.0
    assert figures[1] == figures[3] > 0.0


def test_draws_count_as_one_each() -> None:
    errors = Errors()
    # Two draws at ten capacities: one always inside, one never.
    for draw, error in ((1, 0.0), (2, 1.0)):
        for place in range(10):
            errors.add(error, 0.5, draw, place)
    assert errors.covered == 0.5
    # Each is off by 10 halves: sqrt(2 * (25 + 25)) / 20.
    assert errors.covered_error() == pytest.approx(0.5)
    assert math.isnan(errors.least_covered())
    for draw in range(10):
        errors.add(float(draw < 3), 0.5, draw, "narrow")
    assert errors.least_covered() == pytest.approx(0.7)
