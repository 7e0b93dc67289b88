"""Requests, clients and model servers on bare sockets, for the tests of the recorder."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Callable
from typing import Any

from bare_http import Capture, Request, Response, fetch

CHAT, MESSAGES, COMPLETIONS = b"/v1/chat/completions", b"/v1/messages", b"/v1/completions"
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


def last_row(capture: Capture, rows: int) -> dict[str, object]:
    """The next record after so many."""
    return wait_for(lambda: len(capture.rows()) > rows and capture.rows()[rows])  # type: ignore[no-any-return]


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
