"""No byte differs behind cache-worthy capture: random traffic through the proxy, compared at both ends.

    python scripts/check/capture.py [--requests N] [--connections N] [--seed N] [--check]

An upstream server written on bare sockets answers N requests (10,000), each as its number and the
seed say: status, headers with duplicates, a body of random bytes in random pieces with a length, in
chunks or until the connection closes, gzip or not, streams of events among them. A client on bare
sockets sends N requests as random and compares; the upstream compares what came to it. Rank 2: what
left one end arrives at the other.

Exit codes: 0 nothing differs, 1 something does (the first differences are printed).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    """Headers without those of one hop, as they stand."""
    named = {
        t.strip().lower() for n, v in headers if n.lower() == b"connection" for t in v.split(b",")
    }
    return [(n, v) for n, v in headers if n.lower() not in OWN and n.lower() not in named]


def lower(headers: Headers) -> Headers:
    """Headers with their names in lower case, as the proxy sends those of requests."""
    return [(n.lower(), v) for n, v in headers]


async def read_head(reader: asyncio.StreamReader) -> tuple[list[bytes], Headers]:
    """The words of the first line, and the headers as they stand."""
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


class Upstream:
    """A server on bare sockets in a thread; ``handlers`` by path, without its query.

    What the client sent stands in ``seen``; ``broken`` holds what went wrong here.
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


def chunked(data: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    """A body in chunks, the end included."""
    at = 0
    while at < len(data):
        size = next(sizes)
        part = data[at : at + size]
        at += size
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def some_sizes(rng: random.Random) -> Iterator[int]:
    """Sizes of pieces, small ones and large ones."""
    while True:
        yield rng.choice((1, 7, 63, 512, 4096, 20_000, 70_000))


@dataclass
class Planned:
    """One exchange, as seed and number say."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes
    send_chunked: bool
    status: int
    answer_headers: Headers
    answer: bytes
    framing: str
    rng: random.Random = field(repr=False)


def plan(seed: int, number: int) -> Planned:
    """The exchange of a number; both ends call this."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choice(("chat", "chat", "stream", "stream", "other", "head", "large"))
    text = "".join(rng.choice("abcdefgh \n\u00e9\u4e00") for _ in range(rng.choice((3, 300, 6000))))
    body = json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": text}], "stream": kind == "stream"},
        ensure_ascii=rng.random() < 0.5,
    ).encode()
    headers: Headers = [(b"Content-Type", b"application/json")]
    method, path = b"POST", b"/v1/chat/completions"
    status = rng.choice((200, 200, 200, 200, 201, 400, 401, 429, 500, 503, 299))
    if kind == "stream":
        events = []
        for n in range(rng.choice((0, 1, 5, 60))):
            events.append(
                b'data: {"n": %d, "delta": "%s"}\n\n' % (n, rng.randbytes(9).hex().encode())
            )
        answer = b"".join(events) + b'data: {"usage": {"completion_tokens": 5}}\n\ndata: [DONE]\n\n'
        kind_of = b"text/event-stream; charset=utf-8"
    else:
        size = (
            900_000 if kind == "large" and rng.random() < 0.05 else rng.choice((0, 1, 800, 66_000))
        )
        answer, kind_of = rng.randbytes(size), b"application/octet-stream"
        if kind == "chat":
            answer = json.dumps({"usage": {"completion_tokens": 5}, "x": answer.hex()}).encode()
            kind_of = b"application/json"
    if kind in ("other", "head"):
        method = b"HEAD" if kind == "head" else rng.choice((b"GET", b"PUT", b"DELETE", b"PATCH"))
        path = rng.choice(
            (b"/v1/models", b"/a//b/../c", b"/%7Ex/%2F/\xc3\xa9".replace(b"\xc3\xa9", b"%C3%A9"))
        )
        body = (
            b"" if method in (b"GET", b"HEAD", b"DELETE") else rng.randbytes(rng.choice((1, 9000)))
        )
        headers = []
    if kind == "other" and rng.random() < 0.2:
        status, answer = rng.choice((204, 304)), b""
    query = rng.choice((b"", b"", b"?a=1&a=2&b=%20+%2B", b"?key=s%3Dx&&"))
    if body and method == b"POST" and rng.random() < 0.2:
        body = gzip.compress(body, mtime=0)
        headers.append((b"Content-Encoding", b"gzip"))
    headers += [(b"X-Number", b"%d" % number), (b"X-Twice", b"a"), (b"x-twice", b"b, c")]
    if rng.random() < 0.3:
        headers += [
            (b"Accept-Encoding", b"gzip"),
            (b"Cookie", b"a=b; c=d"),
            (b"User-Agent", b"check"),
        ]
    answer_headers: Headers = [(b"Content-Type", kind_of), (b"Set-Cookie", b"a=1"), (b"X-B", b"")]
    answer_headers += [(b"Set-Cookie", b"b=2; Path=/"), (b"Date", b"yesterday"), (b"Server", b"s")]
    if answer and rng.random() < 0.25:
        answer = gzip.compress(answer, mtime=0)
        answer_headers.append((b"Content-Encoding", b"gzip"))
    framing = rng.choice(("length", "length", "chunked", "chunked", "close"))
    if status in (204, 304):
        framing = "none"
    if framing == "length":
        answer_headers.append((b"Content-Length", b"%d" % len(answer)))
    send_chunked = bool(body) and rng.random() < 0.3
    if body and not send_chunked:
        headers.append((b"Content-Length", b"%d" % len(body)))
    return Planned(method, path + query, headers, body, send_chunked, status, answer_headers, answer,
                   framing, rng)  # fmt: skip


class Check:
    """The two ends and what differs between them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.wrong: list[str] = []
        self.arrived = self.compared = 0

    async def answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """The upstream's end."""
        number = int(request.header(b"x-number"))
        want = plan(self.seed, number)
        self.arrived += 1
        headers = lower(end_to_end(request.headers))
        if not want.body:  # the client library may say so where there is no body
            headers = [pair for pair in headers if pair != (b"content-length", b"0")]
        pairs: tuple[tuple[str, object, object], ...] = (
            ("method", want.method, request.method),
            ("target", want.target, request.target),
            ("body", want.body, request.body),
            ("headers", lower(end_to_end(want.headers)), headers),
        )
        self.wrong += differences(f"request {number}", pairs)
        rng = want.rng
        head = b"HTTP/1.1 %d Whatever\r\n" % want.status
        head += b"".join(b"%s: %s\r\n" % pair for pair in want.answer_headers)
        if want.framing == "chunked":
            head += b"Transfer-Encoding: chunked\r\n"
        if want.framing == "close":
            head += b"Connection: close, X-Hop\r\nX-Hop: 1\r\n"
        writer.write(head + b"\r\n")
        if want.method != b"HEAD":
            sizes = some_sizes(rng)
            pieces: Iterator[bytes] = (
                chunked(want.answer, sizes)
                if want.framing == "chunked"
                else pieces_of(want.answer, sizes)
            )
            for piece in pieces:
                writer.write(piece)
                if rng.random() < 0.1:
                    await writer.drain()
                    await asyncio.sleep(0)
        if want.framing == "close":
            await writer.drain()
            writer.close()

    async def client(self, port: int, numbers: Iterator[int]) -> None:
        """One connection's share of the requests."""
        reader = writer = None
        for number in numbers:
            want = plan(self.seed, number)
            if writer is None or reader is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
            head = b"%s %s HTTP/1.1\r\nHost: somewhere\r\n" % (want.method, want.target)
            head += b"".join(b"%s: %s\r\n" % pair for pair in want.headers)
            body = [want.body]
            if want.send_chunked:
                head += b"Transfer-Encoding: chunked\r\n"
                body = list(chunked(want.body, some_sizes(random.Random(number))))
            writer.write(head + b"\r\n" + b"".join(body))
            got = await fetch(reader, want.method)
            self.compared += 1
            answer = b"" if want.method == b"HEAD" else want.answer
            pairs: tuple[tuple[str, object, object], ...] = (
                ("status", want.status, got.status),
                ("headers", end_to_end(want.answer_headers), got.end_to_end()),
                ("body", answer, got.body),
                ("end", True, got.whole),
            )
            self.wrong += differences(f"answer {number}", pairs)
            if b"close" in got.header(b"connection") or want.status == 304:
                writer.close()
                reader = writer = None
        if writer is not None:
            writer.close()


def differences(where: str, pairs: Iterable[tuple[str, object, object]]) -> list[str]:
    """What was sent and did not come.

    Examples
    --------
    >>> differences("answer 7", [("status", 200, 200), ("end", True, False)])
    ['answer 7: end: sent True, came False']
    """
    return [f"{where}: {name}: sent {a!r:.200}, came {b!r:.200}" for name, a, b in pairs if a != b]


def pieces_of(data: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    """A body in pieces."""
    at = 0
    while at < len(data):
        size = next(sizes)
        yield data[at : at + size]
        at += size


def run_check(
    requests: int, connections: int, seed: int, folder: Path
) -> tuple[Check, Capture, str]:
    """All requests through a proxy; the check, the stopped proxy and what it said."""
    check = Check(seed)
    upstream = Upstream(check.answer)
    upstream.keep = False
    capture = Capture(upstream.port, folder / "log.jsonl")
    numbers = iter(range(requests))

    async def all_clients() -> None:
        await asyncio.gather(*[check.client(capture.port, numbers) for _ in range(connections)])

    asyncio.run(all_clients())
    code, _, err = capture.stop()
    upstream.close()
    if code:
        check.wrong.append(f"the proxy ended with exit code {code}: {err}")
    return check, capture, err


def recorded_requests(requests: int, seed: int) -> int:
    """How many of the requests stand in the log: those that ask for a chat."""
    return sum(plan(seed, n).target.startswith(b"/v1/chat/completions") for n in range(requests))


def main(argv: Sequence[str] | None = None) -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000, metavar="N")
    parser.add_argument("--connections", type=int, default=16, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--check", action="store_true", help="accepted for make verify")
    parser.add_argument("--traces", help="accepted for make verify; nothing is read")
    args = parser.parse_args(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        check, capture, err = run_check(args.requests, args.connections, args.seed, Path(folder))
        rows = len(capture.rows())
    want = recorded_requests(args.requests, args.seed)
    if rows != want:
        check.wrong.append(f"{rows} records, expected {want}")
    print(
        f"{check.compared} answers compared, {check.arrived} requests arrived, {rows} records, "
        f"{len(check.wrong)} differences, {time.monotonic() - began:.1f} s"
    )
    for line in check.wrong[:20]:
        print(f"  {line}")
    if check.wrong:
        print(err, end="")
    return 1 if check.wrong or check.compared != args.requests else 0


if __name__ == "__main__":
    sys.exit(main())
