"""Which SGLang offers which eviction strategy, and how it keeps its books, by release.

The one place where this is written down, read off the released packages named in each row
(``RADIX_EVICTION_POLICY_CHOICES``, the strategy registry, ``radix_cache.py``, the eviction call of
the allocator). A strategy can stand in the registry and be refused by the command line, so the two
columns differ. A row holds from its first release to the next row; the releases between those
read are taken to be like the one before.
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
    """A state of the server.

    Parameters
    ----------
    since : tuple of int
        First release read that has it.
    choices : tuple of str
        What ``--radix-eviction-policy`` accepts.
    registry : tuple of str
        What the server has code for.
    config_flag : bool
        Parameters go through ``--radix-eviction-policy-config`` (a JSON object).
    counting : {"never", "twice", "once"}
        How often one request moves the hit count of a node of its prompt: not at all (so lfu is
        lru), at both of its insertions (sgl-project/sglang#30689), or once.
    evict_whole_request : bool
        Whether an eviction is asked for the whole allocation, or for the shortfall.
    source : str
        Releases read, and the pull request where it is known.
    session_cache : str or None
        What ``--enable-session-radix-cache`` needs in the environment beside itself, maybe
        nothing; None where a release of the row lacks it or means another thing by it (0.5.16
        ties it to the priority policy).
    """

    since: tuple[int, int, int]
    choices: tuple[str, ...]
    registry: tuple[str, ...]
    config_flag: bool
    counting: Counting
    evict_whole_request: bool
    source: str
    session_cache: str | None

    @property
    def label(self) -> str:
        """How to name it to a user."""
        later = [s.since for s in SERVERS if s.since > self.since]
        until = f", before {'.'.join(map(str, min(later)))}" if later else ""
        return f"SGLang {'.'.join(map(str, self.since))} and later{until}"


_SIX = ("lru", "lfu", "fifo", "mru", "filo", "priority")
_SEVEN = (*_SIX, "slru")
_EIGHT = (*_SEVEN, "tlru")

SERVERS = (
    Server((0, 5, 3), ("lru", "lfu"), ("lru", "lfu"), False, "never", True, "0.5.3; #10190", None),
    Server((0, 5, 6), ("lru", "lfu"), _SIX, False, "never", True, "0.5.6, 0.5.9; #11506", None),
    Server(
        (0, 5, 10), ("lru", "lfu", "slru"), _SEVEN, False, "twice", True, "0.5.10; #18843", None
    ),
    Server(
        (0, 5, 11),
        ("lru", "lfu", "slru", "priority"),
        _SEVEN,
        False,
        "twice",
        True,
        "0.5.11, 0.5.12, 0.5.14, 0.5.16",
        None,
    ),
    Server(
        (0, 5, 18),
        ("lru", "lfu", "slru", "priority"),
        _SEVEN,
        False,
        "twice",
        False,
        "0.5.18, 0.5.19",
        "SGLANG_ENABLE_UNIFIED_RADIX_TREE=1",
    ),
    Server(
        (0, 5, 20), ("lru", "lfu", "slru", "priority"), _SEVEN, True, "twice", False, "0.5.20", ""
    ),
    Server(
        (0, 5, 21),
        ("lru", "lfu", "slru", "priority", "tlru"),
        _EIGHT,
        True,
        "twice",
        False,
        "0.5.21; #34012",
        "",
    ),
    Server(
        (0, 5, 22),
        ("lru", "lfu", "slru", "priority", "tlru"),
        _EIGHT,
        True,
        "once",
        False,
        "0.5.22, 0.5.23",
        "",
    ),
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
        Which server.

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
