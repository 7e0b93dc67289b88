"""HTTP/1.1 on bare sockets, so that each byte is known: a server, a client, and a running recorder."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Headers = list[tuple[bytes, bytes]]

#: What the proxy may not hand on, or changes by rule.
OWN = (b"host", b"connection", b"transfer-encoding", b"keep-alive", b"te", b"trailer", b"expect")


@dataclass
class Request:
    """A request as it came to the upstream server: its head and its body without chunk framing."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes = b""
    whole: bool = False

    def header(self, name: bytes) -> bytes:
        """The values under a name, joined by commas."""
        return b",".join(v for n, v in self.headers if n.lower() == name)


@dataclass
class Response:
    """An answer as it came to the client."""

    status: int
    headers: Headers
    body: bytes
    whole: bool

    def header(self, name: bytes) -> bytes:
        """The values under a name, joined by commas."""
        return b",".join(v for n, v in self.headers if n.lower() == name)

    def end_to_end(self) -> Headers:
        """What the proxy must hand on as it is."""
        return end_to_end(self.headers)


Handler = Callable[[Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def end_to_end(headers: Headers) -> Headers:
    """Headers without the hop-by-hop ones, unchanged."""
    named = {
        t.strip().lower() for n, v in headers if n.lower() == b"connection" for t in v.split(b",")
    }
    return [(n, v) for n, v in headers if n.lower() not in OWN and n.lower() not in named]


def lower(headers: Headers) -> Headers:
    """Headers with their names in lower case, as the proxy sends those of requests."""
    return [(n.lower(), v) for n, v in headers]


async def read_head(reader: asyncio.StreamReader) -> tuple[list[bytes], Headers]:
    """The words of the first line, and the headers, unchanged."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    headers = []
    for line in lines:
        name, _, value = line.partition(b":")
        headers.append((name, value.strip()))
    return first.split(b" ", 2), headers


async def read_body(
    reader: asyncio.StreamReader, headers: Headers, *, until_close: bool
) -> tuple[bytes, bool]:
    """A body and whether it came whole."""
    low = {n.lower(): v for n, v in headers}
    parts: list[bytes] = []
    try:
        if b"chunked" in low.get(b"transfer-encoding", b""):
            while True:
                size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
                data = await reader.readexactly(size + 2) if size else b""
                if not size:
                    while await reader.readuntil(b"\r\n") != b"\r\n":
                        pass
                    return b"".join(parts), True
                parts.append(data[:-2])
        if b"content-length" in low:
            return await reader.readexactly(int(low[b"content-length"])), True
    except asyncio.IncompleteReadError as error:
        return (b"".join(parts) if b"transfer-encoding" in low else error.partial), False
    except ConnectionError:
        return b"", False
    return (await reader.read(-1), True) if until_close else (b"", True)


async def fetch(reader: asyncio.StreamReader, method: bytes) -> Response:
    """Read one answer."""
    words, headers = await read_head(reader)
    status = int(words[1])
    while status == 100:
        words, headers = await read_head(reader)
        status = int(words[1])
    if method == b"HEAD" or status in (204, 304):
        return Response(status, headers, b"", True)
    body, whole = await read_body(reader, headers, until_close=True)
    return Response(status, headers, body, whole)


class Upstream:
    """A server on bare sockets in a thread; ``handlers`` by path, without its query.

    ``seen`` holds what the client sent, ``broken`` what went wrong here.
    """

    def __init__(self, default: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.default, self.tls = default, tls
        self.handlers: dict[bytes, Handler] = {}
        self.seen: list[Request] = []
        self.keep = True
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)

        async def start() -> None:
            server = await asyncio.start_server(
                self._serve, "127.0.0.1", 0, limit=1 << 20, ssl=self.tls
            )
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()

        self._starting = self._loop.create_task(start())
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                words, headers = await read_head(reader)
                request = Request(words[0], words[1], headers)
                if self.keep:
                    self.seen.append(request)
                handler = self.handlers.get(request.target.split(b"?")[0], self.default)
                if not getattr(handler, "reads_body", False):
                    request.body, request.whole = await read_body(
                        reader, headers, until_close=False
                    )
                await handler(request, reader, writer)
                await writer.drain()
                if writer.is_closing():
                    break
        with contextlib.suppress(ConnectionError):
            writer.close()

    def close(self) -> None:
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def call(self, work: Callable[[], None]) -> None:
        """Run something in the server's thread."""
        self._loop.call_soon_threadsafe(work)


READY = re.compile(r"http://(\S+):(\d+) -> \S+ recording to (.*); Ctrl-C")


class Capture:
    """A running ``cache-worthy capture``.

    Parameters
    ----------
    upstream : int or str
        Port on this machine, or a URL.
    log : Path
    options : str
        Further arguments.
    prefix : sequence of str
        What runs it instead of this interpreter alone.
    """

    def __init__(
        self, upstream: int | str, log: Path, *options: object, prefix: Sequence[str] = ()
    ) -> None:
        url = upstream if isinstance(upstream, str) else f"http://127.0.0.1:{upstream}"
        command = [*prefix, sys.executable, "-m", "cache_worthy.cli", "capture", "--upstream", url]
        command += ["--listen", "127.0.0.1:0", "-o", str(log), *map(str, options)]
        self.log = log
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        weakref.finalize(self, self.process.kill)  # however the caller ends
        self.lines: list[str] = []
        self.port = 0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if match := READY.search(line):
                self.port = int(match[2])
                break
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self.port:
            self.process.wait(10)
            raise RuntimeError("capture did not start: " + "".join(self.lines))

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines += self.process.stderr

    def stop(self, number: int = signal.SIGINT, seconds: float = 20) -> tuple[int, str, str]:
        """End it: exit code, stdout and stderr."""
        assert self.process.stdout is not None
        self.process.send_signal(number)
        out = self.process.stdout.read()
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code, out, "".join(self.lines)

    def resident(self) -> int:
        """Bytes of memory it holds now (Linux)."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def rows(self) -> list[dict[str, object]]:
        """The records so far."""
        text = self.log.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line]
