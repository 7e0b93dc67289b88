"""A small serving engine that computes real attention, to measure what the simulator counts.

* `pool`: paged KV blocks with reference counts, and the index of the prefixes they hold.
* `transformer`: a decoder-only transformer in numpy over that pool.
* `server`: continuous batching; one boolean turns the prefix cache on.
* `workload`: the requests of the prefix-cache study.
* `simulated`: what ``vllm_lru`` predicts for the same requests.

It is a measuring instrument, not a server to deploy; its seconds say nothing about another machine or
model.
"""

from __future__ import annotations

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving.pool import BlockPool, block_keys, chain_key
from cache_worthy.sim.serving.server import (
    BLOCK_SIZE,
    Agreement,
    Engine,
    EngineRequest,
    Served,
    agreement,
)
from cache_worthy.sim.serving.simulated import block_log, predicted_skips
from cache_worthy.sim.serving.transformer import Transformer, Weights, random_weights
from cache_worthy.sim.serving.workload import chat_workload

__all__ = [
    "BLOCK_SIZE",
    "STUDY_MODEL",
    "Agreement",
    "BlockPool",
    "Engine",
    "EngineRequest",
    "Served",
    "Transformer",
    "Weights",
    "agreement",
    "block_keys",
    "block_log",
    "chain_key",
    "chat_workload",
    "predicted_skips",
    "random_weights",
]

#: The model of the study: about 2.2 million weights without the embeddings, so that one core
#: prefills 272 tokens in some tens of milliseconds and can serve 20 requests a second.
STUDY_MODEL = Model(
    "study", layers=4, d_model=256, heads=8, kv_heads=2, head_dim=32, d_ff=512, dtype_bytes=4,
    vocabulary=512,
)  # fmt: skip
