"""The interned engine as machine code, by numba: an optional extra (``cache-worthy[fast]``).

Why it is there: an analysis of a large log with every section is hundreds of replays, which took most
of its time in Python. Here one takes about a tenth (``scripts/bench/replay.py`` has both
for every policy on the conversation trace, ``scripts/bench/scale.py`` whole analyses).

The loop is that of :func:`cache_worthy.sim.radix.interned.replay_interned`, and that one is its oracle (for
cosigned the node engine): every field of the result is the same, which needs the same floating-point
operations in the same order and the same ties. What changes no result was changed where it took the
time: under lru victims are found without ranking any node, indices are unsigned, what is known of a
node lies together, the heap compares without branches, and a claim of cosigned that has become later
waits in it. Evidence: rank 5, random forests against the oracle and the mistakes planted in this
text (``tests/sim/radix/test_compiled.py``). What differs otherwise is where the numbers come from:

* Keys are doubles, as there. Weights (``cost / size`` and the like) come from the policy's own
  Python function, called once for every pair of depths that a node can have, because Python divides
  integers beyond 2**53 exactly and machine code would not.
* Costs never enter. The kernel returns blocks matched by request; totals are formed afterwards in
  Python integers, because FLOPs of a long log do not fit 64 bits.
* Sizes are integers of 64 bits; a capacity from 2**62 on goes to the plain engine. Evicted bytes
  follow from the books in Python integers, and the kernel's own sum, modulo 2**64, must agree.

Compiling takes seconds once; the machine code is kept beside this file, or where numba finds room.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import math
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cache_worthy.sim.columns import Ints
from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.radix import choose
from cache_worthy.sim.radix.policies.base import KeyRule
from cache_worthy.sim.radix.policies.cosigned import ROUNDING

LARGEST = 1 << 62
"""Sizes and capacities from here on are left to the plain engine."""

PAIRS = 1 << 17
"""A forest with more pairs of depths than this, and than requests, is left to the plain engine.

They may be quadratic: of one conversation of 3,000 turns, 4.5 million, whose weights take many times
as long as the plain replay. The conversation trace has 2,813.
"""

TABLES = 1 << 21
"""Weights that a forest keeps at once: 16 MB."""

RANKS = 1 << 20
"""Pairs of depths, whether there or not, up to which their places are a table: 4 MB."""

_BROKEN = {
    4: "an account still carries a rate when touched",
    5: "the rates of the solvent nodes are not the unpinned size",
    6: "an account ran out below the level",
}

KERNELS = ("lru", "rules", "cosigned")
"""Their names, which are those of their modules."""

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
    a = _arrays(forest)
    where = a["terminal"], a["up"], a["start"], a["end"], np.array(sizes, np.int64), capacity
    matched = np.empty(forest.requests, np.int32)
    found = _weights(forest, rule, sizes, costs)
    if found is None:
        return None
    if held is None and rule.base == "clock" and _within_a_clock(found[1]):
        counts = _run("lru", *where, matched)
        return _outcome(forest, capacity, sizes, costs, matched, *map(int, counts))
    counts = _run(
        "rules",
        *where,
        rule.base == "clock", rule.mult == "freq", _LEVELS[rule.level],
        rule.weight is not None, _ranks(forest), *found, forest.depth + 1,
        # A bytearray in any case: of read-only bytes the kernel would be compiled once more.
        held is not None, np.frombuffer(held or bytearray(1), np.uint8),
        matched,
    )  # fmt: skip
    return _outcome(forest, capacity, sizes, costs, matched, *map(int, counts))


def _within_a_clock(weights: NDArray[np.float64]) -> bool:
    """Whether keys ``clock + weight`` rank childless nodes as the clock alone does.

    Keys of two clocks do not change places then, and of the nodes that share a clock, which lie on
    one path, one at most is childless. So it is with ``lru`` and ``recursive_lru``.
    """
    return not len(weights) or (weights.min() >= -0.5 and weights.max() <= 0)


def replay_cosigned(
    forest: Forest, capacity: int, sizes: Sequence[int], costs: Sequence[int]
) -> Outcome | None:
    """As the node engine under :class:`~cache_worthy.sim.radix.policies.cosigned.Cosigned`, in floats.

    Returns None, and raises, as :func:`replay_compiled`.
    """
    if capacity >= LARGEST or sizes[-1] >= LARGEST:
        return None
    found = _weights(forest, _COST, sizes, costs)
    if found is None:
        return None
    a = _arrays(forest)
    matched = np.empty(forest.requests, np.int32)
    counts = _run(
        "cosigned",
        a["terminal"], a["up"], a["start"], a["end"],
        np.array(sizes, np.int64), capacity,
        _ranks(forest), *found, forest.depth + 1, ROUNDING,
        matched,
    )  # fmt: skip
    return _outcome(forest, capacity, sizes, costs, matched, *map(int, counts))


#: Not a policy: the cost of every pair of depths as a double.
_COST = KeyRule(base="level", weight=lambda size, cost, depth: cost)


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
    if status == 1:
        raise InvariantError(f"request {where}: nothing can leave")
    if status == 2:
        raise InvariantError(f"static node {where} is resident and its parent is not")
    if status == 7:
        raise InvariantError(f"static node {where} is held and left")
    if status in _BROKEN:
        raise InvariantError(f"request {where}: {_BROKEN[status]}")
    if status:
        raise InvariantError(f"the books say {used} resident, the nodes {where} (rule {status})")
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
        matched=_as_ints(matched),
        evicted_once=once,
    )


def _as_ints(values: NDArray[np.int32]) -> Ints:
    out = Ints("i")
    out.frombytes(values.tobytes())
    return out


def _arrays(forest: Forest) -> dict[str, NDArray[np.uint32]]:
    """The forest for the kernels: the root is one more node, the last, and no index is negative."""
    found: dict[str, NDArray[np.uint32]] | None = forest.memo.get("arrays")
    if found is None:
        root = forest.nodes
        columns = {
            "terminal": (forest.terminal, ()),
            "up": (forest.parent, (root,)),
            "start": (forest.start, (0,)),
            "end": (forest.end, (0,)),
        }
        found = {}
        for name, (column, more) in columns.items():
            array = np.append(np.frombuffer(column, np.int32), np.array(more, np.int32))
            array[array < 0] = root
            found[name] = array.view(np.uint32)
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
    a = _arrays(forest)
    start, end, up = a["start"].astype(np.int64), a["end"].astype(np.int64), a["up"]
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
    """The place of every pair among :func:`_pairs`, by pair; empty where that is a large table.

    A look-up in place of a bisection shows in the time of a replay.
    """
    found: NDArray[np.uint32] | None = forest.memo.get("ranks")
    if found is None:
        pairs, whole = _pairs(forest), (forest.depth + 1) ** 2
        if pairs is None or whole > RANKS:
            whole = 0
        found = np.zeros(whole, np.uint32)
        if pairs is not None and whole:
            found[pairs] = np.arange(len(pairs))
        forest.memo["ranks"] = found  # whole: another thread may look for it
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
        stride = forest.depth + 1
        values = []
        for pair in pairs.tolist():
            s, e = divmod(pair, stride)
            try:
                value = rule.weight(sizes[e] - sizes[s], costs[e] - costs[s], s)
            except Exception:  # noqa: BLE001 (the plain engine raises it, if it meets the pair)
                return None
            # Python adds an integer to the float level by rounding it once, as a double does; it
            # multiplies and adds two integers without rounding. Other numbers have rules of their own.
            if type(value) is int and (rule.mult, rule.base) != ("one", "level"):
                exact = abs(value) < 1 << 22
            else:
                exact = type(value) in (int, float)
            if not exact:
                return None
            values.append(value)
        try:
            found = np.array([float(v) for v in values], np.float64)
        except OverflowError:
            return None
        if not all(map(math.isfinite, values)):
            return None
        if len(tables) * len(pairs) >= TABLES:
            tables.clear()
        tables[key] = found
    return pairs, found


def _run(name: str, *arguments: Any) -> Any:
    """What a kernel returns.

    Where its machine code cannot be kept (a full disk) or read back (a file cut short by a crash),
    it is made for this process alone; what cannot be read is removed for the next one.
    """
    try:
        with _uninterrupted():
            return _kernels()[name](*arguments)
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        if choose.on_disk and not isinstance(error, OSError):
            _forget()
        choose.on_disk = False
        for module in _modules():
            importlib.reload(module)
        _kernels.cache_clear()
        with _uninterrupted():
            return _kernels()[name](*arguments)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """The first Ctrl-C waits until the end; the second does not.

    Where a function is compiled, LLVM calls back into Python, which can raise nothing there: it
    would print a traceback, forget the Ctrl-C and go on.
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


@cache
def _kernels() -> dict[str, Callable[..., Any]]:
    """The machine code, compiled or loaded at the first call."""
    common, *modules = _modules()
    if choose.on_disk:
        _forget_stale(Path(str(common.__file__)))
    return {name: getattr(module, name) for name, module in zip(KERNELS, modules, strict=True)}


def _modules() -> list[ModuleType]:
    """What the kernels share, and the module of each."""
    package = "cache_worthy.sim.radix.kernels"
    return [importlib.import_module(f"{package}.{n}") for n in ("common", *KERNELS)]


def _kept() -> Path | None:
    """The folder in which numba keeps the machine code; None where it found none."""
    kept = _modules()[0].books.stats.cache_path
    return None if kept is None else Path(kept)


def _forget() -> None:
    """Remove the machine code that is kept."""
    folder = _kept()
    for file in [] if folder is None else folder.glob("*.nb[ci]"):
        file.unlink(missing_ok=True)


def _forget_stale(shared: Path) -> None:
    """Remove machine code made with another version of what the kernels share.

    numba compares the file of a kernel alone.
    """
    folder = _kept()
    if folder is None:
        return
    stamp, digest = folder / "common.sha256", hashlib.sha256(shared.read_bytes()).hexdigest()
    with contextlib.suppress(OSError):
        if not stamp.exists() or stamp.read_text() != digest:
            _forget()
            folder.mkdir(parents=True, exist_ok=True)
            stamp.write_text(digest)
