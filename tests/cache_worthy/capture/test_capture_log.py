"""The log that cache-worthy capture writes: what analyze makes of it, and what breaks it not.

Rank 4, differential: the analysis of a recorded log is that of the same bodies given as a log.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bare_http import Capture, Request, Upstream, fetch

import cache_worthy.capture.recorder as recorder_module
from cache_worthy.advise.sections import skippable
from cache_worthy.capture.logfile import LogFile
from cache_worthy.capture.recorder import Counts, Recorder
from cache_worthy.capture.server import bind
from cache_worthy.capture.usage import Answer, Usage
from cache_worthy.commands.capture import _is_own, _key, summary
from cache_worthy.errors import UsageError
from cache_worthy.logs.blocks import Cutter
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]

CHAT, MESSAGES, COMPLETIONS = b"/v1/chat/completions", b"/v1/messages", b"/v1/completions"


async def answers(
    request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """A model server: usage in its vendor's words, 429 where the prompt asks for it."""
    body = request.body
    if request.header(b"content-encoding") == b"gzip":
        body = gzip.decompress(body)
    stream = b'"stream": true' in body
    status = 429 if b"too many" in body else 200
    if request.target == MESSAGES:
        usage = {"input_tokens": 9, "cache_read_input_tokens": 4, "output_tokens": 6}
    else:
        usage = {"prompt_tokens": 13, "completion_tokens": 6}
    data = json.dumps({"usage": usage} if status == 200 else {"error": "no"}).encode()
    kind = b"application/json"
    if stream:
        kind = b"text/event-stream"
        data = b'data: {"usage": null}\n\ndata: ' + data + b"\n\ndata: [DONE]\n\n"
    writer.write(b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
                 % (status, kind, len(data), data))  # fmt: skip


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(answers)
    yield server
    server.close()


def send(port: int, bodies: list[tuple[bytes, bytes]], *headers: bytes) -> None:
    """Bodies to their paths, one after another on one connection."""

    async def all_of_them() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for path, body in bodies:
            lines = [b"POST %s HTTP/1.1" % path, b"Host: x", *headers]
            if body[:2] == b"\x1f\x8b":
                lines.append(b"Content-Encoding: gzip")
            lines.append(b"Content-Length: %d" % len(body))
            writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
            assert (await fetch(reader, b"POST")).whole
        writer.close()

    asyncio.run(all_of_them())


def traffic(count: int) -> list[tuple[bytes, dict[str, Any]]]:
    """Conversations of several tenants through every endpoint, some of them failing."""
    rng = random.Random(7)
    preambles = ["You are Ada. " * 400, "Answer in one word. " * 150]
    histories: list[list[dict[str, str]]] = []
    out: list[tuple[bytes, dict[str, Any]]] = []
    for n in range(count):
        if len(histories) < 4 or rng.random() < 0.2:
            histories.append([{"role": "system", "content": rng.choice(preambles)}])
        history = rng.choice(histories)
        history.append(
            {"role": "user", "content": f"{n}: " + "\u00e9 and so on " * rng.randint(1, 200)}
        )
        body: dict[str, Any] = {"model": "m", "messages": list(history), "stream": n % 3 == 0}
        history.append({"role": "assistant", "content": "yes " * rng.randint(1, 100)})
        path = CHAT
        if n % 7 == 3:
            system, *rest = body.pop("messages")
            path, body = MESSAGES, {**body, "system": system["content"], "messages": rest}
            body["tools"] = [{"name": "look", "input_schema": {"type": "object"}}]
        if n % 11 == 5:
            path, body = COMPLETIONS, {"model": "m", "prompt": preambles[n % 2] + str(n), "n": 2}
        if n % 13 == 6:
            path, body = COMPLETIONS, {"model": "m", "prompt": [preambles[0] + "a", preambles[1]]}
        if n % 17 == 8:
            path, body = COMPLETIONS, {"model": "m", "prompt": list(range(2000 + n))}
        if n % 5 == 1:
            body["cache_salt"] = f"tenant {n % 2}"
        if n % 19 == 4 and path == CHAT:
            body["messages"].append({"role": "user", "content": "too many"})
        if n % 9 == 2:
            body["priority"] = 2
        out.append((path, body))
    return out


def analysis(run: Run, *argv: object) -> dict[str, Any]:
    code, out, err = run("analyze", *argv, "--json", "--skip", ",".join(skippable()))
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Without what names the file and its format, and the ids themselves."""
    of_file = ("source", "sha256", "format", "field", "chars_per_block", "tokenizer", "template")
    document["input"] = {k: v for k, v in document["input"].items() if k not in of_file}
    text = json.dumps(document, sort_keys=True)
    out: dict[str, Any] = json.loads(text)
    for pin in (out.get("pin") or {}).get("pins", []):
        pin.pop("last_block_id", None)
    return out


@pytest.mark.parametrize("keep", [False, True])
def test_the_log_is_analysed_as_the_traffic(
    run: Run, upstream: Upstream, tmp_path: Path, keep: bool
) -> None:
    """Field by field, with the options of the command line given to the one or the other."""
    cutting = ("--block-size", 64, "--template", "chatml")
    options = [] if keep else cutting
    running = Capture(upstream.port, tmp_path / "log.jsonl", *options, *["--keep-text"] * keep)
    sent = traffic(100)
    bodies = [(path, json.dumps(body).encode()) for path, body in sent]
    bodies[::4] = [(path, gzip.compress(body)) for path, body in bodies[::4]]
    send(running.port, bodies)
    send(running.port, [(b"/v1/embeddings", b'{"model": "e", "input": "not a prompt"}')])
    assert running.stop()[0] == 0
    rows = running.rows()
    times = iter(dict.fromkeys(row["timestamp"] for row in rows))
    plain = tmp_path / "bodies.jsonl"
    with plain.open("w", encoding="utf-8") as file:
        for _, body in sent:
            failed = b"too many" in json.dumps(body).encode()
            record = {"timestamp": next(times), "status": 429 if failed else 200, "body": body}
            if not failed:
                record["output_length"] = 6
            file.write(json.dumps(record) + "\n")
    recorded = analysis(run, running.log, *(cutting if keep else ()))
    given = analysis(run, plain, *cutting)
    failed_ones = sum("too many" in str(body) for _, body in sent)
    assert given["input"]["records"]["skipped"] == {"failed request": failed_ones}
    assert failed_ones > 3
    assert len(given["input"]["salts"]) == 2
    if not keep:  # n is no part of a trace: one prefill either way
        assert given["input"]["records"].pop("several_answers") > 3
        del recorded["input"]["records"]["several_answers"]
    assert comparable(recorded) == comparable(given)
    mine = read_log(running.log)
    theirs = read_log(plain, ReadOptions(block_size=64, template="chatml"))
    assert [r.output_length for r in mine.requests] == [r.output_length for r in theirs.requests]
    assert [r.priority for r in mine.requests] == [r.priority for r in theirs.requests]
    if not keep:  # who guesses a prompt cannot look for it without the key
        ids = [{i for r in log.requests for i in r.hash_ids} for log in (mine, theirs)]
        assert not ids[0] & ids[1]


def test_nothing_secret_is_written(upstream: Upstream, tmp_path: Path) -> None:
    """No header, key or query anywhere, and no prompt in the trace; with --keep-text prompts alone."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "PROMPT-SECRET " * 300}],
        "tools": [
            {"type": "mcp", "server_label": "s", "authorization": "TOOL-SECRET"},
            {"type": "mcp", "server_label": "t", "server_url": "https://t/URL-SECRET/mcp"},
        ],
        "cache_salt": "SALT-SECRET",
        "api_key": "BODY-SECRET",
        "user": "USER-SECRET",
        "metadata": {"a": "META-SECRET"},
    }
    headers = (
        b"Authorization: Bearer KEY-SECRET",
        b"X-Api-Key: OTHER-SECRET",
        b"Cookie: COOKIE-SECRET",
    )
    for keep in (False, True):
        log = tmp_path / f"{keep}.jsonl"
        running = Capture(upstream.port, log, "-v", *["--keep-text"] * keep)
        data = json.dumps(body).encode()
        send(running.port, [(CHAT, data), (CHAT, b"not json SECRET"), (CHAT, data[:-20])], *headers)
        send(running.port, [(CHAT + b"?key=QUERY-SECRET", data)], *headers)
        code, out, err = running.stop()
        assert code == 0
        assert "POST /v1/chat/completions 200" in err
        assert "2 without a prompt that could be read" in err
        assert "SECRET" not in out + err
        text = log.read_text(encoding="utf-8")
        assert text.count("\n") == 2
        assert text.count("SECRET") == text.count("PROMPT-SECRET") == (600 if keep else 0)
        assert log.stat().st_mode & 0o077 == 0


def test_a_key_is_fresh_unless_it_is_kept(tmp_path: Path) -> None:
    file = str(tmp_path / "key")
    assert _key(file, True) == _key(file, True)
    assert len({_key(None, True), _key(None, True), _key(file, True)}) == 3


def test_runs_under_one_key_share_ids(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    log, key = tmp_path / "log.jsonl", tmp_path / "key"
    body = [
        (
            CHAT,
            json.dumps(
                {"model": "m", "messages": [{"role": "user", "content": "a" * 5000}]}
            ).encode(),
        )
    ]
    for options in (["--key-file", key], ["--key-file", key, "--append"]):
        running = Capture(upstream.port, log, *options)
        send(running.port, body)
        assert running.stop()[0] == 0
        with log.open("ab") as file:
            file.write(b'{"timestamp": 1')  # as a crash leaves it
    first, _, second, _ = log.read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["hash_ids"] for line in (first, second)]
    assert ids[0] == ids[1]
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text(encoding="ascii").strip() not in log.read_text(encoding="utf-8")


def test_rotation_keeps_every_record_in_order(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    running = Capture(
        upstream.port, tmp_path / "log.jsonl", "--rotate-mib", 1, "--keep-text", "--max-body-mib", 1
    )
    texts = [f"{n} " + "x" * 300_000 for n in range(8)] + ["y" * (1 << 20)]
    bodies = [{"model": "m", "messages": [{"role": "user", "content": text}]} for text in texts]
    send(running.port, [(CHAT, json.dumps(body).encode()) for body in bodies])
    code, _, err = running.stop()
    assert code == 0
    assert "1 over --max-body-mib" in err
    pieces = sorted(tmp_path.glob("log-*.jsonl"))
    assert [p.name for p in pieces] == [f"log-{n:05d}.jsonl" for n in (1, 2, 3)]
    assert all(p.stat().st_size <= 1 << 20 for p in pieces)
    assert not running.log.exists()
    log = read_log(pieces)
    assert len(log.requests) == 8
    assert log.moved == 0
    argv = ("--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "-o", running.log)
    code, _, err = run("capture", *argv, "--rotate-mib", 1)
    assert code == 2
    assert "log-00001.jsonl: exists; a log is never overwritten" in err


def load(port: int, stop: threading.Event, done: list[int]) -> threading.Thread:
    """Requests on eight connections until they break; counts answers seen to their end."""

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not stop.is_set():
            body = json.dumps({"model": "m", "prompt": "word " * 2000 + str(len(done))}).encode()
            writer.write(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                         % (COMPLETIONS, len(body), body))  # fmt: skip
            try:
                response = await fetch(reader, b"POST")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            if response.whole:
                done.append(1)

    async def eight() -> None:
        await asyncio.gather(*[one() for _ in range(8)])

    thread = threading.Thread(target=lambda: asyncio.run(eight()), daemon=True)
    thread.start()
    return thread


def test_kill_9_loses_only_what_was_under_way(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    """Every answer that a client saw to its end stands in the log, and analyze reads it."""
    running = Capture(upstream.port, tmp_path / "log.jsonl")
    done: list[int] = []
    thread = load(running.port, threading.Event(), done)
    while len(done) < 100:
        time.sleep(0.001)
    code, _, _ = running.stop(signal.SIGKILL)
    assert code == -signal.SIGKILL
    thread.join(10)
    log = read_log(running.log)
    assert len(done) <= len(log.requests) <= len(done) + 8
    assert analysis(run, running.log)["input"]["requests"] == len(log.requests)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_full_disk_stops_no_traffic(upstream: Upstream) -> None:
    running = Capture(upstream.port, Path("/dev/full"))
    bodies = [(CHAT, b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}')] * 20
    send(running.port, bodies)
    code, _, err = running.stop()
    assert code == 1
    assert err.count("cannot write the log: No space left on device") == 1
    assert "20 requests passed on, 0 recorded" in err
    assert "20 lost because the log could not be written" in err


@pytest.mark.skipif(sys.platform == "win32", reason="ulimit")
def test_a_log_at_its_limit_keeps_whole_records(upstream: Upstream, tmp_path: Path) -> None:
    """The record that did not fit is taken back; those before it stand."""
    limit = ("sh", "-c", 'ulimit -f 16; exec "$@"', "sh")
    running = Capture(upstream.port, tmp_path / "log.jsonl", "--block-size", 16, prefix=limit)
    bodies = [
        (COMPLETIONS, json.dumps({"model": "m", "prompt": str(n) + "x" * 6000}).encode())
        for n in range(12)
    ]
    send(running.port, bodies)
    code, _, err = running.stop()
    assert code == 1
    assert err.count("cannot write the log: File too large") == 1
    rows = running.rows()  # whole lines alone
    assert 0 < len(rows) < 12
    assert f"{len(rows)} recorded" in err


def test_the_short_answer_while_it_runs(upstream: Upstream, tmp_path: Path) -> None:
    running = Capture(upstream.port, tmp_path / "log.jsonl", "--analyze-every", 20)
    body = {"model": "m", "messages": [{"role": "user", "content": "same " * 2000}]}
    send(running.port, [(CHAT, json.dumps(body).encode())] * 25)
    assert running.process.stdout is not None
    first = running.process.stdout.readline()
    send(running.port, [(CHAT, json.dumps(body).encode())])
    code, out, err = running.stop()
    assert code == 0, err
    assert first.startswith("after 2")
    assert "Caching pays" in out
    assert "WORKLOAD" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "anyone who reaches this port"),
        (["--listen", "8100"], "expected HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "expected HOST:PORT"),
        (["--upstream", "localhost:8000"], "expected http://HOST:PORT"),
        (["--upstream", "http://me:secret@localhost"], "clients send their own"),
        (["--upstream", "http://localhost/v1?key=secret"], "has a query"),
        (["--key-file", "log.jsonl", "-o", "./log.jsonl"], "--key-file: is the log"),
        (["-o", "/dev/null", "--analyze-every", "5"], "no file that can be read"),
        (["-o", "-"], "expected a file name"),
        (["-o", "/no/such/folder/log"], "no folder /no/such/folder"),
        (["--append"], "give the --key-file"),
        (["--max-body-mib", "0"], "expected an integer >= 1"),
        (["--model", "no-such"], "no-such"),
        (["--tokenizer", "no-such"], "unknown; expected chars"),
    ],
)
def test_what_cannot_start_says_why(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0"]
    code, out, err = run("capture", *argv, "-o", tmp_path / "log.jsonl", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "secret" not in err
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize("listen", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_proxy_is_no_upstream_of_itself(listen: str) -> None:
    with bind(listen, 0, remote=True) as sock:
        port = sock.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            assert _is_own(f"http://{host}:{port}/v1", listen, sock)
        for url in (
            f"http://127.0.0.1:{port - 1}",
            f"http://192.0.2.1:{port}",
            "https://localhost",
        ):
            assert not _is_own(url, listen, sock)


def test_an_existing_log_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("mine\n", encoding="utf-8")
    argv = ("--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "-o", log)
    assert "exists; a log is never overwritten" in run("capture", *argv)[2]
    assert log.read_text(encoding="utf-8") == "mine\n"
    key = tmp_path / "key"
    key.write_text("short\n", encoding="ascii")
    assert "expected at least 16" in run("capture", *argv, "--append", "--key-file", key)[2]


def test_without_the_extra(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    argv = ("--upstream", "http://127.0.0.1:9", "-o", tmp_path / "log.jsonl")
    code, _, err = run("capture", *argv)
    assert code == 2
    assert err == (
        "cache-worthy: capture needs packages that are not installed; pip install "
        "'cache-worthy[capture]'\n"
    )


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


def test_what_the_end_says(upstream: Upstream, tmp_path: Path) -> None:
    """The next command can be typed as it stands; who recorded nothing learns what is recorded."""
    running = Capture(upstream.port, tmp_path / "my log.jsonl")
    send(running.port, [(CHAT, b'{"model": "m", "prompt": "a"}')])
    assert f"next: cache-worthy analyze '{running.log}'" in running.stop()[2]
    assert "none was a POST to .../chat/completions" in summary(Counts(passed=1), 4.0, "chars")[1]
    assert len(summary(Counts(passed=1, recorded=1), 4.0, "chars")) == 1


EVENTS = (
    b'event: message_start\ndata: {"message": {"usage": {"input_tokens": 5, '
    b'"cache_read_input_tokens": 30, "output_tokens": 1}}}\n\n'
    b'data: {"usage": null}\r\n\r\ndata: {"text": "\\"usage\\": {"}\n\n'
    b'event: message_delta\ndata: {"usage": {"output_tokens": 12}}\n\n'
    b"event: message_stop\ndata: {}\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize("packed", [False, True])
def test_usage_in_pieces_of_any_size(size: int, packed: bool) -> None:
    data = gzip.compress(EVENTS) if packed else EVENTS
    answer = Answer(b"text/event-stream; charset=utf-8", b"gzip" if packed else b"")
    for at in range(0, len(data), size):
        answer.feed(data[at : at + size])
    assert answer.usage() == Usage(prompt=35, output=12, cached=30)
    assert answer.ended


def test_usage_that_cannot_be_read_is_none() -> None:
    for kind, encoding, data in (
        (b"application/json", b"", b'{"usage": {"prompt_tokens": -1}, "x": ['),
        (b"application/json", b"", b"[" * 900),
        (b"application/json", b"gzip", b"not gzip"),
        (b"application/json", b"br", b'{"usage": {"prompt_tokens": 3}}'),
        (
            b"application/json",
            b"",
            b'{"usage": {"prompt_tokens": 3}, "x": "' + b"y" * 300_000 + b'"}',
        ),
        (b"text/plain", b"", b'{"usage": {"prompt_tokens": 3}}'),
        (b"text/event-stream", b"", b'data: {"usage": {"prompt_tokens"\n\ndata: {"usage": {}}\n\n'),
        (
            b"text/event-stream",
            b"",
            b'data: {"usage": {"prompt_tokens": 3}, "x": "' + b"y" * 3_000_000 + b'"}\n',
        ),
    ):
        answer = Answer(kind, encoding)
        for at in range(0, len(data), 500_000):
            answer.feed(data[at : at + 500_000])
        assert answer.usage() == Usage()


def test_usage_at_the_end_of_a_long_answer() -> None:
    fake = json.dumps('"usage": {"prompt_tokens": 4}')
    data = (
        b'{"x": "' + b"y" * 500_000 + b'", "usage" : {"prompt_tokens": 3}, "z": %s}' % fake.encode()
    )
    for size in (1000, 100_000, 1_000_000):
        answer = Answer(b"application/json", b"")
        for at in range(0, len(data), size):
            answer.feed(data[at : at + size])
        assert answer.usage() == Usage(prompt=3)


class _Stuck:
    """A log on a disk that stands still until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.written: list[bytes] = []

    def write(self, record: bytes) -> None:
        self.go.wait(30)
        self.written.append(record)


def test_a_disk_that_stands_still_delays_one_answer_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first end of an answer waits a quarter of a second, the next ones not at all; no more wait
    for the disk than may, and all of those are written when it goes on."""
    monkeypatch.setattr(recorder_module, "WAITING", 50)
    log, said = _Stuck(), list[str]()
    recorder = Recorder(
        cast(LogFile, log),
        Cutter(ReadOptions(), intern=False),
        bytes(32),
        keep_text=False,
        longest=1 << 20,
        say=said.append,
    )

    async def one() -> float:
        entry = recorder.begin("")
        began = time.monotonic()
        if recorder.take(entry, b'{"prompt": "a"}') and recorder.body_done(entry):
            await recorder.finish(entry)
        return time.monotonic() - began

    async def many() -> list[float]:
        return [await one() for _ in range(100)]

    took = asyncio.run(many())
    assert 0.2 < took[0] < 2
    assert sum(took[1:]) < 1
    log.go.set()
    assert recorder.close(10)
    assert len(log.written) == recorder.counts.recorded > 20
    assert recorder.counts.recorded + recorder.counts.no_room == 100
    times = [json.loads(line)["timestamp"] for line in log.written]
    assert times == sorted(set(times))
    assert said == []
