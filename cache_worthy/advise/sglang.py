"""What SGLang offers: its eviction policies, which of them to run, where it can hold a prefix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cache_worthy.advise.offer import Choice, EngineOption, Offer, Served
from cache_worthy.advise.policy_table import WORTH_CHANGING
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.sglang.versions import CURRENT, Server, flag_for


def offers(served: Served, server: Server) -> list[Offer]:
    """Options of its command line, the default first."""
    from cache_worthy.sim.sglang import PagedLog, replay_sglang

    block_tokens = served.block_tokens
    log = PagedLog.of(
        served.forest, served.lengths, priorities=served.priorities, block_tokens=block_tokens
    )

    def offer(name: str, parameters: Mapping[str, Any], note: str) -> Offer:
        def replay(blocks: int) -> Outcome:
            capacity = blocks * block_tokens
            return replay_sglang(log, f"sglang_{name}", capacity, server=server, **parameters)

        return Offer(
            label=" ".join([name, *(str(v) for v in parameters.values())]),
            flag=flag_for(name, parameters, server),
            note=note,
            replay=replay,
        )

    settings = _settings(
        server,
        threshold=_median_growth(log.prompts) * block_tokens,
        varied=len(set(log.priorities)) > 1,
    )
    return [one for one in (offer(*setting) for setting in settings) if one.flag is not None]


def _settings(
    server: Server, *, threshold: int, varied: bool
) -> list[tuple[str, dict[str, int], str]]:
    """Name, parameters and note of what any release offers.

    Parameters
    ----------
    threshold : int
        Of tlru, in tokens.
    varied : bool
        Whether the log has several priorities.
    """
    return [
        ("lru", {}, "the default"),
        (
            "lfu",
            {},
            "its hit counts do not move before 0.5.10, so it acts as lru"
            if server.counting == "never"
            else "counts never fall: what was hot once stays, so check a later log too",
        ),
        (
            "slru",
            {},
            "a request counts twice (sglang#30689), so this default acts as lru on prompts alone"
            if server.counting == "twice"
            else "",
        ),
        ("slru", {"protected_threshold": 3}, ""),
        (
            "tlru",
            {"threshold": threshold},
            "meant for tail latency: threshold is the median of new tokens in a prompt",
        ),
        (
            "priority",
            {},
            "with the priorities of this log; --enable-priority-scheduling, without which the "
            "server ignores them, also reorders the requests that wait"
            if varied
            else "no two priorities in this log: acts as lru",
        ),
    ]


def _median_growth(prompts: Sequence[Sequence[int]]) -> int:
    """Median number of blocks of a prompt that no earlier prompt had, at least 1."""
    seen: set[int] = set()
    new: list[int] = []
    for prompt in prompts:
        fresh = [b for b in prompt if b not in seen]
        new.append(len(fresh))
        seen.update(fresh)
    return max(1, sorted(new)[len(new) // 2]) if new else 1


def choose(options: Sequence[EngineOption], at: int) -> Choice:
    """The cheapest option at a capacity of the table, where it saves enough to change."""
    default = options[0]
    best = min(options, key=lambda o: o.total_cost[at])
    base = default.total_cost[at]
    saving = base - best.total_cost[at]
    share = saving / base if base else 0.0
    if share < WORTH_CHANGING:
        gain = f" The best other option saves {share:.2%}." if saving > 0 else ""
        return Choice(
            best=default.label,
            verdict=f"keep the default: no other option saves {WORTH_CHANGING:.0%} of the recompute "
            f"on this log.{gain}",
            type_this=default.flag,
        )
    return Choice(
        best=best.label,
        verdict=f"{best.label} saves {share:.2%} of total recompute vs {default.label} "
        f"({saving:.3e} FLOPs) on this log at this capacity.",
        type_this=best.flag,
        saving_cost=saving,
        saving_fraction=share,
    )


def pins_text(server: Server = CURRENT) -> str:
    """Where a prefix can be held, in words, and what that needs."""
    text = ["SGLang has no hard pin on the GPU."]
    if server.session_cache is not None:
        needs = f"{server.session_cache} in the environment and " if server.session_cache else ""
        text.append(
            "--enable-session-radix-cache protects the prefixes of sessions, softly: they still "
            f"leave when nothing else can. It needs {needs}the same session_id in every request of "
            "a session."
        )
    flag = flag_for("priority", {}, server)
    if flag is not None:
        text.append(
            f"{'Give' if server.session_cache is None else 'Otherwise give'} requests with these "
            f"prefixes a higher priority and run {flag}, which also reorders the requests that "
            "wait."
        )
    if len(text) == 1:
        text.append("This release has nothing to set for it: what helps is memory.")
    return " ".join(text)
