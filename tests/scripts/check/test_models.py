"""The check of shipped models notices a figure that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import script

GEOMETRY = {
    "id": "qwen3-32b",
    "formula": "standard_gqa",
    "fields": {"num_hidden_layers": 64, "num_key_value_heads": 8, "head_dim": 128},
}
FIGURE = {"model": "qwen3-32b", "kv": "fp4_int4", "indexer": None, "bytes_per_token": 65_536}


def folder(tmp_path: Path, geometry: object, figure: object) -> str:
    (tmp_path / "geometries.json").write_text(json.dumps([geometry]))
    (tmp_path / "kv_bytes_per_token.json").write_text(json.dumps([figure]))
    return str(tmp_path)


def test_right_figures(tmp_path: Path) -> None:
    done = script("check/models.py", folder(tmp_path, GEOMETRY, FIGURE))
    assert done.returncode == 0, done.stderr
    assert "1 models, 1 figures, 0 models differ" in done.stdout


@pytest.mark.parametrize(
    ("geometry", "figure"),
    [
        ({**GEOMETRY, "fields": {**GEOMETRY["fields"], "head_dim": 64}}, FIGURE),  # type: ignore[dict-item]
        ({**GEOMETRY, "id": "qwen3-33b"}, FIGURE),
        (GEOMETRY, {**FIGURE, "bytes_per_token": 65_535}),
    ],
)
def test_wrong_figures(tmp_path: Path, geometry: object, figure: object) -> None:
    done = script("check/models.py", folder(tmp_path, geometry, figure))
    assert done.returncode == 1
    assert "1 models differ" in done.stdout


def test_usage() -> None:
    assert script("check/models.py").returncode == 2
