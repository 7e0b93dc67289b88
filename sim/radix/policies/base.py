"""The interface of an eviction policy.

It mirrors the eviction strategy of SGLang's radix cache (one priority per node; the lowest is
evicted first) and adds ``on_split``: a split must not look like an eviction and an insertion, or a
node's age resets for a reason that the workload never caused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from cache_worthy.sim.radix.tree import Node, Priority


@dataclass(frozen=True, slots=True)
class KeyRule:
    """A policy's key as ``base + mult * weight``, which the interned engine evaluates inline.

    It states again what the policy's own methods do, and the engines are tested to agree. It holds
    for the class that declares it and is not inherited.

    Attributes
    ----------
    base : {"clock", "level"}
        The request counter, or the greedy-dual level ``H`` (0 at the start).
    mult : {"one", "freq"}
        1, or the node's hit count.
    weight : callable
        ``weight(size, cost, depth)`` of the node as it is now.
    level : {"none", "max", "last"}
        At an eviction the level stays, rises to the victim's key if that is higher, or becomes
        the victim's key.
    """

    base: Literal["clock", "level"]
    mult: Literal["one", "freq"] = "one"
    weight: Callable[[int, int, int], float] | None = None
    level: Literal["none", "max", "last"] = "none"


class EvictionPolicy(ABC):
    """An eviction policy over the nodes of the radix tree.

    The replay loop calls ``on_hit`` for every node on the matched path (root first, before any
    eviction, ``node.freq`` already counted), ``on_evict`` for every victim, ``on_insert`` for the
    new node after the evictions and ``on_split`` when a node divides. Between these calls a
    node's priority must not fall, or the heap engine would miss it; a policy whose priorities
    change by themselves sets ``dynamic = True`` and is replayed with a linear scan. A policy that
    names its victim instead of ranking the childless nodes sets ``chooses = True`` and has
    ``choose``; its priorities are then for inspection only.

    Attributes
    ----------
    name : str
        As the registry and the tables show it.
    source : str
        The paper or code that defines the policy.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    source: ClassVar[str] = ""
    dynamic: ClassVar[bool] = False
    key_rule: ClassVar[KeyRule | None] = None
    chooses: ClassVar[bool] = False

    def choose(self, clock: int, scan: bool) -> Node:
        """The victim, childless and not on the hit path, of a policy that ``chooses``.

        ``scan`` asks for a linear scan instead of the policy's own data structure, to compare both.
        """
        raise NotImplementedError(f"policy {self.name} chooses and has no choose()")

    @classmethod
    def own_rule(cls) -> KeyRule | None:
        """The key rule that this class itself declares; a subclass may rank differently."""
        rule: KeyRule | None = cls.__dict__.get("key_rule")
        return rule

    @abstractmethod
    def priority(self, node: Node, clock: int) -> Priority:
        """Lower is evicted first; ties go to the older node (smaller id)."""

    # The hooks are optional, hence not abstract.
    def on_hit(self, node: Node, clock: int) -> None:  # noqa: B027
        """``node`` lies on the path of the request being served."""

    def on_insert(self, node: Node, clock: int) -> None:  # noqa: B027
        """``node`` was just loaded."""

    def on_evict(self, node: Node, clock: int) -> None:  # noqa: B027
        """``node`` is about to leave."""

    def on_split(self, upper: Node, lower: Node, clock: int) -> None:
        """``upper`` keeps the node's identity, ``lower`` is new; the default copies the key.

        For a greedy-dual key, copying it equals dividing the credit in proportion to size.
        """
        lower.key = upper.key
