"""The words of the workload: what was read, and what it is like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cache_worthy.advise.analysis import Analysis, Input, Parameters
from cache_worthy.advise.workload import Distribution, Workload
from cache_worthy.numbers import counted, gib, percent
from cache_worthy.report.charts import HistogramChart
from cache_worthy.report.model import Facts, Figure, Part, Section, table
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS


def words(analysis: Analysis) -> Section | None:
    """The section."""
    workload = analysis.of(Workload)
    if workload is None:
        return None
    read = analysis.input
    facts = [
        *_cutting(read, analysis.parameters),
        *_records(read, analysis.parameters.model.name),
        *_shape(workload, read.block_tokens),
        *_sizes(workload),
    ]
    return Section(parts=(Facts("facts", tuple(facts)), *_reuse(workload)))


def _cutting(read: Input, parameters: Parameters) -> Iterable[tuple[str, str]]:
    """How prompts became blocks."""
    sglang = "sglang" in (parameters.engine, read.format)
    kind = f"{'an' if read.format[0] in 'aeiou' else 'a'} {read.format} log"
    yield "read as", f"{kind} (field {read.field!r})"
    if by_characters(read):
        yield "chunking", _characters(read, parameters.chars_per_token)
        if read.tokenizer == "chars+log":
            yield (
                "token ids",
                (
                    "of the log beside text cut by characters: the two share no block; --tokenizer "
                    "lets them meet"
                ),
            )
    elif read.tokenizer is not None:
        what = (
            "token ids of the log" if read.tokenizer == "log" else f"--tokenizer {read.tokenizer}"
        )
        yield "tokens", f"{what}, {read.block_tokens} per block"
    elif read.block_tokens != BLOCK_SIZE_TOKENS:
        yield "block size", f"{read.block_tokens} tokens"
    if read.tokenizer is not None and sglang and read.block_tokens > 1:
        size = read.block_tokens
        yield (
            "page",
            (
                f"SGLang's default page is 1 token, this replay's {size}: up to {size - 1} tokens of a "
                f"shared start, and all of one shorter than {size}, are not counted, so the server "
                "shares slightly more than shown"
            ),
        )
    if read.template is not None:
        yield (
            "template",
            f"messages and tools joined by the template {read.template!r} (--template)",
        )
    if read.ids_reinterned:
        yield (
            "block ids",
            "do not fix their prefix (an id occurs under two parents); read as (parent, id)",
        )
    if read.length_mismatches:
        yield (
            "lengths",
            (
                f"{read.length_mismatches} records have more or fewer blocks than input_length / "
                f"{read.block_tokens} rounded up; their blocks are taken as they are"
            ),
        )


def by_characters(read: Input) -> bool:
    """Whether prompts were cut without a tokeniser."""
    return read.tokenizer in ("chars", "chars+log")


def _characters(read: Input, chars_per_token: float) -> str:
    """What stands for tokens, and how well."""
    if read.chars_per_block is not None:
        return (
            f"{read.chars_per_block} chars/block at {chars_per_token:g} chars per token "
            "(--chars-per-token; which prompts share a prefix is exact up to whole blocks, lengths and "
            "sizes are approximate)"
        )
    kinds = list((read.characters_by_kind or {}).items())
    shown = [f"{name} {percent(part, 0)}" for name, part in kinds[:4]]
    shown += ["..."] if kinds[4:] else []
    return (
        f"{read.block_tokens} tokens per block, estimated from the kinds of characters: "
        f"{chars_per_token:.1f} characters per token here ({', '.join(shown)}); which prompts "
        "share a prefix is exact, lengths and sizes are approximate; --tokenizer ends the guess"
    )


def _records(read: Input, model: str) -> Iterable[tuple[str, str]]:
    """Which records became requests."""
    yield "model", model
    cut = f" ({read.skipped_truncated_lines} truncated last line skipped)"
    yield "records", f"{read.requests}{cut if read.skipped_truncated_lines else ''}"
    yield "left out", read.records.text()
    yield "order", read.order
    if len(read.models) > 1:
        yield "models", _tally(read.models)
    if read.salts:
        yield "salts", f"{_tally(read.salts)}; they share no block"


def _shape(w: Workload, block_tokens: int) -> Iterable[tuple[str, str]]:
    """What the prompts have in common."""
    yield (
        "blocks",
        (
            f"{w.block_references} references, {w.distinct_blocks} distinct  "
            f"({percent(w.reuse_fraction)} reuse)"
        ),
    )
    yield (
        "re-referenced",
        f"{percent(w.rereferenced_fraction)} of distinct blocks are requested more than once",
    )
    if w.reuse_distance.p50 is not None:
        yield (
            "reuse distance",
            (
                f"{_quantiles(w.reuse_distance)} requests  (<=10: "
                f"{percent(w.reuse_within_10, 0)}, <=100: {percent(w.reuse_within_100, 0)})"
            ),
        )
    yield "request depth", f"{_blocks(w.depth)} of {block_tokens} tokens"
    yield "radix nodes", f"{w.radix_nodes}   size {_blocks(w.node_blocks)}"
    yield (
        "largest subtree",
        f"its root can be evicted only after its {counted(w.largest_subtree_blocks, 'block')}",
    )
    yield (
        "cost spread",
        (
            f"{_times(w.cost_per_node_p90_over_p10)} p90/p10 per node, "
            f"{_times(w.cost_per_byte_p90_over_p10)} per byte"
        ),
    )


def _sizes(w: Workload) -> Iterable[tuple[str, str]]:
    """The largest and the least cache."""
    yield "working set", f"{gib(w.working_set_bytes)}   (a cache this large never evicts anything)"
    yield (
        "minimum cache",
        (
            f"{gib(w.floor_bytes)} = {counted(w.floor_blocks, 'block')} = {percent(w.floor_fraction)} "
            "of it   (your longest prompt; a smaller cache cannot hold it)"
        ),
    )


def _quantiles(d: Distribution) -> str:
    return f"p50 {d.p50:.4g}, p90 {d.p90:.4g}, p99 {d.p99:.4g}"


def _blocks(d: Distribution) -> str:
    shown = "--" if d.p50 is None else f"{_quantiles(d)}, max {d.max:.4g}"
    return f"{shown} block{'' if d.max == 1 else 's'}"


def _times(value: float | None) -> str:
    return "--" if value is None else f"{value:.1f}x"


def _tally(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n})" for name, n in list(counts.items())[:5]]
    return ", ".join(shown) + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")


def _reuse(w: Workload) -> tuple[Part, ...]:
    """How long ago a block was last asked for."""
    if not w.reuse_histogram:
        return ()
    d = w.reuse_distance
    total = sum(b.references for b in w.reuse_histogram)
    description = (
        f"Bars by powers of two: {counted(total, 'repeated block reference')}, by the requests since "
        f"the block was last asked for; median {d.p50:g}, p90 {d.p90:g}, p99 {d.p99:g}, most {d.max:g}."
    )
    spans = [
        f"{b.least} to {b.up_to}" if b.least < b.up_to else f"{b.up_to}" for b in w.reuse_histogram
    ]
    bins = tuple(
        (
            str(b.up_to),
            b.references / total,
            f"{span} requests: {b.references} references, {percent(b.references / total)}",
        )
        for b, span in zip(w.reuse_histogram, spans, strict=True)
    )
    numbers = table(
        "reuse-table",
        "Reuse distance",
        columns=("requests", "references", "share"),
        rows=(
            (span, str(b.references), percent(b.references / total))
            for b, span in zip(w.reuse_histogram, spans, strict=True)
        ),
    )
    return (
        Figure(
            "Reuse distance",
            description,
            draw=HistogramChart(bins, "requests since it was last asked for, up to"),
            caption="Share of repeated block references. What a small cache keeps is what comes back soon.",
            numbers=(numbers,),
            in_terminal=False,
        ),
    )
