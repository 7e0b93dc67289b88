"""Two rules that look like cosigned Landlord and do not keep its bound: regression witnesses."""

from __future__ import annotations

from collections.abc import Iterator

from cache_worthy.theory.algorithms.cosigned import CosignedTouch, SubtreeCredit
from cache_worthy.theory.steps import Event, Evict, ModelError, Rent, divide


class DensityForgiving(CosignedTouch):
    """Minimum-density subtrees with signed credits, where a hit *forgives* a node's debt.

    The touch form without its settlements: a touched node is simply reset to its cost, whatever
    it owed, and the least dense subtree leaves with the debts inside it.
    """

    def prepare(self, v: int) -> Iterator[Event]:
        return iter(())

    def _settle(self, u: int) -> Iterator[Event]:
        return iter(())


class LeafPaysPath(SubtreeCredit):
    """Every evictable leaf pays rent for its whole path; interior nodes pay nothing.

    A prefix shared by many leaves is then paid for many times over.
    """

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        yield from self._reset(path[: len(path) - len(missing)])
        while self.short(missing):
            leaves = self.evictable()
            if not leaves:
                raise ModelError("no evictable node, yet the path fits")
            rate = {u: self.instance.path_size(u) for u in leaves}
            delta = min(divide(self._credit[u], rate[u]) for u in leaves)
            if delta > 0:
                for u in leaves:
                    self._credit[u] -= delta * rate[u]
                yield Rent(delta, tuple((u, delta * rate[u]) for u in sorted(leaves)))
            victim = next(u for u in leaves if not self._credit[u])
            yield self._remove(victim)
        yield from self._load(missing)

    def _remove(self, u: int) -> Evict:
        if self._credit[u]:
            raise ModelError(f"node {u} would leave with credit {self._credit[u]}")
        return super()._remove(u)
