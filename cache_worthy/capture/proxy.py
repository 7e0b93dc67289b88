"""The reverse proxy: an ASGI application that hands bytes on as they come.

Bodies go through untouched both ways, encoded as they are; a chunk is handed on when it arrives, and
no faster than the other side reads. Status, query string, order and duplicates of headers stay. What
a hop owns does not (RFC 9110, section 7.6.1): Connection and what it names, Keep-Alive,
Transfer-Encoding, TE, Trailer, Upgrade, Proxy-*, and with them trailers, which a recipient may discard
(6.5.1); Host becomes the upstream server's, and names of request headers lower case, as ASGI has
them. Expect: 100-continue is answered here when the body is wanted. No Via is added, because some
servers answer differently when there is one. An answer that breaks off upstream breaks off for the
client too, and a client that hangs up ends the upstream request at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import yarl

from cache_worthy.capture.counts import ENDPOINTS
from cache_worthy.capture.recorder import Recorder
from cache_worthy.capture.usage import Answer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

HOP_BY_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization",
    b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
})  # fmt: skip

#: Shorter than the 5 seconds after which uvicorn, and so vLLM and SGLang, closes an idle connection:
#: one that is about to be closed must not carry a request.
KEEP_ALIVE = 2.0

CONNECT_SECONDS = 30.0

DRAIN_SECONDS = 2.0


def open_session() -> aiohttp.ClientSession:
    """A client that adds nothing, decodes nothing, follows nothing and never times an answer out."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
        max_line_size=1 << 16,
        max_field_size=1 << 16,
    )


@dataclass(frozen=True, slots=True)
class Proxy:
    """The application."""

    upstream: str
    """``scheme://host:port`` and perhaps a path, which goes before that of every request."""
    recorder: Recorder
    session: aiohttp.ClientSession
    trace: Callable[[str], None] | None = None
    """Takes one line per request (method, path, status, milliseconds, bytes); must not block."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one request."""
        self.recorder.counts.passed += 1
        await _Exchange(self, scope, receive=receive, send=send).run()


class BrokenOff(Exception):
    """The answer ended too early: the server must close the connection without its end."""


class _Exchange:
    """One request and its answer."""

    def __init__(self, proxy: Proxy, scope: Message, *, receive: Receive, send: Send) -> None:
        self.proxy, self.recorder, self.scope = proxy, proxy.recorder, scope
        self.receive, self.send = receive, send
        self.task = asyncio.current_task()
        self.watcher: asyncio.Task[None] | None = None
        self.headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.gone = False
        self.complete = False
        encoding = self._header(b"content-encoding").decode("latin-1").strip().lower()
        self.entry = self.recorder.begin(encoding)
        self.begun = time.monotonic()
        self.sent = 0

    def _header(self, name: bytes) -> bytes:
        return b",".join(v for n, v in self.headers if n == name)

    def _path(self) -> bytes:
        """The path exactly as in the request, without the host that may precede it."""
        path: bytes = self.scope["raw_path"]
        if path[:7].lower() == b"http://" or path[:8].lower() == b"https://":
            path = b"/" + path.split(b"://", 1)[1].partition(b"/")[2]
        return path

    async def run(self) -> None:
        """Pass the request on, and its answer back; record it."""
        path = self._path()
        prompt = self.scope["method"] == "POST" and path.decode("latin-1").endswith(ENDPOINTS)
        self.entry.open = prompt
        ended: str | None = "capture"
        try:
            ended = await self._forward()
        except asyncio.CancelledError:
            if not self.gone:
                raise
            if self.task is not None:
                self.task.uncancel()
            ended = "client"
        finally:
            if self.watcher is not None:
                self.watcher.cancel()
            self.recorder.leave(self.entry, None if self.entry.answer.ended else ended)
            if self.proxy.trace is not None:
                took = 1000 * (time.monotonic() - self.begun)
                where = path.decode("latin-1").encode("ascii", "backslashreplace").decode()
                self.proxy.trace(
                    f"{self.scope['method']} {where} {self.entry.status} "
                    f"{took:.1f} ms {self.sent} bytes" + (f", ended by {ended}" if ended else "")
                )
        if ended == "upstream":
            raise BrokenOff

    async def _forward(self) -> str | None:
        """The whole exchange; who ended it early, or None."""
        refusal = self._refusal()
        if refusal is not None:
            self.entry.open = False
            await self._say(*refusal)
            return None
        try:
            response = await self._request()
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if self.gone:
                return "client"
            await self._read_rest()
            await self._say(*_failure(error, self.proxy.upstream))
            return "client" if self.gone else None
        try:
            await self._answer(response)
        except (aiohttp.ClientError, OSError):
            return "client" if self.gone else "upstream"
        finally:
            if self.complete:
                response.release()
            else:
                response.close()
        return None

    def _refusal(self) -> tuple[int, str] | None:
        """Why a request cannot be passed on, as status and text."""
        if b"websocket" in self._header(b"upgrade").lower():
            return 501, "websockets are not proxied; connect to the upstream server itself"
        coding = self._header(b"transfer-encoding").strip().lower()
        if coding not in (b"", b"chunked"):
            return 501, "only Transfer-Encoding: chunked is proxied"
        if coding and self._header(b"content-length"):
            return 400, "a request has a Content-Length or a Transfer-Encoding, not both"
        if not self._path().startswith(b"/"):
            return 400, "the target of the request is no path"
        return None

    async def _request(self) -> aiohttp.ClientResponse:
        drop = HOP_BY_HOP | _named(self.headers) | {b"host", b"expect"}
        headers = [(n.decode("ascii"), v.decode("utf-8")) for n, v in self.headers if n not in drop]
        target = self._path().decode("ascii")
        if self.scope["query_string"]:
            target += "?" + self.scope["query_string"].decode("ascii")
        length = self._header(b"content-length")
        has_body = self._header(b"transfer-encoding") or length not in (b"", b"0")
        if not has_body:
            self._body_done()
        response = await self.proxy.session.request(
            self.scope["method"],
            yarl.URL(self.proxy.upstream + target, encoded=True),
            headers=headers,
            data=self._body() if has_body else None,
            allow_redirects=False,
        )
        # Anything else is not HTTP (RFC 9110, section 15), and uvicorn does not send it.
        if not 200 <= response.status < 600:
            response.close()
            raise aiohttp.ClientResponseError(response.request_info, (), status=response.status)
        return response

    async def _body(self) -> AsyncIterator[bytes]:
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                self.gone = not self.complete
                raise ConnectionResetError("the client hung up")
            data = message.get("body", b"")
            if data:
                self.recorder.take(self.entry, data)
                yield data
            if not message.get("more_body"):
                break
        self._body_done()

    async def _read_rest(self) -> None:
        """Read what the client still sends: closing over unread bytes would reset its connection."""
        if self.watcher is not None or self._header(b"expect"):
            return
        await asyncio.sleep(0)  # the request's own writer has been cancelled and goes first
        with contextlib.suppress(TimeoutError, ConnectionResetError):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in self._body():
                    pass

    def _body_done(self) -> None:
        self.recorder.body_done(self.entry)
        self.watcher = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """End the exchange when the client hangs up, so that the server stops working for it."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        if not self.complete and self.task is not None:
            self.gone = True
            self.task.cancel()

    async def _answer(self, response: aiohttp.ClientResponse) -> None:
        drop = HOP_BY_HOP | _named([(n.lower(), v) for n, v in response.raw_headers])
        headers = [(n, v) for n, v in response.raw_headers if n.lower() not in drop]
        find = {n.lower(): v for n, v in headers}
        if self.entry.open:
            self.entry.answer = Answer(
                find.get(b"content-type", b""), find.get(b"content-encoding", b"")
            )
        length = find.get(b"content-length")
        left = int(length) if length is not None and length.isdigit() else None
        await self._start(response.status, headers)
        async for data in response.content.iter_any():
            self.entry.answer.feed(data)
            if left is not None:
                left -= len(data)
                if left == 0:  # the client will see the end: the record goes first
                    await self.recorder.finish(self.entry)
            await self.send({"type": "http.response.body", "body": data, "more_body": True})
            self.sent += len(data)
        await self._end(b"")

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.entry.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def _end(self, data: bytes) -> None:
        await self.recorder.finish(self.entry)
        self.complete = True
        self.sent += len(data)
        with contextlib.suppress(RuntimeError):  # 304 with a length: all that belongs to it is sent
            await self.send({"type": "http.response.body", "body": data, "more_body": False})

    async def _say(self, status: int, text: str) -> None:
        """An answer of the proxy's own, in the shape that client libraries show."""
        error = {"message": f"cache-worthy capture: {text}", "type": "proxy_error", "code": status}
        data = json.dumps({"error": error}).encode() + b"\n"
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await self._start(status, [*headers, (b"content-length", str(len(data)).encode())])
        await self._end(data)


def _named(headers: list[tuple[bytes, bytes]]) -> set[bytes]:
    """The headers that Connection names."""
    return {t.strip().lower() for n, v in headers if n == b"connection" for t in v.split(b",")}


def _failure(error: Exception, upstream: str) -> tuple[int, str]:
    """Status and text for a request that got no answer."""
    where = f"the upstream server {upstream}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or "not accepted"
        return 502, f"{where} shows a certificate that cannot be verified: {reason}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return 502, f"{where} does not speak TLS as expected; is it http instead of https?"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return 502, f"{where} is not known to DNS"
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or type(error.os_error).__name__
        return 502, f"cannot connect to {where}: {reason}"
    if isinstance(error, TimeoutError):
        return 504, f"cannot connect to {where} in {CONNECT_SECONDS:g} seconds"
    if isinstance(error, UnicodeError):
        return 400, "a header is not UTF-8 and cannot be passed on"
    if isinstance(error, aiohttp.ClientResponseError):
        return 502, f"{where} answered with something that is not HTTP"
    if isinstance(error, ValueError):
        return 400, "the request cannot be passed on"
    return 502, f"{where} closed the connection before it answered"
