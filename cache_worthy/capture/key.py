"""The secret key of the block numbers."""

from __future__ import annotations

import os
import secrets
from hashlib import blake2b
from pathlib import Path

from cache_worthy.console import note
from cache_worthy.errors import UsageError

KEY_BYTES = 16
"""A shorter key file could be guessed."""


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
