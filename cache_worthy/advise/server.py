"""Advice in the words of one serving engine: its own options, the flag to type, memory, pins.

A table of what the engine offers stands at the same capacities and in the same unit as the
research policies, on equal terms: whole blocks, prompts only, one request at a time. Sources of
every statement about an engine: `cache_worthy.sim.sglang.versions`, the engines' documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cache_worthy.advise.capacity import CapacityCurve
from cache_worthy.advise.context import Context
from cache_worthy.advise.memory import VLLM_BLOCK_TOKENS, Engine, Memory, _memory
from cache_worthy.advise.policy_table import WORTH_CHANGING, Policies
from cache_worthy.advise.quantity import POLICY, Quantities, Quantity
from cache_worthy.advise.reader import Reader
from cache_worthy.advise.section import section
from cache_worthy.advise.workload import Workload
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.sglang.versions import CURRENT, Server, flag_for, server_for
from cache_worthy.sim.trace import Request

TAILS_MATTER = 1.1
"""Ten percent more recompute for the blocks that prompts end inside of is worth a sentence."""


@dataclass(frozen=True, slots=True)
class EngineOption:
    """One thing that can be set on the engine, or that it does by itself.

    Attributes
    ----------
    label : str
        As the table shows it.
    flag : str or None
        What to type; None where there is nothing to type.
    default : bool
        What the engine does unless told otherwise.
    total_cost : tuple of int
        Recompute at each capacity of the table.
    cost_ratio : tuple of float or None
        Over the compulsory minimum.
    token_hit_rate : tuple of float or None
        By token, cold, whole log.
    note : str
        What the reader must know about this row, or "".
    """

    label: str
    flag: str | None
    default: bool
    total_cost: tuple[int, ...]
    cost_ratio: tuple[float | None, ...]
    token_hit_rate: tuple[float | None, ...]
    note: str


@dataclass(frozen=True, slots=True)
class EngineAdvice:
    """What to do on one engine.

    Attributes
    ----------
    engine : {"sglang", "vllm"}
    server : str
        The version that the options are those of.
    options : tuple of EngineOption
        The default first.
    at : int
        Index of the capacity that the verdict is about: the user's, else the recommended.
    best : str
        Label of the option to run.
    saving_cost : int
        FLOPs that it saves against the default there.
    saving_fraction : float
        Of the default's total recompute.
    verdict : str
        In words.
    type_this : str or None
        The exact options for the command line, or None when there is nothing to set.
    memory : Memory
    pins : str
        Where this engine can hold a prefix, in words.
    tail_cost_ratio : float or None
        vLLM: recompute with room for everything, full blocks only, over the same with partial last
        blocks; over `TAILS_MATTER` the report says so. None for other engines.
    """

    engine: str
    server: str
    options: tuple[EngineOption, ...]
    at: int
    best: str
    saving_cost: int
    saving_fraction: float
    verdict: str
    type_this: str | None
    memory: Memory
    pins: str
    tail_cost_ratio: float | None


def pins_text(engine: Engine, server: Server = CURRENT) -> str:
    """Where an engine can hold a prefix, in words, and what that needs."""
    if engine == "generic":
        return (
            "Whether a prefix can be held depends on the server. TensorRT-LLM takes a retention "
            "priority by token range: KvCacheRetentionConfig with TokenRangeRetentionConfig(0, "
            "tokens of the prefix, priority up to 100; the default is 35). SGLang protects softly, "
            "vLLM not at all: --engine sglang and --engine vllm say more."
        )
    if engine == "vllm":
        return (
            "vLLM cannot hold a prefix: there is nothing to set, and the prefixes above stay only "
            "while they are used. What helps is memory, or sending the requests that share a "
            "prefix close to one another."
        )
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


def _compare(document: Reader) -> Quantities:
    engine = document.maybe("engine")
    if engine is not None:
        yield POLICY, Quantity("engine's option", "words", engine.text("best"))


@section(
    "engine",
    needs=("workload", "capacity", "policy_table"),
    title="Server",
    place=90,
    compare=_compare,
)
def engine(
    context: Context, workload: Workload, curve: CapacityCurve, policies: Policies
) -> EngineAdvice | None:
    """What to do on the engine of ``--engine``; None for the generic one."""
    log, options = context.log, context.options
    return advise(
        options.engine,
        log.requests,
        context.forest,
        context.size,
        context.cost,
        options.model,
        log.block_tokens,
        [row.bytes for row in policies.table.rows],
        policies.chosen,
        context.chosen,
        curve.recommended_bytes,
        workload.floor_bytes,
        options.gpu_gib,
        CURRENT if options.sglang_version is None else server_for(options.sglang_version),
        context.step,
        from_text=log.tokenizer is not None or log.chars_per_block is not None,
    )


def advise(
    engine: Engine,
    requests: Sequence[Request],
    forest: PrefixForest,
    size: BlockSize,
    cost: BlockCost,
    model: Model,
    block_tokens: int,
    capacities: Sequence[int],
    chosen: int,
    asked: int | None,
    recommended: int,
    floor: int,
    gpu_gib: float | None,
    server: Server = CURRENT,
    step: Callable[[str], None] = lambda text: None,
    *,
    from_text: bool = False,
) -> EngineAdvice | None:
    """Replay the options of an engine and say what to type; None for the generic engine.

    Parameters
    ----------
    engine : {"generic", "sglang", "vllm"}
    requests, forest, size, cost, model, block_tokens
        The log and how it is counted.
    capacities : sequence of int
        Bytes, the columns of the policy table.
    chosen : int
        Which of them the verdict is about.
    asked : int or None
        The user's own capacity.
    recommended, floor : int
        Bytes of KV cache that question 3 recommends and that question 2 demands.
    gpu_gib : float or None
        Memory of the GPUs of one replica together.
    server : Server
        Which SGLang.
    step : callable
        Told what is being replayed.
    from_text : bool
        Whether the blocks were cut here, so that another ``--block-size`` can be asked for.
    """
    if engine == "generic":
        return None
    replays = (
        _sglang(forest, requests, block_tokens, server)
        if engine == "sglang"
        else _vllm(forest, requests, block_tokens, from_text)
    )
    table = cost.cumulative(forest.depth)
    compulsory = sum(table[e] - table[s] for s, e in zip(forest.start, forest.end, strict=True))
    prompt = sum(r.input_length for r in requests)
    options: list[EngineOption] = []
    for label, flag, note, replay in replays:
        totals: list[int] = []
        rates: list[float | None] = []
        for number, capacity in enumerate(capacities, 1):
            step(f"{engine}: {label} at capacity {number}/{len(capacities)}")
            matched, hit = replay(capacity // size.block)
            totals.append(_recompute(table, requests, matched))
            rates.append(hit / prompt if prompt else None)
        options.append(
            EngineOption(
                label=label,
                flag=flag,
                default=not options,
                total_cost=tuple(totals),
                cost_ratio=tuple(t / compulsory if compulsory else None for t in totals),
                token_hit_rate=tuple(rates),
                note=note,
            )
        )
    tails = None
    if engine == "vllm":
        # With room for everything, what is left is what full blocks alone cost.
        dropped, kept = (
            _recompute(table, requests, replay(forest.distinct)[0]) for *_, replay in replays
        )
        tails = dropped / kept if kept else None
    at = list(capacities).index(chosen)
    base = options[0].total_cost[at]
    typed = [o for o in options if o.flag is not None]
    best = min(typed, key=lambda o: o.total_cost[at], default=options[0])
    saving = base - best.total_cost[at]
    share = saving / base if base else 0.0
    if engine == "vllm":
        best, saving, share = options[0], 0, 0.0
        verdict = (
            "vLLM offers no choice of GPU eviction policy: there is no flag to set. What you can "
            "change is memory (below) and the order in which requests arrive."
        )
        if tails is not None and tails > TAILS_MATTER:
            verdict += (
                f" Prompts end inside a block of {block_tokens} tokens, and vLLM caches full "
                f"blocks only: even with room for everything that costs {tails:.1f}x the recompute."
                + _smaller_blocks(block_tokens, from_text)
            )
        type_this = None
    elif share < WORTH_CHANGING:
        gain = f" The best other option saves {share:.2%}." if saving > 0 else ""
        best, saving, share = options[0], 0, 0.0
        verdict = (
            f"keep the default: no other option saves {WORTH_CHANGING:.0%} of the recompute on "
            f"this log.{gain}"
        )
        type_this = options[0].flag
    else:
        verdict = (
            f"{best.label} saves {share:.2%} of total recompute vs {options[0].label} "
            f"({saving:.3e} FLOPs) on this log at this capacity."
        )
        type_this = best.flag
    return EngineAdvice(
        engine=engine,
        server=f"{server.label} (read: {server.source})"
        if engine == "sglang"
        else "vLLM, v1 engine",
        options=tuple(options),
        at=at,
        best=best.label,
        saving_cost=saving,
        saving_fraction=share,
        verdict=verdict,
        type_this=type_this,
        memory=_memory(
            engine,
            model,
            size,
            block_tokens,
            asked,
            recommended,
            floor,
            max((r.input_length + (r.output_length or 0) for r in requests), default=0),
            gpu_gib,
        ),
        pins=pins_text(engine, server),
        tail_cost_ratio=tails,
    )


def _recompute(table: Sequence[int], requests: Sequence[Request], matched: Sequence[int]) -> int:
    return sum(table[len(r.hash_ids)] - table[k] for r, k in zip(requests, matched, strict=True))


def _smaller_blocks(block_tokens: int, from_text: bool) -> str:
    """What to do about blocks that are larger than the server's."""
    if block_tokens <= VLLM_BLOCK_TOKENS:
        return ""
    size = f" The server's are likely {VLLM_BLOCK_TOKENS} tokens:"
    if from_text:
        return f"{size} rerun with --block-size {VLLM_BLOCK_TOKENS}."
    return f"{size} a log of block ids cannot be cut smaller."


_Replay = Callable[[int], tuple[Sequence[int], int]]


def _sglang(
    forest: PrefixForest, requests: Sequence[Request], block_tokens: int, server: Server
) -> list[tuple[str, str | None, str, _Replay]]:
    """Options of SGLang's command line: label, flag, note, replay."""
    from cache_worthy.sim.sglang import PagedLog, replay_sglang

    table = RequestTable.of(requests)
    log = PagedLog.of(forest, table.lengths, priorities=table.priorities, block_tokens=block_tokens)
    budget = _median_growth(log.prompts) * block_tokens
    settings: list[tuple[str, dict[str, int], str]] = [
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
            {"threshold": budget},
            "meant for tail latency: threshold is the median of new tokens in a prompt",
        ),
    ]
    varied = len(set(log.priorities)) > 1
    settings.append(
        (
            "priority",
            {},
            "with the priorities of this log; --enable-priority-scheduling, without which the "
            "server ignores them, also reorders the requests that wait"
            if varied
            else "no two priorities in this log: acts as lru",
        )
    )

    def make(name: str, parameters: Mapping[str, Any]) -> _Replay:
        def replay(blocks: int) -> tuple[Sequence[int], int]:
            result = replay_sglang(
                log,
                name,
                blocks * block_tokens,
                server=server,
                **parameters,
            )
            return result.matched, result.total_hit_tokens

        return replay

    rows: list[tuple[str, str | None, str, _Replay]] = []
    for name, parameters, note in settings:
        flag = flag_for(name, parameters, server)
        if flag is None:
            continue
        label = " ".join([name, *(str(v) for v in parameters.values())])
        rows.append((label, flag, note, make(f"sglang_{name}", parameters)))
    return rows


def _vllm(
    forest: PrefixForest, requests: Sequence[Request], block_tokens: int, from_text: bool
) -> list[tuple[str, str | None, str, _Replay]]:
    """What vLLM does, with the last block of a prompt dropped and kept."""
    from cache_worthy.sim.blocks import BlockLog, replay_blocks

    log = BlockLog(forest, RequestTable.of(requests).lengths, block_tokens, by_path=True)

    def make(partial: str) -> _Replay:
        def replay(blocks: int) -> tuple[Sequence[int], int]:
            result = replay_blocks(log, "vllm_lru", blocks, partial_blocks=partial)
            return result.matched, result.total_hit_tokens

        return replay

    return [
        (
            "lru",
            None,
            f"full blocks of {block_tokens} tokens only, as the server counts."
            f"{_smaller_blocks(block_tokens, from_text)}".removesuffix("."),
            make("drop"),
        ),
        ("lru + tails", None, "as if a partial last block could be found again", make("keep")),
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
