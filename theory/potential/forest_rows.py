"""The rent rows on whole forests, with symbolic sizes, sets and payments.

The sums of the rent rows in ``rows.py`` were split by hand; here nothing is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cache_worthy.theory.forests import Parent, forests
from cache_worthy.theory.potential.row import Formula

FOREST_MUTANTS: dict[str, tuple[str, ...]] = {
    "cosigned": (
        "weaker: (h-1) - 1/100",
        "without:payer below the one it pays for",
        "without:O ancestor-closed",
        "without:P within O",
        "without:room is short",
        "without:O fits",
    ),
    "landlord": (
        "weaker: a - a/100",
        "without:P within O",
        "without:room is short",
        "without:O fits",
        "wrong:m+1",
        "without:O ancestor-closed",
    ),
}
"""Mutants of :func:`rent_on_forest`; each must be satisfiable somewhere in the range."""


class _Forest:
    """A forest with symbolic sizes, A, O and the requested path."""

    def __init__(self, parent: Parent) -> None:
        import z3

        self.parent, self.nodes = parent, range(len(parent))
        self.below: list[list[int]] = [[] for _ in self.nodes]
        for w in self.nodes:
            u: int | None = w
            while u is not None:
                self.below[u].append(w)
                u = parent[u]
        self.above = [[u for u in self.nodes if w in self.below[u]] for w in self.nodes]
        self.size = z3.Reals(" ".join(f"size{v}" for v in self.nodes))
        self.in_a = [z3.Bool(f"A{v}") for v in self.nodes]
        self.in_o = [z3.Bool(f"O{v}") for v in self.nodes]
        self.on_path = [z3.Bool(f"P{v}") for v in self.nodes]
        self.unpinned = [z3.And(self.in_a[v], z3.Not(self.on_path[v])) for v in self.nodes]

    def total(self, member: list[Formula]) -> Formula:
        """Size of a set."""
        import z3

        return z3.Sum([z3.If(member[v], self.size[v], 0) for v in self.nodes])

    def closed(self, member: list[Formula]) -> list[Formula]:
        """A set holds the parent of each of its nodes."""
        import z3

        pairs = [(v, p) for v, p in enumerate(self.parent) if p is not None]
        return [z3.Implies(member[v], member[p]) for v, p in pairs]

    def always(self) -> list[Formula]:
        """Sizes are at least 1, and P is the path to some node."""
        import z3

        paths = [
            z3.And([p if u in self.above[v] else z3.Not(p) for u, p in enumerate(self.on_path)])
            for v in self.nodes
        ]
        return [*(s >= 1 for s in self.size), z3.Or(paths)]

    def hypotheses(self, k: int, h: int) -> dict[str, list[Formula]]:
        """What the rent row may assume, by name."""
        import z3

        together = [z3.Or(self.in_a[v], self.on_path[v]) for v in self.nodes]
        return {
            "A ancestor-closed": self.closed(self.in_a),
            "O ancestor-closed": self.closed(self.in_o),
            "P within O": [z3.Implies(self.on_path[v], self.in_o[v]) for v in self.nodes],
            "O fits": [self.total(self.in_o) <= h],
            "room is short": [self.total(together) >= k + 1],
        }


def _cosigned_rent(f: _Forest, k: int, h: int, mutant: str | None) -> tuple[list[Formula], Formula]:
    """How payments are made, and the row: ``pay[w, u]`` is what w pays of u's rent.

    Every unpinned resident u is paid size(u) in full.
    """
    import z3

    anyone = mutant == "without:payer below the one it pays for"
    rules: list[Formula] = []
    paid: list[Formula] = [z3.RealVal(0)] * len(f.nodes)
    for u in f.nodes:
        got: Formula = z3.RealVal(0)
        for w in f.nodes if anyone else f.below[u]:
            amount = z3.Real(f"pay_{w}_{u}")
            rules += [amount >= 0, z3.Implies(z3.Not(f.unpinned[w]), amount == 0)]
            paid[w] = paid[w] + amount
            got = got + amount
        rules.append(got == z3.If(f.unpinned[u], f.size[u], 0))
    weight = z3.RealVal(h - 1)
    if mutant == "weaker: (h-1) - 1/100":
        weight = weight - z3.Q(1, 100)
    inside = z3.Sum([z3.If(f.in_o[w], paid[w], 0) for w in f.nodes])
    dphi = -weight * z3.Sum(paid) + k * inside
    return rules, dphi <= -(f.total(f.on_path) - 1) * (k - h + 1)


def _landlord_rent(
    f: _Forest, k: int, h: int, largest: int, mutant: str | None
) -> tuple[list[Formula], Formula]:
    """How credit falls, and the row.

    Every resident node was requested as part of a path of size <= H. c+ of an unpinned resident
    falls by ``lost``, at most its rent; an evictable one has credit for all of its rent, because
    the rise is the minimum over the evictable ones.
    """
    import z3

    m = -(-(k - h + 1) // largest) + (mutant == "wrong:m+1")
    rules: list[Formula] = []
    gone: list[Formula] = []
    for v in f.nodes:
        path = z3.Sum([f.size[u] for u in f.above[v]])
        rules.append(z3.Implies(z3.Or(f.in_a[v], f.on_path[v]), path <= largest))
        lost = z3.Real(f"lost{v}")
        leaf = z3.And(f.unpinned[v], *(z3.Not(f.in_a[w]) for w in f.below[v] if w != v))
        rules += [lost >= 0, lost <= z3.If(f.unpinned[v], f.size[v], 0)]
        rules.append(z3.Implies(leaf, lost == f.size[v]))
        gone.append(lost)
    a = z3.Q(h - 1, m)
    rate = a * z3.Q(99, 100) if mutant == "weaker: a - a/100" else a
    outside = z3.Sum([z3.If(f.in_o[v], 0, gone[v]) for v in f.nodes])
    inside = z3.Sum([z3.If(f.in_o[v], gone[v], 0) for v in f.nodes])
    return rules, -rate * outside + inside <= 0


def rent_on_forest(
    table: str,
    parent: Parent,
    k: int,
    h: int,
    largest: int | None = None,
    mutant: str | None = None,
) -> str:
    """Decide the negated rent row on one forest, with symbolic sizes, sets and payments.

    The level rises by 1 (the row is homogeneous in the rise and the payments). Sizes are reals of
    at least 1 and the integrality that the row needs enters as "room is short by at least one
    unit"; this covers all integer sizes.

    Parameters
    ----------
    table : {"cosigned", "landlord"}
    parent : tuple
        Parents before children.
    k, h : int
        Capacities, ``1 <= h <= k``.
    largest : int, optional
        ``H`` of Theorem 1 (``landlord`` only): every requested path has size at most ``H``.
    mutant : str, optional
        One of :data:`FOREST_MUTANTS`.

    Returns
    -------
    str
        ``"unsat"``, ``"sat"`` or ``"unknown"``.
    """
    import z3

    if mutant is not None and mutant not in FOREST_MUTANTS[table]:
        raise KeyError(f"no mutant {mutant!r} of {table}: {FOREST_MUTANTS[table]}")
    forest = _Forest(parent)
    hypotheses = forest.hypotheses(k, h)
    if mutant is not None and mutant.startswith("without:"):
        hypotheses.pop(mutant.removeprefix("without:"), None)
    if table == "cosigned":
        rules, row = _cosigned_rent(forest, k, h, mutant)
    else:
        rules, row = _landlord_rent(forest, k, h, h if largest is None else largest, mutant)
    solver = z3.Solver()
    solver.set("timeout", 120_000)
    solver.add(*forest.always(), *rules, z3.Not(row))
    for formulas in hypotheses.values():
        solver.add(*formulas)
    return str(solver.check())


@dataclass(frozen=True, slots=True)
class ForestCheck:
    """How many forests and cases there were, and how each case was decided."""

    forests: int
    cases: int
    unsat: int
    sat: int
    unknown: int

    @property
    def result(self) -> str:
        """``unsat`` if every case is, ``sat`` if one is, else ``unknown``."""
        if self.sat:
            return "sat"
        return "unsat" if self.unsat == self.cases else "unknown"


def check_rent_on_forests(
    table: str, max_nodes: int, max_k: int, mutant: str | None = None
) -> ForestCheck:
    """The rent row on every forest up to ``max_nodes`` nodes, all ``1 <= h <= k <= max_k``.

    For ``landlord`` also all ``H <= h``. Running time: one z3 call per case, milliseconds each.
    """
    shapes = [p for n in range(1, max_nodes + 1) for p in forests(n)]
    decided = Counter(
        rent_on_forest(table, parent, k, h, largest, mutant)
        for parent in shapes
        for k in range(1, max_k + 1)
        for h in range(1, k + 1)
        for largest in (range(1, h + 1) if table == "landlord" else (None,))
    )
    return ForestCheck(
        forests=len(shapes),
        cases=decided.total(),
        unsat=decided["unsat"],
        sat=decided["sat"],
        unknown=decided["unknown"],
    )
