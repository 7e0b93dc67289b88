"""cache-worthy capture between real sockets: what goes through, and what a broken end does.

Upstream servers and clients are written on bare sockets (``scripts/support/bare_http.py``), so that each
byte and each moment is the test's own; one upstream is uvicorn.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from bare_http import Capture, Request, Response, Upstream, fetch
from traffic import Check, run_check

CHAT = b"/v1/chat/completions"
ANSWER = json.dumps(
    {
        "choices": [{"message": {"content": "Danube"}}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 8},
        },
    }
).encode()


def http(status: int, body: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d Some" % status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def plain(
    request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(http(200, ANSWER, b"Content-Type: application/json"))


def chat(text: str = "Name a river.", **more: object) -> bytes:
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    ).encode()


def post(body: bytes, *headers: bytes, path: bytes = CHAT) -> bytes:
    lines = [b"POST %s HTTP/1.1" % path, b"Host: x", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def talk(port: int, data: bytes) -> Response:
    """One request on a connection of its own."""

    async def once() -> Response:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(data)
        response = await asyncio.wait_for(fetch(reader, data.split(b" ", 1)[0]), 20)
        writer.close()
        return response

    return asyncio.run(once())


def read_until(sock: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end):
        data = sock.recv(65536)
        assert data, got
        got += data
    return got


def wait_for(what: Callable[[], Any], seconds: float = 10) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)
    return found


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(plain)
    yield server
    server.close()


@pytest.fixture(scope="module")
def capture(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Capture]:
    running = Capture(upstream.port, tmp_path_factory.mktemp("capture") / "log.jsonl", "-v")
    yield running
    code, _, err = running.stop()
    assert code == 0, err
    assert "Traceback" not in err
    assert "inside the proxy" not in err


def last_row(capture: Capture, rows: int) -> dict[str, object]:
    """The next record after so many."""
    return wait_for(lambda: len(capture.rows()) > rows and capture.rows()[rows])  # type: ignore[no-any-return]


def test_an_answer_and_its_record(capture: Capture) -> None:
    rows = len(capture.rows())
    before = time.time() * 1000
    got = talk(capture.port, post(chat("x" * 3000)))
    assert (got.status, got.body, got.whole) == (200, ANSWER, True)
    row = capture.rows()[rows]  # there before the client saw the end
    ids = row.pop("hash_ids")
    assert isinstance(ids, list)
    assert len(set(ids)) == 2
    arrived = row.pop("timestamp")
    assert isinstance(arrived, float)
    assert abs(arrived - before) < 5000
    # "<|user|>\n" + 3000 + "\n" characters, four to a token
    assert row == {
        "input_length": 753,
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
    assert [len(i) for i in ids if isinstance(i, list)] == [4, 2, 3]


def test_what_belongs_to_one_hop_stays_there(upstream: Upstream, capture: Capture) -> None:
    async def hops(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n"
                     b"Connection: X-Own\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\nX-Stays: 1\r\n\r\n"
                     b"2;ext=1\r\nab\r\n0\r\nX-Sum: 9\r\n\r\n")  # fmt: skip

    upstream.handlers[b"/hops"] = hops
    own = (
        b"Connection: keep-alive, X-Mine",
        b"X-Mine: 1",
        b"TE: trailers",
        b"Proxy-Authorization: a",
    )
    got = talk(
        capture.port, post(b"", *own, b"X-Kept: 1", b"Authorization: b", path=b"/hops?q=%2F")
    )
    assert got.body == b"ab"
    assert got.whole
    assert got.headers == [(b"X-Stays", b"1"), (b"Transfer-Encoding", b"chunked")]
    (request,) = [r for r in upstream.seen if r.target == b"/hops?q=%2F"]
    kept = [(n.lower(), v) for n, v in request.headers]
    host = b"127.0.0.1:%d" % upstream.port
    expected = [
        (b"content-length", b"0"),
        (b"x-kept", b"1"),
        (b"authorization", b"b"),
        (b"host", host),
    ]
    assert sorted(kept) == sorted(expected)


def test_what_is_not_proxied_is_refused_clearly(capture: Capture) -> None:
    upgrade = (
        b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    )
    upgrade += b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    for data, text in (
        (upgrade, "websockets are not proxied"),
        (post(b"", b"X-Name: \xff"), "not UTF-8"),
        (post(b"0\r\n\r\n", b"Transfer-Encoding: chunked"), "not both"),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "no path"),
    ):
        got = talk(capture.port, data)
        assert got.status in (400, 501)
        assert text in json.loads(got.body)["error"]["message"]
    assert talk(capture.port, b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n").status == 400


def test_unusual_clients(upstream: Upstream, capture: Capture) -> None:
    """One that offers h2c keeps its body; one of HTTP/1.0 gets no chunks; one names a host."""
    offer = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk")
    assert talk(capture.port, post(chat(), *offer)).body == ANSWER
    assert upstream.seen[-1].body == chat()
    assert upstream.seen[-1].header(b"upgrade") == b""
    absolute = post(chat(), path=b"http://elsewhere:1/v1/chat/completions?q=1")
    assert talk(capture.port, absolute).body == ANSWER
    assert upstream.seen[-1].target == b"/v1/chat/completions?q=1"

    async def stream(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")

    upstream.handlers[b"/old"] = stream
    got = talk(capture.port, b"GET /old HTTP/1.0\r\n\r\n")
    assert (got.body, got.header(b"transfer-encoding")) == (b"ab", b"")


def test_the_upstream_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    running = Capture(port, tmp_path / "log.jsonl")
    got = talk(running.port, post(chat("x" * 500_000)))
    assert got.status == 502
    assert "cannot connect to the upstream server" in json.loads(got.body)["error"]["message"]
    assert talk(running.port, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").status == 502
    code, _, err = running.stop(signal.SIGTERM)
    assert code == 0
    assert "2 requests passed on, 1 recorded, 1 of them failed" in err
    assert [row["status"] for row in running.rows()] == [502]


def test_wrong_tls(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        sock = listener.accept()[0]
        sock.recv(65536)
        sock.sendall(http(400, b"no HTTP"))
        sock.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    running = Capture(f"https://127.0.0.1:{listener.getsockname()[1]}", tmp_path / "log.jsonl")
    got = talk(running.port, post(chat()))
    assert got.status == 502
    assert "is it http instead of https?" in json.loads(got.body)["error"]["message"]
    running.stop()
    thread.join(5)
    listener.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_a_certificate_that_nobody_signed(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9"]
    files = ["-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *options, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Upstream(plain, context)
    running = Capture(f"https://127.0.0.1:{server.port}", tmp_path / "log.jsonl")
    got = talk(running.port, post(chat()))
    assert got.status == 502
    assert "certificate that cannot be verified" in json.loads(got.body)["error"]["message"]
    running.stop()
    server.close()


async def _application(scope: Any, receive: Any, send: Any) -> None:
    """A small model server: a stream of events, gzip where it may be."""
    size = 0
    while (message := await receive())["type"] == "http.request":
        size += len(message["body"])
        if not message["more_body"]:
            break
    packed = any(n == b"accept-encoding" for n, _ in scope["headers"])
    headers = [(b"content-type", b"text/event-stream")] + [(b"content-encoding", b"gzip")] * packed
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    events = [b'data: {"got": %d, "n": %d}\n\n' % (size, n) for n in range(20)]
    events += [b'data: {"usage": {"prompt_tokens": 5, "completion_tokens": 20}}\n\n']
    for event in events:
        data = gzip.compress(event, mtime=0) if packed else event
        await send({"type": "http.response.body", "body": data, "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n" * (not packed)})


def test_a_well_kept_server_behind_it(tmp_path: Path) -> None:
    """uvicorn, as vLLM and SGLang use it: the same bytes with the proxy and without."""
    config = uvicorn.Config(_application, port=0, lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    running = Capture(port, tmp_path / "log.jsonl")
    packed = gzip.compress(chat(stream=True))
    for data in (
        post(chat(stream=True)),
        post(chat(stream=True), b"Accept-Encoding: gzip"),
        post(packed, b"Content-Encoding: gzip"),
    ):
        direct, through = talk(port, data), talk(running.port, data)
        assert (direct.status, direct.body) == (through.status, through.body)
        dates = [[h for h in r.end_to_end() if h[0] != b"date"] for r in (direct, through)]
        assert dates[0] == dates[1]
    running.stop()
    rows = running.rows()
    assert [row["output_length"] for row in rows] == [20, 20, 20]
    assert len({str(row["hash_ids"]) for row in rows}) == 1
    server.should_exit = True
    thread.join(5)


def streams(upstream: Upstream, running: Capture, count: int, seconds: float) -> int:
    """Many streams at a time, again and again for so long; how many answers were all right."""

    async def ticks(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
        for n in range(10):
            data = b"data: %s %d\n\n" % (request.header(b"x-number"), n)
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")

    upstream.handlers[b"/ticks" + CHAT] = ticks
    end = time.monotonic() + seconds

    async def client(first: int) -> int:
        good = 0
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        while True:
            number = b"%d" % (first + good * count)
            body = chat(f"{first % 5} says something")
            writer.write(post(body, b"X-Number: " + number, path=b"/ticks" + CHAT))
            got = await fetch(reader, b"POST")
            assert got.body == b"".join(b"data: %s %d\n\n" % (number, n) for n in range(10))
            good += 1
            if time.monotonic() > end:
                break
        writer.close()
        return good

    async def clients() -> int:
        return sum(await asyncio.gather(*[client(n) for n in range(count)]))

    return asyncio.run(clients())


def test_200_streams_at_a_time(upstream: Upstream, capture: Capture) -> None:
    rows, before = len(capture.rows()), capture.resident()
    good = streams(upstream, capture, 200, 0)
    assert good == 200
    assert len(capture.rows()) == rows + 200
    assert capture.resident() - before < 32 << 20


@pytest.mark.slow
def test_200_streams_for_a_minute(upstream: Upstream, tmp_path: Path) -> None:
    running = Capture(upstream.port, tmp_path / "log.jsonl")
    streams(upstream, running, 200, 5)
    before = running.resident()
    good = streams(upstream, running, 200, 60)
    grown = running.resident() - before
    print(f"{good} streams, grown by {grown / 2**20:.1f} MiB")
    assert good > 2000
    assert grown < 16 << 20
    code, _, err = running.stop()
    assert code == 0
    assert f"{len(running.rows())} recorded" in err


def test_the_byte_check_on_a_few_requests(tmp_path: Path) -> None:
    check, _, err = run_check(80, 8, 1, tmp_path)
    assert check.wrong == [], err
    assert (check.compared, check.arrived) == (80, 80)


def test_the_byte_check_bites() -> None:
    """Against a server that answers by another plan, both ends see it."""
    one, other = Check(0), Check(1)
    server = Upstream(one.answer)
    for number in range(1, 9):
        with contextlib.suppress(Exception):  # another plan's end need not be this one's
            asyncio.run(asyncio.wait_for(other.client(server.port, iter([number])), 0.3))
    server.close()
    assert len(one.wrong) > 4
    assert len(other.wrong) > 4


def test_running_requests_get_their_grace(upstream: Upstream, tmp_path: Path) -> None:
    """One ends within it and is whole, one does not and is cut; new ones are not taken."""
    go = threading.Event()

    async def lasts(
        request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n"
        )
        writer.write(b"data")
        await writer.drain()
        while not go.is_set() or b"forever" in request.body:
            if await asyncio.sleep(0.01, reader.at_eof()):
                return
        writer.write(b": 1\n\n")

    upstream.handlers[b"/lasts" + CHAT] = lasts
    running = Capture(upstream.port, tmp_path / "log.jsonl", "--grace", 1)
    socks = []
    for text in ("a while", "forever"):
        sock = socket.create_connection(("127.0.0.1", running.port), 10)
        sock.sendall(post(chat(text), path=b"/lasts" + CHAT))
        assert read_until(sock, b"data")
        socks.append(sock)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", running.port), 1)
    go.set()
    assert read_until(socks[0], b": 1\n\n")
    assert socks[1].recv(65536) == b""
    assert running.process.wait(10) == 0
    for sock in socks:
        sock.close()
    assert [row.get("ended") for row in running.rows()] == [None, "capture"]
