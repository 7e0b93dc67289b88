"""Block-level cache replay: what a paged KV cache keyed by block hashes does with a log.

Three families share one loop (`cache_worthy.sim.blocks.replay`):

* ``s3fifo``, ``s3fifo_paper``: the queues of Yang et al., SOSP 2023, over prefix blocks.
* ``vllm_lru``: the free-block queue of vLLM's block pool, one request in service at a time.
* ``flat_lru``, ``flat_fifo``, ``flat_belady``: independent unit blocks, the yardsticks.

`belady_curve` has Belady's MIN at many capacities at once.
"""

from __future__ import annotations

from cache_worthy.sim.blocks.curve import belady_curve
from cache_worthy.sim.blocks.log import BlockLog
from cache_worthy.sim.blocks.policies import POLICIES, PolicySpec
from cache_worthy.sim.blocks.replay import ideal, replay_blocks

__all__ = ["POLICIES", "BlockLog", "PolicySpec", "belady_curve", "ideal", "replay_blocks"]
