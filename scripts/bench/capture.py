"""What cache-worthy capture adds: latency and throughput compared with the same client without the proxy.

    python scripts/bench/capture.py [--full]

A server on bare sockets in a process of its own answers at once; one client asks it directly and
through the proxy by turns, request by request, so that both meet the same load of the machine. Medians
of the time to the end of an answer (short and long prompt), to the first and to the last event of a
stream; then answers per second with many connections. The added time is the difference of the medians;
it is held against a whole answer here that costs the server nothing, so ratios look worse than any real
server's. Every request is recorded. No traces are read. Exit code 0.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from bare_http import Capture, fetch, read_body, read_head
from measuring import Results, arguments, positive

EVENTS = 50
ANSWER = json.dumps(
    {"usage": {"prompt_tokens": 9, "completion_tokens": 5}, "x": "a" * 600}
).encode()
EVENT = (
    b"data: " + json.dumps({"choices": [{"delta": {"content": "word"}}], "x": "a" * 150}).encode()
)
EVENT += b"\n\n"

PLAIN, STREAM = b"/v1/chat/completions", b"/v1/completions"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that costs nothing: a short answer, or a stream of events each written for itself."""
    try:
        while True:
            words, headers = await read_head(reader)
            await read_body(reader, headers, until_close=False)
            if words[1] == PLAIN:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER))  # fmt: skip
                continue
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
            for _ in range(EVENTS):
                writer.write(b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
                await asyncio.sleep(0)
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve() -> None:
    """Run that server and print its port."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def request(path: bytes, length: int) -> bytes:
    """A prompt of that many characters."""
    message = {"role": "user", "content": "word " * (length // 5)}
    body = {"model": "m", "messages": [message], "stream": path == STREAM}
    data = json.dumps(body).encode()
    head = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" % path
    return head + b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


class Line:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> Line:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def ask(self, data: bytes) -> tuple[float, float]:
        """Seconds to the first bytes of the body, and to the end."""
        began = time.perf_counter()
        self.writer.write(data)
        if data.startswith(b"POST " + PLAIN):
            await fetch(self.reader, b"POST")
            took = time.perf_counter() - began
            return took, took
        await read_head(self.reader)
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        first = time.perf_counter() - began
        while size:
            await self.reader.readexactly(size + 2)
            size = int(await self.reader.readuntil(b"\r\n"), 16)
        await self.reader.readexactly(2)
        return first, time.perf_counter() - began


Times = list[tuple[float, float]]


async def by_turns(direct: int, through: int, data: bytes, rounds: int) -> tuple[Times, Times]:
    """Times without and with the proxy, request by request."""
    lines = [await Line(direct).open(), await Line(through).open()]
    times: tuple[Times, Times] = ([], [])
    for _ in range(min(20, rounds)):
        for line in lines:
            await line.ask(data)
    for _ in range(rounds):
        for line, found in zip(lines, times, strict=True):
            found.append(await line.ask(data))
    for line in lines:
        line.writer.close()
    return times


async def throughput(port: int, data: bytes, connections: int, each: int) -> float:
    """Answers per second."""
    lines = [await Line(port).open() for _ in range(connections)]

    async def work(line: Line) -> None:
        for _ in range(each):
            await line.ask(data)

    began = time.perf_counter()
    await asyncio.gather(*map(work, lines))
    took = time.perf_counter() - began
    for line in lines:
        line.writer.close()
    return connections * each / took


def measure(results: Results, port: int, capture: Capture, rounds: int) -> None:
    """All figures."""
    cases = (
        ("answer, prompt of 2 kB", request(PLAIN, 2_000), 1),
        ("answer, prompt of 100 kB", request(PLAIN, 100_000), 1),
        ("first event of a stream", request(STREAM, 2_000), 0),
        (f"whole stream of {EVENTS} events", request(STREAM, 2_000), 1),
    )
    yard = "without the proxy"
    for name, data, which in cases:
        direct, through = asyncio.run(by_turns(port, capture.port, data, rounds))
        a, b = (1000 * statistics.median(t[which] for t in times) for times in (direct, through))
        results.figure(f"{name}: median", b, "ms", yardstick=yard, yardstick_value=a)
        results.figure(f"{name}: added by the proxy", b - a, "ms")
    for name, data, connections in (
        ("answers, 32 connections", request(PLAIN, 2_000), 32),
        ("streams, 32 connections", request(STREAM, 2_000), 32),
    ):
        each = max(2, rounds // 4)
        rates = [asyncio.run(throughput(p, data, connections, each)) for p in (port, capture.port)]
        results.figure(
            name, rates[1], "/s", yardstick=yard, yardstick_value=rates[0], more_is_better=True
        )


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=positive, metavar="N")
    parser.add_argument("--serve", action="store_true", help="be the server (for this script)")
    args = parser.parse_args(argv)
    if args.serve:
        asyncio.run(serve())
        return 0
    rounds = args.rounds or (2000 if args.full else 400)
    results = Results(
        "capture", "cache-worthy capture compared with the same client without the proxy"
    )
    command = [sys.executable, __file__, "--serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline())
        capture = Capture(port, Path(folder) / "log.jsonl")
        try:
            measure(results, port, capture, rounds)
            code, _, err = capture.stop()
        finally:
            capture.process.kill()
            server.kill()
        results.facts["requests_recorded"] = len(capture.rows())
        if code:
            print(err, file=sys.stderr)
    results.write(args.results)
    return code


if __name__ == "__main__":
    sys.exit(main())
