"""Requests as the logs that block policies and SGLang's cache read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cache_worthy.sim.blocks import BlockLog
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.sglang.log import PagedLog
from cache_worthy.sim.trace import Request


def block_log(requests: Sequence[Request], **options: Any) -> BlockLog:
    table = RequestTable.of(requests)
    return BlockLog.intern(table.paths, table.lengths, **options)


def paged_log(requests: Sequence[Request], *, generated: bool = True, **options: Any) -> PagedLog:
    """With what the requests generate, and their own priorities."""
    table = RequestTable.of(requests)
    outputs = table.outputs if generated else None
    options = {"priorities": table.priorities, "outputs": outputs, **options}
    return PagedLog.of(build_forest(table.paths), table.lengths, **options)
