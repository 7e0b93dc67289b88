"""The sections of an analysis that speak one engine's language."""

from __future__ import annotations

import functools
import textwrap
from dataclasses import dataclass

from cache_worthy.advise.memory import Memory
from cache_worthy.advise.policy_table import PolicyTable
from cache_worthy.advise.server import TAILS_MATTER, EngineAdvice

WIDTH = 72
NAMES = {"sglang": "SGLang", "vllm": "vLLM"}
FRACTION_FLAGS = {"sglang": "--mem-fraction-static", "vllm": "--gpu-memory-utilization"}
_wrap = functools.partial(textwrap.wrap, break_on_hyphens=False, break_long_words=False)


@dataclass(frozen=True, slots=True)
class Typed:
    """Options for the command line, and the word before them ("type", "or", "at least", "")."""

    label: str
    text: str


def summary(advice: EngineAdvice, table: PolicyTable, block_tokens: int) -> list[str | Typed]:
    """What the GPU holds and what to set, for the head of the report."""
    name, row, memory = NAMES[advice.engine], table.rows[advice.at], advice.memory
    note = gpu_note(memory)
    out: list[str | Typed] = [] if note is None else [note]
    if memory.fits is False:
        return out
    if advice.engine == "vllm":
        below = "; memory flags are below" if memory.flags or memory.minimum else ""
        out.append(f"vLLM offers no eviction policy to set{below}.")
        if advice.tail_cost_ratio is not None and advice.tail_cost_ratio > TAILS_MATTER:
            out.append(
                f"Prompts end inside a block of {block_tokens} tokens: vLLM caches full blocks only."
            )
        return out
    where = f"On {name}, with {_gib(row.bytes)} GiB"
    if advice.saving_cost == 0 or advice.type_this is None:
        return [*out, f"{where}, keep the default {advice.best}."]
    out.append(f"{where}, {advice.best} saves {advice.saving_fraction:.2%} of recompute:")
    return [*out, Typed("", advice.type_this)]


def policy_section(advice: EngineAdvice, table: PolicyTable) -> list[str]:
    """The engine's options first, the research policies after them, and what to type."""
    name = NAMES[advice.engine]
    out = [
        "",
        f"  POLICY   what {name} offers, then the research policies",
        "  " + "-" * (WIDTH - 2),
    ]
    out += _wrap(
        advice.server, WIDTH + 8, initial_indent="  options of       ", subsequent_indent=" " * 19
    )
    out.append("")
    out += _prose(
        "Total recompute cost as a multiple of the compulsory minimum, cold, prompts only, one "
        "request at a time. Lower is better; 1.0000 means that nothing was ever prefilled twice."
    )
    labels = [o.label for o in advice.options]
    first = max(map(len, [*labels, *table.policies, "capacity"])) + 1
    fractions = [f"{100 * row.fraction:.1f}%" for row in table.rows]
    sizes = [_gib(row.bytes) for row in table.rows]
    out += ["", _line("capacity", fractions, first), _line("GiB", sizes, first), ""]
    # Without flags the rows are readings of one policy, not a choice: no cheapest is marked.
    choice = any(o.flag is not None for o in advice.options)
    for option in advice.options:
        best = [min(o.total_cost[n] for o in advice.options) for n in range(len(option.total_cost))]
        cells = [
            ("*" if choice and cost == least else "") + _ratio(ratio)
            for cost, least, ratio in zip(option.total_cost, best, option.cost_ratio, strict=True)
        ]
        out.append(_line(option.label, cells, first))
    out += ["", f"  research policies, no flags of {name} (lru: on the tree of this project)"]
    for n, policy in enumerate(table.policies):
        cells = [_ratio(row.cells[n].cost_ratio) for row in table.rows]
        out.append(_line(policy, cells, first))
    out.append("")
    if choice:
        out.append(f"  * = cheapest of what {name} offers at that capacity.")
    notes = [f"{o.label}: {o.note}." for o in advice.options if o.note]
    for note in notes:
        out += _wrap(note, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    row = table.rows[advice.at]
    label = f" ({row.label})" if row.label else ""
    out += ["", f"  QUESTION 5       WHAT TO SET ON {name}"]
    out += _prose(f"At {100 * row.fraction:.1f}%{label}: {advice.verdict}")
    if advice.type_this is not None:
        out += ["", *typed(Typed("type", advice.type_this))]
    return out


def memory_section(memory: Memory, engine: str) -> list[str]:
    """The KV bytes of the verdict as flags, and what that leaves out."""
    out = ["", f"  MEMORY   as flags of {NAMES[engine]}", "  " + "-" * (WIDTH - 2)]
    out += [f"  {name:<17}{text}" for name, text in memory_facts(memory)]
    for part in memory_parts(memory, engine):
        out += _prose(part) if isinstance(part, str) else typed(part)
    return out


def memory_facts(memory: Memory) -> list[tuple[str, str]]:
    """Sizes, by name."""
    whose = " (your capacity)" if memory.asked_bytes is not None else ""
    return [
        ("KV cache", f"{memory.kv_bytes / 2**30:.2f} GiB = {memory.kv_tokens} tokens{whose}"),
        ("weights", f"{memory.weights_bytes / 2**30:.2f} GiB"),
    ]


def memory_parts(memory: Memory, engine: str) -> list[str | Typed]:
    """What the GPU holds, the flags, and what they leave out."""
    flag = FRACTION_FLAGS[engine]
    note = gpu_note(memory)
    out: list[str | Typed] = [
        "Give --gpu-gib (the GPUs of one replica together) for the memory fraction."
        if note is None
        else note
    ]
    largest = f"Use the largest {flag} that starts ({_default(memory, engine)})."
    if memory.holds and memory.kv_bytes < memory.recommended_bytes and memory.asked_bytes is None:
        out.append(f"The table counts what fits as yours. {largest}")
    elif memory.fits and not memory.holds:
        out.append(f"{largest} For what fits, rerun without a capacity of yours.")
    elif memory.minimum:
        out.append(f"The default already holds this: keep it ({_default(memory, engine)}).")
    out += [Typed("or" if n else "type", text) for n, text in enumerate(memory.flags)]
    out += [Typed("or" if n else "at least", text) for n, text in enumerate(memory.minimum)]
    if memory.minimum:
        text = "That is a minimum, before what is left out, and no reason to give it less memory."
        room = _default_room(memory)
        if room > 1.05 * memory.kv_bytes / 2**30:
            text += (
                f" The verdict above is for {_amount(memory.kv_bytes)}; --capacity-gib {room:g} asks "
                "about what the default leaves, near enough."
            )
        out.append(text)
    if any("--num-gpu-blocks-override" in text for text in (*memory.flags, *memory.minimum)):
        out.append("Blocks are counted at block size 16; one of them is vLLM's own.")
    return [*out, "Left out: " + "; ".join(memory.left_out) + "."]


def gpu_note(memory: Memory) -> str | None:
    """What the GPU holds, in a sentence; None without one."""
    if memory.gpu_bytes is None or memory.room_bytes is None:
        return None
    gpu, room = f"{memory.gpu_bytes / 2**30:g} GiB", _amount(memory.room_bytes)
    more = "give the replica more GPUs, or a smaller model"
    if memory.room_bytes <= 0:
        return f"The weights, {_amount(memory.weights_bytes)}, do not fit in 90% of {gpu}: {more}."
    if not memory.fits:
        return (
            f"90% of {gpu} leaves {room} after the weights; the least cache of question 2 is "
            f"{_amount(memory.floor_bytes)}: {more}."
        )
    if not memory.holds:
        return (
            f"90% of {gpu} leaves {room} after the weights: your {_amount(memory.kv_bytes)} "
            "do not fit."
        )
    if memory.kv_bytes < memory.recommended_bytes and memory.asked_bytes is None:
        return (
            f"90% of {gpu} leaves only {room} after the weights, of the "
            f"{_amount(memory.recommended_bytes)} recommended."
        )
    return (
        f"{gpu} of GPU hold the weights and {_amount(memory.kv_bytes)} of KV: 90% of it leaves "
        f"room for {room}."
    )


def typed(part: Typed, indent: int = 19) -> list[str]:
    """Options behind a label, broken between two of them where the line would be too long."""
    lines = [f"    {part.label}".ljust(indent)]
    for n, option in enumerate(part.text.replace(" --", "\n--").splitlines()):
        if n and len(lines[-1]) + len(option) + 3 > WIDTH + 8:
            lines[-1] += " \\"
            lines.append(" " * indent + option)
        else:
            lines[-1] += " " * bool(n) + option
    return lines


def pins_note(text: str) -> list[str]:
    """Where the engine can hold a prefix."""
    return ["", *_prose(text)]


def _default_room(memory: Memory) -> float:
    """GiB for KV under the engine's default fraction, rounded down to two decimals."""
    if memory.gpu_bytes is None or memory.room_bytes is None:
        return 0.0
    by_default = int(memory.default_fraction * memory.gpu_bytes) - memory.weights_bytes
    return min(by_default, memory.room_bytes) * 100 // 2**30 / 100


def _default(memory: Memory, engine: str) -> str:
    share = f"{memory.default_fraction:.2f}"
    return f"the server chooses about {share}" if engine == "sglang" else f"the default is {share}"


def _line(label: str, cells: list[str], first: int) -> str:
    return f"  {label:<{first}}" + "".join(f"{c:>9}" for c in cells)


def _ratio(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _gib(size: int) -> str:
    value = size / 2**30
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _amount(size: int) -> str:
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 else f"{value:.4f} GiB"


def _prose(text: str) -> list[str]:
    return _wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
