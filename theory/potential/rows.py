"""Every row of the two potential arguments as a z3 formula, each with mutated twins.

A row says how much one event may change the potential. Its formula has the event's quantities as
variables, constrained only by what the row may assume (its named hypotheses). The row holds if
``hypotheses and not conclusion`` is unsatisfiable. A *mutant* drops one hypothesis or puts a wrong
constant into the conclusion, and must be satisfiable: a row whose mutants are unsatisfiable too
would say nothing.

Two tables (``proofs/cosigned.md`` and ``proofs/refutation.md`` carry the prose):

* ``cosigned``: Young's potential ``(h-1) sum_A credit + k sum_O (cost - credit)`` for cosigned
  Landlord, rate ``k / (k-h+1)``.
* ``landlord``: ``a sum_A c+ + b sum_O (cost - c+)`` with ``c+ = max(0, credit)``,
  ``a = (h-1)/m``, ``b = a + 1``, ``m = ceil((k-h+1)/H)`` for Landlord under leaf-only eviction,
  rate ``1 + (h-1)/m``.

:func:`check_rent_on_forests` does the rent rows once more,
with symbolic sizes, sets and payments on every forest up to a size, so that nothing rests on a sum
that was split by hand.

Evidence: a decision procedure for the arithmetic of each row (established theory). That the events
of an algorithm satisfy the hypotheses is checked by the potential checker, and that the rows add
up to the bound is the row ``telescope``; neither replaces a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cache_worthy.theory.forests import Parent, forests

Formula = Any
"""A z3 expression; z3 ships no type stubs."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: hypotheses, conclusion, and what must break it.

    Attributes
    ----------
    table, name : str
        ``cosigned`` or ``landlord``, and the row's name in the table.
    says : str
        The row in words.
    hypotheses : dict of str to formula
        Named, so that each can be dropped.
    conclusion : formula
    needed : tuple of str
        Hypotheses without which the row must fail.
    wrong : dict of str to formula
        Conclusions with a wrong constant, which must fail.
    """

    table: str
    name: str
    says: str
    hypotheses: dict[str, Formula]
    conclusion: Formula
    needed: tuple[str, ...]
    wrong: dict[str, Formula] = field(default_factory=dict)

    def mutants(self) -> tuple[str, ...]:
        """Names of the mutated twins: ``without:HYPOTHESIS`` and ``wrong:CONSTANT``."""
        return (
            *(f"without:{name}" for name in self.needed),
            *(f"wrong:{name}" for name in self.wrong),
        )

    def check(self, mutant: str | None = None, *, timeout_ms: int = 60_000) -> str:
        """Decide the row's negation, or a mutant's.

        Returns
        -------
        str
            ``"unsat"`` (the row holds), ``"sat"`` (a counterexample exists) or ``"unknown"``.

        Raises
        ------
        KeyError
            If there is no such mutant.
        """
        import z3

        hypotheses = dict(self.hypotheses)
        conclusion = self.conclusion
        if mutant is not None:
            kind, _, name = mutant.partition(":")
            if mutant not in self.mutants():
                raise KeyError(
                    f"{self.table}.{self.name} has no mutant {mutant!r}: {self.mutants()}"
                )
            if kind == "without":
                del hypotheses[name]
            else:
                conclusion = self.wrong[name]
        solver = z3.Solver()
        solver.set("timeout", timeout_ms)
        solver.add(*hypotheses.values(), z3.Not(conclusion))
        return str(solver.check())


def _reals(names: str) -> Any:
    import z3

    return z3.Reals(names)


def _capacities() -> tuple[Formula, Formula, dict[str, Formula]]:
    k, h = _reals("k h")
    return k, h, {"h >= 1": h >= 1, "h <= k": h <= k}


def cosigned_rows() -> tuple[Row, ...]:
    """The table of cosigned Landlord (Young's potential), row by row."""
    import z3

    k, h, room = _capacities()
    c, cost, after, pay, x, d = _reals("c cost after pay x d")
    in_a, in_o = z3.Bools("in_a in_o")
    credit_range = {"credit >= 0": c >= 0, "credit <= cost": c <= cost}

    def phi(a: Formula, o: Formula, credit: Formula) -> Formula:
        """What one node adds to the potential; its credit counts as 0 off A."""
        held = z3.If(a, credit, 0)
        return (h - 1) * held + k * z3.If(o, cost - held, 0)

    yes, no = z3.BoolVal(True), z3.BoolVal(False)
    rows: list[Row] = []

    def add(
        name: str, says: str, hyps: dict[str, Formula], conclusion: Formula, **more: Any
    ) -> None:
        rows.append(Row("cosigned", name, says, hyps, conclusion, **more))

    add(
        "range",
        "after a payment, a reset or a load, 0 <= credit <= cost",
        {
            **credit_range,
            "payment >= 0": pay >= 0,
            "paid from credit": pay <= c,
            "event": z3.Or(after == c - pay, after == cost),
        },
        z3.And(after >= 0, after <= cost),
        needed=("paid from credit", "payment >= 0", "credit <= cost", "event"),
    )
    add(
        "floor",
        "a node adds at least 0 to the potential; 0 off A and O, where the run starts",
        {**room, **credit_range},
        z3.And(phi(in_a, in_o, c) >= 0, phi(no, no, c) == 0),
        needed=("h >= 1", "h <= k", "credit >= 0", "credit <= cost"),
    )
    opt_load = phi(in_a, yes, c) - phi(in_a, no, c)
    add(
        "opt-load",
        "the offline loads f: dPhi <= k cost(f)",
        {**room, **credit_range},
        opt_load <= k * cost,
        needed=("credit >= 0",),
        wrong={"k-1": opt_load <= (k - 1) * cost},
    )
    opt_evict = phi(in_a, no, c) - phi(in_a, yes, c)
    add(
        "opt-evict",
        "the offline evicts f: dPhi <= 0",
        {**room, **credit_range},
        opt_evict <= 0,
        needed=("credit <= cost",),
    )
    hit = phi(yes, in_o, cost) - phi(yes, in_o, c)
    add(
        "hit",
        "a resident f of the path is reset by x = cost - credit: dPhi = (h-1-k) x <= 0",
        {**room, **credit_range, "f in O": in_o},
        z3.And(hit == (h - 1 - k) * (cost - c), hit <= 0),
        needed=("h <= k", "f in O", "credit <= cost"),
        wrong={"h-k": hit == (h - k) * (cost - c)},
    )
    size_u, size_uo, paid_o, q = _reals("size_U size_UO paid_O q")
    rent = -(h - 1) * d * size_u + k * paid_o
    add(
        "rent",
        "one round, level up by d: dPhi <= -(q-1)(k-h+1) d",
        {
            **room,
            "d >= 0": d >= 0,
            "q >= 1": q >= 1,
            "room is short: size(U) >= k+1-q": size_u >= k + 1 - q,
            "the path lies in O: size(U & O) <= h-q": size_uo <= h - q,
            "a payer in O pays within O": paid_o <= d * size_uo,
        },
        z3.And(rent <= -(q - 1) * (k - h + 1) * d, rent <= 0),
        needed=(
            "room is short: size(U) >= k+1-q",
            "the path lies in O: size(U & O) <= h-q",
            "a payer in O pays within O",
            "d >= 0",
            "q >= 1",
        ),
        wrong={
            "(h-1) - 1/100": -(h - 1 - z3.Q(1, 100)) * d * size_u + k * paid_o
            <= -(q - 1) * (k - h + 1) * d,
            "q(k-h+1)": rent <= -q * (k - h + 1) * d,
        },
    )
    evict = phi(no, in_o, c) - phi(yes, in_o, c)
    add(
        "evict",
        "a node of credit 0 leaves: dPhi = 0",
        {**room, **credit_range, "credit = 0": c == 0},
        evict == 0,
        needed=("credit = 0",),
    )
    cost_w, credit_w = _reals("cost_w credit_w")
    u_in_o, w_in_o = z3.Bools("u_in_o w_in_o")

    def pair(debt: Formula, credit: Formula) -> Formula:
        return (h - 1) * (debt + credit) + k * (
            z3.If(u_in_o, cost - debt, 0) + z3.If(w_in_o, cost_w - credit, 0)
        )

    settle = pair(c + x, credit_w - x) - pair(c, credit_w)
    add(
        "settle",
        "w hands x to its ancestor u: dPhi = k x ([w in O] - [u in O]) <= 0",
        {
            **room,
            "x >= 0": x >= 0,
            "O ancestor-closed": z3.Implies(w_in_o, u_in_o),
        },
        z3.And(settle == k * x * (z3.If(w_in_o, 1, 0) - z3.If(u_in_o, 1, 0)), settle <= 0),
        needed=("O ancestor-closed", "x >= 0"),
    )
    load = phi(yes, in_o, cost) - phi(no, in_o, c)
    add(
        "load",
        "the online loads f with credit = cost: dPhi = -(k-h+1) cost(f)",
        {**room, "cost >= 0": cost >= 0, "f in O": in_o},
        load == -(k - h + 1) * cost,
        needed=("f in O",),
        wrong={"k-h+2": load <= -(k - h + 2) * cost, "k-h": load == -(k - h) * cost},
    )
    start, end, on, off = _reals("start end on off")
    add(
        "telescope",
        "the rows add up: (k-h+1) online <= k offline, no additive constant",
        {
            **room,
            "start = 0": start == 0,
            "end >= 0": end >= 0,
            "sum of the rows": end - start <= k * off - (k - h + 1) * on,
        },
        (k - h + 1) * on <= k * off,
        needed=("start = 0", "end >= 0", "sum of the rows"),
        wrong={"k-1": (k - h + 1) * on <= (k - 1) * off},
    )
    return tuple(rows)


def landlord_rows() -> tuple[Row, ...]:
    """The upper bound of Theorem 1 for Landlord as it is, with clamped credit, row by row."""
    import z3

    k, h, room = _capacities()
    a, b, m = _reals("a b m")
    c, cost, after, d = _reals("c cost after d")
    in_a, in_o = z3.Bools("in_a in_o")
    rate = {
        "m >= 1": m >= 1,
        "a = (h-1)/m": a * m == h - 1,
        "b = a+1": b == a + 1,
    }
    clamp = {"c+ >= 0": c >= 0, "c+ <= cost": c <= cost}

    def phi(on: Formula, off: Formula, credit: Formula) -> Formula:
        held = z3.If(on, credit, 0)
        return a * held + b * z3.If(off, cost - held, 0)

    yes, no = z3.BoolVal(True), z3.BoolVal(False)
    rows: list[Row] = []

    def add(
        name: str, says: str, hyps: dict[str, Formula], conclusion: Formula, **more: Any
    ) -> None:
        rows.append(Row("landlord", name, says, hyps, conclusion, **more))

    credit = z3.Real("credit")
    positive = z3.If(credit > 0, credit, 0)
    add(
        "range",
        "c+ = max(0, credit) stays in 0..cost under rent (credit may go below 0), reset and load",
        {
            "c+ <= cost": positive <= cost,
            "d >= 0": d >= 0,
            "event": z3.Or(after == credit - d, after == cost),
        },
        z3.And(z3.If(after > 0, after, 0) >= 0, z3.If(after > 0, after, 0) <= cost),
        needed=("c+ <= cost", "event", "d >= 0"),
    )
    add(
        "floor",
        "a node adds at least 0 to the potential; 0 off A and O, where the run starts",
        {**room, **rate, **clamp},
        z3.And(phi(in_a, in_o, c) >= 0, phi(no, no, c) == 0),
        needed=("c+ >= 0", "c+ <= cost", "h >= 1"),
    )
    opt_load = phi(in_a, yes, c) - phi(in_a, no, c)
    add(
        "opt-load",
        "the offline loads f: dPhi <= b cost(f)",
        {**room, **rate, **clamp},
        opt_load <= b * cost,
        needed=("c+ >= 0",),
        wrong={"a": opt_load <= a * cost},
    )
    opt_evict = phi(in_a, no, c) - phi(in_a, yes, c)
    add(
        "opt-evict",
        "the offline evicts f: dPhi <= 0",
        {**room, **rate, **clamp},
        opt_evict <= 0,
        needed=("c+ <= cost",),
    )
    hit = phi(yes, in_o, cost) - phi(yes, in_o, c)
    add(
        "hit",
        "a resident f of the path is reset by x: dPhi = (a-b) x = -x",
        {**room, **rate, **clamp, "f in O": in_o},
        z3.And(hit == -(cost - c), hit <= 0),
        needed=("f in O", "c+ <= cost", "b = a+1"),
    )
    load = phi(yes, in_o, cost) - phi(no, in_o, c)
    add(
        "load",
        "the online loads f with credit = cost: dPhi = -cost(f)",
        {**room, **rate, "cost >= 0": cost >= 0, "f in O": in_o},
        load == -cost,
        needed=("f in O", "b = a+1"),
        wrong={"2 cost": load <= -2 * cost},
    )
    evict = phi(no, in_o, c) - phi(yes, in_o, c)
    add(
        "evict",
        "a node with c+ = 0 leaves: dPhi = 0",
        {**room, **rate, "c+ = 0": c == 0},
        evict == 0,
        needed=("c+ = 0",),
    )
    lost_out, lost_in = _reals("lost_out lost_in")
    rent = -a * lost_out + (b - a) * lost_in
    add(
        "rent",
        "level up by d: the payers outside O lose at least m d, those in O at most (h-1) d: "
        "dPhi <= 0",
        {
            **room,
            **rate,
            "d >= 0": d >= 0,
            "m leaves outside O lose d each": lost_out >= m * d,
            "U & O loses at most (h-1) d": lost_in <= (h - 1) * d,
        },
        rent <= 0,
        needed=(
            "m leaves outside O lose d each",
            "U & O loses at most (h-1) d",
            "a = (h-1)/m",
            "b = a+1",
        ),
        wrong={
            "a - a/100": -(a - a / 100) * lost_out + (b - a) * lost_in <= 0,
        },
    )
    size_au, size_o, q = _reals("size_A_or_P size_O q")
    out, inner = _reals("size_A_minus_O size_UO")
    add(
        "volumes",
        "room is short and P lies in O: size(A \\ O) >= k-h+1 and size(U & O) <= h-1",
        {
            **room,
            "q >= 1": q >= 1,
            "room is short": size_au >= k + 1,
            "O fits": size_o <= h,
            "A \\ O": out >= size_au - size_o,
            "U & O within O minus P": inner <= size_o - q,
        },
        z3.And(out >= k - h + 1, inner <= h - 1),
        needed=("q >= 1", "room is short", "O fits", "A \\ O", "U & O within O minus P"),
        wrong={"k-h+2": out >= k - h + 2, "h-2": inner <= h - 2},
    )
    leaves, largest = z3.Ints("leaves largest")
    kk, hh, mm, covered = z3.Ints("kk hh mm covered")
    ceiling = {
        "m H >= k-h+1": mm * largest >= kk - hh + 1,
        "m is least": (mm - 1) * largest < kk - hh + 1,
        "H >= 1": largest >= 1,
    }
    add(
        "cover",
        "paths of size <= H that cover k-h+1 units have at least m leaves",
        {
            **ceiling,
            "cover": covered >= kk - hh + 1,
            "each path covers <= H": covered <= leaves * largest,
        },
        leaves >= mm,
        needed=("m is least", "cover", "each path covers <= H"),
        wrong={"m+1": leaves >= mm + 1},
    )
    add(
        "gap",
        "the exact ratio 1+(h-1)/m is above k/(k-h+1) = 1+(h-1)/(k-h+1) when k > h >= 2, H >= 2",
        {
            **ceiling,
            "h < k": hh < kk,
            "h >= 2": hh >= 2,
            "H >= 2": largest >= 2,
        },
        # 1+(h-1)/m > 1+(h-1)/(k-h+1), with both denominators positive
        z3.And(mm >= 1, (hh - 1) * (kk - hh + 1) > (hh - 1) * mm),
        needed=("h < k", "h >= 2", "H >= 2", "m is least"),
    )
    add(
        "path-h",
        "with H = h and h <= k <= 2h-1, m = 1, so the ratio is h",
        {
            **ceiling,
            "H = h": largest == hh,
            "h <= k": hh <= kk,
            "k <= 2h-1": kk <= 2 * hh - 1,
        },
        mm == 1,
        needed=("H = h", "h <= k", "k <= 2h-1", "m is least"),
    )
    start, end, on, off = _reals("start end on off")
    add(
        "telescope",
        "the rows add up: online <= b offline, no additive constant",
        {
            **rate,
            "start = 0": start == 0,
            "end >= 0": end >= 0,
            "sum of the rows": end - start <= b * off - on,
        },
        on <= b * off,
        needed=("start = 0", "end >= 0", "sum of the rows"),
        wrong={"a": on <= a * off},
    )
    return tuple(rows)


TABLES: dict[str, Callable[[], tuple[Row, ...]]] = {
    "cosigned": cosigned_rows,
    "landlord": landlord_rows,
}
"""The two tables; building one imports z3."""


def find_row(name: str) -> Row:
    """The row ``"TABLE.NAME"``.

    Raises
    ------
    KeyError
        If there is no such row.
    """
    table, _, row_name = name.partition(".")
    if table in TABLES:
        for row in TABLES[table]():
            if row.name == row_name:
                return row
    raise KeyError(f"no row {name!r}")


# -- the rent rows on whole forests ---------------------------------------------------------------


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
    n = len(parent)
    below: list[list[int]] = [[] for _ in range(n)]
    for w in range(n):
        u: int | None = w
        while u is not None:
            below[u].append(w)
            u = parent[u]
    above = [[u for u in range(n) if w in below[u]] for w in range(n)]
    size = z3.Reals(" ".join(f"size{v}" for v in range(n)))
    in_a = [z3.Bool(f"A{v}") for v in range(n)]
    in_o = [z3.Bool(f"O{v}") for v in range(n)]
    on_path = [z3.Bool(f"P{v}") for v in range(n)]
    in_u = [z3.And(in_a[v], z3.Not(on_path[v])) for v in range(n)]

    def total(member: list[Formula]) -> Formula:
        return z3.Sum([z3.If(member[v], size[v], 0) for v in range(n)])

    solver = z3.Solver()
    solver.set("timeout", 120_000)
    solver.add(*(s >= 1 for s in size))
    # P is the path to some node.
    solver.add(
        z3.Or(
            [
                z3.And([on_path[u] if u in above[v] else z3.Not(on_path[u]) for u in range(n)])
                for v in range(n)
            ]
        )
    )
    hypotheses = {
        "A ancestor-closed": [
            z3.Implies(in_a[v], in_a[p]) for v, p in enumerate(parent) if p is not None
        ],
        "O ancestor-closed": [
            z3.Implies(in_o[v], in_o[p]) for v, p in enumerate(parent) if p is not None
        ],
        "P within O": [z3.Implies(on_path[v], in_o[v]) for v in range(n)],
        "O fits": [total(in_o) <= h],
        "room is short": [total([z3.Or(in_a[v], on_path[v]) for v in range(n)]) >= k + 1],
    }
    if mutant is not None and mutant.startswith("without:"):
        hypotheses.pop(mutant.removeprefix("without:"), None)
    for formulas in hypotheses.values():
        solver.add(*formulas)

    if table == "cosigned":
        # pay[w, u]: what w pays of u's rent; every unpinned resident u is paid size(u) in full.
        anyone = mutant == "without:payer below the one it pays for"
        paid: list[Formula] = [z3.RealVal(0)] * n
        for u in range(n):
            got: Formula = z3.RealVal(0)
            for w in range(n) if anyone else below[u]:
                amount = z3.Real(f"pay_{w}_{u}")
                solver.add(amount >= 0, z3.Implies(z3.Not(in_u[w]), amount == 0))
                paid[w] = paid[w] + amount
                got = got + amount
            solver.add(got == z3.If(in_u[u], size[u], 0))
        weight = z3.RealVal(h - 1)
        if mutant == "weaker: (h-1) - 1/100":
            weight = weight - z3.Q(1, 100)
        dphi = -weight * z3.Sum(paid) + k * z3.Sum([z3.If(in_o[w], paid[w], 0) for w in range(n)])
        q = total(on_path)
        solver.add(z3.Not(dphi <= -(q - 1) * (k - h + 1)))
    else:
        bound = h if largest is None else largest
        m = -(-(k - h + 1) // bound)
        if mutant == "wrong:m+1":
            m += 1
        # Every resident node was requested as part of a path of size <= H.
        for v in range(n):
            solver.add(
                z3.Implies(z3.Or(in_a[v], on_path[v]), z3.Sum([size[u] for u in above[v]]) <= bound)
            )
        # c+ of an unpinned resident falls by `lost`, at most its rent; an evictable one has credit
        # for all of its rent, because the rise is the minimum over the evictable ones.
        gone: list[Formula] = []
        for v in range(n):
            lost = z3.Real(f"lost{v}")
            leaf = z3.And(in_u[v], *(z3.Not(in_a[w]) for w in below[v] if w != v))
            solver.add(
                lost >= 0,
                lost <= z3.If(in_u[v], size[v], 0),
                z3.Implies(leaf, lost == size[v]),
            )
            gone.append(lost)
        a = z3.Q(h - 1, m)
        rate = a * z3.Q(99, 100) if mutant == "weaker: a - a/100" else a
        dphi = -rate * z3.Sum([z3.If(in_o[v], 0, gone[v]) for v in range(n)]) + z3.Sum(
            [z3.If(in_o[v], gone[v], 0) for v in range(n)]
        )
        solver.add(z3.Not(dphi <= 0))
    return str(solver.check())


@dataclass(frozen=True, slots=True)
class ForestCheck:
    """Outcome of :func:`check_rent_on_forests`: how many cases, and how each was decided."""

    table: str
    max_nodes: int
    max_k: int
    mutant: str | None
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

    For ``landlord`` also all ``H <= h``. Running time: one z3 call a case, milliseconds each.
    """
    count = {"unsat": 0, "sat": 0, "unknown": 0}
    shapes = [p for n in range(1, max_nodes + 1) for p in forests(n)]
    for parent in shapes:
        for k in range(1, max_k + 1):
            for h in range(1, k + 1):
                for largest in range(1, h + 1) if table == "landlord" else (None,):
                    count[rent_on_forest(table, parent, k, h, largest, mutant)] += 1
    return ForestCheck(
        table=table,
        max_nodes=max_nodes,
        max_k=max_k,
        mutant=mutant,
        forests=len(shapes),
        cases=sum(count.values()),
        unsat=count["unsat"],
        sat=count["sat"],
        unknown=count["unknown"],
    )
