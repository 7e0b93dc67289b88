"""What goes through the recorder between real sockets, and what a broken end does.

Upstream servers and clients are written on bare sockets, so that each byte and each moment is the
test's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bare_http import Capture, Request, Upstream
from capture_traffic import (
    ANSWER,
    CHAT,
    chat,
    http,
    last_row,
    plain,
    post,
    read_until,
    talk,
    wait_for,
)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(plain)
    yield server
    server.close()


@pytest.fixture(scope="module")
def capture(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    running = Capture(
        upstream.port,
        tmp_path_factory.mktemp("capture") / "log.jsonl",
        "-v",
        "--chars-per-token",
        4,
    )
    yield running
    code, _, err = running.stop()
    assert code == 0, err
    assert "Traceback" not in err
    assert "inside the proxy" not in err


def test_an_answer_and_its_record(capture: Capture) -> None:
    rows = len(capture.rows())
    before = time.time() * 1000
    got = talk(capture.port, post(chat("x" * 3000)))
    assert (got.status, got.body, got.whole) == (200, ANSWER, True)
    row = capture.rows()[rows]  # there before the client saw the end
    ids = row.pop("hash_ids")
    assert isinstance(ids, list)
    assert len(set(ids)) == -(-753 // 16)
    arrived = row.pop("timestamp")
    assert isinstance(arrived, float)
    assert abs(arrived - before) < 5000
    # "<|user|>\n" + 3000 + "\n" characters, four to a token
    assert row == {
        "input_length": 753,
        "block_size": 16,
        "model": "m",
        "status": 200,
        "output_length": 3,
        "prompt_tokens": 12,
        "cached_tokens": 8,
    }


def test_a_stream_is_not_buffered(upstream: Upstream, capture: Capture) -> None:
    """The server sends an event only after the client has told that it has the one before."""
    has = [threading.Event() for _ in range(6)]

    async def stream(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
        for n in range(len(has)):
            if n:
                while not has[n - 1].is_set():
                    await asyncio.sleep(0.001)
            data = b'data: {"n": %d}\n\n' % n
            if n == len(has) - 1:
                data = b'data: {"usage": {"prompt_tokens": 7, "completion_tokens": 6}}\n\n'
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        while not has[-1].is_set():
            await asyncio.sleep(0.001)
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")

    upstream.handlers[b"/stream" + CHAT] = stream
    rows = len(capture.rows())
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(post(chat(stream=True), path=b"/stream" + CHAT))
        got = b""
        for n, event in enumerate(has):
            mark = b'{"n": %d}' % n if n < 5 else b"completion_tokens"
            while mark not in got:
                piece = sock.recv(65536)
                assert piece
                got += piece
            event.set()
        while not got.endswith(b"0\r\n\r\n"):
            got += sock.recv(65536)
    assert got.count(b"data:") == 7
    assert last_row(capture, rows)["output_length"] == 6


def test_a_client_that_hangs_up_ends_the_upstream_request(
    upstream: Upstream, capture: Capture
) -> None:
    ended = threading.Event()

    async def endless(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if b"silent" not in request.body:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        assert await reader.read(1) == b""  # nothing more is ever sent: only the hang-up ends this
        ended.set()
        writer.close()

    upstream.handlers[b"/endless" + CHAT] = endless
    for text, status in (("talk", 200), ("silent", 499)):
        rows = len(capture.rows())
        ended.clear()
        with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
            sock.sendall(post(chat(text), path=b"/endless" + CHAT))
            if status == 200:
                assert b"200" in sock.recv(65536)
            else:
                time.sleep(0.1)
        assert ended.wait(10)
        row = last_row(capture, rows)
        assert (row["status"], row["ended"]) == (status, "client")
    rows = len(capture.rows())
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(post(chat("half a body"))[:-10])
    talk(capture.port, post(chat("the next one")))
    assert len(capture.rows()) == rows + 1


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_an_upstream_killed_half_way(upstream: Upstream, capture: Capture, framing: str) -> None:
    """The client has what came, and sees that it is not all."""

    async def dies(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        if framing == "length":
            writer.write(head + b"Content-Length: 100\r\n\r\nhalf of")
        else:
            writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n7\r\nhalf of\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.transport.abort()

    upstream.handlers[b"/dies" + CHAT] = dies
    rows = len(capture.rows())
    got = talk(capture.port, post(chat(), path=b"/dies" + CHAT))
    assert (got.status, got.body, got.whole) == (200, b"half of", False)
    row = last_row(capture, rows)
    assert (row["status"], row["ended"]) == (200, "upstream")


def test_an_upstream_that_closes_without_an_answer(upstream: Upstream, capture: Capture) -> None:
    async def closes(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.transport.abort()

    async def nonsense(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"220 this is a mail server\r\n\r\n")

    upstream.handlers[b"/closes" + CHAT] = closes
    upstream.handlers[b"/nonsense" + CHAT] = nonsense
    for path, text in ((b"/closes", "closed the connection"), (b"/nonsense", "not HTTP")):
        rows = len(capture.rows())
        got = talk(capture.port, post(chat(), path=path + CHAT))
        assert got.status == 502
        error = json.loads(got.body)["error"]
        assert text in error["message"]
        assert error["type"] == "proxy_error"
        assert last_row(capture, rows)["status"] == 502


@pytest.mark.parametrize("status", [b"101", b"600", b"999"])
def test_a_status_that_is_none(upstream: Upstream, capture: Capture, status: bytes) -> None:
    async def odd(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 %s Odd\r\nContent-Length: 2\r\n\r\nno" % status)

    upstream.handlers[b"/odd" + CHAT] = odd
    rows = len(capture.rows())
    got = talk(capture.port, post(chat(), path=b"/odd" + CHAT))
    assert (got.status, json.loads(got.body)["error"]["code"]) == (502, 502)
    assert last_row(capture, rows)["status"] == 502


@pytest.mark.skipif(sys.platform == "win32", reason="ulimit")
def test_more_connections_than_files(upstream: Upstream, tmp_path: Path) -> None:
    """Said once, not as often as asyncio tries; served again when there is room."""
    limit = ("sh", "-c", 'ulimit -n 40; exec "$@"', "sh")
    running = Capture(upstream.port, tmp_path / "log.jsonl", prefix=limit)
    idle = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(60)]
    wait_for(lambda: any("too many open files" in line for line in running.lines))
    for sock in idle:
        sock.close()
    assert talk(running.port, post(chat())).body == ANSWER
    code, _, err = running.stop()
    assert code == 0
    assert err.count("too many open files") == 1
    assert len(err.splitlines()) < 10


@pytest.mark.parametrize("status", [429, 500])
def test_errors_pass_and_are_marked(upstream: Upstream, capture: Capture, status: int) -> None:
    async def fails(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(http(status, b'{"error": "no"}', b"Retry-After: 7", b"X-Limit: 0"))

    upstream.handlers[b"/fails" + CHAT] = fails
    rows = len(capture.rows())
    got = talk(capture.port, post(chat(), path=b"/fails" + CHAT))
    assert (got.status, got.body) == (status, b'{"error": "no"}')
    assert got.header(b"retry-after") == b"7"
    assert capture.rows()[rows]["status"] == status


def test_a_slow_reader_slows_the_server(upstream: Upstream, capture: Capture) -> None:
    """Back-pressure: of 64 MiB only what sockets hold is taken from the server, and no memory."""
    size, piece = 64 << 20, bytes(range(256)) * 256
    sent = 0

    async def floods(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Content-Length: %d\r\n\r\n" % size)  # fmt: skip
        for _ in range(size // len(piece)):
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    upstream.handlers[b"/floods" + CHAT] = floods
    before = capture.resident()
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(post(chat(), path=b"/floods" + CHAT))
        still = -1
        while still != sent:
            still = sent
            time.sleep(0.25)
        assert 0 < sent < 40 << 20
        assert capture.resident() - before < 16 << 20
        got = bytearray()
        while len(got) < size:
            data = sock.recv(1 << 20)
            assert data
            got += data
            start = got.find(b"\r\n\r\n")
            if start >= 0 and len(got) >= size + start + 4:
                break
    assert got[got.find(b"\r\n\r\n") + 4 :] == piece * (size // len(piece))
    assert capture.resident() - before < 16 << 20


def test_a_slow_server_slows_the_client(upstream: Upstream, capture: Capture) -> None:
    """The same for a request body that the server does not read."""
    go = threading.Event()

    async def waits(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while not go.is_set():
            await asyncio.sleep(0.01)
        left = int(request.header(b"content-length"))
        while left:
            left -= len(await reader.read(1 << 20))
        writer.write(http(200, b"all"))

    waits.reads_body = True  # type: ignore[attr-defined]
    upstream.handlers[b"/v1/files"] = waits
    size = 64 << 20
    before = capture.resident()
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        data = memoryview(post(bytes(size), path=b"/v1/files"))
        sock.settimeout(0.5)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < len(data):
                sent += sock.send(data[sent : sent + (1 << 18)])
        assert sent < 40 << 20
        assert capture.resident() - before < 16 << 20
        sock.settimeout(20)
        go.set()
        sock.sendall(data[sent:])
        assert read_until(sock, b"all")


def test_an_answer_before_the_body_is_read(upstream: Upstream, capture: Capture) -> None:
    async def refuses(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(http(413, b"too long", b"Connection: close"))
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()

    refuses.reads_body = True  # type: ignore[attr-defined]
    upstream.handlers[b"/refuses"] = refuses
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(post(bytes(1 << 20), path=b"/refuses")[: 1 << 16])
        assert b"413" in sock.recv(65536).split(b"\r\n")[0]


def test_expect_continue(capture: Capture) -> None:
    body = chat()
    head = post(body, b"Expect: 100-continue")[: -len(body)]
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(head)
        assert sock.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        assert read_until(sock, ANSWER)


def test_requests_sent_ahead_are_answered_in_order(capture: Capture) -> None:
    """Pipelined: three on one connection before the first answer."""
    rows = len(capture.rows())
    with socket.create_connection(("127.0.0.1", capture.port), 10) as sock:
        sock.sendall(b"".join(post(chat("x" * 2048 * n)) for n in (3, 1, 2)))
        got = b""
        while got.count(ANSWER) < 3:
            got += sock.recv(65536)
    ids = [row["hash_ids"] for row in capture.rows()[rows:]]
    assert [len(i) for i in ids if isinstance(i, list)] == [97, 33, 65]
