"""The transformer against a dense transcription, and the invariants of its parts."""

from __future__ import annotations

import gc
import sys
from types import FrameType

import numpy as np
import pytest
from plain_transformer import logits_of

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving import transformer as module
from cache_worthy.sim.serving.pool import BlockPool, Floats
from cache_worthy.sim.serving.transformer import Transformer, random_weights
from cache_worthy.sim.serving.workload import STUDY_MODEL

TINY = Model("tiny", layers=2, d_model=32, heads=4, kv_heads=2, head_dim=8, d_ff=48, vocabulary=64)
PROMPT = np.random.default_rng(5).integers(0, 64, 30).tolist()
BLOCK = 4


def pool_for(dtype: type = np.float64) -> tuple[BlockPool, list[int]]:
    """A pool and a table in scrambled order."""
    pool = BlockPool(TINY, 12, BLOCK, dtype)
    table = [pool.take() for _ in range(12)]
    return pool, [table[i] for i in np.random.default_rng(0).permutation(12)]


@pytest.mark.parametrize("model", [TINY, STUDY_MODEL])
def test_weights_are_what_the_cost_model_counts(model: Model) -> None:
    assert random_weights(model, 0).count == model.parameters_total


def test_both_precisions_have_the_same_model() -> None:
    single, double = random_weights(TINY, 1), random_weights(TINY, 1, np.float64)
    assert np.array_equal(single.head, double.head.astype(np.float32))
    assert not np.array_equal(single.head, random_weights(TINY, 2).head)


@pytest.mark.parametrize("chunk", [512, 7, 1])
def test_prefill_equals_the_dense_transcription(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    model = Transformer(TINY, dtype=np.float64)
    pool, table = pool_for()
    expected = logits_of(TINY, model.weights, PROMPT)
    got = model.prefill(PROMPT, 0, 0, table, pool)
    np.testing.assert_allclose(got, expected[-1], atol=1e-10)
    # From every block on, what is stored already serves the rest.
    for start in range(0, len(PROMPT), BLOCK):
        again = model.prefill(PROMPT, start, start, table, pool)
        np.testing.assert_allclose(again, expected[-1], atol=1e-10)


def test_decode_equals_the_dense_transcription_whatever_shares_the_batch() -> None:
    model = Transformer(TINY, dtype=np.float64)
    pool = BlockPool(TINY, 24, BLOCK, np.float64)
    prompts = [PROMPT[:3], PROMPT[5:22], PROMPT[10:18]]
    tables = [[pool.take() for _ in range(8)] for _ in prompts]
    for prompt, table in zip(prompts, tables, strict=True):
        model.prefill(prompt[:-1], 0, 0, table, pool)
    got = model.decode([p[-1] for p in prompts], [len(p) - 1 for p in prompts], tables, pool)
    for row, prompt in zip(got, prompts, strict=True):
        np.testing.assert_allclose(row, logits_of(TINY, model.weights, prompt)[-1], atol=1e-10)


def test_causal_and_attentive_to_every_token() -> None:
    weights = random_weights(TINY, 0, np.float64)
    base = logits_of(TINY, weights, PROMPT[:12])
    for changed in range(12):
        tokens = list(PROMPT[:12])
        tokens[changed] = (tokens[changed] + 1) % 64
        moved = np.abs(logits_of(TINY, weights, tokens) - base).max(axis=1)
        assert not moved[:changed].any()
        assert (moved[changed:] > 1e-6).all(), "an answer that ignores a token tests nothing"


def test_rotary_scores_depend_on_distance_alone() -> None:
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((2, 1, 1, 8))

    def score(at: int, before: int) -> float:
        rotated: list[Floats] = [
            module._rotate(x, *module._rotation(np.array([p]), 8, np.float64))
            for x, p in ((q, at), (k, before))
        ]
        return float((rotated[0] * rotated[1]).sum())

    assert score(9, 4) == pytest.approx(score(905, 900), abs=1e-12)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-3)


def test_prefill_makes_as_many_calls_for_many_tokens_as_for_few() -> None:
    """Matrix products, no Python over tokens: counted, not timed."""
    model = Transformer(TINY)

    def calls(tokens: int) -> int:
        pool = BlockPool(TINY, 100, BLOCK)
        table = [pool.take() for _ in range(100)]
        count = 0

        def profile(frame: FrameType, event: str, arg: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        prompt = [i % 64 for i in range(tokens)]
        gc.collect()
        gc.disable()  # a collection inside the count would add the calls of its callbacks
        sys.setprofile(profile)
        try:
            model.prefill(prompt, 0, 0, table, pool)
        finally:
            sys.setprofile(None)
            gc.enable()
        return count

    assert calls(16) == calls(400) < 400


def test_a_model_without_a_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        random_weights(Model("x", 1, 4, 1, 1, 2, 4), 0)
