"""The bench of the serving engine runs and names what it measures."""

from __future__ import annotations

import json
from pathlib import Path

from commands import script

#: A small model in the place of the study's.
TINY = """
import cache_worthy.sim.serving.workload as workload
from cache_worthy.sim.cost import Model

workload.STUDY_MODEL = Model(
    "tiny", layers=2, d_model=32, heads=4, kv_heads=2, head_dim=8, d_ff=48, vocabulary=512
)
"""


def test_prefill_beside_its_products_and_the_functions_of_the_engine(tmp_path: Path) -> None:
    options = ("--rounds", "1", "--functions", "5", "--results", tmp_path)
    done = script("bench/engine.py", *options, planted=TINY)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "engine.json").read_text(encoding="utf-8"))["figures"]
    assert len(figures) == 4
    assert all(f["value"] > 0 and f["yardstick"]["value"] > 0 for f in figures)
    for on in ("off", "on"):
        profile = done.stdout.split(f"cache {on}: own time by function\n")[1].split("\n\n")[0]
        assert "transformer.py" in profile
        assert len(profile.strip().splitlines()) == 5
