"""Advice in the words of one serving engine: its own options, the flag to type, memory, pins.

A table of what the engine offers stands at the same capacities and in the same unit as the
research policies, on equal terms: whole blocks, prompts only, one request at a time. Sources of
every statement about an engine: `cache_worthy.sim.sglang.versions`, the engines' documentation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cache_worthy.advise.policy import WORTH_CHANGING
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.cost import MODELS, BlockCost, BlockSize, Model
from cache_worthy.sim.forest import PrefixForest
from cache_worthy.sim.sglang.versions import CURRENT, Server, flag_for
from cache_worthy.sim.trace import Request

Engine = Literal["generic", "sglang", "vllm"]
ENGINES: tuple[Engine, ...] = ("generic", "sglang", "vllm")

GPU_SHARE = 0.9
"""Of the GPU for weights and KV cache, when asking what fits: near both engines' defaults (vLLM
0.92, SGLang chosen by the server near 0.88)."""

VLLM_BLOCK_TOKENS = 16
"""vLLM's default block size; hybrid models may force a larger one."""

TAILS_MATTER = 1.1
"""Ten percent more recompute for the blocks that prompts end inside of is worth a sentence."""

DEFAULT_FRACTION: Mapping[str, float] = {"vllm": 0.92, "sglang": 0.88}
"""Of the GPU that each engine takes unless told otherwise; SGLang's server computes its own."""

CONTEXT_TOKENS: Mapping[Model, int] = {
    MODELS[name]: 131_072 for name in ("Llama-3.1-8B", "Llama-3.1-70B")
}
"""``max_position_embeddings`` of the shipped models; a model file does not say."""


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
class Memory:
    """The KV bytes that the verdict is about, as flags of the engine.

    Attributes
    ----------
    recommended_bytes : int
        Of question 3.
    asked_bytes : int or None
        The user's own capacity.
    kv_bytes, kv_tokens : int
        What the flags are for: the user's capacity; without one the recommendation, or what the
        GPU has room for if that is less.
    weights_bytes : int
        Two bytes a parameter.
    floor_bytes : int
        Of question 2.
    gpu_bytes : int or None
        As given by the user.
    room_bytes : int or None
        What 90 percent of the GPU leaves for KV after the weights (may be negative).
    fraction : float or None
        (weights + ``kv_bytes``) / GPU memory, rounded up to two decimals; None without a GPU size
        or room for it.
    fits : bool or None
        Whether that room holds ``floor_bytes``.
    holds : bool or None
        Whether it holds ``kv_bytes``.
    default_fraction : float
        What the engine takes by itself, near enough.
    default_holds : bool or None
        Whether that is enough, so that there is nothing to set.
    max_model_len : int or None
        What vLLM must be told so that it starts on ``kv_tokens`` alone; None where nothing need
        be said, or nothing can.
    flags : tuple of str
        What to type; alternatives of each other. Where the default holds it, only what the
        default needs to start.
    minimum : tuple of str
        Where the default holds it: the least that the flags may be set to.
    left_out : tuple of str
        What the translation does not know.
    """

    recommended_bytes: int
    asked_bytes: int | None
    kv_bytes: int
    kv_tokens: int
    weights_bytes: int
    floor_bytes: int
    gpu_bytes: int | None
    room_bytes: int | None
    fraction: float | None
    fits: bool | None
    holds: bool | None
    default_fraction: float
    default_holds: bool | None
    max_model_len: int | None
    flags: tuple[str, ...]
    minimum: tuple[str, ...]
    left_out: tuple[str, ...]


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


def weights_bytes(model: Model) -> int:
    """Two bytes a parameter; without embeddings where the model file has no vocabulary."""
    return 2 * (model.parameters_total if model.vocabulary else model.parameters)


def gpu_room(model: Model, gpu_gib: float) -> int:
    """Bytes for KV that `GPU_SHARE` of the memory leaves after the weights; may be negative."""
    return int(GPU_SHARE * gpu_gib * 2**30) - weights_bytes(model)


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


def _memory(
    engine: Engine,
    model: Model,
    size: BlockSize,
    block_tokens: int,
    asked: int | None,
    recommended: int,
    floor: int,
    longest: int,
    gpu_gib: float | None,
) -> Memory:
    """Bytes as flags.

    The fraction counts weights and KV only: exactly what SGLang's static fraction means, a lower
    bound of vLLM's, which must also cover activations.
    """
    weights, default = weights_bytes(model), DEFAULT_FRACTION[engine]
    gpu = room = fraction = fits = holds = default_holds = None
    target = recommended if asked is None else asked
    if gpu_gib is not None:
        gpu = int(gpu_gib * 2**30)
        room = gpu_room(model, gpu_gib)
        fits = room >= floor
        if fits and asked is None:
            target = min(recommended, room)
        holds = fits and target <= room
        if holds:
            fraction = math.ceil(100 * (weights + target) / gpu) / 100
            default_holds = fraction <= default
    tokens = target * block_tokens // size.block
    full = holds and target == room and target < recommended  # all that the GPU has
    keep = bool(default_holds) and not full
    flags: list[str] = []
    minimum: list[str] = []
    length, sentence = None, None
    if engine == "vllm" and holds is not False:
        length, sentence = _model_length(model, tokens, longest)
        tail = "" if length is None else f" --max-model-len {length}"
        if full:
            flags.append(f"--gpu-memory-utilization {default:.2f}{tail}")
        else:
            exact = minimum if keep else flags
            if fraction is not None:
                exact.append(f"--gpu-memory-utilization {fraction:.2f}{tail}")
            blocks = -(-tokens // VLLM_BLOCK_TOKENS) + 1  # block 0 is the server's own
            exact.append(f"--num-gpu-blocks-override {blocks}{tail}")
            if keep and room is not None:
                # The default leaves a little more than this room, and may still be too short.
                most, _ = _model_length(model, room * block_tokens // size.block, longest)
                flags += [] if most is None else [f"--max-model-len {most}"]
    elif fraction is not None:
        (minimum if keep else flags).append(f"--mem-fraction-static {fraction:.2f}")
    left_out = [
        "weights are taken as two bytes a parameter"
        + ("" if model.vocabulary else ", without embeddings (the model file has no vocabulary)"),
        "activations, CUDA graphs and the framework itself need room beyond this"
        + (", inside the same fraction" if engine == "vllm" else ""),
        (
            f"{'the recommendation' if asked is None else 'this size'} serves one request at a "
            "time: requests in service together, and what they generate, take their tokens from "
            "the same pool, so add them"
        ),
    ]
    if sentence is not None:
        left_out.append(sentence)
    return Memory(
        recommended_bytes=recommended,
        asked_bytes=asked,
        kv_bytes=target,
        kv_tokens=tokens,
        weights_bytes=weights,
        floor_bytes=floor,
        gpu_bytes=gpu,
        room_bytes=room,
        fraction=fraction,
        fits=fits,
        holds=holds,
        default_fraction=default,
        default_holds=default_holds,
        max_model_len=length,
        flags=tuple(flags),
        minimum=tuple(minimum),
        left_out=tuple(left_out),
    )


def _model_length(model: Model, tokens: int, longest: int) -> tuple[int | None, str | None]:
    """``--max-model-len`` where the cache is smaller than the model's context, and what to know.

    Parameters
    ----------
    model : Model
    tokens : int
        That the cache holds.
    longest : int
        Of the deepest request, prompt and output.
    """
    refusal = "vLLM does not start when the KV cache is smaller than one request of the full length"
    context, length = CONTEXT_TOKENS.get(model), tokens // VLLM_BLOCK_TOKENS * VLLM_BLOCK_TOKENS
    if context is not None and tokens >= context:
        return None, None
    if length < longest:
        return None, (
            f"{refusal}, and the deepest request of this log has {longest} tokens with its output, "
            f"more than {tokens}: give it more"
        )
    if context is None:
        return None, (
            f"{refusal}: if the model's context is over {length} tokens (the model file does not "
            f"say), add --max-model-len {length}"
        )
    return length, (
        f"{refusal}, {context} tokens for this model; --max-model-len refuses longer requests, and "
        f"this log needs {longest}"
    )
