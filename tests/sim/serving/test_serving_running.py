"""The engine at work: who waits, who runs together, what is refused, and what is timed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from serving_cases import BLOCK, TINY, Ticks, engine, tiny

from cache_worthy.sim.errors import CapacityError, InputError
from cache_worthy.sim.serving.pool import BlockPool
from cache_worthy.sim.serving.server import Engine, EngineRequest


def test_a_request_that_does_not_fit_now_waits_in_order() -> None:
    requests = [EngineRequest((i, 7, 8, 9, i), 4) for i in range(5)]  # two blocks each
    for on in (True, False):
        server = engine(2, on)
        served = server.serve(requests)
        finished = [s.finished for s in served]
        assert finished == sorted(finished)
        firsts = [s.time_to_first_token for s in served]
        for previous, first in zip(finished, firsts[1:], strict=False):
            assert first > previous, "the pool holds one request at a time"
        assert engine(10, on).serve(requests)[4].time_to_first_token < firsts[4]


@pytest.mark.parametrize("on", [False, True])
def test_nobody_overtakes_a_request_that_waits(on: bool) -> None:
    """The second needs three blocks while two are free; the third needs one and waits behind it."""
    requests = [EngineRequest((i, 2, 3, 4, i), n) for i, n in ((5, 4), (6, 8))]
    requests.append(EngineRequest((7, 8), 2))
    first, second, third = engine(4, on).serve(requests)
    assert second.time_to_first_token > first.finished
    assert third.time_to_first_token > second.time_to_first_token
    alone = engine(4, on).serve([requests[0], requests[2]])
    assert alone[1].time_to_first_token < alone[0].finished, "there was room for it"


def batches(server: Engine, monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[int, int]]]:
    """Every decoding step as (first block of a sequence, position), one for each of its rows."""
    steps: list[list[tuple[int, int]]] = []
    decode = server.transformer.decode

    def spy(
        tokens: Sequence[int], positions: Sequence[int], tables: list[list[int]], pool: BlockPool
    ) -> Any:
        steps.append([(table[0], at) for table, at in zip(tables, positions, strict=True)])
        return decode(tokens, positions, tables, pool)

    monkeypatch.setattr(server.transformer, "decode", spy)
    return steps


@pytest.mark.parametrize("on", [False, True])
def test_every_running_sequence_gets_one_token_a_step(
    on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of 6, 1, 3, 9, 4, 7 tokens: the first comes from the prefill, then all advance together."""
    server = engine(40, on)
    steps = batches(server, monkeypatch)
    lengths = [6, 1, 3, 9, 4, 7]
    server.serve([EngineRequest((i, 7, 8), n) for i, n in enumerate(lengths)])
    assert [len(step) for step in steps] == [5, 5, 4, 3, 3, 2, 1, 1]
    for before, after in itertools.pairwise(steps):
        then = dict(before)
        assert all(at == then[block] + 1 for block, at in after), "one token further, each"
    assert sum(map(len, steps)) == sum(n - 1 for n in lengths)


def test_a_request_that_arrives_later_joins_the_batch_and_max_running_bounds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests = [EngineRequest((1, 2, 3), 30), EngineRequest((4, 5, 6), 30, 0.02)]
    with monkeypatch.context() as patch:
        server = engine(40, True)
        steps = batches(server, patch)
        server.serve(requests)
    sizes = [len(step) for step in steps]
    joined = sizes.index(2)
    assert 0 < joined < 20
    assert sizes == [1] * joined + [2] * (29 - joined) + [1] * joined
    with monkeypatch.context() as patch:
        server = engine(40, True, max_running=2)
        few = batches(server, patch)
        server.serve([EngineRequest((i, 2, 3), 4) for i in range(5)])
    assert [len(step) for step in few] == [2] * 6 + [1] * 3


def test_what_can_never_fit_is_refused_before_anything_runs() -> None:
    server = engine(4, True)
    requests = [EngineRequest((1, 2, 3), 2), EngineRequest(tuple(range(14)), 4)]
    with pytest.raises(CapacityError, match=r"request 2: .* need 5 KV blocks .* pool has 4"):
        server.serve(requests)
    assert server.pool.events == []
    assert server.serve([EngineRequest(tuple(range(14)), 3)])  # 16 tokens fit exactly


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (((), 1), "the prompt is empty"),
        (((1,), 0), "max_tokens is 0; expected an integer >= 1"),
        (((1,), 1.5), "max_tokens is 1.5; expected an integer >= 1"),
        (((1,), True), "max_tokens is True"),
        (((3, 512), 1), "token 2 of the prompt is 512; expected an integer >= 0 and < 512"),
        (((-1,), 1), "token 1 of the prompt is -1"),
        (((1, 2.0), 1), "token 2 of the prompt is 2.0; expected an integer"),
        (((1, 2, 3.7), 1), "token 3 of the prompt is 3.7"),
        (((1, float("nan")), 1), "token 2 of the prompt is nan"),
        (((True,), 1), "token 1 of the prompt is True"),
        (("ab", 1), "token 1 of the prompt is 'a'"),
        (((1,), 1, float("nan")), "arrival is nan; expected seconds >= 0 and <= 1e"),
        (((1,), 1, float("inf")), "arrival is inf"),
        (((1,), 1, -0.5), "arrival is -0.5"),
        (((1,), 1, "now"), "arrival is 'now'"),
    ],
)
def test_bad_requests_are_refused_before_anything_runs(
    request_: tuple[Any, ...], message: str
) -> None:
    server = engine(4, True)
    with pytest.raises(InputError, match=f"^request 2: {re.escape(message)}"):
        server.serve([EngineRequest((1, 2), 1), EngineRequest(*request_)])
    assert server.pool.events == []


def test_tokens_of_numpy_are_integers_too() -> None:
    plain, numpy = (
        engine(4, True).serve([EngineRequest(prompt, 3)])[0]
        for prompt in ((1, 2, 3), tuple(np.array([1, 2, 3], np.int32)))
    )
    assert plain.tokens == numpy.tokens


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"max_running": 0}, "max_running is 0; expected an integer >= 1"),
        ({"max_running": 1.5}, "max_running is 1.5"),
        ({"pool_blocks": 0}, "pool_blocks is 0; expected an integer >= 1"),
        ({"pool_blocks": None}, "pool_blocks is None"),
        ({"block_size": 2.0}, "block_size is 2.0; expected an integer >= 1"),
    ],
)
def test_sizes_that_are_none_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Engine(tiny(), **{"pool_blocks": 4, "prefix_cache": True, **sizes})
    with pytest.raises(InputError, match="need blocks >= 1"):
        BlockPool(TINY, 0, 4)


def test_time_to_first_token_counts_the_wait_from_the_arrival() -> None:
    served = engine(50, True, max_running=1).serve(
        [EngineRequest((1, 2, 3), 20, 0.5), EngineRequest((4, 5, 6), 1, 0.501)]
    )
    assert 0 < served[0].time_to_first_token < 0.01
    assert served[1].time_to_first_token == pytest.approx(served[0].finished - 0.501, abs=0.01)


def test_prefill_seconds_are_those_of_the_prefill_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit of seconds against FLOPs must hold no bookkeeping: neither lookups nor publishing."""
    clock = Ticks()
    server = Engine(tiny(), 50, prefix_cache=True, block_size=BLOCK, clock=clock)

    def slow(owner: object, name: str, seconds: float) -> None:
        call = getattr(owner, name)

        def late(*args: Any) -> Any:
            clock.sleep(seconds)
            return call(*args)

        monkeypatch.setattr(owner, name, late)

    slow(server.pool, "find", 10.0)
    slow(server.pool, "publish", 100.0)
    slow(server.transformer, "prefill", 1.0)
    served = server.serve([EngineRequest(tuple(range(9)), 1), EngineRequest(tuple(range(13)), 1)])
    assert [s.prefill_seconds for s in served] == pytest.approx([1.0, 1.0], abs=0.01)
    assert served[1].cached_tokens == 2 * BLOCK
    assert served[1].time_to_first_token > 300
