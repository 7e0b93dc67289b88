"""The sections of an analysis that speak one engine's language."""

from __future__ import annotations

import functools
import textwrap

from cache_worthy.engines import EngineAdvice, Memory
from cache_worthy.policy_table import PolicyTable

WIDTH = 72
NAMES = {"sglang": "SGLang", "vllm": "vLLM"}
_wrap = functools.partial(textwrap.wrap, break_on_hyphens=False, break_long_words=False)


def summary(advice: EngineAdvice, table: PolicyTable) -> str:
    """The policy answer in one sentence, for the head of the report."""
    name, row = NAMES[advice.engine], table.rows[advice.at]
    if advice.type_this is None:
        return f"{name} offers no eviction policy to set; memory flags are below."
    where = f"On {name}, with {_gib(row.bytes)} GiB"
    if advice.saving_cost == 0:
        return f"{where}, keep the default {advice.best}."
    return f"{where}, {advice.type_this} saves {advice.saving_fraction:.2%} of recompute."


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
        out += ["", f"    type           {advice.type_this}"]
    return out


def memory_section(memory: Memory, engine: str) -> list[str]:
    """The recommended bytes as flags, and what that leaves out."""
    out = ["", f"  MEMORY   as flags of {NAMES[engine]}", "  " + "-" * (WIDTH - 2)]
    if memory.kv_bytes < memory.recommended_bytes and memory.gpu_bytes is not None:
        out += _prose(
            f"{memory.gpu_bytes / 2**30:.0f} GiB cannot hold the recommended "
            f"{memory.recommended_bytes / 2**30:.2f} GiB. After the weights, 90% of it leaves the "
            "KV cache below, which the table counts as yours."
        )
    out += [
        f"  KV cache         {memory.kv_bytes / 2**30:.2f} GiB = {memory.kv_tokens} tokens",
        f"  weights          {memory.weights_bytes / 2**30:.2f} GiB",
    ]
    if memory.gpu_bytes is None:
        out += _prose("Give --gpu-gib (the GPUs of one replica together) for the memory fraction.")
    elif not memory.fits:
        out += _prose(
            f"{memory.gpu_bytes / 2**30:.0f} GiB hold the weights and not even the least cache of "
            "question 2: give the replica more GPUs, or a smaller model."
        )
    for n, flag in enumerate(memory.flags):
        out.append(f"    {'or' if n else 'type':<15}{flag}")
    if len(memory.flags) > 1:
        out += _prose(
            "The blocks are exact; the fraction is the least that can hold them, before what is "
            "left out."
        )
    out += _prose("Left out: " + "; ".join(memory.left_out) + ".")
    return out


def pins_note(text: str) -> list[str]:
    """Where the engine can hold a prefix."""
    return ["", *_prose(text)]


def _line(label: str, cells: list[str], first: int) -> str:
    return f"  {label:<{first}}" + "".join(f"{c:>9}" for c in cells)


def _ratio(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _gib(size: int) -> str:
    value = size / 2**30
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _prose(text: str) -> list[str]:
    return _wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ")
