"""SGLang's eviction policies, which one to run, and how it can pin a prefix."""

from __future__ import annotations

from collections.abc import Sequence

from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import Memory
from cache_worthy.advise.offer import EngineAdvice, EngineOption, Offer
from cache_worthy.advise.policy_table import WORTH_CHANGING
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.outcome import Outcome
from cache_worthy.sim.sglang.versions import CURRENT, Server, flag_for, server_for


def server_of(context: Context) -> Server:
    """The release that the advice is for."""
    version = context.options.sglang_version
    return CURRENT if version is None else server_for(version)


def offers(context: Context) -> list[Offer]:
    """Options of its command line, the default first."""
    from cache_worthy.sim.sglang.log import PagedLog
    from cache_worthy.sim.sglang.replay import replay_sglang

    server, tokens = server_of(context), context.log.block_tokens
    priorities = RequestTable.of(context.log.requests).priorities
    log = PagedLog.of(context.forest, context.lengths, priorities=priorities, block_tokens=tokens)

    def offer(name: str, note: str, **parameters: int) -> Offer:
        def replay(blocks: int) -> Outcome:
            return replay_sglang(
                log, f"sglang_{name}", blocks * tokens, server=server, **parameters
            )

        label = " ".join([name, *map(str, parameters.values())])
        return Offer(label, flag_for(name, parameters, server), note=note, replay=replay)

    found = [
        offer("lru", "the default"),
        offer(
            "lfu",
            "its hit counts do not move before 0.5.10, so it acts as lru"
            if server.counting == "never"
            else "counts never fall: what was hot once stays, so check a later log too",
        ),
        offer(
            "slru",
            "a request counts twice (sglang#30689), so this default acts as lru on prompts alone"
            if server.counting == "twice"
            else "",
        ),
        offer("slru", "", protected_threshold=3),
        offer(
            "tlru",
            "meant for tail latency: threshold is the median of new tokens in a prompt",
            threshold=_median_growth([r.prompt for r in log.requests]) * tokens,
        ),
        offer(
            "priority",
            "with the priorities of this log; --enable-priority-scheduling, without which the "
            "server ignores them, also reorders the requests that wait"
            if len(set(priorities)) > 1
            else "no two priorities in this log: acts as lru",
        ),
    ]
    return [one for one in found if one.flag is not None]


def _median_growth(prompts: Sequence[Sequence[int]]) -> int:
    """Median number of blocks of a prompt that no earlier prompt had, at least 1."""
    seen: set[int] = set()
    new: list[int] = []
    for prompt in prompts:
        fresh = [b for b in prompt if b not in seen]
        new.append(len(fresh))
        seen.update(fresh)
    return max(1, sorted(new)[len(new) // 2]) if new else 1


def choose(
    context: Context,
    offers: Sequence[Offer],
    *,
    options: tuple[EngineOption, ...],
    at: int,
    memory: Memory,
) -> EngineAdvice:
    """The option that is cheapest at a capacity and saves enough to change, else the default."""
    server, default = server_of(context), options[0]
    best = min(options, key=lambda o: o.total_cost[at])
    base = default.total_cost[at]
    saving = base - best.total_cost[at]
    part = saving / base if base else 0.0
    verdict = (
        f"{best.label} saves {part:.2%} of total recompute vs {default.label} "
        f"({saving:.3e} FLOPs) on this log at this capacity."
    )
    if part < WORTH_CHANGING:
        gain = f" The best other option saves {part:.2%}." if saving > 0 else ""
        verdict = (
            f"keep the default: no other option saves {WORTH_CHANGING:.0%} of the recompute "
            f"on this log.{gain}"
        )
        best, saving, part = default, 0, 0.0
    return EngineAdvice(
        engine="sglang",
        server=f"{server.label} (read: {server.source})",
        options=options,
        at=at,
        best=best.label,
        saving_cost=saving,
        saving_fraction=part,
        verdict=verdict,
        type_this=best.flag,
        memory=memory,
        pins=pins_text(server),
        tail_cost_ratio=None,
    )


def pins_text(server: Server = CURRENT) -> str:
    """How a prefix can be pinned, in words, and what that needs."""
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
