"""A log given as paths, and what the sections share of it."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.context import Context, Options
from cache_worthy.advise.policy_table import Policies, measure_policies
from cache_worthy.logs.evidence import Evidence
from cache_worthy.logs.log import Log
from cache_worthy.sim.trace import BlockId, Request


def context_of(
    paths: Sequence[Sequence[BlockId]],
    tokens: Sequence[int] | None = None,
    *,
    block: int = 512,
    evidence: Evidence | None = None,
    options: Options | None = None,
) -> Context:
    """Prompts of ``tokens`` (of whole blocks unless given)."""
    lengths = [block * len(path) for path in paths] if tokens is None else tokens
    log = Log(
        source="-",
        sha256="",
        format="native",
        field="hash_ids",
        requests=[Request(tuple(p), n) for p, n in zip(paths, lengths, strict=True)],
        block_tokens=block,
        chars_per_block=None,
        skipped_truncated=0,
        length_mismatches=0,
        evidence=evidence or Evidence(),
    )
    return Context(log, options)


def policies_at(context: Context, *capacities: tuple[int, str], chosen: int = 0) -> Policies:
    """The policy table at capacities in bytes, with their labels."""
    return Policies(measure_policies(context.replays, capacities), yours=chosen, chosen=chosen)
