"""The words of one serving engine: its own options, what to type, and its memory flags."""

from __future__ import annotations

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.memory import Memory
from cache_worthy.advise.offer import EngineAdvice
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.vllm import TAILS_MATTER
from cache_worthy.numbers import gib, gib_short, percent
from cache_worthy.report.model import (
    Answer,
    Command,
    Facts,
    Heading,
    Part,
    Prose,
    Section,
    Table,
    table,
)
from cache_worthy.report.words.names import SERVERS
from cache_worthy.report.words.policy import at, heads, marks, policy_table, starred

FRACTION_FLAGS = {"sglang": "--mem-fraction-static", "vllm": "--gpu-memory-utilization"}


def words(analysis: Analysis) -> Section | None:
    """The engine's options first, the research policies after them, and what to type."""
    advice, policies = analysis.of(EngineAdvice), analysis.of(PolicyTable)
    if advice is None or policies is None:
        return None
    name = SERVERS[advice.engine]
    choice = any(o.flag is not None for o in advice.options)
    row = policies.rows[advice.at]
    notes = tuple((o.label, o.note) for o in advice.options if o.note)
    parts: list[Part] = [
        Facts("engine-version", (("options of", advice.server),)),
        Prose(
            "Total recompute cost as a multiple of the compulsory minimum, cold, prompts only, one "
            "request at a time. Lower is better; 1.0000 means that nothing was ever prefilled twice.",
            note=True,
        ),
        _options(advice, policies, choice=choice),
    ]
    if choice:
        parts.append(Prose(f"* = cheapest of what {name} offers at that capacity.", note=True))
    if notes:
        parts.append(Facts("engine-notes", notes))
    parts += [
        policy_table(
            policies, f"Research policies, no flags of {name} (lru: on the tree of this project)"
        ),
        Prose(marks(policies), note=True),
        Answer("Question 5", f"What to set on {name}"),
        Prose(f"At {at(row)}: {advice.verdict}"),
    ]
    if advice.type_this is not None:
        parts.append(Command("type", advice.type_this))
    parts += [
        Heading(f"Memory, as flags of {name}"),
        Facts("memory", tuple(_memory_facts(advice.memory))),
        *_memory_parts(advice.memory, advice.engine),
    ]
    return Section(
        about=f"what {name} offers, then the research policies",
        parts=tuple(parts),
    )


def _options(advice: EngineAdvice, policies: PolicyTable, *, choice: bool) -> Table:
    """Options at every capacity; without flags they are no choice, and no cheapest is marked."""
    least = [min(costs) for costs in zip(*(o.total_cost for o in advice.options), strict=True)]
    return table(
        "engine-table",
        f"What {SERVERS[advice.engine]} offers",
        columns=("capacity\nGiB", *heads(policies)),
        rows=(
            (
                o.label,
                *(
                    starred(value, cheapest=choice and cost == low)
                    for cost, low, value in zip(o.total_cost, least, o.cost_ratio, strict=True)
                ),
            )
            for o in advice.options
        ),
    )


def summary(advice: EngineAdvice, policies: PolicyTable, block_tokens: int) -> list[Part]:
    """What the GPU holds and what to set, for the head of the report."""
    name, row, memory = SERVERS[advice.engine], policies.rows[advice.at], advice.memory
    note = _gpu_note(memory)
    out: list[Part] = [] if note is None else [Prose(note)]
    if memory.fits is False:
        return out
    if advice.engine == "vllm":
        below = "; memory flags are below" if memory.flags or memory.minimum else ""
        out.append(Prose(f"vLLM offers no eviction policy to set{below}."))
        if advice.tail_cost_ratio is not None and advice.tail_cost_ratio > TAILS_MATTER:
            out.append(
                Prose(
                    f"Prompts end inside a block of {block_tokens} tokens: vLLM caches full blocks "
                    "only."
                )
            )
        return out
    where = f"On {name}, with {gib_short(row.bytes)} GiB"
    if advice.saving_cost == 0 or advice.type_this is None:
        return [*out, Prose(f"{where}, keep the default {advice.best}.")]
    saves = percent(advice.saving_fraction, 2)
    out.append(Prose(f"{where}, {advice.best} saves {saves} of prefill work:"))
    return [*out, Command("", advice.type_this)]


def _memory_facts(memory: Memory) -> list[tuple[str, str]]:
    """Sizes, by name."""
    whose = " (your capacity)" if memory.asked_bytes is not None else ""
    return [
        ("KV cache", f"{gib(memory.kv_bytes)} = {memory.kv_tokens} tokens{whose}"),
        ("weights", gib(memory.weights_bytes)),
    ]


def _memory_parts(memory: Memory, engine: str) -> list[Part]:
    """What the GPU holds, the flags, and what they leave out."""
    flag = FRACTION_FLAGS[engine]
    note = _gpu_note(memory)
    missing = "Give --gpu-gib (the GPUs of one replica together) for the memory fraction."
    out: list[Part] = [Prose(missing if note is None else note)]
    largest = f"Use the largest {flag} that starts ({_default(memory, engine)})."
    if memory.holds and memory.kv_bytes < memory.recommended_bytes and memory.asked_bytes is None:
        out.append(Prose(f"The table counts what fits as yours. {largest}"))
    elif memory.fits and not memory.holds:
        out.append(Prose(f"{largest} For what fits, rerun without a capacity of yours."))
    elif memory.minimum:
        default = _default(memory, engine)
        out.append(Prose(f"The default already holds this: keep it ({default})."))
    out += [Command("or" if n else "type", text) for n, text in enumerate(memory.flags)]
    out += [Command("or" if n else "at least", text) for n, text in enumerate(memory.minimum)]
    if memory.minimum:
        out.append(Prose(_minimum(memory)))
    if any("--num-gpu-blocks-override" in text for text in (*memory.flags, *memory.minimum)):
        out.append(Prose("Blocks are counted at block size 16; vLLM reserves one of them."))
    return [*out, Prose("Left out: " + "; ".join(memory.left_out) + ".")]


def _minimum(memory: Memory) -> str:
    """What a minimum is, and what else to ask."""
    text = (
        "A lower limit that ignores the items under 'Left out': do not reduce your setting to it."
    )
    room = _default_room(memory)
    if room > 1.05 * memory.kv_bytes / 2**30:
        text += (
            f" The verdict above is for {gib(memory.kv_bytes)}. To evaluate roughly what the default "
            f"leaves, rerun with --capacity-gib {room:g}."
        )
    return text


def _gpu_note(memory: Memory) -> str | None:
    """What the GPU holds, in a sentence; None without one."""
    if memory.gpu_bytes is None or memory.room_bytes is None:
        return None
    gpu, room = f"{memory.gpu_bytes / 2**30:g} GiB", gib(memory.room_bytes)
    more = "give the replica more GPUs, or a smaller model"
    if memory.room_bytes <= 0:
        return f"The weights, {gib(memory.weights_bytes)}, do not fit in 90% of {gpu}: {more}."
    if not memory.fits:
        return (
            f"90% of {gpu} leaves {room} after the weights; the least cache of question 2 is "
            f"{gib(memory.floor_bytes)}: {more}."
        )
    if not memory.holds:
        return (
            f"90% of {gpu} leaves {room} after the weights: your {gib(memory.kv_bytes)} do not fit."
        )
    if memory.kv_bytes < memory.recommended_bytes and memory.asked_bytes is None:
        return (
            f"90% of {gpu} leaves only {room} after the weights, of the "
            f"{gib(memory.recommended_bytes)} recommended."
        )
    return (
        f"{gpu} of GPU hold the weights and {gib(memory.kv_bytes)} of KV: 90% of it leaves "
        f"room for {room}."
    )


def _default_room(memory: Memory) -> float:
    """GiB for KV under the engine's default fraction, rounded down to two decimals."""
    if memory.gpu_bytes is None or memory.room_bytes is None:
        return 0.0
    by_default = int(memory.default_fraction * memory.gpu_bytes) - memory.weights_bytes
    return min(by_default, memory.room_bytes) * 100 // 2**30 / 100


def _default(memory: Memory, engine: str) -> str:
    share = f"{memory.default_fraction:.2f}"
    return f"the server chooses about {share}" if engine == "sglang" else f"the default is {share}"
