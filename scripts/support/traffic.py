"""Random traffic through cache-worthy capture, compared at both ends.

An upstream server on bare sockets answers each request as its number and the seed say: status,
headers with duplicates, a body of random bytes in random pieces with a length, in chunks or until
the connection closes, gzip or not, streams of events among them. A client on bare sockets sends
requests as random and compares; the upstream compares what came to it. Rank 2: what left one end
arrives at the other.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bare_http import Capture, Headers, Request, Upstream, end_to_end, fetch, lower


def chunked(data: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    """A body in chunks, the end included."""
    at = 0
    while at < len(data):
        size = next(sizes)
        part = data[at : at + size]
        at += size
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def pieces_of(data: bytes, sizes: Iterator[int]) -> Iterator[bytes]:
    """A body in pieces."""
    at = 0
    while at < len(data):
        size = next(sizes)
        yield data[at : at + size]
        at += size


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


def _chat(rng: random.Random, *, stream: bool) -> bytes:
    """The body of a request for a chat."""
    text = "".join(rng.choice("abcdefgh \n\u00e9\u4e00") for _ in range(rng.choice((3, 300, 6000))))
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream},
        ensure_ascii=rng.random() < 0.5,
    ).encode()


def _answer(rng: random.Random, kind: str) -> tuple[bytes, bytes]:
    """An answer and its type."""
    if kind == "stream":
        events = [
            b'data: {"n": %d, "delta": "%s"}\n\n' % (n, rng.randbytes(9).hex().encode())
            for n in range(rng.choice((0, 1, 5, 60)))
        ]
        end = b'data: {"usage": {"completion_tokens": 5}}\n\ndata: [DONE]\n\n'
        return b"".join(events) + end, b"text/event-stream; charset=utf-8"
    huge = kind == "large" and rng.random() < 0.05
    answer = rng.randbytes(900_000 if huge else rng.choice((0, 1, 800, 66_000)))
    if kind == "chat":
        usage = {"usage": {"completion_tokens": 5}, "x": answer.hex()}
        return json.dumps(usage).encode(), b"application/json"
    return answer, b"application/octet-stream"


def _other(rng: random.Random, kind: str) -> tuple[bytes, bytes, bytes]:
    """Method, path and body of a request that asks for no chat."""
    method = b"HEAD" if kind == "head" else rng.choice((b"GET", b"PUT", b"DELETE", b"PATCH"))
    path = rng.choice((b"/v1/models", b"/a//b/../c", b"/%7Ex/%2F/%C3%A9"))
    empty = method in (b"GET", b"HEAD", b"DELETE")
    return method, path, b"" if empty else rng.randbytes(rng.choice((1, 9000)))


def plan(seed: int, number: int) -> Planned:
    """The exchange of a number; both ends call this."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choice(("chat", "chat", "stream", "stream", "other", "head", "large"))
    body = _chat(rng, stream=kind == "stream")
    headers: Headers = [(b"Content-Type", b"application/json")]
    method, path = b"POST", b"/v1/chat/completions"
    status = rng.choice((200, 200, 200, 200, 201, 400, 401, 429, 500, 503, 299))
    answer, kind_of = _answer(rng, kind)
    if kind in ("other", "head"):
        method, path, body = _other(rng, kind)
        headers = []
    if kind == "other" and rng.random() < 0.2:
        status, answer = rng.choice((204, 304)), b""
    query = rng.choice((b"", b"", b"?a=1&a=2&b=%20+%2B", b"?key=s%3Dx&&"))
    if body and method == b"POST" and rng.random() < 0.2:
        body = gzip.compress(body, mtime=0)
        headers.append((b"Content-Encoding", b"gzip"))
    headers += [(b"X-Number", b"%d" % number), (b"X-Twice", b"a"), (b"x-twice", b"b, c")]
    if rng.random() < 0.3:
        headers += [(b"Accept-Encoding", b"gzip"), (b"Cookie", b"a=b; c=d")]
        headers += [(b"User-Agent", b"check")]
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


def differences(where: str, pairs: Iterable[tuple[str, object, object]]) -> list[str]:
    """What was sent and did not come.

    Examples
    --------
    >>> differences("answer 7", [("status", 200, 200), ("end", True, False)])
    ['answer 7: end: sent True, came False']
    """
    return [f"{where}: {name}: sent {a!r:.200}, came {b!r:.200}" for name, a, b in pairs if a != b]


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
    """How many of the requests are in the log: those that ask for a chat."""
    return sum(plan(seed, n).target.startswith(b"/v1/chat/completions") for n in range(requests))
