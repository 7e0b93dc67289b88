"""Logs as Docker and Kubernetes store them give what the bare logs give (rank 2)."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.logs import source
from cache_worthy.logs import unwrap as containers
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
SMALL = ReadOptions(block_size=16)
NAMES = ["text.jsonl", "vllm.log", "vllm_debug.log", "sglang.log", "sglang.jsonl",
         "openai_chat.jsonl", "litellm.jsonl", "litellm.csv", "litellm.json"]  # fmt: skip


def docker(text: bytes, size: int) -> bytes:
    """The driver json-file: pieces of ``size`` bytes, a line of standard error between them."""
    out = []
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), size):
            piece = line[start : start + size].decode("utf-8", "replace")
            out.append({"log": piece, "stream": "stdout", "time": "2026-03-04T10:00:00.1Z"})
            if start:
                out.append({"log": "\n", "stream": "stderr", "time": "2026-03-04T10:00:00.2Z"})
    return "".join(json.dumps(o) + "\n" for o in out).encode()


def cri(text: bytes, size: int) -> bytes:
    """Kubernetes: the same pieces, each a line, marked P where the line goes on."""
    out = []
    for line in text.splitlines():
        for start in range(0, max(len(line), 1), size):
            mark = b"F" if start + size >= len(line) else b"P"
            out.append(
                b"2026-03-04T10:00:00.123456789Z stdout " + mark + b" " + line[start : start + size]
            )
            if start:
                out.append(b"2026-03-04T10:00:00+01:00 stderr F ")
    return b"\n".join(out) + b"\n"


def same(a: Log, b: Log) -> bool:
    return a.requests == b.requests and a.format == b.format and len(a.requests) > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrap", [docker, cri])
@pytest.mark.parametrize("size", [61, 1 << 14])
def test_wrapped_is_as_bare(
    tmp_path: Path, name: str, wrap: Callable[[bytes, int], bytes], size: int
) -> None:
    plain = (FOLDER / name).read_bytes()
    file = tmp_path / "log"
    file.write_bytes(gzip.compress(wrap(plain, size)) if size == 61 else wrap(plain, size))
    log, want = read_log(file, SMALL), read_log(FOLDER / name, SMALL)
    assert same(log, want)
    assert log.records == want.records


def test_a_character_cut_between_two_pieces(tmp_path: Path) -> None:
    """CRI keeps the bytes; Docker has lost them, and the rest of the prompt stands."""
    bare = tmp_path / "bare"
    bare.write_text(json.dumps({"prompt": "né" * 400}, ensure_ascii=False) + "\n", encoding="utf-8")
    file = tmp_path / "log"
    file.write_bytes(cri(bare.read_bytes(), 100))
    assert same(read_log(file, SMALL), read_log(bare, SMALL))
    file.write_bytes(docker(bare.read_bytes(), 100))
    assert read_log(file, SMALL).records.unusable == 0


def test_records_without_line_ends_are_lines(tmp_path: Path) -> None:
    """As shippers write them; a line that Docker cut still goes on."""
    texts = [json.dumps({"prompt": f"{n} " * 20}) for n in range(9)]
    texts[4] = json.dumps({"prompt": "z" * 40_000})
    pieces = [t[i : i + (1 << 14)] for t in texts for i in range(0, len(t), 1 << 14)]
    rows = [{"time": "t", "stream": "stdout", "log": p} for p in pieces]
    file = tmp_path / "log"
    file.write_text("\n".join(map(json.dumps, rows)))
    bare = tmp_path / "bare"
    bare.write_text("\n".join(texts))
    assert same(read_log(file, SMALL), read_log(bare, SMALL))


@pytest.mark.parametrize("wrap", [docker, cri])
def test_numbers_damage_and_a_cut_end(tmp_path: Path, wrap: Callable[[bytes, int], bytes]) -> None:
    """Lines keep the numbers of the file, what is not wrapped passes, the last one may be cut."""
    bare = b"".join(json.dumps({"prompt": f"{n} " * 40}).encode() + b"\n" for n in range(60))
    rows = wrap(bare, 1 << 14).splitlines(keepends=True)
    rows[30:30] = [b"not wrapped at all\n", b'{"log": "half\n']
    file = tmp_path / "log"
    file.write_bytes(b"".join(rows))
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (60, 2)
    assert "line 31: " in log.records.first_unusable
    file.write_bytes(wrap(bare, 50).rstrip()[: -200 if wrap is docker else -60])
    log = read_log(file)
    assert (len(log.requests), log.skipped_truncated) == (59, 1)


@pytest.mark.parametrize("wrap", [docker, cri])
def test_a_file_that_begins_inside_a_line(
    tmp_path: Path, wrap: Callable[[bytes, int], bytes]
) -> None:
    """What ``tail -c`` leaves."""
    bare = b"".join(json.dumps({"prompt": f"{n} " * 40}).encode() + b"\n" for n in range(60))
    file = tmp_path / "log"
    file.write_bytes(wrap(bare, 1 << 14)[100:])
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (59, 1)


@pytest.mark.parametrize("wrap", [docker, cri])
def test_a_line_in_endless_pieces_is_not_held(
    tmp_path: Path, wrap: Callable[[bytes, int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LONGEST", 1 << 17)
    good = json.dumps({"prompt": "y" * 300}).encode() + b"\n"
    file = tmp_path / "log"
    file.write_bytes(
        wrap(good * 30 + b'{"prompt": "' + b"x" * (1 << 20) + b'"}\n' + good * 30, 1 << 14)
    )
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (60, 1)
    assert "longer than 0.125 MiB" in log.records.first_unusable


def test_a_request_about_a_container_is_no_container(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(json.dumps({"prompt": "a", "log": "b", "stream": True, "time": 5}) + "\n")
    assert len(read_log(file).requests) == 1


@pytest.mark.parametrize(
    ("wrap", "name", "mistake"),
    [
        (docker, "_docker", lambda found: found and (*found[:2], True)),
        (docker, "_docker", lambda found: found and ("stdout", *found[1:])),
        (cri, "_cri", lambda found: found and (*found[:2], True)),
        (cri, "_cri", lambda found: found and ("stdout", *found[1:])),
    ],
    ids=["pieces are lines", "one stream", "pieces are lines (CRI)", "one stream (CRI)"],
)
def test_a_planted_mistake_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrap: Any, name: str, mistake: Any
) -> None:
    """The comparison with the bare log can fail."""
    file = tmp_path / "log"
    file.write_bytes(wrap((FOLDER / "text.jsonl").read_bytes(), 61))
    want = read_log(FOLDER / "text.jsonl", SMALL)
    assert same(read_log(file, SMALL), want)
    right = getattr(containers, name)
    monkeypatch.setattr(containers, name, lambda line: mistake(right(line)))
    with contextlib.suppress(TraceError):
        assert not same(read_log(file, SMALL), want)


@pytest.mark.parametrize("prefix", [b"gate-1  | ", b"[pod/a/b] ", b'D{"log": '])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_long_line_takes_none_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: bytes, end: bytes
) -> None:
    """A wrapped line longer than a record may be is one unusable record, as a bare one is."""
    monkeypatch.setattr(source, "LONGEST", 1 << 17)
    good = json.dumps({"prompt": "y" * 300}).encode()
    rows = [good] * 60
    rows[30:30] = [b'{"prompt": "' + b"x" * (1 << 18) + b'"}']
    if prefix.startswith(b"D"):
        rows = docker(end.join(rows) + end, 1 << 20).splitlines()
    else:
        rows = [prefix + row for row in rows]
    file = tmp_path / "log"
    file.write_bytes(end.join(rows))
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (60, 1)
    assert "line 31: longer than 0.125 MiB" in log.records.first_unusable


@pytest.mark.parametrize("prefix", ["gate-1  | ", "[pod/a/b] "])
def test_wrapping_is_seen_behind_a_banner(tmp_path: Path, prefix: str) -> None:
    file = tmp_path / "log"
    rows = [json.dumps({"prompt": f"{n} " * 40}) for n in range(400)]
    file.write_text("".join(f"{prefix}{row}\n" for row in ["starting up"] * 9 + rows))
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (400, 9)


@pytest.mark.parametrize("like", ["gate-1 | ", "2026-03-04T10:00:00Z stdout F ", "[pod/a/b] "])
def test_a_cell_that_looks_wrapped_is_not_unwrapped(tmp_path: Path, like: str) -> None:
    """A cell of CSV over several lines: the prompt stays as it is."""
    prompt = f"What is this?\n{like}{{}}\n" * 20
    file, bare = tmp_path / "log.csv", tmp_path / "bare"
    file.write_text(f'request_id,prompt\n1,"{prompt}"\n')
    bare.write_text(json.dumps({"prompt": prompt}) + "\n")
    assert same(read_log(file, SMALL), read_log(bare, SMALL))


@pytest.mark.parametrize("like", ["gate-1 | ", "2026-03-04T10:00:00Z stdout F ", "[pod/a/b] "])
def test_a_line_of_plain_text_that_looks_wrapped_is_not_unwrapped(
    tmp_path: Path, like: str
) -> None:
    file, other = tmp_path / "prompts", tmp_path / "other"
    file.write_text(f'{like}{{"prompt": 1}}\n' * 3)
    other.write_text("x" * len(f'{like}{{"prompt": 1}}') + "\n")
    options = ReadOptions(format="lines", chars_per_token=1, block_size=1)
    log, want = read_log(file, options), read_log(other, options)
    assert [r.input_length for r in log.requests] == 3 * [want.requests[0].input_length]


def test_an_empty_line_of_kubernetes_without_its_blank(tmp_path: Path) -> None:
    """As editors leave it."""
    good = json.dumps({"prompt": "y" * 300}).encode()
    file = tmp_path / "log"
    for end in (b"\n", b"\r\n"):
        file.write_bytes(
            end.join(row.rstrip() for row in cri((good + b"\n\n") * 9, 1 << 14).split(b"\n"))
        )
        log = read_log(file)
        assert (len(log.requests), log.records.unusable) == (9, 0)


@pytest.mark.parametrize("wrap", [docker, cri])
@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "sglang.log"])
def test_a_prompt_with_a_gap_is_not_used(
    tmp_path: Path, wrap: Callable[[bytes, int], bytes], name: str
) -> None:
    """A damaged record between two pieces: what they give together is another prompt."""
    bare = (FOLDER / name).read_bytes()
    want = read_log(FOLDER / name, SMALL)
    lines = bare.splitlines(keepends=True)
    at = next(
        n for n, line in enumerate(lines) if (n > 3 and b"prompt" in line) or b"Receive" in line
    )
    middle = wrap(lines[at], max(len(lines[at]) // 9, 9)).splitlines(keepends=True)
    middle[4] = b"damaged\n"
    rows = [wrap(b"".join(lines[:at]), 1 << 14), *middle, wrap(b"".join(lines[at + 1 :]), 1 << 14)]
    file = tmp_path / "log"
    file.write_bytes(b"".join(rows))
    options = ReadOptions(block_size=16, allow_partial=True)
    log = read_log(file, options)
    assert len(log.requests) == len(want.requests) - 1
    assert {r.hash_ids[-1:] for r in log.requests} <= {r.hash_ids[-1:] for r in want.requests}
