"""The check of shipped models notices a figure that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import models_check
import pytest

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


def test_right_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert models_check.main([folder(tmp_path, GEOMETRY, FIGURE)]) == 0
    assert "1 models, 1 figures, 0 models differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("geometry", "figure"),
    [
        ({**GEOMETRY, "fields": {**GEOMETRY["fields"], "head_dim": 64}}, FIGURE),  # type: ignore[dict-item]
        ({**GEOMETRY, "id": "qwen3-33b"}, FIGURE),
        (GEOMETRY, {**FIGURE, "bytes_per_token": 65_535}),
    ],
)
def test_wrong_figures(tmp_path: Path, geometry: object, figure: object) -> None:
    assert models_check.main([folder(tmp_path, geometry, figure)]) == 1


def test_usage() -> None:
    assert models_check.main([]) == 2
