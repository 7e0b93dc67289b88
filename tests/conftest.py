"""Shared fixtures. Traces are found by the TRACES environment variable (make verify sets it)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def traces() -> Path:
    """Folder with the Mooncake traces; fails loudly when absent (never skips)."""
    folder = Path(os.environ.get("TRACES", "data/raw"))
    if not folder.is_absolute():
        folder = ROOT / folder
    missing = [
        n
        for n in ("conversation_trace.jsonl", "synthetic_trace.jsonl")
        if not (folder / n).exists()
    ]
    if missing:
        pytest.fail(
            f"{folder} lacks {', '.join(missing)}; run scripts/fetch_traces.py or set TRACES"
        )
    return folder
