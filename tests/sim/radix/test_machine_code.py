"""Where machine code is used, kept, read back and made again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import pytest
from radix_cases import random_forest

from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.radix import choose, compiled, kernels
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay


def test_without_numba_the_plain_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(2)
    capacity = 20 * BlockSize().block
    with_it = replay(forest, POLICIES["gdsf"](), capacity, engine="compiled")
    monkeypatch.setattr(choose, "SINGLE_FROM", 1)
    assert choose.wanted(forest.requests)
    assert replay(forest, POLICIES["gdsf"](), capacity) == with_it
    monkeypatch.setattr(choose, "available", lambda: False)
    assert not choose.wanted(10**9)
    assert replay(forest, POLICIES["gdsf"](), capacity) == with_it
    with pytest.raises(InputError, match="needs numba"):
        replay(forest, POLICIES["gdsf"](), capacity, engine="compiled")


def test_numba_that_does_not_import_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    choose.available.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not choose.available()
    assert not choose.wanted(10**9)
    choose.available.cache_clear()


def test_numba_that_may_not_compile_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    choose.available.cache_clear()
    assert not choose.available()
    choose.available.cache_clear()


@pytest.mark.parametrize("error", [OSError(28, "No space left"), EOFError(), UnpicklingError()])
def test_machine_code_that_no_disk_keeps_is_made_in_the_process(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [tmp_path / name for name in ("rules.rules-1.py311.nbi", "rules.rules-1.py311.1.nbc")]
    other = tmp_path / "rules.cpython-311.pyc"
    for file in (*kept, other):
        file.touch()
    done: list[object] = []

    def broken(*arguments: object) -> object:
        raise error

    def rules(*arguments: object) -> object:
        return broken(*arguments) if choose.on_disk else arguments

    module = types.SimpleNamespace(rules=rules)

    monkeypatch.setattr(compiled, "_kept", lambda: tmp_path)
    monkeypatch.setattr("importlib.reload", done.append)
    monkeypatch.setattr(compiled, "_kernels", lambda: module)
    monkeypatch.setattr(choose, "on_disk", True)
    assert compiled._run("rules", 1, 2) == (1, 2)
    assert not choose.on_disk
    assert done == [module]
    # What cannot be read would cost the compilation in every process to come.
    assert [file.exists() for file in kept] == [isinstance(error, OSError)] * 2
    assert other.exists()


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_waits_for_the_kernel_once(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []

    def kernel() -> None:
        for n in range(times):
            signal.raise_signal(signal.SIGINT)
            reached.append(n)

    monkeypatch.setattr(compiled, "_kernels", lambda: types.SimpleNamespace(rules=kernel))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled._run("rules")
        assert reached == [0]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        # Elsewhere than in the main thread, and where nobody listens, nothing is changed.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        compiled._run("rules")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    with ThreadPoolExecutor(1) as pool, compiled._uninterrupted():
        inside = signal.getsignal(signal.SIGINT)
        assert pool.submit(_handler_inside).result() is inside


def _handler_inside() -> object:
    with compiled._uninterrupted():
        return signal.getsignal(signal.SIGINT)


@pytest.mark.slow
def test_a_full_disk_costs_the_compilation_only(tmp_path: Path) -> None:
    text = """
import resource
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
forest = build_forest([(1, 2), (1, 3), (1, 2)])
capacity = 2 * BlockSize().block
one, two = (replay(forest, POLICIES["lru"](), capacity, engine=e) for e in ("compiled", "interned"))
print(one == two)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_without_a_place_for_machine_code_it_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(**options: object) -> Callable[[Any], Any]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function)

    monkeypatch.setattr(kernels, "njit", nowhere)
    made: object = kernels.compiled(print)
    assert made == ("compiled", print)


def test_what_threads_share_is_whole_before_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = random_forest(6)
    arange = np.arange

    def look(*arguments: Any, **named: Any) -> Any:
        assert "ranks" not in forest.memo
        return arange(*arguments, **named)

    monkeypatch.setattr(np, "arange", look)
    ranks = compiled._ranks(forest)
    assert forest.memo["ranks"] is ranks
    assert len(set(ranks.tolist())) > 10


def test_small_logs_do_not_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "_loaded", False)
    choose.expect_many(choose.MANY_FROM - 1)
    assert not choose.wanted(choose.SINGLE_FROM - 1)
    choose.expect_many(choose.MANY_FROM)
    assert choose.wanted(choose.LOADED_FROM)
    assert not choose.wanted(choose.LOADED_FROM - 1)
