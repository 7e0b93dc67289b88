"""The policies of the radix cache: one file each, one line each in ``POLICIES``."""

from __future__ import annotations

from cache_worthy.sim.radix.policies.base import EvictionPolicy, KeyRule
from cache_worthy.sim.radix.policies.cosigned import Cosigned
from cache_worthy.sim.radix.policies.cost_only import CostOnly
from cache_worthy.sim.radix.policies.freq_landlord import FreqLandlord
from cache_worthy.sim.radix.policies.gdsf import GDSF
from cache_worthy.sim.radix.policies.landlord import Landlord
from cache_worthy.sim.radix.policies.lru import LRU
from cache_worthy.sim.radix.policies.recursive_lru import RecursiveLRU
from cache_worthy.sim.radix.policies.size_only import SizeOnly
from cache_worthy.sim.radix.tree import Node, Priority

POLICIES: dict[str, type[EvictionPolicy]] = {
    policy.name: policy
    for policy in (
        LRU,
        RecursiveLRU,
        Landlord,
        FreqLandlord,
        GDSF,
        CostOnly,
        SizeOnly,
        Cosigned,
    )
}
"""Every shipped policy by name; to add one, write its file and add its line above."""

__all__ = ["POLICIES", "EvictionPolicy", "KeyRule", "Node", "Priority"]
