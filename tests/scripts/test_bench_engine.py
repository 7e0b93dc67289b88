"""The bench of the serving engine runs and names what it measures."""

from __future__ import annotations

import pytest
from bench_engine import prefill_beside_products, profile

from cache_worthy.sim.cost import Model
from cache_worthy.sim.serving import Transformer

TINY = Model("tiny", layers=2, d_model=32, heads=4, kv_heads=2, head_dim=8, d_ff=48, vocabulary=512)


def test_prefill_and_its_products_are_both_measured() -> None:
    assert all(seconds > 0 for seconds in prefill_beside_products(Transformer(TINY), 20, 1))


@pytest.mark.parametrize("on", [False, True])
def test_the_profile_names_functions_of_the_engine(
    on: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    profile(Transformer(TINY), on, 5, prefix=0)
    out = capsys.readouterr().out
    assert f"cache {'on' if on else 'off'}" in out
    assert "transformer.py" in out
    assert len(out.strip().splitlines()) == 6
