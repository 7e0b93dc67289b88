"""The log on disk: pieces, other writers, files that are moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from cache_worthy.capture.logfile import LogFile
from cache_worthy.errors import UsageError


def test_two_writers_of_one_log(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "log.jsonl")
    with pytest.raises(UsageError, match="another capture writes to it"):
        LogFile(tmp_path / "log.jsonl", append=True)
    log.close()
    LogFile(tmp_path / "log.jsonl", append=True).close()


def test_a_log_that_others_move_begins_anew(tmp_path: Path) -> None:
    """No record goes where no name leads; a log that was cut short goes on at its new end."""
    path = tmp_path / "log.jsonl"
    log = LogFile(path)
    log.write(b"1\n")
    path.rename(tmp_path / "old")
    log.write(b"2\n")
    assert (tmp_path / "old").read_bytes() + path.read_bytes() == b"1\n2\n"
    path.unlink()
    log.write(b"3\n")
    assert path.read_bytes() == b"3\n"
    assert path.stat().st_mode & 0o077 == 0
    path.rename(tmp_path / "older")
    path.write_bytes(b"by another hand")
    log.write(b"4\n")
    assert path.read_bytes() == b"by another hand\n4\n"
    path.write_bytes(b"")
    log.write(b"5\n")
    log._take_back(0)  # what a full disk does next must know the new length
    assert path.read_bytes() == b"5\n"
    assert log.files == [path]
    log.close()


def test_a_log_in_pieces_and_one_without_are_one_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for piece, name in ((4, "log-00001"), (None, "log"), (4, "log-00002")):
        if path.parent.joinpath("log-00001.jsonl").exists():
            with pytest.raises(UsageError, match="exists; a log is never overwritten"):
                LogFile(path, piece=piece)
        log = LogFile(path, append=True, piece=piece)
        log.write(b"1\n")
        assert (tmp_path / f"{name}.jsonl").read_bytes() == b"1\n"
        log.close()
    assert [p.name for p in log.files] == ["log.jsonl", "log-00001.jsonl", "log-00002.jsonl"]
