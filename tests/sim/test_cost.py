"""The cost model against published parameter counts (rank 1) and a direct count (rank 2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.sim.cost import MODELS, BlockCost, BlockSize, Model, load_model
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.memory import kv_bytes_of


@pytest.mark.parametrize(
    ("name", "bare", "published", "billions"),
    [
        # Bare counts: spec of the cost model. Published: the weights of the released checkpoints.
        ("Llama-3.1-8B", 6_979_321_856, 8_030_261_248, 8.03),
        ("Llama-3.1-70B", 68_451_041_280, 70_553_706_496, 70.55),
    ],
)
def test_published_parameter_counts(name: str, bare: int, published: int, billions: float) -> None:
    model = MODELS[name]
    assert model.parameters == bare
    assert model.parameters_total == published
    assert round(model.parameters_total / 1e9, 2) == billions


@pytest.mark.parametrize("field", ["layers", "d_model", "kv_heads", "head_dim", "d_ff"])
def test_a_mistyped_constant_misses_the_published_count(field: str) -> None:
    good = MODELS["Llama-3.1-8B"]
    values = {f: getattr(good, f) for f in Model.__dataclass_fields__}
    values[field] *= 2
    assert Model(**values).parameters_total != good.parameters_total


small = st.builds(
    Model,
    name=st.just("m"),
    layers=st.integers(1, 3),
    d_model=st.integers(1, 9),
    heads=st.just(2),
    kv_heads=st.integers(1, 2),
    head_dim=st.integers(1, 5),
    d_ff=st.integers(1, 9),
)


def _by_counting(model: Model, start: int, end: int) -> int:
    """FLOPs token by token: two a weight, and for each causal pair two dot products."""
    h, g, e, d, f = model.heads, model.kv_heads, model.head_dim, model.d_model, model.d_ff
    weights = d * h * e + 2 * d * g * e + h * e * d + 3 * d * f
    pairs = sum(2 * query + 1 for query in range(start, end))  # twice the causal pairs, diagonal/2
    return model.layers * (2 * weights * (end - start) + 2 * h * e * pairs)


@given(small, st.integers(0, 30), st.integers(0, 30))
def test_segments_against_a_direct_count(model: Model, start: int, length: int) -> None:
    assert model.segment(start, start + length) == _by_counting(model, start, start + length)


@given(small, st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_segments_are_additive(model: Model, a: int, b: int, c: int) -> None:
    a, b, c = sorted((a, b, c))
    whole = model.segment(a, c)
    assert model.segment(a, b) + model.segment(b, c) == whole
    assert model.segment(0, c) == model.prefill(c)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_tables_equal_calls(model: Model) -> None:
    for fn in (BlockSize(model), BlockCost(model)):
        table = fn.cumulative(300)
        assert table[0] == 0
        assert len(table) == 301
        for s, e in ((0, 1), (0, 300), (17, 18), (17, 255), (300, 300)):
            assert table[e] - table[s] == fn(range(e - s), s)


def test_costs_in_small_units() -> None:
    """In units of b * 512^2 the blocks [s, e) cost (e - s)(A + s + e), A = 104 and 204."""
    for name, a in (("Llama-3.1-8B", 104), ("Llama-3.1-70B", 204)):
        model = MODELS[name]
        unit = model.quadratic * 512**2
        for s, e in ((0, 1), (3, 9), (100, 247)):
            assert model.segment(512 * s, 512 * e) == (e - s) * (a + s + e) * unit


def test_kv_bytes() -> None:
    assert kv_bytes_of(MODELS["Llama-3.1-8B"], 1) == 131_072
    assert kv_bytes_of(MODELS["Llama-3.1-70B"], 1) == 327_680
    assert BlockSize().block == 64 * 2**20


def test_costs_of_a_long_70b_trace_overflow_int64() -> None:
    """Exact integers matter: a day of conversation traffic is past 2^63."""
    total = 24 * 12031 * MODELS["Llama-3.1-70B"].prefill(12035)
    assert total > 2**63
    assert isinstance(total, int)


def test_load_model_names() -> None:
    assert load_model("LLAMA-3.1-70b") is MODELS["Llama-3.1-70B"]
    with pytest.raises(InputError, match="expected one of"):
        load_model("llama")
