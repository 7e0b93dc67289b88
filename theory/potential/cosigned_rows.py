"""The rows of cosigned Landlord: Young's potential, rate ``k / (k-h+1)``.

The prose is ``proofs/cosigned.md``.
"""

from __future__ import annotations

from typing import Any

from cache_worthy.theory.potential.row import Formula, Row, capacities, reals


def cosigned_rows() -> tuple[Row, ...]:
    """The table of cosigned Landlord (Young's potential), row by row."""
    import z3

    k, h, room = capacities()
    c, cost, after, pay, x, d = reals("c cost after pay x d")
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
    size_u, size_uo, paid_o, q = reals("size_U size_UO paid_O q")
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
    cost_w, credit_w = reals("cost_w credit_w")
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
    start, end, on, off = reals("start end on off")
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
