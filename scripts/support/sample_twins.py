"""The native twins of the samples: the same requests as block ids.

Ids are numbered by comparing whole prefixes (text or token ids) and not by hashing, so that the
readers are held against an answer that shares no code with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sample_traffic import BLOCK, CHARS, TOOLS, Asked, Json, compact, jsonl, traffic


def simple_text(asked: Asked, *, tools: bool) -> str:
    """The prompt under the template ``simple``, written out by hand."""
    out = ""
    if tools and asked.tools:
        listed = [{"name": n, "description": d, "parameters": p} for n, d, p in TOOLS]
        out += "<|tools|>\n" + compact(listed) + "\n"
    for turn in asked.turns:
        out += "<|" + turn.role + "|>\n" + turn.text + "\n"
        if turn.call:
            name, arguments = turn.call
            out += '<|tool_call|>\n{"name":"' + name + '","arguments":' + compact(arguments) + "}\n"
    return out


def token_ids(text: str) -> list[int]:
    """Invented token ids: every word and space-separated piece its own number."""
    return [sum((i + 1) * b for i, b in enumerate(w.encode())) % 50_000 for w in text.split(" ")]


def native(
    rows: Sequence[tuple[Asked, Sequence[object], int]], *, timed: bool, output: bool
) -> str:
    """Twins: ``rows`` holds a request, its units (characters or tokens) and the units of a block."""
    number: dict[tuple[object, ...], int] = {}
    lines = []
    for asked, units, size in rows:
        ids = []
        for end in range(size, len(units) + size, size):
            ids.append(number.setdefault(tuple(units[:end]), len(number)))
        tokens = len(units) if size == BLOCK else -(-len(units) // CHARS)
        record: Json = {"timestamp": asked.second * 1000} if timed else {}
        record["input_length"] = tokens
        if output:
            record["output_length"] = asked.output
        lines.append({**record, "block_size": BLOCK, "hash_ids": ids})
    return jsonl(lines)


def of_text(requests: Sequence[Asked], *, tools: bool, timed: bool, output: bool) -> str:
    """The twin whose blocks are characters."""
    size = BLOCK * CHARS
    return native(
        [(a, simple_text(a, tools=tools), size) for a in requests], timed=timed, output=output
    )


def of_tokens(requests: Sequence[Asked], *, timed: bool, output: bool) -> str:
    """The twin whose blocks are token ids."""
    return native(
        [(a, token_ids(simple_text(a, tools=True)), BLOCK) for a in requests],
        timed=timed,
        output=output,
    )


def id_records() -> list[tuple[Asked, list[int], int]]:
    """Requests as block ids, for the formats that hold ids themselves."""
    rows = [json.loads(line) for line in of_tokens(traffic(), timed=True, output=True).splitlines()]
    return [(a, r["hash_ids"], r["input_length"]) for a, r in zip(traffic(), rows, strict=True)]
