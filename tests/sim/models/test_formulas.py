"""Costs and bytes of layers against direct counts, token by token (rank 2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.sim.cost import BlockCost, BlockSize, Model
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.catalogue import catalogue, shipped_model
from cache_worthy.sim.models.config import read_config
from cache_worthy.sim.models.geometry import FeedForward, Geometry, LayerGroup, groups_of
from cache_worthy.sim.models.layers import (
    Attention,
    Compressed,
    Indexer,
    Latent,
    Mixer,
    chunked_pairs,
    summary_pairs,
    windowed_pairs,
)
from cache_worthy.sim.models.model import MODELS
from cache_worthy.sim.models.recurrent import Mamba, Recurrent

lengths = st.integers(0, 60)
sizes = st.integers(1, 20)


@given(lengths, sizes)
def test_windows_and_chunks(n: int, size: int) -> None:
    """A query and itself are half a pair, so twice the pairs of a query with k earlier: 2 k + 1.

    At the far end of a window the token that leaves counts half as well.
    """
    assert windowed_pairs(n, size) == sum(min(2 * q + 1, 2 * size) for q in range(n))
    assert chunked_pairs(n, size) == sum(2 * (q % size) + 1 for q in range(n))


@given(lengths, sizes, st.one_of(st.none(), sizes))
def test_summaries(n: int, ratio: int, most: int | None) -> None:
    seen = (t // ratio for t in range(1, n + 1))
    assert summary_pairs(n, ratio, most) == 2 * sum(
        s if most is None else min(s, most) for s in seen
    )


MIXERS: dict[str, Mixer] = {
    "all": Attention(4, 2, 3, 5),
    "window": Attention(4, 2, 3, 5, reach=7),
    "chunk": Attention(4, 2, 3, 5, reach=7, chunked=True),
    "indexer": Attention(4, 2, 3, 5, index=Indexer(2, 3, 6)),
    "latent": Latent(4, 6, 2, nope=3, value_dim=5, q_rank=4),
    "latent with indexer": Latent(4, 6, 2, 3, 5, q_rank=4, index=Indexer(2, 3, 6), most=6),
    "shared indexer": Latent(4, 6, 2, nope=3, value_dim=5, q_rank=4, most=6),
    "summaries": Compressed(4, 3, q_rank=2, o_rank=2, o_groups=2, window=5, ratio=8),
    "chosen summaries": Compressed(4, 3, 2, 2, 2, window=5, ratio=4, index=Indexer(2, 3, 6)),
    "newest": Compressed(4, 3, q_rank=2, o_rank=2, o_groups=2, window=5),
    "delta": Recurrent(2, 3, 4, value_dim=5, kernel=4),
    "mamba": Mamba(4, 3, 2, state=5, kernel=4),
}
WEIGHTS = {"all": 8 * (4 * 3 + 2 * 3 + 2 * 5 + 4 * 5)}
WEIGHTS |= dict.fromkeys(("window", "chunk"), WEIGHTS["all"])
WEIGHTS["indexer"] = WEIGHTS["all"] + 8 * (2 * 3 + 3)
LATENT = 8 * 4 + 4 * 4 * (3 + 2) + 8 * (6 + 2) + 6 * 4 * (3 + 5) + 4 * 5 * 8
WEIGHTS |= {"latent": LATENT, "shared indexer": LATENT}
WEIGHTS["latent with indexer"] = LATENT + 4 * 2 * 3 + 8 * (3 + 2)
NEWEST = 8 * 2 + 2 * 4 * 3 + 8 * 3 + 4 * 3 * 2 + 2 * 2 * 8
WEIGHTS |= {"newest": NEWEST, "summaries": NEWEST + 2 * 8 * 3}
WEIGHTS["chosen summaries"] = NEWEST + 4 * 8 * 3 + 2 * 2 * 3 + 8 * 2 + 4 * 8 * 3
WEIGHTS["delta"] = 8 * (2 * 2 * 3 + 4 * 5) + 8 * 4 * 5 * 2 + 2 * 8 * 4 + 4 * (2 * 2 * 3 + 4 * 5)
WEIGHTS["mamba"] = 8 * (2 * 12 + 2 * 2 * 5 + 4) + 12 * 8 + 4 * (12 + 2 * 2 * 5)


def cost_of_query(name: str, q: int) -> int:
    """FLOPs of the token at position ``q`` (from 0) beyond weights, by the definition of its kind."""
    dots, pair = 4 * (3 + 5), 2 * q + 1
    if name == "all":
        return dots * pair
    if name == "window":
        return dots * min(pair, 14)
    if name == "chunk":
        return dots * (2 * (q % 7) + 1)
    if name == "indexer":
        return dots * min(pair, 12) + 2 * 3 * pair
    latent = 4 * (3 + 2 + 5)
    if name == "latent":
        return latent * pair
    if name.endswith("indexer"):
        return latent * min(pair, 12) + (2 * 3 * pair if name.startswith("latent") else 0)
    if name == "delta":
        return 6 * 4 * 3 * 5
    if name == "mamba":
        return 6 * 4 * 3 * 5
    newest = 4 * (3 + 3) * min(pair, 10)
    if name == "newest":
        return newest
    if name == "summaries":
        return newest + 2 * 4 * (3 + 3) * ((q + 1) // 8)
    found = (q + 1) // 4
    return newest + 2 * 4 * (3 + 3) * min(found, 6) + 2 * 2 * 3 * found


def model_of(mixer: Mixer, feed_forward: FeedForward | None = None, layers: int = 3) -> Model:
    geometry = Geometry((LayerGroup(layers, mixer, feed_forward),), 8, 0)
    return Model("m", layers, 8, 4, 2, 3, 5, layered=geometry)


@pytest.mark.parametrize("name", MIXERS)
@given(start=lengths, length=lengths)
def test_prefill_token_by_token(name: str, start: int, length: int) -> None:
    model = model_of(MIXERS[name])
    direct = sum(2 * WEIGHTS[name] + cost_of_query(name, q) for q in range(start, start + length))
    assert model.segment(start, start + length) == 3 * direct
    whole = model.prefill(start + length)
    assert model.segment(0, start) + model.segment(start, start + length) == whole


@pytest.mark.parametrize("name", MIXERS)
def test_what_is_cached(name: str) -> None:
    held = {"window": 7, "chunk": 7, "newest": 5}
    for n in (0, 1, 4, 7, 8, 50):
        mixer = MIXERS[name]
        if name in ("delta", "mamba"):
            expected = 0
        elif name.endswith("summaries") or name == "newest":
            expected = 3 * (min(n, 5) + {"newest": 0, "summaries": n // 8}.get(name, n // 4))
        elif "latent" in name or name == "shared indexer":
            expected = n * (6 + 2)
        else:
            expected = min(n, held.get(name, n)) * 2 * (3 + 5)
        assert mixer.cached(n) == expected


def test_copies_on_ranks() -> None:
    """KV heads are divided while there are enough; what is one vector is whole on every rank."""
    attention = MIXERS["all"]
    assert [attention.cached(5, ranks) for ranks in (1, 2, 4)] == [80, 80, 160]
    assert MIXERS["latent"].cached(5, 4) == 4 * MIXERS["latent"].cached(5)
    assert MIXERS["indexer"].indexed(5, 4) == 4 * 5 * 3
    weights = [sum(p.elements for p in attention.parts(8, ranks)) for ranks in (1, 2, 4)]
    assert weights == [WEIGHTS["all"], WEIGHTS["all"], WEIGHTS["all"] + 8 * 2 * (3 + 5)]


def test_experts_cost_what_a_token_passes() -> None:
    dense = FeedForward(width=6)
    mixture = FeedForward(experts=10, active=2, expert_width=3, shared_width=4, shared_gate=True)
    plain = model_of(MIXERS["all"]).linear
    assert model_of(MIXERS["all"], dense).linear - plain == 2 * 3 * (3 * 8 * 6)
    passed = 3 * 8 * (2 * 3 + 4) + 8 * 10 + 8
    assert model_of(MIXERS["all"], mixture).linear - plain == 2 * 3 * passed
    held = sum(p.elements for p in mixture.parts(8))
    assert held == 3 * 8 * (10 * 3 + 4) + 8 * 10 + 8
    assert mixture.passed == 10


def test_experts_between_projections() -> None:
    mixture = FeedForward(experts=10, active=2, expert_width=3, expert_dim=4)
    parts = tuple(mixture.parts(8))
    assert sum(p.elements for p in parts) == 10 * 3 * 4 * 3 + 8 * 10 + 2 * 8 * 4 + 4
    assert sum(p.active for p in parts if p.multiplied) == 2 * 3 * 4 * 3 + 8 * 10 + 2 * 8 * 4


def test_equal_layers_are_counted_together() -> None:
    one = LayerGroup(1, MIXERS["all"], None)
    assert groups_of([one, one, LayerGroup(1, MIXERS["window"], None), one]) == (
        replace(one, count=3),
        LayerGroup(1, MIXERS["window"], None),
    )


@pytest.mark.parametrize("name", catalogue())
def test_every_shipped_model(name: str) -> None:
    model = shipped_model(name)
    assert model.geometry.layers == model.layers
    assert model.parameters < model.parameters_total
    assert model.parameters_active <= model.parameters_total
    assert model.prefill(0) == 0
    steps = [model.segment(n, n + 512) for n in range(0, 40_000, 512)]
    if "chunked" not in model.geometry.kind:  # a token that opens a chunk sees itself only
        assert all(a <= b for a, b in pairwise(steps))
    assert sum(steps) == model.prefill(512 * len(steps))
    attends = {g.mixer.keeps for g in model.geometry.groups if g.mixer}
    assert model.prefix_cache in attends
    if model.prefix_cache == "full":
        table = BlockCost(model, 16).cumulative(40)
        assert table == [model.prefill(16 * n) for n in range(41)]
        assert BlockSize(model, 16).cumulative(3)[3] == 3 * BlockSize(model, 16).block
    else:
        with pytest.raises(InputError, match="other rules than full attention"):
            BlockSize(model, 16)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_plain_constants_are_the_shipped_configuration(model: Model) -> None:
    config = catalogue()[model.name.lower()].config
    assert replace(read_config(config), context=None) == model.geometry
