"""The proxy as a server: sockets, signals, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvicorn

from cache_worthy.capture.proxy import BrokenOff, Proxy, open_session
from cache_worthy.capture.recorder import Recorder

KEEP_ALIVE = 75
"""Seconds that an idle client connection stays open."""

SWITCH = 0.0005
"""Seconds after which the recorder's thread lets the event loop go on; Python's 5 ms would be added
to the latency of whoever's bytes arrive while a long prompt is cut."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the server needs to know.

    Attributes
    ----------
    sock : socket.socket
        Bound, and not yet listening.
    upstream : str
    grace : float
        Seconds that running requests get after the first signal.
    say : callable
        Takes a line for the user; must not block.
    trace : callable or None
        Takes a line per request; must not block.
    ready : callable
        Called when clients can connect.
    """

    sock: socket.socket
    upstream: str
    grace: float
    say: Callable[[str], None]
    trace: Callable[[str], None] | None
    ready: Callable[[], None]


class _Server(uvicorn.Server):
    """uvicorn with this module's signals instead of its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Quiet(logging.Handler):
    """Libraries log requests and exceptions; only the name of an unexpected one is for the user.

    Once each: asyncio logs a refused connection thousands of times a second.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or isinstance(error, BrokenOff | asyncio.CancelledError):
            return
        text = f"a request failed inside the proxy ({type(error).__name__})"
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            text = "too many open files: new connections wait; allow it more (ulimit -n)"
        if text not in self._told:
            self._told.add(text)
            self._say(text)


def serve(settings: Settings, recorder: Recorder) -> None:
    """Run until SIGINT or SIGTERM; running requests may end in the grace time, a second signal ends it."""
    quiet = _Quiet(settings.say)
    for name in ("uvicorn", "uvicorn.error", "aiohttp", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [quiet], False
    _more_files()
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        asyncio.run(_serve(settings, recorder))
    finally:
        sys.setswitchinterval(before)


async def _serve(settings: Settings, recorder: Recorder) -> None:
    async with open_session() as session:
        config = uvicorn.Config(
            Proxy(settings.upstream, recorder, session, trace=settings.trace),
            interface="asgi3",
            http="h11",
            h11_max_incomplete_event_size=1 << 20,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(settings.grace)),
        )
        server = _Server(config)

        def stop() -> None:
            running = server.server_state.tasks
            if server.should_exit:
                for task in list(running):
                    task.cancel()
                return
            server.should_exit = True
            if running:
                settings.say(
                    f"stopping: {len(running)} running requests have {settings.grace:g} seconds; "
                    "once more ends them"
                )

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, stop)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        settings.sock.listen(2048)
        settings.ready()
        await server.serve(sockets=[settings.sock])
        rest = list(server.server_state.tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


def _more_files() -> None:
    """As many open files as the system lets this process have: a request takes two."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
