"""Registry of the block policies, one file each."""

from __future__ import annotations

from types import MappingProxyType

from cache_worthy.sim.blocks.policies import (
    flat_belady,
    flat_fifo,
    flat_lru,
    s3fifo,
    s3fifo_paper,
    vllm_lru,
)
from cache_worthy.sim.blocks.policies.base import BlockPolicy, PolicySpec

__all__ = ["POLICIES", "BlockPolicy", "PolicySpec"]

#: Every block policy by name, in the order of a list.
POLICIES = MappingProxyType(
    {
        module.SPEC.name: module.SPEC
        for module in (vllm_lru, s3fifo, s3fifo_paper, flat_lru, flat_fifo, flat_belady)
    }
)
