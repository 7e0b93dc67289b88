"""The rows of Landlord as it is, under leaf-only eviction: rate ``1 + (h-1)/m``.

``m = ceil((k-h+1)/H)`` for paths of size at most ``H``. The prose is ``proofs/refutation.md``.
"""

from __future__ import annotations

from typing import Any

from cache_worthy.theory.potential.row import Formula, Row, capacities, reals


def landlord_rows() -> tuple[Row, ...]:
    """The upper bound of Theorem 1 for Landlord as it is, with clamped credit, row by row."""
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
