"""SGLang's radix cache with its selectable eviction strategies, one request in service at a time.

`tree` is the cache, `strategies` what a strategy scores, `versions` which server offers what, `log` a
request log cut to pages, `replay` the loop.
"""

from __future__ import annotations

from cache_worthy.sim.sglang.log import PagedLog
from cache_worthy.sim.sglang.replay import replay_sglang
from cache_worthy.sim.sglang.strategies import STRATEGIES, Strategy
from cache_worthy.sim.sglang.tree import RadixCache
from cache_worthy.sim.sglang.versions import CURRENT, SERVERS, Server, flag_for, server_for

__all__ = [
    "CURRENT",
    "SERVERS",
    "STRATEGIES",
    "PagedLog",
    "RadixCache",
    "Server",
    "Strategy",
    "flag_for",
    "replay_sglang",
    "server_for",
]
