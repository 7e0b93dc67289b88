"""The recorder between unusual clients and servers, under load, and when it is stopped."""

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
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from bare_http import Capture, Request, Upstream, fetch
from capture_traffic import (
    ANSWER,
    CHAT,
    chat,
    http,
    plain,
    post,
    read_until,
    talk,
    wait_for,
)
from traffic import Check, run_check


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
