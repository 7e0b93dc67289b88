"""The proxy as a server: signals, the end, and what is said to the user."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import aiohttp
import uvicorn

from cache_worthy.capture.proxy import BrokenOff, Proxy, open_session
from cache_worthy.console import note

KEEP_ALIVE = 75
"""Seconds that an idle client connection stays open."""

SWITCH = 0.0005
"""Seconds after which the recorder's thread yields to the event loop; Python's default of 5 ms would
be added to the latency of bytes that arrive while a long prompt is cut."""


WAITING = 1000
"""Lines for the user that may wait; more are dropped."""


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


async def serve(
    proxy: Callable[[aiohttp.ClientSession], Proxy],
    sock: socket.socket,
    *,
    grace: float,
    say: Callable[[str], None],
    ready: Callable[[], None],
) -> None:
    """Run until SIGINT or SIGTERM.

    Parameters
    ----------
    proxy : callable
        Makes the application.
    sock : socket.socket
        Bound, and not yet listening.
    grace : float
        Seconds that running requests get after the first signal; a second one ends them.
    say : callable
        Takes a line for the user; must not block.
    ready : callable
        Called when clients can connect.
    """
    quiet = _Quiet(say)
    for name in ("uvicorn", "uvicorn.error", "aiohttp", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [quiet], False
    _more_files()
    sys.setswitchinterval(SWITCH)
    async with open_session() as session:
        server = _Server(_config(proxy(session), grace))

        def stop() -> None:
            running = server.server_state.tasks
            if server.should_exit:
                for task in list(running):
                    task.cancel()
                return
            server.should_exit = True
            if running:
                say(
                    f"stopping: {len(running)} running requests have {grace:g} seconds; "
                    "once more ends them"
                )

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, stop)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        sock.listen(2048)
        ready()
        await server.serve(sockets=[sock])
        rest = list(server.server_state.tasks)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


def _config(app: Proxy, grace: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
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
        timeout_graceful_shutdown=max(1, round(grace)),
    )


def _more_files() -> None:
    """As many open files as the system lets this process have: a request takes two."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Voice:
    """Notes on stderr, printed by a thread of their own: a blocked terminal stops nothing."""

    def __init__(self) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._work, name="voice", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Print a line soon, or never where a thousand wait."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(line)

    def close(self, seconds: float) -> None:
        """Print what waits."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
        self._thread.join(seconds)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            note(line, quiet=False)
