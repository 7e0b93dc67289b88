"""Cosigned Landlord, rate form: who pays for whom is explicit, and nothing is settled.

A node without credit ("bankrupt") passes its rate to one resident child, its cosigner. Stated in
``proofs/cosigned.md``; ``sim/radix/policies/cosigned.py`` is the same rule in floats on a radix tree.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from cache_worthy.theory.instance import Instance, Number
from cache_worthy.theory.steps import (
    Event,
    Evict,
    Hit,
    Load,
    ModelError,
    Rent,
    Tie,
    Transcription,
    divide,
)


class CosignedRate(Transcription):
    """Rate form. ``tie`` orders the nodes that run out of credit at the same level.

    The cosigner is the most recently touched resident child: on path requests no two children of
    a node are touched by the same request, so that is one node.

    Attributes
    ----------
    level : int or Fraction
        Rent per size charged since the start; never falls.
    """

    def __init__(self, instance: Instance, k: int, *, tie: Tie = "lru") -> None:
        super().__init__(instance, k, tie=tie)
        self.level: Number = 0
        self._credit: dict[int, Number] = {}  # at level _base
        self._base: dict[int, Number] = {}
        self._carry: dict[int, int] = {}  # rates of the ancestors this node pays for
        self._cosigner: dict[int, int] = {}  # bankrupt node -> child; bankrupt iff present

    def _rate(self, u: int) -> int:
        return self.instance.size[u] + self._carry[u]

    def credit(self, u: int) -> Number:
        if u in self.pinned or u in self._cosigner:
            return self._credit[u]
        return self._credit[u] - (self.level - self._base[u]) * self._rate(u)

    def _rebase(self, u: int) -> None:
        """Charge solvent ``u`` up to the present level; needed before its rate changes."""
        self._credit[u] -= (self.level - self._base[u]) * self._rate(u)
        self._base[u] = self.level

    def _run_out(self, u: int) -> Number:
        return self._base[u] + divide(self._credit[u], self._rate(u))

    def _add(self, u: int, rate: int) -> None:
        """Add ``rate`` (or take it back) along the chain of cosigners from ``u``."""
        while u in self._cosigner:
            self._carry[u] += rate
            u = self._cosigner[u]
        self._rebase(u)
        self._carry[u] += rate

    def _pick(self, u: int) -> None:
        """Give ``u``, out of credit, a cosigner."""
        w = max(self.kids(u), key=lambda x: self.touched[x])
        self._cosigner[u] = w
        self._add(w, self._rate(u))

    def _process(self, path: tuple[int, ...], missing: tuple[int, ...]) -> Iterator[Event]:
        cost = self.instance.cost
        held = path[: len(path) - len(missing)]
        # Nothing is pinned until its own turn: the rates below change solvent path nodes too.
        pinned, self.pinned = self.pinned, frozenset()
        for i, u in enumerate(held):  # root first, so that carry(u) is 0 when u is reached
            before = self.credit(u)
            self._take_back(u)
            if self._carry[u]:
                raise ModelError(f"node {u} still carries a rate of {self._carry[u]}")
            self._credit[u] = cost[u]
            self.pinned = frozenset(path[: i + 1])
            yield Hit(u, before, cost[u])
        self.pinned = pinned
        while self.short(missing):
            yield from self._round()
        for u in missing:
            self._bring(u)
            self._carry[u] = 0
            self._credit[u] = cost[u]
            yield Load(u, cost[u])
        for u in path:
            self._credit[u] = cost[u]
            self._base[u] = self.level

    def _take_back(self, u: int) -> None:
        """A bankrupt node that is about to be reset stops being paid for."""
        if u in self._cosigner:
            w = self._cosigner.pop(u)
            self._add(w, -self._rate(u))

    def _round(self) -> Iterator[Event]:
        """Raise the level until the next node runs out; it finds a cosigner or leaves."""
        solvent = [u for u in self.unpinned() if u not in self._cosigner]
        if not solvent:
            raise ModelError("no evictable node, yet the path fits")
        u = min(solvent, key=lambda x: (self._run_out(x), self._tie(self, x)))
        delta = self._run_out(u) - self.level
        if delta < 0:
            raise ModelError(f"node {u} ran out of credit below the level")
        if delta > 0:
            self._check_rates(solvent)
            self.level += delta
            yield Rent(delta, tuple((w, delta * self._rate(w)) for w in solvent))
        self._credit[u] = 0
        self._base[u] = self.level
        if self.resident_children[u]:
            self._pick(u)
            return
        p = self.instance.parent[u]
        self._drop(u)
        del self._credit[u], self._base[u], self._carry[u]
        if p is not None and self._cosigner.get(p) == u:
            del self._cosigner[p]
            self._credit[p] = 0
            self._base[p] = self.level
            if self.resident_children[p]:
                self._pick(p)
        yield Evict(u, 0)

    def _check_rates(self, solvent: list[int]) -> None:
        rates = sum(self._rate(u) for u in solvent)
        owed = sum(self.instance.size[u] for u in self.unpinned())
        if rates != owed:
            raise ModelError(f"solvent nodes pay for {rates} units, {owed} are unpinned")
        for u in solvent:
            if self.credit(u) < 0:
                raise ModelError(f"node {u} has credit {self.credit(u)}")

    def _state(self) -> Hashable:
        return tuple((u, self._carry[u], self._cosigner.get(u)) for u in sorted(self.resident))
