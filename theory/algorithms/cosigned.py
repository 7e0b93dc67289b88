"""Cosigned Landlord, eager and touch form: rent of a node may be paid by its dependents.

Stated in ``proofs/cosigned.md``. Debt is collected from resident descendants, never forgiven.
The rate form, which needs no walk over subtrees, is in ``cosigned_rate.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.steps import (
    Event,
    Evict,
    Hit,
    Load,
    ModelError,
    Rent,
    Settle,
    Tie,
    Transcription,
    divide,
)


class SubtreeCredit(Transcription):
    """Credits, and the sums over resident subtrees that both forms need."""

    def __init__(self, instance: Instance, k: int, *, tie: Tie = "lru") -> None:
        super().__init__(instance, k, tie=tie)
        self._credit: dict[int, Number] = {}

    def credit(self, u: int) -> Number:
        return self._credit[u]

    def _reset(self, nodes: Iterable[int]) -> Iterator[Event]:
        for u in nodes:
            before = self._credit[u]
            self._credit[u] = self.instance.cost[u]
            yield Hit(u, before, self._credit[u])

    def _load(self, missing: tuple[int, ...]) -> Iterator[Event]:
        for u in missing:
            self._bring(u)
            self._credit[u] = self.instance.cost[u]
            yield Load(u, self._credit[u])

    def _subtree_credit(self, u: int) -> Number:
        return sum((self._credit[w] for w in self.subtree(u)), 0)

    def _density(self, u: int) -> Number:
        tree = self.subtree(u)
        return divide(
            sum((self._credit[w] for w in tree), 0), sum(self.instance.size[w] for w in tree)
        )

    def _collect(self, nodes: Iterable[int]) -> Iterator[Settle]:
        """Clear every debt among ``nodes`` out of the debtor's descendants, bottom up.

        Bottom up, because a debtor nearer the root may then take only what its dependents can
        spare. Payers: on the pinned path first (their credit is reset next), then most recently
        touched, then nearest.
        """
        for u in sorted(nodes, key=lambda w: (-self.depth[w], w)):
            payers = sorted(
                self.subtree(u)[1:],
                key=lambda w: (w not in self.pinned, -self.touched[w], self.depth[w], w),
            )
            for w in payers:
                if self._credit[u] >= 0:
                    break
                amount = min(self._credit[w], -self._credit[u])
                if amount > 0:
                    self._credit[w] -= amount
                    self._credit[u] += amount
                    yield Settle(w, u, amount)
            if self._credit[u] < 0:
                raise ModelError(f"node {u} keeps a debt its dependents cannot pay")

    def _remove(self, u: int) -> Evict:
        self._drop(u)
        return Evict(u, self._credit.pop(u))

    def _remove_tree(self, u: int) -> Iterator[Event]:
        for w in reversed(self.subtree(u)):
            yield self._remove(w)


class CosignedEager(SubtreeCredit):
    """Credits stay non-negative; every subtree whose credit is used up leaves at once."""

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        yield from self._reset(path[: len(path) - len(missing)])
        while self.short(missing):
            nodes = self.unpinned()
            if not nodes:
                raise ModelError("no evictable node, yet the path fits")
            delta = min(self._density(u) for u in nodes)
            if delta > 0:
                before = {u: self._credit[u] for u in nodes}
                for u in nodes:
                    self._credit[u] -= delta * self.instance.size[u]
                for _ in self._collect(nodes):
                    pass  # who pays for whom inside one round is part of the round
                paid = ((u, before[u] - self._credit[u]) for u in nodes)
                yield Rent(delta, tuple((u, amount) for u, amount in paid if amount))
            # Credits are not negative, so a subtree of credit 0 holds only subtrees of credit 0.
            gone = {u for u in nodes if not self._subtree_credit(u)}
            for u in sorted(gone, key=lambda w: (-self.depth[w], self._tie(self, w))):
                yield self._remove(u)
        yield from self._load(missing)


class CosignedTouch(SubtreeCredit):
    """Signed credits; everyone is charged its own rent; debts are collected when a path is touched.

    The subtree of least density is settled and leaves whole. The closest form to Landlord, whose
    key is the case of a subtree of one node.
    """

    signed = True

    def prepare(self, v: int) -> Iterator[Event]:
        path = self.instance.path(v)
        if path[0] in self.resident:
            self.pinned = frozenset(path)  # who pays first
            yield from self._collect(self.subtree(path[0]))

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        yield from self._reset(path[: len(path) - len(missing)])
        while self.short(missing):
            nodes = sorted(self.unpinned(), key=lambda u: self._tie(self, u))
            if not nodes:
                raise ModelError("no evictable node, yet the path fits")
            tight = min(nodes, key=self._density)
            delta = self._density(tight)
            if delta < 0:
                raise ModelError(f"the subtree of node {tight} is in debt")
            if delta > 0:
                for u in nodes:
                    self._credit[u] -= delta * self.instance.size[u]
                yield Rent(delta, tuple((u, delta * self.instance.size[u]) for u in sorted(nodes)))
            yield from self._settle(tight)
            yield from self._remove_tree(tight)
        yield from self._load(missing)

    def _settle(self, u: int) -> Iterator[Event]:
        yield from self._collect(self.subtree(u))
