"""What a run is given: addresses read, refused and bound, and the secret key of the block numbers."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import sys
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from cache_worthy.console import note
from cache_worthy.errors import UsageError

KEY_BYTES = 16
"""A shorter key file could be guessed."""


def listen_address(text: str) -> tuple[str, int]:
    """HOST:PORT, the host of IPv6 in brackets.

    Examples
    --------
    >>> listen_address("127.0.0.1:80"), listen_address("[::1]:0")
    (('127.0.0.1', 80), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"--listen {text}: expected HOST:PORT, as 127.0.0.1:8100 or [::1]:8100")
    return host, int(port)


def upstream_url(text: str) -> str:
    """The server's address, without credentials, query or fragment."""
    expected = "expected http://HOST:PORT or https://HOST, perhaps with a path"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"--upstream: {error}; {expected}") from error
    if "@" in parts.netloc:
        raise UsageError(
            f"--upstream: has a user name or password; clients send their own; {expected}"
        )
    if parts.query or parts.fragment:  # they may hold keys
        raise UsageError(f"--upstream: has a query or a fragment; {expected}")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"--upstream {text}: {expected}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_own(upstream: str, host: str, sock: socket.socket) -> bool:
    """Whether the upstream server would be this proxy."""
    address, port, *_ = sock.getsockname()
    parts = urlsplit(upstream)
    own = {host, address}
    if ipaddress.ip_address(address.split("%")[0]).is_loopback:
        own.add("localhost")
    if ipaddress.ip_address(address.split("%")[0]).is_unspecified:
        own |= {"localhost", "127.0.0.1", "::1"}
    return parts.hostname in own and port == (
        parts.port or {"http": 80, "https": 443}[parts.scheme]
    )


def bind(host: str, port: int, *, remote: bool) -> socket.socket:
    """A socket on an address; anything but loopback needs ``remote``.

    Raises
    ------
    UsageError
        If the address is not loopback and ``remote`` is off, is unknown, or cannot be bound.
    """
    listen = f"--listen {_bracketed(host)}:{port}"
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


def url_of(sock: socket.socket) -> str:
    """The address of a socket as clients give it."""
    host, port, *_ = sock.getsockname()
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def secret_key(file: str | None, quiet: bool) -> bytes:
    """The secret key: fresh, or that of a file, which is made if it is not there."""
    if file is None:
        return secrets.token_bytes(32)
    try:
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            data = Path(file).read_bytes().strip()
        else:
            data = secrets.token_hex(32).encode()
            with os.fdopen(handle, "wb") as out:
                out.write(data + b"\n")
            note(f"--key-file {file}: made with a new key", quiet)
    except OSError as error:
        raise UsageError(f"--key-file {file}: {error.strerror or error}") from error
    if len(data) < KEY_BYTES:
        raise UsageError(f"--key-file {file}: {len(data)} bytes; expected at least {KEY_BYTES}")
    return blake2b(data, digest_size=32).digest()
