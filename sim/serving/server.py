"""Continuous batching over the transformer and the pool, with the prefix cache on or off.

One iteration: every waiting request that fits is admitted in arrival order and prefilled, which
yields its first token; then every running sequence advances by one token (iteration-level
scheduling, Yu et al., Orca, OSDI 2022; prefill first, as vLLM's first scheduler). Decoding is
greedy and runs to the given number of tokens.

Admission takes all blocks that the request and its answer will need, so that nothing is ever
preempted. A request that does not fit now waits, and so do those behind it; one that could never fit
is refused before anything runs.

Evidence: the tokens with the cache on and off are identical for every request under every pool
size, and equal those of a plain dense transcription; skipped tokens equal the simulator's when
requests are served one at a time: ``vllm_lru``, told where a prompt ends if answers repeat
(`cache_worthy.sim.serving.simulated`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np

from cache_worthy.sim.errors import CapacityError, InputError, InvariantError
from cache_worthy.sim.serving.pool import BlockPool, Floats, block_keys, chain_key
from cache_worthy.sim.serving.transformer import Transformer

BLOCK_SIZE = 16
"""Tokens in a KV block, vLLM's default."""

LATEST_ARRIVAL = 1e9
"""Seconds."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One request."""

    prompt: tuple[int, ...]
    """Token ids, at least one."""
    max_tokens: int
    """Tokens to generate, at least one."""
    arrival: float = 0.0
    """Seconds after the start of the run, 0 to `LATEST_ARRIVAL`."""

    @property
    def stored_tokens(self) -> int:
        """Tokens whose keys and values are computed: all but the last generated one."""
        return len(self.prompt) + self.max_tokens - 1


@dataclass(frozen=True, slots=True)
class Served:
    """The result of one request."""

    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens that were not computed."""
    tokens: tuple[int, ...]
    """The answer."""
    logits: Floats = field(repr=False)
    """Shape (max_tokens, vocabulary). One row for each token of the answer."""
    time_to_first_token: float
    """Seconds from the arrival, waiting included."""
    finished: float
    """Seconds from the start of the run."""
    prefill_seconds: float
    """Of the prefill alone, without lookup and waiting."""

    @property
    def prefilled_tokens(self) -> int:
        """Prompt tokens that were computed."""
        return self.prompt_tokens - self.cached_tokens


@dataclass(slots=True)
class _Sequence:
    """A request in the engine."""

    number: int
    request: EngineRequest
    tokens: list[int]
    keys: list[bytes]
    table: list[int] = field(default_factory=list)
    logits: list[Floats] = field(default_factory=list)
    shared_blocks: int = 0
    cached_tokens: int = 0
    first_token_at: float = 0.0
    prefill_seconds: float = 0.0

    @property
    def done(self) -> bool:
        return len(self.logits) == self.request.max_tokens

    def extend(self, logits: Floats) -> None:
        self.logits.append(logits)
        self.tokens.append(int(np.argmax(logits)))


class Engine:
    """A server: one model, one pool, one boolean.

    Parameters
    ----------
    transformer : Transformer
    pool_blocks : int
        Blocks in the KV pool.
    prefix_cache : bool
        Whether admission looks prefixes up and full blocks are published.
    block_size : int
        Tokens in a block.
    max_running : int or None
        Most sequences at a time; 1 serves one request after the other.
    record_events : bool
        Keep the pool's events.
    clock, sleep : callable
        The wall clock, or a substitute.

    Raises
    ------
    InputError
        If a size is no integer of at least 1.

    Notes
    -----
    The pool stays between calls of :meth:`serve`, as a server's does.
    """

    def __init__(
        self,
        transformer: Transformer,
        pool_blocks: int,
        *,
        prefix_cache: bool,
        block_size: int = BLOCK_SIZE,
        max_running: int | None = None,
        record_events: bool = False,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        sizes = {"pool_blocks": pool_blocks, "block_size": block_size, "max_running": max_running}
        for name, size in sizes.items():
            if not (_is_count(size) or (size is None and name == "max_running")):
                raise InputError(f"{name} is {size!r}; expected an integer >= 1")
        self.transformer = transformer
        self.prefix_cache = prefix_cache
        self.max_running = max_running
        self.pool = BlockPool(
            transformer.model, pool_blocks, block_size, transformer.dtype, record=record_events
        )
        self._clock = clock
        self._sleep = sleep

    def blocks_for(self, request: EngineRequest) -> int:
        """Blocks a request occupies at its end."""
        return -(-request.stored_tokens // self.pool.block_size)

    def serve(self, requests: Sequence[EngineRequest]) -> list[Served]:
        """Serve all requests at their arrival times; results in the order of ``requests``.

        Raises
        ------
        CapacityError
            If a request could never fit in the pool.
        InputError
            If a prompt is empty, has a token that is no integer or outside the vocabulary, no token
            is asked for, or an arrival is no time. Neither error comes after anything has run.
        InvariantError
            If a rule that must always hold is broken.
        """
        for number, request in enumerate(requests, 1):
            self._require_servable(number, request)
        order = sorted(range(len(requests)), key=lambda i: requests[i].arrival)
        upcoming = deque(order)
        waiting: deque[_Sequence] = deque()
        running: list[_Sequence] = []
        served: list[Served | None] = [None] * len(requests)
        origin = self._clock()

        def receive() -> None:
            now = self._clock() - origin
            while upcoming and requests[upcoming[0]].arrival <= now:
                waiting.append(self._sequence(upcoming[0], requests[upcoming[0]]))
                upcoming.popleft()

        def retire() -> None:
            for sequence in running:
                if sequence.done:
                    for block in reversed(sequence.table):
                        self.pool.release(block)
                    served[sequence.number] = self._result(sequence, self._clock() - origin)
            running[:] = [sequence for sequence in running if not sequence.done]

        while upcoming or waiting or running:
            receive()
            while waiting and self._admit(waiting[0], len(running)):
                sequence = waiting.popleft()
                self._prefill(sequence)
                sequence.first_token_at = self._clock() - origin
                running.append(sequence)
                retire()
                receive()
            if running:
                self._decode(running)
                retire()
            elif waiting:
                raise InvariantError("a request waits for an empty engine")
            elif upcoming:
                self._sleep(max(0.0, requests[upcoming[0]].arrival - (self._clock() - origin)))
        if self.pool.references.any():
            raise InvariantError("blocks are referenced after the last request")
        self.pool.check()
        return [result for result in served if result is not None]

    def _require_servable(self, number: int, request: EngineRequest) -> None:
        if not len(request.prompt):
            raise InputError(f"request {number}: the prompt is empty; expected at least one token")
        if not _is_count(request.max_tokens):
            raise InputError(
                f"request {number}: max_tokens is {request.max_tokens!r}; expected an integer >= 1"
            )
        # This refuses nan too.
        if not (isinstance(request.arrival, Real) and 0 <= request.arrival <= LATEST_ARRIVAL):
            raise InputError(
                f"request {number}: arrival is {request.arrival!r}; expected seconds >= 0 and <= "
                f"{LATEST_ARRIVAL:g}"
            )
        vocabulary = self.transformer.model.vocabulary
        for at, token in enumerate(request.prompt, 1):
            if not (_is_whole(type(token)) and 0 <= token < vocabulary):
                raise InputError(
                    f"request {number}: token {at} of the prompt is {token!r}; expected an integer "
                    f">= 0 and < {vocabulary}, the vocabulary"
                )
        need = self.blocks_for(request)
        if need > self.pool.size:
            raise CapacityError(
                f"request {number}: prompt of {len(request.prompt)} tokens and an answer of "
                f"{request.max_tokens} need {need} KV blocks of {self.pool.block_size} tokens, the "
                f"pool has {self.pool.size}; expected a pool of at least {need} blocks"
            )

    def _sequence(self, number: int, request: EngineRequest) -> _Sequence:
        keys = block_keys(request.prompt, self.pool.block_size) if self.prefix_cache else []
        return _Sequence(number, request, list(request.prompt), keys)

    def _admit(self, sequence: _Sequence, running: int) -> bool:
        """Share the longest run of cached full blocks and take the rest, if all of it fits now."""
        if self.max_running is not None and running >= self.max_running:
            return False
        pool = self.pool
        shared: list[int] = []
        for key in sequence.keys:
            block = pool.find(key)
            if block is None:
                break
            shared.append(block)
        missing = self.blocks_for(sequence.request) - len(shared)
        if missing > pool.free - sum(map(pool.is_free, shared)):
            return False
        # Sharing comes first: it pins the prefix, so that taking cannot evict it.
        for block in shared:
            pool.share(block)
        sequence.table = shared + [pool.take() for _ in range(missing)]
        sequence.shared_blocks = len(shared)
        # The last token is always computed: its logits give the answer's first token.
        sequence.cached_tokens = min(
            len(shared) * pool.block_size, len(sequence.request.prompt) - 1
        )
        return True

    def _prefill(self, sequence: _Sequence) -> None:
        began = self._clock()
        logits = self.transformer.prefill(
            sequence.request.prompt,
            sequence.cached_tokens,
            sequence.shared_blocks * self.pool.block_size,
            sequence.table,
            self.pool,
        )
        sequence.prefill_seconds = self._clock() - began
        for i in range(sequence.shared_blocks, len(sequence.keys)):
            self.pool.publish(sequence.table[i], sequence.keys[i])
        sequence.extend(logits)

    def _decode(self, running: list[_Sequence]) -> None:
        positions = [len(sequence.tokens) - 1 for sequence in running]
        rows = self.transformer.decode(
            [sequence.tokens[-1] for sequence in running],
            positions,
            [sequence.table for sequence in running],
            self.pool,
        )
        for sequence, position, logits in zip(running, positions, rows, strict=True):
            if self.prefix_cache and (position + 1) % self.pool.block_size == 0:
                self._complete_block(sequence, position // self.pool.block_size)
            sequence.extend(logits)

    def _complete_block(self, sequence: _Sequence, i: int) -> None:
        """Publish block ``i`` of a sequence, or drop it for the indexed block of its prefix."""
        size = self.pool.block_size
        parent = sequence.keys[i - 1] if i else b""
        key = chain_key(parent, sequence.tokens[i * size : (i + 1) * size])
        sequence.keys.append(key)
        twin = self.pool.find(key)
        if twin is None:
            self.pool.publish(sequence.table[i], key)
        else:
            self.pool.share(twin)
            self.pool.release(sequence.table[i])
            sequence.table[i] = twin

    def _result(self, sequence: _Sequence, now: float) -> Served:
        return Served(
            prompt_tokens=len(sequence.request.prompt),
            cached_tokens=sequence.cached_tokens,
            tokens=tuple(sequence.tokens[len(sequence.request.prompt) :]),
            logits=np.stack(sequence.logits),
            time_to_first_token=sequence.first_token_at - sequence.request.arrival,
            finished=now,
            prefill_seconds=sequence.prefill_seconds,
        )


def _is_whole(kind: type) -> bool:
    """Whether a type is one of integers (numpy's included); a float would be cut silently."""
    return issubclass(kind, Integral) and not issubclass(kind, bool)


def _is_count(value: object) -> bool:
    return _is_whole(type(value)) and value >= 1  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two runs of the same requests gave the same answers, and whether by luck."""

    identical: bool
    """Every token of every answer."""
    logit_difference: float
    """Largest difference of a logit, up to the first differing token of an answer."""
    margin: float
    """Smallest gap between the two largest logits."""
    distinct_answers: int

    @property
    def by_luck(self) -> bool:
        """Whether rounding could have decided a token: not above twice the logit difference."""
        return not self.margin > 2 * self.logit_difference


def agreement(a: Sequence[Served], b: Sequence[Served]) -> Agreement:
    """Compare two runs of the same requests."""
    difference = 0.0
    margin = np.inf
    for one, two in zip(a, b, strict=True):
        if not (np.isfinite(one.logits).all() and np.isfinite(two.logits).all()):
            raise InvariantError("a logit is not finite: nothing can be compared")
        same = [x == y for x, y in zip(one.tokens, two.tokens, strict=True)]
        upto = same.index(False) + 1 if False in same else len(same)
        difference = max(difference, float(np.abs(one.logits[:upto] - two.logits[:upto]).max()))
        top = np.partition(one.logits, -2, axis=1)
        margin = min(margin, float((top[:, -1] - top[:, -2]).min()))
    return Agreement(
        identical=all(x.tokens == y.tokens for x, y in zip(a, b, strict=True)),
        logit_difference=difference,
        margin=float(margin),
        distinct_answers=len({s.tokens for s in a}),
    )
