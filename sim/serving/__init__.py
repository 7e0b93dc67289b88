"""A small serving engine that computes real attention, to measure what the simulator counts.

* `pool`: paged KV blocks with reference counts, and the index of the prefixes they hold.
* `transformer`: a decoder-only transformer in numpy over that pool.
* `server`: continuous batching; one boolean turns the prefix cache on.
* `workload`: the requests of the prefix-cache study.
* `simulated`: what ``vllm_lru`` predicts for the same requests.

It is a measuring instrument, not a server to deploy; its seconds say nothing about another machine or
model.
"""
