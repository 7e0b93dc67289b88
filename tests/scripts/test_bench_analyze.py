"""The bench of ``analyze`` measures the sections that it says, and notices one that is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bench_analyze import runs

Write = Callable[..., Path]


def test_each_run_has_the_sections_it_is_named_after(write: Write) -> None:
    log = write(*[{"hash_ids": [1, n % 7, 100 + n % 7]} for n in range(20)])
    found = runs(log, ["splits"])
    assert list(found) == ["none", "splits", "everything"]
    there = {
        name: {k for k in ("bound", "band", "splits") if json.loads(used.stdout)[k] is not None}
        for name, used in found.items()
    }
    assert there == {"none": set(), "splits": {"splits"}, "everything": {"bound", "band", "splits"}}
    assert all(used.cpu > 0 for used in found.values())


def test_a_section_that_did_not_run_is_no_figure(write: Write) -> None:
    log = write(*[{"hash_ids": [n]} for n in range(5)])  # question 1 ends the run
    with pytest.raises(RuntimeError, match="splits was measured and is not in the result"):
        runs(log, ["splits"])
