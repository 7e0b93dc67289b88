"""Scaled traces: N times everything, nothing shared between copies, the forest of each unchanged.

Rank 2: counts scale exactly by N. Rank 4: a two-record log written out by hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import make_scaled_trace
import pytest
from hypothesis import given
from hypothesis import strategies as st

IDS = st.integers(-(2**70), 2**70) | st.text("ab#12", max_size=3)
LOGS = st.lists(st.lists(IDS, max_size=5), min_size=1, max_size=6)


def write(path: Path, paths: list[list[int | str]]) -> Path:
    lines = [json.dumps({"timestamp": t, "hash_ids": p}) for t, p in enumerate(paths)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[int | str]]:
    assert make_scaled_trace.main(arguments) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(r["constructed"] is True for r in records)
    return [r["hash_ids"] for r in records]


def test_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(write(tmp_path / "log.jsonl", [[5, 6], [5, "x"]]))
    # Integers 5..6 span two values, so copy 1 shifts by 2 and copy 2 by 4.
    assert run(capsys, log, "--copies", "3") == [
        [5, 6],
        [5, "x"],
        [7, 8],
        [7, "x#1"],
        [9, 10],
        [9, "x#2"],
    ]
    assert run(capsys, log, "--copies", "2", "--interleave") == [
        [5, 6],
        [7, 8],
        [5, "x"],
        [7, "x#1"],
    ]


@given(LOGS, st.integers(1, 4), st.booleans())
def test_copies_share_nothing_and_each_is_the_log(
    paths: list[list[int | str]], copies: int, interleave: bool
) -> None:
    records = [{"hash_ids": p} for p in paths]
    try:
        out = list(make_scaled_trace.scaled(records, copies, interleave=interleave))
    except ValueError:
        names = {i for p in paths for i in p if isinstance(i, str)}
        assert any(f"{n}#{c}" in names for n in names for c in range(1, copies))
        return
    distinct = {i for p in paths for i in p}
    assert len(out) == copies * len(paths)
    assert len({i for r in out for i in r["hash_ids"]}) == copies * len(distinct)
    for copy in range(copies):
        mine = [r["hash_ids"] for r in out if r["copy"] == copy]
        back = dict(zip((i for p in mine for i in p), (i for p in paths for i in p), strict=True))
        assert [[back[i] for i in p] for p in mine] == paths


def test_an_existing_file_needs_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(write(tmp_path / "log.jsonl", [[1]]))
    out = tmp_path / "out.jsonl"
    assert make_scaled_trace.main([log, "--copies", "2", "-o", str(out)]) == 0
    whole = out.read_bytes()
    assert whole.count(b"\n") == 2
    with pytest.raises(SystemExit) as stopped:
        make_scaled_trace.main([log, "--copies", "3", "-o", str(out)])
    assert stopped.value.code == 2
    assert out.read_bytes() == whole
    assert make_scaled_trace.main([log, "--copies", "3", "-o", str(out), "--force"]) == 0
    assert out.read_bytes().count(b"\n") == 3
    capsys.readouterr()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "no record"),
        ("nonsense\n", ":1: expected a JSON object"),
        ("[" * 10**5 + "\n", ":1: expected a JSON object"),
        ('{"hash_ids": [1]}\n{"prompt": "x"}\n', ":2: expected a native record"),
        ('{"hash_ids": [1.5]}\n', ":1: expected a native record"),
        ('{"hash_ids": [true]}\n', ":1: expected a native record"),
        ('{"hash_ids": ["a", "a#1"]}\n', "'a#1' is what copy 1"),
    ],
)
def test_bad_logs_exit_2_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, told: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(content, encoding="utf-8")
    assert make_scaled_trace.main([str(log), "--copies", "2"]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_missing_file_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make_scaled_trace.main([str(tmp_path / "none"), "--copies", "2"]) == 2
    assert "none" in capsys.readouterr().err


def test_copies_below_one_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        make_scaled_trace.main(["-", "--copies", "0"])
    assert stopped.value.code == 2
    assert "1 or more" in capsys.readouterr().err
