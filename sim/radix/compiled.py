"""The interned engine as machine code, made by numba.

An analysis of a large log is hundreds of replays, which take most of its time in Python. Here one
takes about a tenth (``scripts/bench/replay.py`` has both for every policy on the conversation trace,
``scripts/bench/scale.py`` whole analyses). Compiling takes seconds once; the machine code is kept
beside the kernels, or where numba finds a folder it can write.

The loop is that of :func:`cache_worthy.sim.radix.interned.replay_interned`, its oracle: every field
of the result is the same, which needs the same floating-point operations in the same order and the
same ties. Where it saves time and changes no result the loop differs: under lru victims are found
without ranking any node, indices are unsigned, the fields of a node lie side by side, and the heap
compares without branches. The numbers come from elsewhere:

* Keys are doubles, as there. Weights (such as ``cost / size``) come from the policy's own Python
  function, called once for every pair of depths that a node can have, because Python divides
  integers beyond 2**53 exactly and machine code would not.
* Costs never enter. The kernel returns the blocks matched by each request; totals are formed in
  Python integers, because the FLOPs of a long log do not fit 64 bits.
* Sizes are integers of 64 bits; a capacity from 2**62 on goes to the plain engine. Evicted bytes
  follow from the books in Python integers, and the kernel's own sum, modulo 2**64, must agree.

Evidence: rank 5, random forests against the oracle, and mistakes planted in the kernels' text
(``tests/sim/radix/test_compiled.py``, ``test_kernel_mutations.py``).
"""

from __future__ import annotations

import contextlib
import importlib
import math
import pickle
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_worthy.sim.columns import Ints
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import choose
from cache_worthy.sim.radix.policies.base import KeyRule

LARGEST = 1 << 62
"""Sizes and capacities from here on are left to the plain engine."""

PAIRS = 1 << 17
"""A forest with more pairs of depths than this, and than requests, is left to the plain engine.

They may be quadratic: one conversation of 3,000 turns has 4.5 million, whose weights take many times
as long as the plain replay. The conversation trace has 2,813.
"""

TABLES = 1 << 21
"""Weights that a forest keeps at once: 16 MB."""

RANKS = 1 << 20
"""Pairs of depths, whether they occur or not, up to which their ranks are a table: 4 MB."""

_LEVELS = {"none": 0, "max": 1, "last": 2}


def replay_compiled(
    forest: Forest,
    rule: KeyRule,
    capacity: int,
    sizes: Sequence[int],
    costs: Sequence[int],
    held: bytearray | None = None,
) -> Outcome | None:
    """As :func:`~cache_worthy.sim.radix.interned.replay_interned`; None where it cannot be exact.

    Raises
    ------
    InvariantError
        If no victim is left or the books do not balance.
    """
    if capacity >= LARGEST or sizes[-1] >= LARGEST:
        return None
    found = _weights(forest, rule, sizes, costs)
    if found is None:
        return None
    matched = np.empty(forest.requests, np.int32)
    where = *_arrays(forest), np.array(sizes, np.int64), capacity
    if held is None and rule.base == "clock" and rule.weight is None:
        counts = _run("lru", *where, matched)
    else:
        counts = _run(
            "rules",
            *where,
            rule.base == "clock", rule.mult == "freq", _LEVELS[rule.level],
            rule.weight is not None, _ranks(forest), *found, forest.depth + 1,
            # Always a bytearray: for read-only bytes the kernel would be compiled once more.
            held is not None, np.frombuffer(held or bytearray(1), np.uint8),
            matched,
        )  # fmt: skip
    return _outcome(forest, capacity, sizes, costs, matched, *map(int, counts))


def _outcome(
    forest: Forest,
    capacity: int,
    sizes: Sequence[int],
    costs: Sequence[int],
    matched: NDArray[np.int32],
    status: int,
    where: int,
    evictions: int,
    once: int,
    evicted: int,
    used: int,
) -> Outcome:
    """What the kernel found, in exact integers."""
    faults = {
        1: f"request {where}: nothing can leave",
        2: f"static node {where} is resident and its parent is not",
        3: f"the books say {used} resident, the nodes {where}",
        7: f"static node {where} is held and left",
    }
    if status:
        raise InvariantError(faults[status])
    found = np.bincount(matched, minlength=forest.depth + 1).tolist()
    pairs = [(forest.lengths[depth] - n, depth) for depth, n in enumerate(found)]
    loaded = sum(n * sizes[depth] for n, depth in pairs)
    if (loaded - used - evicted) % (1 << 64):
        raise InvariantError(f"{evicted} evicted, but {loaded} loaded and {used} resident")
    references, hits = forest.references, sum(n * depth for depth, n in enumerate(found))
    return Outcome(
        capacity=capacity,
        block_references=references,
        distinct_blocks=forest.distinct,
        hit_blocks=hits,
        block_misses=references - hits,
        total_cost=sum(n * costs[depth] for n, depth in pairs),
        compulsory_cost=forest.compulsory(costs),
        evictions=evictions,
        evicted_size=loaded - used,
        resident_size=used,
        matched=Ints("i", matched.tobytes()),
        evicted_once=once,
    )


def _arrays(forest: Forest) -> tuple[NDArray[np.uint32], ...]:
    """Terminals, parents, starts and ends for the kernels.

    The root is one more node, the last, so that no index is negative.
    """
    found: tuple[NDArray[np.uint32], ...] | None = forest.memo.get("arrays")
    if found is None:
        root = forest.nodes
        columns = [np.frombuffer(forest.terminal, np.int32)]
        for column, of_root in ((forest.parent, root), (forest.start, 0), (forest.end, 0)):
            columns.append(np.append(np.frombuffer(column, np.int32), np.int32(of_root)))
        found = tuple(np.where(c < 0, root, c).astype(np.uint32) for c in columns)
        forest.memo["arrays"] = found
    return found


def few_pairs(forest: Forest) -> bool:
    """Whether replays of this forest are machine code under every policy; see ``PAIRS``."""
    return _pairs(forest) is not None


def _pairs(forest: Forest) -> NDArray[np.uint64] | None:
    """Depths ``(start, end)`` that an online node can have, as ``start * (depth + 1) + end``.

    Such a node is a chain of static nodes, so it starts where one does and ends where one of those
    below it does. None where there are more than ``PAIRS`` and than requests.
    """
    if "pairs" not in forest.memo:
        forest.memo["pairs"] = _few_pairs(forest, max(PAIRS, forest.requests))
    found: NDArray[np.uint64] | None = forest.memo["pairs"]
    return found


def _few_pairs(forest: Forest, limit: int) -> NDArray[np.uint64] | None:
    _, up, *depths = _arrays(forest)
    start, end = (d.astype(np.int64) for d in depths)
    stride, root = forest.depth + 1, forest.nodes
    above = np.arange(root, dtype=np.uint32)
    below = end[:-1]
    found, parts, waiting = np.empty(0, np.int64), [], 0
    while len(above):
        parts.append(np.unique(start[above] * stride + below))
        waiting += len(parts[-1])
        above = up[above]
        kept = above != root
        above, below = above[kept], below[kept]
        if waiting > limit or not len(above):
            found, parts, waiting = np.unique(np.concatenate([found, *parts])), [], 0
            if len(found) > limit:
                return None
    return found.view(np.uint64)


def _ranks(forest: Forest) -> NDArray[np.uint32]:
    """The rank of every pair among :func:`_pairs`, by pair; empty where that is a large table.

    A look-up instead of a bisection shows in the time of a replay.
    """
    found: NDArray[np.uint32] | None = forest.memo.get("ranks")
    if found is None:
        pairs, whole = _pairs(forest), (forest.depth + 1) ** 2
        if pairs is None or whole > RANKS:
            found = np.zeros(0, np.uint32)
        else:
            found = np.zeros(whole, np.uint32)
            found[pairs] = np.arange(len(pairs))
        forest.memo["ranks"] = found  # complete: another thread may look for it
    return found


def _weights(
    forest: Forest, rule: KeyRule, sizes: Sequence[int], costs: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]] | None:
    """Pairs of depths and the weight of each; None where a double would not do what Python does."""
    if rule.weight is None:
        return np.empty(0, np.uint64), np.empty(0, np.float64)
    pairs = _pairs(forest)
    if pairs is None:
        return None
    tables: dict[object, NDArray[np.float64]] = forest.memo.setdefault("weights", {})
    key = (rule.weight, tuple(sizes), tuple(costs))
    found = tables.get(key)
    if found is None:
        values, stride = [], forest.depth + 1
        for pair in pairs.tolist():
            s, e = divmod(pair, stride)
            try:
                value = rule.weight(sizes[e] - sizes[s], costs[e] - costs[s], s)
                number = float(value)
            except Exception:  # noqa: BLE001 (the plain engine raises it, if it meets the pair)
                return None
            # Python adds an integer to the float level by rounding it once, as a double does; it
            # multiplies and adds two integers without rounding. Other numbers have other rules.
            if type(value) is int and (rule.mult, rule.base) != ("one", "level"):
                exact = abs(value) < 1 << 22
            else:
                exact = type(value) in (int, float)
            if not exact or not math.isfinite(number):
                return None
            values.append(number)
        found = np.array(values, np.float64)
        if len(tables) * len(pairs) >= TABLES:
            tables.clear()
        tables[key] = found
    return pairs, found


def _run(name: str, *arguments: Any) -> Any:
    """What a kernel returns.

    If its machine code cannot be kept (a full disk) or read back (a file cut short by a crash), it is
    made for this process alone; files that cannot be read are removed for the next one.
    """
    try:
        with _uninterrupted():
            return getattr(_kernels(), name)(*arguments)
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        folder = _kept()
        if choose.on_disk and folder and not isinstance(error, OSError):
            for file in folder.glob("*.nb[ci]"):
                file.unlink(missing_ok=True)
        choose.on_disk = False
        importlib.reload(_kernels())
        with _uninterrupted():
            return getattr(_kernels(), name)(*arguments)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """The first Ctrl-C waits until the end; the second does not.

    While a function is compiled, LLVM calls back into Python, which can raise nothing there: it
    would print a traceback, forget the Ctrl-C and carry on.
    """
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []

    def once(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if len(pressed) == 1:
            signal.raise_signal(signal.SIGINT)


def _kernels() -> Any:
    """The module of the kernels."""
    return importlib.import_module("cache_worthy.sim.radix.kernels")


def _kept() -> Path | None:
    """The folder in which numba keeps the machine code; None where it found none."""
    kept = _kernels().books.stats.cache_path
    return None if kept is None else Path(kept)
