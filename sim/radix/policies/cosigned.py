"""Cosigned Landlord: the rent of a resident node may be paid by its resident dependents.

The rate form of ``proofs/cosigned.md``, on the radix tree. A node without credit ("bankrupt") hands
its rate to one resident child, its cosigner, instead of going into debt; nothing is ever settled, so
an event costs the chains of cosigners that leave its path, not a walk over the resident tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from cache_worthy.sim.errors import InvariantError
from cache_worthy.sim.radix.policies.base import EvictionPolicy
from cache_worthy.sim.radix.tree import Node, Priority

# Float levels are sums of quotients; a run-out may fall short of the level by rounding only.
ROUNDING = 1e-9


@dataclass(slots=True, eq=False)
class _Account:
    """The rule's record of one resident node.

    Attributes
    ----------
    credit, base : float or Fraction
        Credit at level ``base``; a solvent, unpinned node loses ``rate`` a level from there.
    carry : int
        Sizes of the ancestors that this node pays for; its rate is ``node.size + carry``.
    cosigner : _Account or None
        The account that pays a bankrupt node's rate; None for a solvent node.
    entry : int
        Number of its valid heap entry, 0 for none.
    touched : int
        Clock of the last touch.
    kids : dict
        Resident children by node id, least recently touched first.
    """

    node: Node
    credit: float | Fraction = 0
    base: float | Fraction = 0
    carry: int = 0
    cosigner: _Account | None = None
    entry: int = 0
    touched: int = 0
    kids: dict[int, _Account] = field(default_factory=dict)

    @property
    def rate(self) -> int:
        return self.node.size + self.carry


class Cosigned(EvictionPolicy):
    """Landlord in which debt is collected from dependents, never forgiven.

    Keeps Young's ``k/(k-h+1)`` on forests as far as the checks of ``proofs/`` reach, where the cost
    of a block does not fall with depth (it evicts whole runs of blocks); a worst-case repair, not
    a policy that pays less on every log. A bankrupt node's cosigner is its most recently touched
    child. Nodes that run out of credit at one level are evicted least recently touched first, then
    deepest first. A split divides credit in proportion to cost (in proportion to size, paid credit
    would be lost and the bound with it).

    Parameters
    ----------
    number : callable
        ``float``, or ``Fraction`` for an exact run (levels then grow in length without bound).

    Notes
    -----
    Checked at every rise of the level: the rates of the solvent unpinned nodes sum to the size of
    the unpinned nodes. Time an event: depth in nodes squared at worst, and a heap operation for
    every account it changes.
    """

    name = "cosigned"
    summary = (
        "Landlord whose rent dependents pay too; keeps the flat bound on trees where the cost of a "
        "block does not fall with depth"
    )
    source = "this project, proofs/cosigned.md; after Young 2002"
    # Half of the time of all replays without machine code; on both Mooncake traces it is cheapest at
    # two capacities, by 0.02 percent of the recompute at most.
    by_default = False
    chooses = True

    def __init__(self, number: Callable[[int], float | Fraction] = float) -> None:
        self._number = number
        self.level: float | Fraction = number(0)
        self._accounts: dict[int, _Account] = {}
        self._roots: dict[int, _Account] = {}
        self._heap: list[tuple[float | Fraction, int, int, int, _Account]] = []
        self.entries = 0  # heap entries made: the work done, and their numbering
        self._clock = 0
        self._pinned: list[_Account] = []
        self._rates = 0  # of the solvent unpinned nodes
        self._unpinned = 0  # size of the unpinned nodes

    def priority(self, node: Node, clock: int) -> Priority:
        """Level at which the node runs out of credit, if nothing changes; for inspection."""
        account = self._accounts[node.id]
        return float(account.base + account.credit / account.rate)

    # -- hooks ----------------------------------------------------------------------------------

    def on_split(self, upper: Node, lower: Node, clock: int) -> None:
        self._begin(clock, (upper, lower))
        above = self._accounts[upper.id]
        below = _Account(lower)
        self._accounts[lower.id] = below
        below.kids, above.kids = above.kids, {lower.id: below}
        below.touched = above.touched
        below.base = above.base
        if above.cosigner is not None:
            # The sizes that were handed down now pass through the lower half, which is as
            # bankrupt as the whole was; the hit that follows takes the upper half's back.
            below.cosigner, above.cosigner = above.cosigner, below
            below.carry = above.rate
        else:
            self._rebase(above, above.rate + lower.size)
            below.base = above.base
            whole = upper.cost + lower.cost
            if whole:
                below.credit = above.credit * lower.cost / whole
                above.credit -= below.credit
            self._enter(above)
            self._enter(below)

    def on_hit(self, node: Node, clock: int) -> None:
        self._begin(clock)
        u = self._accounts[node.id]
        if u.cosigner is not None:
            w, u.cosigner = u.cosigner, None
            self._add(w, -u.rate)
        else:
            self._rates -= u.rate
        if u.carry:
            raise InvariantError(f"{node!r}: still carries a rate of {u.carry} when touched")
        u.entry = 0
        u.touched = clock
        siblings = self._siblings(u)
        del siblings[node.id]
        siblings[node.id] = u
        self._unpinned -= node.size
        self._pinned.append(u)

    def on_insert(self, node: Node, clock: int) -> None:
        self._begin(clock)
        u = _Account(node)
        u.touched = clock
        self._accounts[node.id] = u
        self._siblings(u)[node.id] = u
        self._pinned.append(u)

    def choose(self, clock: int, scan: bool) -> Node:
        """Raise the level until a node without dependents runs out of credit; that node."""
        self._begin(clock)
        while True:
            u = self._next(scan)
            run_out = u.base + u.credit / u.rate
            if run_out > self.level:
                if self._rates != self._unpinned:
                    raise InvariantError(
                        f"solvent nodes pay for {self._rates} units, {self._unpinned} are unpinned"
                    )
                self.level = run_out
            elif run_out < self.level - ROUNDING * (1 + self.level):
                raise InvariantError(f"{u.node!r} ran out at {run_out}, the level is {self.level}")
            u.entry = 0
            u.credit = self._number(0)
            u.base = self.level
            if not u.kids:
                return u.node
            self._rates -= u.rate
            self._pick(u)

    def on_evict(self, node: Node, clock: int) -> None:
        self._begin(clock)
        u = self._accounts.pop(node.id)
        self._rates -= u.rate
        self._unpinned -= node.size
        del self._siblings(u)[node.id]
        p = None if node.parent is None else self._accounts.get(node.parent.id)
        if p is not None and p.cosigner is u:
            p.cosigner = None
            p.credit = self._number(0)
            p.base = self.level
            if p.kids:
                self._pick(p)
            else:
                self._rates += p.rate
                self._enter(p)

    # -- the rule -------------------------------------------------------------------------------

    def _begin(self, clock: int, split: tuple[Node, Node] | None = None) -> None:
        """At the first event of a request, key and unpin the path of the one before.

        The level rises within evictions only, so this is the level after that request. Where the
        first event is a split of a node on that path, the node is keyed as it was, whole.
        """
        if clock == self._clock:
            return
        self._clock = clock
        for u in self._pinned:
            size, cost = 0, u.node.cost
            if split is not None and u.node is split[0]:
                size, cost = split[1].size, cost + split[1].cost
            u.credit = self._number(cost)
            u.base = self.level
            self._rates += u.rate + size
            self._unpinned += u.node.size + size
            self._enter(u)
        self._pinned.clear()

    def _siblings(self, u: _Account) -> dict[int, _Account]:
        parent = u.node.parent
        return self._roots if parent is None or not parent.id else self._accounts[parent.id].kids

    def _rebase(self, u: _Account, rate: int) -> None:
        """Charge a solvent account up to the present level."""
        if u.base != self.level:
            left = u.credit - (self.level - u.base) * rate
            u.credit = left if left > 0 else self._number(0)  # below zero by rounding only
            u.base = self.level

    def _add(self, u: _Account, rate: int) -> None:
        """Hand a rate to ``u``, or take it back, along its chain of cosigners."""
        while u.cosigner is not None:
            u.carry += rate
            u = u.cosigner
        self._rebase(u, u.rate)
        u.carry += rate
        self._rates += rate
        self._enter(u)

    def _pick(self, u: _Account) -> None:
        """Give ``u``, out of credit, its most recently touched child as cosigner."""
        w = u.kids[next(reversed(u.kids))]
        u.cosigner = w
        self._add(w, u.rate)

    def _enter(self, u: _Account) -> None:
        self.entries += 1
        u.entry = self.entries
        run_out = u.base + u.credit / u.rate
        heapq.heappush(self._heap, (run_out, u.touched, -u.node.depth, u.entry, u))

    def _next(self, scan: bool) -> _Account:
        """The solvent unpinned account that runs out first."""
        if scan:
            live = [u for u in self._accounts.values() if u.entry]
            if live:
                return min(
                    live, key=lambda u: (u.base + u.credit / u.rate, u.touched, -u.node.depth)
                )
        while self._heap:
            entry = heapq.heappop(self._heap)
            if entry[4].entry == entry[3]:
                return entry[4]
        raise InvariantError("no node can leave, yet room was asked for")
