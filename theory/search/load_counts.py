"""What offline schedules can load, whatever the costs: Pareto-minimal vectors of load counts.

Which schedules are feasible depends on the forest, the sizes, the requests and the capacity only.
Costs enter linearly, so the optimum for any costs is the least product with one of these vectors.
The searches with symbolic costs need exactly this; for one instance with numbers,
``oracles.optimal_cost`` is the judge, and ``tests/theory/test_search.py`` holds the two together.
"""

from __future__ import annotations

from cache_worthy.theory.forests import Parent

Vector = tuple[int, ...]


def pareto(vectors: list[Vector]) -> list[Vector]:
    """The componentwise minimal vectors, sorted.

    Examples
    --------
    >>> pareto([(1, 2), (2, 1), (2, 2), (1, 2)])
    [(1, 2), (2, 1)]
    """
    best: list[Vector] = []
    for vector in sorted(set(vectors)):
        if not any(all(a <= b for a, b in zip(w, vector, strict=True)) for w in best):
            best.append(vector)
    return best


class Schedules:
    """All load-count vectors of offline schedules at capacity ``h``, up to dominance.

    A layer maps a resident set (bit mask) to the Pareto-minimal load counts that reach it.
    """

    def __init__(self, parent: Parent, size: tuple[int, ...], h: int) -> None:
        self.n = len(parent)
        self.size = size
        self.h = h
        self._above = [0] * self.n
        for v in range(self.n):
            u: int | None = v
            while u is not None:
                self._above[v] |= 1 << u
                u = parent[u]
        self._below = [
            sum(1 << w for w in range(self.n) if self._above[w] >> v & 1) for v in range(self.n)
        ]
        self._after: dict[tuple[int, int], tuple[int, ...]] = {}

    def start(self) -> dict[int, list[Vector]]:
        """Before the first request: the empty cache, nothing loaded."""
        return {0: [(0,) * self.n]}

    def _volume(self, mask: int) -> int:
        return sum(self.size[u] for u in range(self.n) if mask >> u & 1)

    def successors(self, mask: int, v: int) -> tuple[int, ...]:
        """Maximal ancestor-closed sets within ``mask`` and the path to ``v`` that hold the path."""
        known = self._after.get((mask, v))
        if known is None:
            path = self._above[v]
            seen: set[int] = set()
            found: list[int] = []
            stack = [mask | path]
            while stack:
                state = stack.pop()
                if state in seen:
                    continue
                seen.add(state)
                if self._volume(state) <= self.h:
                    found.append(state)
                    continue
                for u in range(self.n):
                    if state >> u & 1 and not path >> u & 1 and state & self._below[u] == 1 << u:
                        stack.append(state & ~(1 << u))
            known = tuple(sorted(s for s in found if not any(s != t and s & t == s for t in found)))
            self._after[mask, v] = known
        return known

    def advance(self, layer: dict[int, list[Vector]], v: int) -> dict[int, list[Vector]]:
        """The layer after a request to ``v``."""
        after: dict[int, list[Vector]] = {}
        for mask, vectors in layer.items():
            missing = self._above[v] & ~mask
            loaded = [
                tuple(a + (missing >> u & 1) for u, a in enumerate(vector)) for vector in vectors
            ]
            for state in self.successors(mask, v):
                after.setdefault(state, []).extend(loaded)
        return {mask: pareto(vectors) for mask, vectors in after.items()}

    @staticmethod
    def vectors(layer: dict[int, list[Vector]]) -> list[Vector]:
        """Pareto-minimal load counts over all states of a layer."""
        return pareto([vector for vectors in layer.values() for vector in vectors])
