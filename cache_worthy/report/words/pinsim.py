"""The words on pins that were simulated."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.pinsim import PinSim
from cache_worthy.numbers import counted, gib, percent
from cache_worthy.report.model import Part, Prose, Section, table


def words(analysis: Analysis) -> Section | None:
    """Recompute with the pins and without, and who pays."""
    sim = analysis.of(PinSim)
    if sim is None:
        return None
    text = _outcome(sim)
    parts: list[Part] = [Prose(f"{text[0].upper()}{text[1:]}.")]
    if sim.gain is not None:
        changes = (
            ("blocks of the pinned prefixes", sim.gain.pinned),
            ("all other blocks, in the room left", sim.gain.rest),
            (f"{counted(sim.gain.outside_requests, 'request')} through no pin", sim.gain.outside),
            ("all", sim.gain.total),
        )
        parts.append(
            table(
                "pinsim-table",
                "",
                columns=("work, FLOPs", "without", "with pins", "saved"),
                rows=(
                    (name, f"{c.before:.3e}", f"{c.after:.3e}", f"{c.saved:.2e}")
                    for name, c in changes
                ),
            )
        )
    about = f"at {gib(sim.bytes)} ({sim.label}) under {sim.policy}"
    return Section(about=about, parts=tuple(parts))


def _outcome(sim: PinSim) -> str:
    """What came out."""
    gain = sim.gain
    if gain is None:
        return f"{sim.verdict} ({gib(sim.pinned_bytes)} pinned, {gib(sim.need_bytes)} needed with them)"
    amount = f" {percent(abs(gain.saved_fraction), 2)} of prefill work" if gain.saved_cost else ""
    of_ceiling = gain.of_ceiling if gain.saved_cost > 0 else None
    ceiling = "" if of_ceiling is None else f", {percent(of_ceiling)} of that ceiling"
    return f"{sim.verdict}{amount}{ceiling}"


def simulated(sim: PinSim, prefixes: str) -> str:
    """The sentence for the head of the report, without its end."""
    gain, where = sim.gain, f"at {gib(sim.bytes)} {sim.policy} already keeps the hot prefixes"
    if gain is None:
        return (
            f"At {gib(sim.bytes)} the pinned prefixes and your longest prompt do not fit together"
        )
    amount = f"{percent(abs(gain.saved_fraction), 2)} of prefill work"
    if gain.saved_cost > 0:
        return f"At {gib(sim.bytes)} under {sim.policy}, pinning {prefixes} would save {amount}"
    effect = f"add {amount}" if gain.saved_cost else "change nothing"
    return f"Do not pin: {where}; pinning {prefixes} would {effect}"
