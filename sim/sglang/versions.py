"""Which SGLang offers which eviction strategy, and how it keeps its books, by release.

Read off the released packages named in each row (``RADIX_EVICTION_POLICY_CHOICES``,
``radix_cache.py``, the eviction call of the allocator). A server may have code for a strategy that its
command line refuses. A row holds from its first release to the next row; releases between those read
are assumed to be like the one before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cache_worthy.sim.errors import InputError

Counting = Literal["never", "twice", "once"]


@dataclass(frozen=True, slots=True)
class Server:
    """A state of the server."""

    since: tuple[int, int, int]
    """First release read that has it."""
    choices: tuple[str, ...]
    """What ``--radix-eviction-policy`` accepts."""
    counting: Counting
    """How often one request moves the hit count of a node of its prompt: not at all (so lfu is
    lru), at both of its insertions (sgl-project/sglang#30689), or once."""
    source: str
    """Releases read, and the pull request where it is known."""
    evict_whole_request: bool = False
    """Whether an eviction is asked for the whole allocation, or for the shortfall."""
    config_flag: bool = False
    """Parameters go through ``--radix-eviction-policy-config`` (a JSON object)."""
    session_cache: str | None = None
    """What ``--enable-session-radix-cache`` also needs in the environment, "" for nothing; None
    where a release of the row lacks it or means another thing by it (0.5.16 ties it to the priority
    policy)."""

    @property
    def label(self) -> str:
        """How to name it to a user."""
        later = [s.since for s in SERVERS if s.since > self.since]
        until = f", before {'.'.join(map(str, min(later)))}" if later else ""
        return f"SGLang {'.'.join(map(str, self.since))} and later{until}"


_LFU = ("lru", "lfu")
_PRIORITY = (*_LFU, "slru", "priority")
_TLRU = (*_PRIORITY, "tlru")
_UNIFIED = "SGLANG_ENABLE_UNIFIED_RADIX_TREE=1"

SERVERS = (
    Server((0, 5, 3), _LFU, "never", "0.5.3; #10190", evict_whole_request=True),
    Server((0, 5, 6), _LFU, "never", "0.5.6, 0.5.9; #11506", evict_whole_request=True),
    Server((0, 5, 10), _PRIORITY[:3], "twice", "0.5.10; #18843", evict_whole_request=True),
    Server(
        (0, 5, 11), _PRIORITY, "twice", "0.5.11, 0.5.12, 0.5.14, 0.5.16", evict_whole_request=True
    ),
    Server((0, 5, 18), _PRIORITY, "twice", "0.5.18, 0.5.19", session_cache=_UNIFIED),
    Server((0, 5, 20), _PRIORITY, "twice", "0.5.20", config_flag=True, session_cache=""),
    Server((0, 5, 21), _TLRU, "twice", "0.5.21; #34012", config_flag=True, session_cache=""),
    Server((0, 5, 22), _TLRU, "once", "0.5.22, 0.5.23", config_flag=True, session_cache=""),
)
"""Oldest first."""

CURRENT = SERVERS[-1]


def server_for(version: str) -> Server:
    """The row that a release falls under.

    Raises
    ------
    InputError
        For text that is no release, or one before the option existed.

    Examples
    --------
    >>> server_for("0.5.14").choices
    ('lru', 'lfu', 'slru', 'priority')
    >>> server_for("v0.5.10.post1").counting
    'twice'
    """
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)(?:[.a-z].*)?", version)
    if found is None:
        raise InputError(f"{version}: expected a release of SGLang such as 0.5.14")
    release = tuple(map(int, found.groups()))
    rows = [s for s in SERVERS if s.since <= release]
    if not rows:
        raise InputError(f"{version}: --radix-eviction-policy exists from 0.5.3 on")
    return rows[-1]


def flag_for(strategy: str, parameters: Mapping[str, int], server: Server = CURRENT) -> str | None:
    """The options to type for a strategy, or None where the command line refuses it.

    Parameters
    ----------
    strategy : str
        The server's own name.
    parameters : mapping of str to int
        Only those that differ from the server's defaults.
    server : Server

    Examples
    --------
    >>> flag_for("slru", {"protected_threshold": 3})
    '--radix-eviction-policy slru --radix-eviction-policy-config \\'{"protected_threshold": 3}\\''
    >>> flag_for("lfu", {})
    '--radix-eviction-policy lfu'
    >>> flag_for("priority", {})
    '--radix-eviction-policy priority --enable-priority-scheduling'
    >>> flag_for("fifo", {}) is None, flag_for("tlru", {}) is None
    (True, True)
    """
    if strategy not in server.choices or (parameters and not server.config_flag):
        return None
    if strategy == "tlru" and parameters.get("threshold", 0) <= parameters.get(
        "next_prompt_estimate", 0
    ):
        return None  # refused at the start: it would be lru
    flag = f"--radix-eviction-policy {strategy}"
    if strategy == "priority":
        flag += " --enable-priority-scheduling"  # else the server drops what a request asks for
    if parameters:
        flag += f" --radix-eviction-policy-config '{json.dumps(dict(parameters))}'"
    return flag
