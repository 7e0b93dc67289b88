"""SGLang's radix cache modelled without a tree: a dictionary from whole paths to counters.

A node is the path from the root to its end; its parent is the longest proper prefix that is a node
too; splitting is adding a prefix; the eviction looks at all leaves each time. Written from the
description of the server's rules, with nothing shared with the replay engine and no work saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Counters of a node."""

    serial: int
    hits: int
    priority: int
    last: int
    created: int
    history: int


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common prefix."""
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return n


class PathModel:
    """The cache of one server.

    Parameters
    ----------
    weights : sequence of int
        Tokens of each block.
    capacity : int
        Tokens.
    strategy : str
        The server's name.
    counting, evict_whole_request
        As in the engine.
    **parameters
        Of the strategy, as the server names them.
    """

    def __init__(
        self,
        weights: Sequence[int],
        capacity: int,
        strategy: str,
        counting: str,
        evict_whole_request: bool,
        **parameters: int,
    ) -> None:
        self.weights = weights
        self.capacity = capacity
        self.strategy = strategy
        self.counting = counting
        self.evict_whole_request = evict_whole_request
        self.parameters = parameters
        self.nodes: dict[Path, Record] = {}
        self.now = 0
        self.serials = 0

    def tokens(self, path: Sequence[int]) -> int:
        """Tokens of a path."""
        return sum(self.weights[b] for b in path)

    def above(self, path: Path) -> Path:
        """The parent's path."""
        return max(
            (p for p in self.nodes if len(p) < len(path) and path[: len(p)] == p),
            key=len,
            default=(),
        )

    def held(self) -> int:
        """Tokens in the cache."""
        return sum(self.tokens(p) - self.tokens(self.above(p)) for p in self.nodes)

    def walk(self, key: Path) -> int:
        """Touch what the key enters, split where it leaves a node; blocks in common."""
        self.now += 1
        common = max((shared(p, key) for p in self.nodes), default=0)
        entered = [p for p in self.nodes if shared(p, key) > len(self.above(p))]
        for path in entered:
            self.nodes[path] = replace(self.nodes[path], last=self.now)
        cut = key[:common]
        if common and cut not in self.nodes:
            (left,) = [p for p in entered if len(p) > common]
            self.serials += 1
            self.nodes[cut] = replace(self.nodes[left], serial=self.serials)
        return common

    def put(self, key: Path, priority: int, count: bool) -> None:
        """Insert a path."""
        self.walk(key)
        for path, record in list(self.nodes.items()):
            if key[: len(path)] == path:
                self.nodes[path] = replace(
                    record,
                    hits=record.hits + (1 if count and self.counting != "never" else 0),
                    priority=max(record.priority, priority),
                    history=max(record.history, self.tokens(key)),
                )
        if key and key not in self.nodes:
            self.serials += 1
            self.nodes[key] = Record(
                self.serials,
                0 if self.counting == "never" else 1,
                priority,
                self.now,
                self.now,
                self.tokens(key),
            )

    def rank(self, path: Path) -> tuple[float, ...]:
        """Lowest goes first."""
        r = self.nodes[path]
        match self.strategy:
            case "lru":
                order: tuple[float, ...] = (r.last,)
            case "lfu":
                order = (r.hits, r.last)
            case "slru":
                order = (0 if r.hits < self.parameters["protected_threshold"] else 1, r.last)
            case "priority":
                order = (r.priority, r.last)
            case "tlru":
                needed = (
                    r.history
                    + self.parameters["next_prompt_estimate"]
                    - self.parameters["threshold"]
                )
                safe = self.tokens(self.above(path)) >= max(0, needed)
                order = (-1 if safe else 0, r.last)
            case "fifo":
                order = (r.created,)
            case "filo":
                order = (-r.created,)
            case "mru":
                order = (-r.last,)
            case _:
                raise ValueError(self.strategy)
        return (*order, r.serial)

    def make_room(self, tokens: int, in_service: int, key: Path) -> None:
        """Evict leaves off the key until the allocation fits or its size is freed."""
        free = self.capacity - self.held() - in_service
        if free >= tokens:
            return
        wanted = tokens if self.evict_whole_request else tokens - free
        freed = 0
        while freed < wanted:
            leaves = [
                p
                for p in self.nodes
                if not any(len(q) > len(p) and q[: len(p)] == p for q in self.nodes)
                and key[: len(p)] != p
            ]
            if not leaves:
                break
            victim = min(leaves, key=self.rank)
            freed += self.tokens(victim) - self.tokens(self.above(victim))
            del self.nodes[victim]

    def serve(
        self, prompt: Path, prompt_room: int, generated: Path, total_room: int, priority: int
    ) -> int:
        """One request from arrival to finish; the blocks of its prompt that were cached."""
        found = self.walk(prompt)
        hit = self.tokens(prompt[:found])
        self.make_room(prompt_room - hit, 0, prompt[:found])
        self.put(prompt, priority, True)
        self.make_room(total_room - prompt_room, prompt_room - self.tokens(prompt), prompt)
        self.put(prompt + generated, priority, self.counting == "twice")
        return found
