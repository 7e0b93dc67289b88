"""Which SGLang offers which eviction strategy, with the source of each row.

The one place where this is written down. A strategy can stand in the server's registry and still
be refused by its command line, so the two columns differ. Dates and numbers are those of the pull
requests; a row holds from its pull request to the next row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """A state of the server.

    Parameters
    ----------
    label : str
        How to recognise it.
    choices : tuple of str
        What ``--radix-eviction-policy`` accepts.
    registry : tuple of str
        What the server has code for.
    config_flag : bool
        Parameters go through ``--radix-eviction-policy-config`` (a JSON object).
    hit_count_moves : bool
        Before sglang#18843 no insert moved the hit count of the plain radix cache, so lfu was lru.
    source : str
        Where this was read.
    """

    label: str
    choices: tuple[str, ...]
    registry: tuple[str, ...]
    config_flag: bool
    hit_count_moves: bool
    source: str


SERVERS = (
    Server(
        label="from September 2025",
        choices=("lru", "lfu"),
        registry=("lru", "lfu"),
        config_flag=False,
        hit_count_moves=False,
        source="sgl-project/sglang#10190",
    ),
    Server(
        label="from October 2025",
        choices=("lru", "lfu"),
        registry=("lru", "lfu", "fifo", "mru", "filo"),
        config_flag=False,
        hit_count_moves=False,
        source="sgl-project/sglang#11506",
    ),
    Server(
        label="from March 2026, v0.5.14 among them",
        choices=("lru", "lfu", "slru", "priority"),
        registry=("lru", "lfu", "fifo", "mru", "filo", "priority", "slru"),
        config_flag=False,
        hit_count_moves=True,
        source="sgl-project/sglang#18843; choices of server_args.py; #27134 (fifo, mru, filo refused)",
    ),
    Server(
        label="current",
        choices=("lru", "lfu", "slru", "priority", "tlru"),
        registry=("lru", "lfu", "fifo", "mru", "filo", "priority", "slru", "tlru"),
        config_flag=True,
        hit_count_moves=True,
        source="sgl-project/sglang#34012; docs.sglang.io, radix eviction policy",
    ),
)
"""Oldest first."""

CURRENT = SERVERS[-1]


def flag_for(strategy: str, parameters: Mapping[str, int], server: Server = CURRENT) -> str | None:
    """The options to type for a strategy, or None where the command line refuses it.

    Parameters
    ----------
    strategy : str
        The server's own name.
    parameters : mapping of str to int
        Only those that differ from the server's defaults.
    server : Server
        Which server.

    Examples
    --------
    >>> flag_for("slru", {"protected_threshold": 3})
    '--radix-eviction-policy slru --radix-eviction-policy-config \\'{"protected_threshold": 3}\\''
    >>> flag_for("lfu", {})
    '--radix-eviction-policy lfu'
    >>> flag_for("fifo", {}) is None
    True
    """
    if strategy not in server.choices or (parameters and not server.config_flag):
        return None
    flag = f"--radix-eviction-policy {strategy}"
    if parameters:
        flag += f" --radix-eviction-policy-config '{json.dumps(dict(parameters))}'"
    return flag
