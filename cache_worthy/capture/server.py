"""The proxy as a server: sockets, signals, and the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvicorn

from cache_worthy.capture.proxy import BrokenOff, Proxy, open_session
from cache_worthy.capture.recorder import Recorder
from cache_worthy.errors import UsageError

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
    """

    sock: socket.socket
    upstream: str
    grace: float


def bind(host: str, port: int, *, remote: bool) -> socket.socket:
    """A socket on an address; anything but loopback needs ``remote``.

    Raises
    ------
    UsageError
        If the address is not loopback and ``remote`` is off, is unknown, or cannot be had.
    """
    listen = f"--listen {f'[{host}]' if ':' in host else host}:{port}"
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{listen}: not an address of this machine: {error}") from error
    if not remote and not ipaddress.ip_address(str(address[0]).split("%")[0]).is_loopback:
        raise UsageError(
            f"{listen}: anyone who reaches this port would use the upstream server through it, with "
            "prompts and keys unencrypted on the way\n  use a loopback address (127.0.0.1), or add "
            "--allow-remote if that is meant"
        )
    sock = socket.socket(family, kind, proto)
    try:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise UsageError(f"{listen}: cannot listen: {error.strerror or error}") from error
    return sock


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


def serve(
    settings: Settings,
    recorder: Recorder,
    say: Callable[[str], None],
    trace: Callable[[str], None] | None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Run until SIGINT or SIGTERM; running requests may end in the grace time, a second signal ends it."""
    quiet = _Quiet(say)
    for name in ("uvicorn", "uvicorn.error", "aiohttp", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [quiet], False
    _more_files()
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        asyncio.run(_serve(settings, recorder, say, trace, ready))
    finally:
        sys.setswitchinterval(before)


async def _serve(
    settings: Settings,
    recorder: Recorder,
    say: Callable[[str], None],
    trace: Callable[[str], None] | None,
    ready: Callable[[], None],
) -> None:
    async with open_session() as session:
        config = uvicorn.Config(
            Proxy(settings.upstream, recorder, session, trace),
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
                say(
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
        ready()
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
