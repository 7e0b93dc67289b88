"""Every row of the two potential arguments as a z3 formula, each with mutated twins.

``row.py`` says what a row is, and when it holds. ``forest_rows.py`` does the rent rows once more,
with symbolic sizes, sets and payments on every forest up to a size, so that nothing rests on a sum
that was split by hand.

Evidence: a decision procedure for the arithmetic of each row (established theory). That the events
of an algorithm satisfy the hypotheses is checked by the potential checker, and that the rows add
up to the bound is the row ``telescope``; neither replaces a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cache_worthy.theory.potential.row import Formula, Row, capacities, reals


def cosigned_rows() -> tuple[Row, ...]:
    """The table of cosigned Landlord: Young's potential, rate ``k / (k-h+1)``.

    The potential is ``(h-1) sum_A credit + k sum_O (cost - credit)``; the prose is
    ``proofs/cosigned.md``.
    """
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

    def add(*parts: Any, **more: Any) -> None:
        rows.append(Row("cosigned", *parts, **more))

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


def landlord_rows() -> tuple[Row, ...]:
    """The table of Landlord as it is, under leaf-only eviction: rate ``1 + (h-1)/m``.

    The potential is ``a sum_A c+ + b sum_O (cost - c+)`` with ``c+ = max(0, credit)``,
    ``a = (h-1)/m``, ``b = a + 1``, ``m = ceil((k-h+1)/H)`` for paths of size at most ``H``; the
    prose is ``proofs/refutation.md``.
    """
    import z3

    k, h, room = capacities()
    a, b, m = reals("a b m")
    c, cost, after, d = reals("c cost after d")
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

    def add(*parts: Any, **more: Any) -> None:
        rows.append(Row("landlord", *parts, **more))

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
    lost_out, lost_in = reals("lost_out lost_in")
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
    size_au, size_o, q = reals("size_A_or_P size_O q")
    out, inner = reals("size_A_minus_O size_UO")
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
    start, end, on, off = reals("start end on off")
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
