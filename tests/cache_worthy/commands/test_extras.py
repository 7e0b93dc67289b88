"""A whole analysis is the same, byte for byte, with numba and orjson and without."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.sim import forest
from cache_worthy.sim.radix import choose as fast

Run = Callable[..., tuple[int, str, str]]


def conversations(requests: int) -> list[dict[str, object]]:
    """Prompts that grow turn by turn, branch and share their start."""
    rng = random.Random(11)
    ids: dict[tuple[int, ...], int] = {}
    rows: list[tuple[int, ...]] = [(0,)]
    records: list[dict[str, object]] = []
    for n in range(requests):
        base = rng.choice(rows[-25:])
        row = base[: rng.randint(1, len(base))]
        row += tuple(rng.randrange(3) for _ in range(rng.randint(0, 9 - len(row) % 9)))
        rows.append(row)
        blocks = [ids.setdefault(row[: k + 1], 5 * len(ids)) for k in range(len(row))]
        records.append({"timestamp": n, "input_length": 512 * len(row) - 100, "hash_ids": blocks})
    return records


def switch(patch: pytest.MonkeyPatch, on: bool) -> None:
    """The fast ways for logs of any size, or none of them."""
    if on:
        patch.setattr(fast, "MANY_FROM", 1)
        patch.setattr(fast, "SINGLE_FROM", 1)
        patch.setattr(fast, "LOADED_FROM", 1)
        patch.setattr(forest, "COLUMNAR_FROM", 1)
    else:
        patch.setattr(fast, "available", lambda: False)
        patch.setattr(forest, "COLUMNAR_FROM", 1 << 60)
        patch.setitem(sys.modules, "orjson", None)


def documents(run: Run, *arguments: object) -> list[str]:
    """The JSON of an analysis, the fast ways on and off."""
    found = []
    for on in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            switch(patch, on)
            code, out, err = run("analyze", *arguments, "--json", "-q")
        assert code == 0, err
        found.append(out)
    return found


def test_of_a_constructed_log(run: Run, write: Callable[..., Path]) -> None:
    with_them, without = documents(run, write(*conversations(250)), "--skip", "bound")
    assert with_them == without
    assert '"evictions"' in without


@pytest.mark.parametrize("hidden", [("numba", "orjson"), ("numba",), ()])
def test_a_large_log_says_once_what_is_missing(
    hidden: tuple[str, ...], run: Run, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a platform or Python has no wheel: the plain engine answers, and says so."""
    log = write(*conversations(fast.MANY_FROM + 1))
    expected = run("analyze", log, "--json", "--skip", "bound,band")[:2]
    fast.available.cache_clear()
    monkeypatch.setattr(fast, "_loaded", False)
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        code, out, err = run("analyze", log, "--json", "--skip", "bound,band")
        assert (code, out) == expected
        said = f"slower without {' and '.join(hidden)}, the results are the same"
        assert [said in line for line in err.splitlines() if "slower" in line] == [True] * bool(
            hidden
        )
        assert fast.available() == ("numba" not in hidden)
        assert "slower" not in run("analyze", log, "--json", "--skip", "bound,band", "-q")[2]
        small = write(*conversations(fast.MANY_FROM))
        assert "slower" not in run("convert", small, "-o", "-")[2]
    finally:
        fast.available.cache_clear()


@pytest.mark.traces
@pytest.mark.parametrize("trace", ["conversation", "synthetic"])
def test_of_a_trace(run: Run, traces: Path, trace: str) -> None:
    with_them, without = documents(run, traces / f"{trace}_trace.jsonl", "--skip", "bound")
    assert with_them == without
