"""List the shipped models: bytes of KV cache per token, parameters, source.

A name is taken in any of its usual spellings (deepseek-ai/DeepSeek-V3, qwen3:32b); --model takes a
config.json as well. Columns: name, bytes of KV cache per token, parameters in all and those that one
token uses, in thousands of millions, kinds of layers, notes, and the source in brackets.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Literal

from cache_worthy.commands import options as arg
from cache_worthy.console import check_output
from cache_worthy.report.model import Column, Part, table

HUB = "https://huggingface.co/"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One shipped model.

    Attributes
    ----------
    name : str
    kind : str
        Its kinds of layers.
    kv_bytes_per_token : int or None
        On one copy of the cache; null where it depends on the length of the context.
    parameters_total, parameters_active : int
        Of the text model; those that one token uses as the publisher counts them.
    source : str
        Address of the configuration.
    aliases : tuple of str
        Other names; the first is that of the publisher.
    indexer_dtype : str or None
        Precision of an indexer's keys, null without an indexer.
    state_bytes_per_sequence : int
        Of recurrent layers, 0 without them.
    weights_bytes : int
        At the precision of the published configuration.
    prefix_cache : {"full", "window", "state"}
        What a prefix cache holds: every token; of some layers the newest ones; of some layers a state
        that exists only where an engine saved one. Replays are right for the first.
    note : str
        What depends on the context, what is kept of a prefix; "" where there is nothing to say.
    """

    name: str
    kind: str
    kv_bytes_per_token: int | None
    parameters_total: int
    parameters_active: int
    source: str
    aliases: tuple[str, ...]
    indexer_dtype: str | None
    state_bytes_per_sequence: int
    weights_bytes: int
    prefix_cache: Literal["full", "window", "state"]
    note: str


@dataclass(frozen=True, slots=True)
class ModelList:
    """Every model that ``--model`` takes by name.

    Attributes
    ----------
    kv_dtype : str
        Precision of the KV cache that the bytes are for.
    models : tuple of ListedModel
    """

    kv_dtype: str
    models: tuple[ListedModel, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--kv-dtype",
        default="bf16",
        metavar="D",
        help="precision of the KV cache: fp32 bf16 fp16 fp8 int8 fp4 int4 (default bf16)",
    )
    parser.add_argument(
        "--indexer-dtype",
        metavar="D",
        help="precision of the keys of sparse indexers (default: as the KV cache, or what the model "
        "fixes)",
    )
    arg.add_output(parser)


def _note(name: str, kv_dtype: str, indexer_dtype: str | None) -> tuple[str, int | None]:
    """What a row says about the context, and its bytes per token."""
    from cache_worthy.sim.models.loading import load_model
    from cache_worthy.sim.models.memory import (
        kept,
        kv_bytes_of,
        kv_bytes_past_windows,
        kv_bytes_per_token,
        state_bytes,
    )

    model = load_model(name, kv_dtype=kv_dtype, indexer_dtype=indexer_dtype)
    per_token = kv_bytes_per_token(model)
    said = []
    if per_token is None:
        said.append(
            f"{kv_bytes_of(model, 1):,} bytes for the first token, "
            f"{float(kv_bytes_past_windows(model)):,.0f} per token of a long context"
        )
    if state_bytes(model):
        said.append(f"{state_bytes(model):,} bytes of state per sequence")
    if model.prefix_cache != "full":
        said.append(kept(model))
    return "; ".join(said), per_token


def listed(kv_dtype: str, indexer_dtype: str | None) -> tuple[ListedModel, ...]:
    """The rows.

    Raises
    ------
    InputError
        For a precision that is not known.
    """
    from cache_worthy.sim.models.catalogue import active_parameters, catalogue, shipped_model
    from cache_worthy.sim.models.memory import state_bytes, weights_bytes

    rows = []
    for entry in catalogue().values():
        model = shipped_model(entry.name)
        has_indexer = model.geometry.indexed(1 << 20) > 0
        note, per_token = _note(entry.name, kv_dtype, indexer_dtype)
        rows.append(
            ListedModel(
                name=entry.name,
                kind=model.geometry.kind,
                kv_bytes_per_token=per_token,
                parameters_total=model.parameters_total,
                parameters_active=active_parameters(entry),
                source=entry.source,
                aliases=(entry.label, *entry.aliases),
                indexer_dtype=(entry.indexer_dtype or indexer_dtype or kv_dtype)
                if has_indexer
                else None,
                state_bytes_per_sequence=state_bytes(model),
                weights_bytes=weights_bytes(model),
                prefix_cache=model.prefix_cache,
                note=note,
            )
        )
    return tuple(rows)


def _words(rows: tuple[ListedModel, ...]) -> list[Part]:
    return [
        table(
            "models",
            "",
            columns=("name", "B/token", "total", "active", Column("kind", words=True)),
            rows=(
                (
                    row.name,
                    "-" if row.kv_bytes_per_token is None else f"{row.kv_bytes_per_token:,}",
                    f"{row.parameters_total / 1e9:.2f}",
                    f"{row.parameters_active / 1e9:.2f}",
                    row.kind,
                )
                for row in rows
            ),
        ),
        table(
            "sources",
            "",
            columns=("name", Column("notes [source]", words=True)),
            rows=((row.name, f"{row.note} [{_short(row.source)}]".strip()) for row in rows),
        ),
    ]


def _short(source: str) -> str:
    return source.removeprefix(HUB).removesuffix("/blob/main/config.json")


def run(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    check_output(args.output, args.force)
    rows = listed(args.kv_dtype, args.indexer_dtype)
    arg.write_result(args, ModelList(args.kv_dtype, rows), lambda: _words(rows))
    return 0
