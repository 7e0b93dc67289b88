"""Download the Mooncake traces and check them against data/checksums.json.

    python scripts/make/fetch_traces.py                        # all three, into data/raw
    python scripts/make/fetch_traces.py conversation synthetic
    python scripts/make/fetch_traces.py --from DIR             # copy from a folder instead
    python scripts/make/fetch_traces.py --from https://mirror/path

A download goes to NAME.part and becomes NAME only when its SHA-256 is right, so what is stored under
the final name is always whole. An interrupted download resumes where it stopped (HTTP Range); a
server that ignores Range is read from the start. A good file is left alone, a bad one is replaced
only with --force.

Exit codes: 0 every file is there and right; 1 some bytes are wrong; 2 something could not be
fetched (no network, not found, no such folder, disk).

Only the standard library is used, so that this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECKSUMS = ROOT / "data" / "checksums.json"
CHUNK = 1 << 16
TIMEOUT_SECONDS = 30.0
#: Connections made for one file before giving up; each continues where the last one stopped.
ATTEMPTS = 5
#: Seconds before the second one, doubled before each further one.
PAUSE = 0.5


class CannotFetch(Exception):
    """The bytes could not be had: network, server, folder or disk. Exit code 2."""


class WrongBytes(Exception):
    """The bytes are there and are not the recorded ones. Exit code 1."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One line of checksums.json."""

    name: str
    sha256: str
    origin: str


def read_checksums(path: Path) -> tuple[str, tuple[Expected, ...]]:
    """The base URL and the files that must be there."""
    data = json.loads(path.read_text(encoding="utf-8"))
    files = (Expected(n, f["sha256"], f["origin"]) for n, f in data["files"].items())
    return data["base_url"], tuple(files)


def sha256_of(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def say(text: str) -> None:
    """Progress and errors go to stderr; there is no other output."""
    print(text, file=sys.stderr)


def download(url: str, part: Path, attempts: int, pause: float) -> None:
    """Fetch a URL into ``part``, continuing what ``part`` already holds.

    Raises
    ------
    CannotFetch
        When the server cannot be reached, answers with an error, or keeps cutting the connection.
    """
    reason = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            _one_connection(url, part)
            return
        except urllib.error.HTTPError as error:
            if error.code == 416 and part.exists():
                # The part is as long as the file or longer: the digest will tell which.
                return
            reason = f"the server answers {error.code} {error.reason}"
            if error.code < 500:
                break
        except urllib.error.URLError as error:
            reason = f"cannot reach the server: {error.reason}"
            if attempt and not part.exists():
                break  # no byte in two tries: there is no network
        except (http.client.HTTPException, OSError) as error:
            reason = f"the connection broke: {error or type(error).__name__}"
    kept = f"; {part.stat().st_size} bytes are kept in {part}" if part.exists() else ""
    raise CannotFetch(f"{url}: {reason}{kept}")


def _one_connection(url: str, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "cache-worthy fetch_traces"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        resumed = response.status == 206 and (
            response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        )
        if response.status not in (200, 206) or (response.status == 206 and not resumed):
            raise http.client.HTTPException(f"unexpected answer {response.status} to a download")
        promised = response.headers.get("Content-Length")
        received = 0
        with part.open("ab" if resumed else "wb") as stream:
            while chunk := response.read(CHUNK):
                stream.write(chunk)
                received += len(chunk)
        # http.client does not report a body that ends early when it is read piecewise.
        if promised is not None and received < int(promised):
            raise http.client.HTTPException(f"{received} of {promised} bytes arrived")


def place(
    file: Expected, source: str, out: Path, get: Callable[[str, Path], None], *, force: bool
) -> str:
    """Put one file into ``out``, from a base URL (with ``get``) or a folder.

    Returns
    -------
    str
        What happened, for the user.

    Raises
    ------
    CannotFetch, WrongBytes
    """
    target = out / file.name
    if target.exists():
        if sha256_of(target) == file.sha256:
            return "already there, SHA-256 right"
        if not force:
            raise WrongBytes(
                f"{target} exists and its SHA-256 is not {file.sha256}; "
                "move it away, or replace it with --force"
            )
    part = out / (file.name + ".part")
    if not source.startswith(("http://", "https://")):
        origin = Path(source) / file.name
        if not origin.is_file():
            raise CannotFetch(f"{origin}: no such file")
        shutil.copyfile(origin, part)
        digest = sha256_of(part)
    else:
        url = f"{source.rstrip('/')}/{file.name}"
        leftover = part.exists()
        get(url, part)
        digest = sha256_of(part)
        if digest != file.sha256 and leftover:
            say(f"{file.name}: the resumed file is wrong, starting over")
            part.unlink()
            get(url, part)
            digest = sha256_of(part)
    if digest != file.sha256:
        part.unlink()  # resuming wrong bytes can never make them right
        raise WrongBytes(
            f"{file.name} from {source}: SHA-256 is {digest}, expected {file.sha256} "
            f"({file.origin}); nothing was kept"
        )
    os.replace(part, target)
    return f"fetched, {target.stat().st_size} bytes, SHA-256 right"


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch and check; see the module's text for the exit codes."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as conversation; default all"
    )
    parser.add_argument("--from", dest="source", metavar="DIR|URL")
    parser.add_argument("--out", type=Path, default=ROOT / "data" / "raw", metavar="DIR")
    parser.add_argument("--force", action="store_true", help="replace a file that is wrong")
    parser.add_argument(
        "--checksums", type=Path, default=CHECKSUMS, metavar="FILE", help="names, digests, address"
    )
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, metavar="N", help="per file (5)")
    parser.add_argument(
        "--pause", type=float, default=PAUSE, metavar="SECONDS", help="between them"
    )
    args = parser.parse_args(argv)
    base_url, files = read_checksums(args.checksums)
    short = {f.name.removesuffix("_trace.jsonl"): f for f in files}
    source = args.source or base_url
    unknown = [n for n in args.names if n not in short]
    if unknown:
        parser.error(f"unknown trace {unknown[0]!r}: expected {', '.join(short)}")
    if "://" in source and not source.startswith(("http://", "https://")):
        parser.error(f"--from {source}: expected a folder, or an http or https address")
    get = partial(download, attempts=args.attempts, pause=args.pause)
    wanted = [short[n] for n in args.names] or list(files)

    code = 0
    for file in wanted:
        try:
            args.out.mkdir(parents=True, exist_ok=True)
            say(f"{file.name}: {place(file, source, args.out, get, force=args.force)}")
        except WrongBytes as error:
            say(f"error: {error}")
            code = max(code, 1)
        except (CannotFetch, OSError) as error:
            say(f"error: {error}")
            code = 2
    if code == 2:
        say(
            "hint: fetch the files on a machine with network access and pass --from DIR; "
            "running this again resumes"
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
