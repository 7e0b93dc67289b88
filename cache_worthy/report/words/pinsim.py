"""The simulation under question 6."""

from __future__ import annotations

from cache_worthy.advise.pinsim import Change, PinSim
from cache_worthy.report.layout import counted, fact, gib, percent


def render_pinsim(sim: PinSim) -> list[str]:
    """Recompute with the pins and without, and who pays."""
    out = ["", *fact("SIMULATED", pinsim_text(sim))]
    gain = sim.gain
    if gain is None:
        return out
    return [
        *out,
        f"    {'recompute, FLOPs':<34}{'without':>12}{'with pins':>12}{'saved':>12}",
        _line("blocks of the pinned prefixes", gain.pinned),
        _line("all other blocks, in the room left", gain.rest),
        _line(f"{counted(gain.outside_requests, 'request')} through no pin", gain.outside),
    ]


def pinsim_text(sim: PinSim) -> str:
    """Where it was simulated, and what came out."""
    where = f"at {gib(sim.bytes)} ({sim.label}) under {sim.policy}"
    gain = sim.gain
    if gain is None:
        return (
            f"{where}: {sim.verdict} ({gib(sim.pinned_bytes)} pinned, {gib(sim.need_bytes)} "
            "needed with them)"
        )
    amount = f" {percent(abs(gain.saved_fraction), 2)} of recompute" if gain.saved_cost else ""
    of_ceiling = gain.of_ceiling if gain.saved_cost > 0 else None
    ceiling = "" if of_ceiling is None else f", {percent(of_ceiling)} of that ceiling"
    return f"{where}: {sim.verdict}{amount}{ceiling}"


def simulated(sim: PinSim) -> str:
    """The sentence for the head of the report."""
    gain, where = sim.gain, f"Simulated at {gib(sim.bytes)} under {sim.policy}"
    if gain is None:
        return f"At {gib(sim.bytes)} they do not fit beside the deepest request."
    if not gain.saved_cost:
        return f"{where}, that changes nothing."
    verb = "saves" if gain.saved_cost > 0 else "would cost"
    return f"{where}, that {verb} {percent(abs(gain.saved_fraction), 2)} of recompute."


def _line(name: str, change: Change) -> str:
    numbers = "".join(f"{n:>12.3e}" for n in (change.before, change.after))
    return f"    {name:<34}{numbers}{change.saved:>12.2e}"
