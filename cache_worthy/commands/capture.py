"""Record the requests of a running server: a reverse proxy between clients and the server.

  cache-worthy capture --upstream http://127.0.0.1:8000 -o log.jsonl
  (give clients http://127.0.0.1:8100/v1 in the place of http://127.0.0.1:8000/v1)
  cache-worthy analyze log.jsonl

Clients see the server's own answers, byte for byte and as they come: streams, errors and all. POST
requests to .../chat/completions, .../completions, .../responses and .../messages are recorded;
everything else is only passed on. No header is added; Host becomes the server's; trailers are dropped;
websockets are refused.

A record holds: arrival time, model, status, lengths, cached tokens where the server reports them,
and one number a block of the prompt, hashed under a secret key. No text can be read from it or tried
against it; what still shows is how long prompts are, when they came, and which share how long a prefix
(cache-worthy convert --anonymise coarsens the times too). The key is fresh for each run and never
written, unless --key-file keeps it, so that several runs give the same prompt the same numbers. How
prompts are cut (--block-size, --tokenizer, --template) is fixed when they are recorded; --keep-text
keeps the prompts themselves instead, which analyze can cut anew. Headers, credentials, query strings
and answers are never recorded.

input_length counts as the blocks were cut (--chars-per-token, --tokenizer); prompt_tokens is the
server's own count. Requests with a status from 400 on are recorded and count as failed; 499 is a
client that hung up before the answer began. An answer that broke off later counts: its prompt was
served; "ended" says who broke it. Answers stream no length unless the client asks for it
(stream_options.include_usage).

The record is written before the client sees the end of its answer, so a crash loses only requests
under way. Where the log cannot be written it says so once, counts the lost records and goes on
passing requests. A log that is moved or removed while it runs begins anew under its name. A body
over --max-body-mib is passed on and not recorded. Nothing is buffered on the way: a slow reader
slows the server.

Exit code 0 when stopped by SIGINT or SIGTERM, 1 if records were lost, 2 if it could not start.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import os
import secrets
import shlex
import socket
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cache_worthy.commands import options as arg
from cache_worthy.console import note
from cache_worthy.errors import UsageError

if TYPE_CHECKING:
    from cache_worthy.capture.recorder import Counts

LISTEN = "127.0.0.1:8100"

INSTALL = "capture needs packages that are not installed; pip install 'cache-worthy[capture]'"

KEY_BYTES = 16
"""A shorter key file could be guessed."""

CLOSE_SECONDS = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument(
        "--upstream",
        required=True,
        metavar="URL",
        help="the server, as http://HOST:PORT; a path in it goes before that of every request",
    )
    parser.add_argument(
        "--listen", default=LISTEN, metavar="HOST:PORT", help=f"where clients connect ({LISTEN})"
    )
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="let --listen be an address that other machines reach: whoever does uses the server "
        "through it, unencrypted",
    )
    parser.add_argument("-o", "--output", required=True, metavar="LOG", help="the log to write")
    parser.add_argument(
        "--append",
        action="store_true",
        help="go on with a log that exists (with --key-file or --keep-text: without, the same "
        "prompt would get other numbers)",
    )
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        help="secret key of the block numbers; made if absent; share it between runs, and with "
        "nobody who may read the log",
    )
    parser.add_argument(
        "--keep-text", action="store_true", help="record the prompts themselves, not hashes"
    )
    parser.add_argument(
        "--rotate-mib",
        type=arg.positive_int,
        metavar="M",
        help="pieces of at most M MiB: LOG-00001, LOG-00002, ... (before the extension); analyze "
        "takes them all",
    )
    parser.add_argument(
        "--max-body-mib",
        type=arg.positive_int,
        default=32,
        metavar="M",
        help="longer bodies are passed on and not recorded (32)",
    )
    parser.add_argument(
        "--grace",
        type=arg.positive_int,
        default=30,
        metavar="S",
        help="seconds that running requests get when it is stopped (30)",
    )
    parser.add_argument(
        "--analyze-every",
        type=arg.positive_int,
        metavar="N",
        help="print the advisor's short answer after every N records",
    )
    arg.add_model(parser)
    arg.add_cutting(parser)
    arg.add_verbosity(parser)


def run(args: argparse.Namespace) -> int:
    """Run the proxy until it is stopped."""
    host, port = _address(args.listen)
    upstream = _upstream(args.upstream)
    arg.require(args.output != "-", "-o -: expected a file name; the log is written while it runs")
    arg.require(
        args.key_file is None or Path(args.key_file).resolve() != Path(args.output).resolve(),
        "--key-file: is the log; who reads that may not have the key: give another file",
    )
    arg.require(
        not args.append or args.keep_text or args.key_file is not None,
        "--append: give the --key-file of the earlier run too: under another key the same prompt "
        "gets other numbers and would count as new",
    )
    try:
        import aiohttp
        import uvicorn
    except ImportError as error:
        raise UsageError(INSTALL) from error
    del aiohttp, uvicorn
    from cache_worthy.capture.advice import Advisor
    from cache_worthy.capture.logfile import LogFile
    from cache_worthy.capture.recorder import Recorder
    from cache_worthy.capture.server import Settings, bind, serve
    from cache_worthy.capture.voice import Voice
    from cache_worthy.logs.blocks import Cutter
    from cache_worthy.sim.cost import load_model

    load_model(args.model)  # refuse it before the work
    options = arg.cutting_options(args)
    cutter = Cutter(options, intern=False)
    sock = bind(host, port, remote=args.allow_remote)
    voice, advisor = Voice(), None
    with contextlib.ExitStack() as stack:
        stack.callback(voice.close, 2.0)
        stack.callback(sock.close)
        arg.require(
            not _is_own(upstream, host, sock),
            f"--upstream {upstream}: is the address of --listen; requests would go round for ever",
        )
        key = _key(args.key_file, args.quiet)
        piece = None if args.rotate_mib is None else args.rotate_mib << 20
        log = LogFile(Path(args.output), append=args.append, piece=piece)
        stack.callback(log.close)
        if args.analyze_every is not None:
            arg.require(
                bool(log.files),
                f"--analyze-every: -o {args.output} is no file that can be read while it is written",
            )
            again = ["--model", args.model, *(_cutting_again(args) if args.keep_text else ())]
            advisor = Advisor(args.analyze_every, lambda: list(log.files), again, _show, voice.say)
            stack.callback(advisor.close)
        recorder = Recorder(
            log,
            cutter,
            key,
            keep_text=args.keep_text,
            longest=args.max_body_mib << 20,
            say=voice.say,
            recorded=advisor.recorded if advisor is not None else lambda count: None,
        )

        def ready() -> None:
            where = sock.getsockname()
            here = f"[{where[0]}]" if ":" in where[0] else where[0]
            note(f"http://{here}:{where[1]} -> {upstream}, recording to {log.files[-1] if log.files else args.output}"
                 "; Ctrl-C stops", args.quiet)  # fmt: skip

        if args.append and args.keep_text and args.key_file is None:
            note("without --key-file a cache_salt counts as another in each run", args.quiet)
        if args.allow_remote:
            note(
                "--allow-remote: whoever reaches this port uses the server, unencrypted", args.quiet
            )
        serve(
            Settings(sock, upstream, float(args.grace)),
            recorder,
            voice.say,
            voice.say if args.verbose else None,
            ready,
        )
        written = recorder.close(CLOSE_SECONDS)
        voice.close(2.0)
        if not written:
            note("the log stands still; what waited to be written is lost", quiet=False)
        for line in summary(recorder.counts, options.chars_per_token, options.tokenizer):
            note(line, args.quiet)
        if recorder.counts.recorded and log.files:
            note(f"next: cache-worthy analyze {shlex.join(map(str, log.files))}", args.quiet)
    return 1 if recorder.counts.lost or not written else 0


def summary(counts: Counts, chars_per_token: float, tokenizer: str) -> list[str]:
    """What a run did, in a few lines."""
    from cache_worthy.capture.recorder import ENDPOINTS

    c = counts
    out = [f"{c.passed} requests passed on, {c.recorded} recorded, {c.failed} of them failed"]
    missing = (
        (c.too_long, "over --max-body-mib"),
        (c.no_prompt, "without a prompt that could be read"),
        (c.no_room, "while the memory for records was full"),
        (c.unwritten, "lost because the log could not be written"),
    )
    if any(n for n, _ in missing):
        out.append("not recorded: " + ", ".join(f"{n} {why}" for n, why in missing if n))
    elif c.passed and not c.recorded:
        out.append(f"none was a POST to {', '.join('...' + end for end in ENDPOINTS)}")
    if c.prompt_tokens:
        share = 100 * c.cached_tokens / c.prompt_tokens
        out.append(
            f"the server took {share:.1f}% of prompt tokens from its cache, where it reported them"
        )
    if c.no_length:
        out.append(
            f"{c.no_length} answers came without their length; clients get it in streams with "
            "stream_options.include_usage"
        )
    if c.counted_tokens and tokenizer == "chars":
        fits = chars_per_token * c.cut_tokens / c.counted_tokens
        if abs(fits / chars_per_token - 1) > 0.05:
            out.append(
                f"the server counted {c.counted_tokens} prompt tokens, --chars-per-token "
                f"{chars_per_token:g} gives {c.cut_tokens}; {fits:.2f} would fit this traffic"
            )
    return out


def _show(answer: str) -> None:
    with contextlib.suppress(OSError):
        print(answer, flush=True)


def _cutting_again(args: argparse.Namespace) -> list[str]:
    again = ["--tokenizer", args.tokenizer, "--chars-per-token", str(args.chars_per_token)]
    again += ["--template", args.template]
    return again if args.block_size is None else [*again, "--block-size", str(args.block_size)]


def _address(text: str) -> tuple[str, int]:
    """HOST:PORT, the host of IPv6 in brackets.

    Examples
    --------
    >>> _address("127.0.0.1:80"), _address("[::1]:0")
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


def _upstream(text: str) -> str:
    """The server's address, without anything that is no address."""
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
    if parts.query or parts.fragment:  # keys stand there
        raise UsageError(f"--upstream: has a query or a fragment; {expected}")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"--upstream {text}: {expected}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _is_own(upstream: str, host: str, sock: socket.socket) -> bool:
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


def _key(file: str | None, quiet: bool) -> bytes:
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
