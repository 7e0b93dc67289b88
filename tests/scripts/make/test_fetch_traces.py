"""fetch_traces against a local HTTP server that misbehaves in every way we know of.

Rank 2: whatever the server does, what stands under the final name has the recorded SHA-256.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import ROOT, Done, script

NAMES = ("conversation_trace.jsonl", "toolagent_trace.jsonl", "synthetic_trace.jsonl")
BODIES = {name: (name.encode() + b" line\n") * 9_000 for name in NAMES}


class Server(http.server.ThreadingHTTPServer):
    """Serves BODIES; ``mode`` says how it misbehaves, ``seen`` is the log of Range headers."""

    mode = "good"
    cuts = 0
    seen: list[str | None]
    checksums: Path


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range")
        server.seen.append(asked)
        name = self.path.rsplit("/", 1)[-1]
        if name not in BODIES or server.mode == "missing":
            self.send_error(404)
            return
        if server.mode == "broken":
            self.send_error(503)
            return
        body = BODIES[name]
        if server.mode == "corrupt":
            body = body[:5_000] + b"X" + body[5_001:]
        start = 0
        if asked and server.mode != "ignores range":
            found = re.fullmatch(r"bytes=(\d+)-", asked)
            assert found
            start = int(found[1])
            if start >= len(body):
                self.send_error(416)
                return
        if server.mode == "wrong offset" and start:
            start += 1
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        if server.cuts:
            server.cuts -= 1
            self.wfile.write(body[start : start + 70_000])
            self.close_connection = True
            return
        self.wfile.write(body[start:])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def checksums(tmp_path: Path) -> Path:
    """Names and digests of BODIES."""
    listed = {
        name: {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body), "origin": "test"}
        for name, body in BODIES.items()
    }
    file = tmp_path / "checksums.json"
    file.write_text(json.dumps({"base_url": "http://127.0.0.1:9", "files": listed}))
    return file


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, checksums: Path) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Server(("127.0.0.1", 0), Handler)
    running.seen = []
    running.checksums = checksums
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()


def run(*words: object) -> Done:
    """The script, without a pause between its tries."""
    return script("make/fetch_traces.py", "--pause", "0", *words)


def fetch(server: Server, out: Path, *more: object) -> Done:
    url = f"http://127.0.0.1:{server.server_address[1]}/traces"
    return run("--checksums", server.checksums, "--from", url, "--out", out, *more)


def assert_all_right(out: Path) -> None:
    assert {p.name: p.read_bytes() for p in out.iterdir()} == BODIES


def test_fetches_all_three(server: Server, tmp_path: Path) -> None:
    assert fetch(server, tmp_path / "raw").returncode == 0
    assert_all_right(tmp_path / "raw")
    assert server.seen == [None] * 3


def test_a_good_file_is_left_alone(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "raw"
    assert fetch(server, out).returncode == 0
    before = {p: p.stat().st_mtime_ns for p in out.iterdir()}
    server.seen.clear()
    assert fetch(server, out, "--force").returncode == 0
    assert server.seen == []
    assert {p: p.stat().st_mtime_ns for p in out.iterdir()} == before


def test_a_cut_connection_resumes_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.cuts = 2
    assert fetch(server, tmp_path / "raw", "conversation").returncode == 0
    assert (tmp_path / "raw" / NAMES[0]).read_bytes() == BODIES[NAMES[0]]
    assert server.seen == [None, "bytes=70000-", "bytes=140000-"]


def test_a_server_that_keeps_cutting_is_given_up_and_a_second_run_resumes(
    server: Server, tmp_path: Path
) -> None:
    out = tmp_path / "raw"
    server.cuts = 1
    done = fetch(server, out, "conversation", "--attempts", "1")
    assert done.returncode == 2
    assert [p.name for p in out.iterdir()] == [NAMES[0] + ".part"]
    assert "70000 bytes are kept" in done.stderr
    assert fetch(server, out, "conversation").returncode == 0
    assert (out / NAMES[0]).read_bytes() == BODIES[NAMES[0]]
    assert server.seen == [None, "bytes=70000-"]


def test_a_server_that_ignores_range_is_read_from_the_start(server: Server, tmp_path: Path) -> None:
    server.mode = "ignores range"
    server.cuts = 1
    assert fetch(server, tmp_path / "raw", "conversation").returncode == 0
    assert (tmp_path / "raw" / NAMES[0]).read_bytes() == BODIES[NAMES[0]]
    assert server.seen == [None, "bytes=70000-"]


def test_a_wrong_offset_never_reaches_the_final_name(server: Server, tmp_path: Path) -> None:
    server.mode = "wrong offset"
    server.cuts = 1
    assert fetch(server, tmp_path / "raw", "conversation").returncode == 2
    assert not (tmp_path / "raw" / NAMES[0]).exists()


def test_corrupt_bytes_are_refused_and_not_kept(server: Server, tmp_path: Path) -> None:
    server.mode = "corrupt"
    done = fetch(server, tmp_path / "raw", "synthetic")
    assert done.returncode == 1
    assert list((tmp_path / "raw").iterdir()) == []
    assert hashlib.sha256(BODIES[NAMES[2]]).hexdigest() in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("leftover", [b"stale", b"stale" * 100_000], ids=["short", "too long"])
def test_a_stale_part_is_started_over(server: Server, tmp_path: Path, leftover: bytes) -> None:
    out = tmp_path / "raw"
    out.mkdir()
    (out / (NAMES[0] + ".part")).write_bytes(leftover)
    assert fetch(server, out, "conversation").returncode == 0
    assert (out / NAMES[0]).read_bytes() == BODIES[NAMES[0]]
    assert len(server.seen) == 2


def test_a_part_that_was_already_whole_is_taken(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "raw"
    out.mkdir()
    (out / (NAMES[0] + ".part")).write_bytes(BODIES[NAMES[0]])
    assert fetch(server, out, "conversation").returncode == 0
    assert (out / NAMES[0]).read_bytes() == BODIES[NAMES[0]]


def test_not_found_is_told_and_the_others_still_come(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(BODIES, NAMES[1])
    done = fetch(server, tmp_path / "raw")
    assert done.returncode == 2
    assert sorted(p.name for p in (tmp_path / "raw").iterdir()) == [NAMES[0], NAMES[2]]
    error = done.stderr
    assert "toolagent_trace.jsonl: the server answers 404" in error
    assert "--from DIR" in error
    assert "Traceback" not in error


def test_a_server_error_is_retried_then_told(server: Server, tmp_path: Path) -> None:
    server.mode = "broken"
    assert fetch(server, tmp_path / "raw", "conversation").returncode == 2
    assert len(server.seen) == 5


def test_no_network_is_one_clear_line(server: Server, tmp_path: Path) -> None:
    server.shutdown()
    server.server_close()
    done = fetch(server, tmp_path / "raw", "conversation")
    assert done.returncode == 2
    error = done.stderr
    assert "cannot reach the server" in error
    assert "--from DIR" in error
    assert "Traceback" not in error


def test_a_bad_file_is_replaced_only_with_force(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "raw"
    out.mkdir()
    (out / NAMES[0]).write_bytes(b"mine")
    assert fetch(server, out, "conversation").returncode == 1
    assert (out / NAMES[0]).read_bytes() == b"mine"
    assert server.seen == []
    server.mode = "corrupt"
    assert fetch(server, out, "conversation", "--force").returncode == 1
    assert (out / NAMES[0]).read_bytes() == b"mine"
    server.mode = "good"
    assert fetch(server, out, "conversation", "--force").returncode == 0
    assert (out / NAMES[0]).read_bytes() == BODIES[NAMES[0]]


def test_from_a_folder(checksums: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in NAMES[:2]:
        (source / name).write_bytes(BODIES[name])
    out = tmp_path / "raw"
    words = ("--checksums", checksums, "--from", source, "--out", out)
    done = run(*words)
    assert done.returncode == 2
    assert sorted(p.name for p in out.iterdir()) == sorted(NAMES[:2])
    assert "synthetic_trace.jsonl: no such file" in done.stderr
    (source / NAMES[2]).write_bytes(b"other")
    assert run(*words).returncode == 1
    (source / NAMES[2]).write_bytes(BODIES[NAMES[2]])
    assert run(*words).returncode == 0
    assert_all_right(out)


@pytest.mark.parametrize("arguments", [["other"], ["--from", "ftp://somewhere"]])
def test_usage_errors_exit_2(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "expected" in done.stderr


def committed() -> dict[str, dict[str, str]]:
    data = json.loads((ROOT / "data" / "checksums.json").read_text(encoding="utf-8"))
    assert data["base_url"].startswith("https://")
    files: dict[str, dict[str, str]] = data["files"]
    return files


def test_committed_checksums_are_well_formed() -> None:
    files = committed()
    assert tuple(files) == NAMES
    assert all(re.fullmatch("[0-9a-f]{64}", f["sha256"]) and f["origin"] for f in files.values())


@pytest.mark.traces
def test_the_traces_at_hand_are_the_recorded_ones(traces: Path) -> None:
    at_hand = [name for name in committed() if (traces / name).exists()]
    assert len(at_hand) >= 2
    assert {n: hashlib.sha256((traces / n).read_bytes()).hexdigest() for n in at_hand} == {
        n: committed()[n]["sha256"] for n in at_hand
    }
