"""Shared fixtures. Traces are found by the TRACES environment variable (make verify sets it)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cache_worthy.cli import main
from cache_worthy.sim.radix.policies import POLICIES

# The same examples in every run, and no example is judged by its time: machines are noisy.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

# One BLAS thread, set before numpy loads: on a busy machine more of them wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
            f"{folder} lacks {', '.join(missing)}; run scripts/make/fetch_traces.py or set TRACES"
        )
    return folder


@pytest.fixture
def sample() -> Path:
    """The constructed sample log."""
    return ROOT / "examples" / "sample_log.jsonl"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: exit code, stdout, stderr."""

    def call(*argv: object) -> tuple[int, str, str]:
        code = main([str(a) for a in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def coarse(run: Callable[..., tuple[int, str, str]]) -> Callable[..., tuple[int, str, str]]:
    """As ``run``, with text cut into blocks of 512 tokens of four characters, for small numbers."""
    return lambda *argv: run(*argv, "--block-size", 512, "--chars-per-token", 4)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write records (objects become JSON, strings stay) as a JSON-lines file."""

    def put(*records: object, name: str = "log.jsonl") -> Path:
        file = tmp_path / name
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return file

    return put


EIGHT = (
    "lru", "recursive_lru", "landlord", "freq_landlord", "gdsf", "cost_only", "size_only", "cosigned",
)  # fmt: skip


@pytest.fixture
def eight_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the policies with which an expectation was computed; one added later does not change it."""
    for name in set(POLICIES) - set(EIGHT):
        monkeypatch.delitem(POLICIES, name)
