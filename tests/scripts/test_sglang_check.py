"""The comparison with the server's own code says when it cannot run."""

from __future__ import annotations

from pathlib import Path

import pytest
import sglang_check as script


def test_without_the_package_nothing_is_claimed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--package", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert "agrees" not in captured.out
    assert "not an unpacked SGLang" in captured.err


def test_another_release_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sglang" / "srt" / "mem_cache"
    folder.mkdir(parents=True)
    (folder / "evict_policy.py").write_text("")
    (folder / "radix_cache.py").write_text("class RadixCache: ...\n")
    assert script.main(["--package", str(tmp_path)]) == 2
    assert "older release" in capsys.readouterr().err
