"""The benches share one way of measuring and one shape of result."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import measuring
import pytest


def test_a_process_is_measured_by_itself() -> None:
    script = "import time; held = b'x' * (200 << 20); time.sleep(0.1); print(len(held))"
    small = measuring.measured([sys.executable, "-c", "print(1)"])
    large = measuring.measured([sys.executable, "-c", script])
    assert large.stdout.strip() == str(200 << 20)
    assert large.seconds >= 0.1
    assert 190 < large.megabytes - small.megabytes < 260


def test_a_failed_process_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        measuring.measured([sys.executable, "-c", "raise SystemExit(3)"])


def test_ratios_point_the_same_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = measuring.Results("one", "a test")
    results.figure("time", 2.0, "s", yardstick="peer", yardstick_value=6.0)
    results.figure("speed", 9.0, "M/s", yardstick="peer", yardstick_value=3.0, more_is_better=True)
    results.figure("alone", 1.23456789, "s")
    results.skip("the peer")
    results.write(tmp_path / "new")
    found = json.loads((tmp_path / "new" / "one.json").read_text(encoding="utf-8"))
    assert [f.get("ratio") for f in found["figures"]] == [3.0, 3.0, None]
    assert found["figures"][2]["value"] == 1.2346
    assert found["skipped"] == ["the peer"]
    assert {"processor", "cores"} <= set(found["machine"])
    assert "numpy" in found["versions"]
    captured = capsys.readouterr()
    assert "SKIPPED: the peer" in captured.err
    assert "peer 6, ratio 3" in captured.out


def test_committed_results_name_no_machine_and_no_path() -> None:
    import socket

    files = sorted(measuring.RESULTS.glob("*.json"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "/" + "work" not in text
        assert str(measuring.ROOT) not in text
        assert len(socket.gethostname()) < 5 or socket.gethostname() not in text
        assert json.loads(text)["figures"]
