"""The comparison with the server's own code says when it cannot run."""

from __future__ import annotations

from pathlib import Path

from commands import script


def test_without_the_package_nothing_is_claimed(tmp_path: Path) -> None:
    done = script("check/sglang_release.py", "--package", tmp_path)
    assert done.returncode == 2
    assert "agrees" not in done.stdout
    assert "not an unpacked SGLang" in done.stderr


def test_another_release_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "sglang" / "srt" / "mem_cache"
    folder.mkdir(parents=True)
    (folder / "evict_policy.py").write_text("")
    (folder / "radix_cache.py").write_text("class RadixCache: ...\n")
    done = script("check/sglang_release.py", "--package", tmp_path)
    assert done.returncode == 2
    assert "older release" in done.stderr
