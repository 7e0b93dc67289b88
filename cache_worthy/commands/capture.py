"""Record the requests of a running server: a reverse proxy between clients and the server.

  cache-worthy capture --upstream http://127.0.0.1:8000 -o log.jsonl
  (give clients http://127.0.0.1:8100/v1 instead of http://127.0.0.1:8000/v1)
  cache-worthy analyze log.jsonl

Clients get the server's own answers, byte for byte and as they come: streams, errors and all. POST
requests to .../chat/completions, .../completions, .../responses and .../messages are recorded;
everything else is only passed on. No header is added; Host becomes the server's; trailers are dropped;
websockets are refused.

A record holds arrival time, model, status, lengths, cached tokens where the server reports them, and
one number per block of the prompt, hashed under a secret key. No text can be recovered from it, and no
guess tested against it; it still shows how long prompts are, when they came, and which share how long
a prefix (cache-worthy convert --anonymise coarsens the times too). The key is fresh for each run and
never written, unless --key-file keeps it, so that several runs give the same prompt the same numbers.
How prompts are cut (--block-size, --tokenizer, --template) is fixed when they are recorded; --keep-text
keeps the prompts themselves instead, which analyze can cut again. Headers, credentials, query strings
and answers are never recorded.

input_length counts tokens as the blocks were cut (--chars-per-token, --tokenizer); prompt_tokens is the
server's own count. Requests with a status of 400 or more are recorded and count as failed; 499 is a
client that hung up before the answer began. An answer that broke off later counts, because its prompt
was served; "ended" says who broke it off. Streamed answers carry no token count unless the client asks
for it (stream_options.include_usage).

The record is written before the client gets the end of its answer, so a crash loses only requests in
progress. If the log cannot be written, capture says so once, counts the lost records and goes on
passing requests. A log that is moved or removed while it runs starts again under its name. A body over
--max-body-mib is passed on and not recorded. Nothing is buffered on the way: a slow reader slows the
server.

Exit code 0 when stopped by SIGINT or SIGTERM, 1 if records were lost, 2 if it could not start.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cache_worthy.capture.counts import Counts, summary
from cache_worthy.capture.given import (
    bind,
    is_own,
    listen_address,
    secret_key,
    upstream_url,
    url_of,
)
from cache_worthy.commands import options as arg
from cache_worthy.console import note

if TYPE_CHECKING:
    from cache_worthy.capture.logfile import LogFile

LISTEN = "127.0.0.1:8100"

INSTALL = "capture needs packages that are not installed; pip install aiohttp uvicorn"

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
        help="let --listen be an address that other machines reach: they all can use the server "
        "through it, unencrypted",
    )
    _add_recording(parser)
    arg.add_model(parser)
    arg.add_cutting(parser)
    arg.add_verbosity(parser)


def _add_recording(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="LOG", help="the log to write")
    parser.add_argument(
        "--append",
        action="store_true",
        help="continue an existing log (with --key-file or --keep-text; otherwise the same prompt "
        "would get other numbers)",
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


def run(args: argparse.Namespace) -> int:
    """Run the proxy until it is stopped."""
    host, port = listen_address(args.listen)
    upstream = upstream_url(args.upstream)
    _refuse(args)
    from cache_worthy.capture.logfile import LogFile
    from cache_worthy.capture.proxy import Proxy
    from cache_worthy.capture.recorder import Recorder
    from cache_worthy.capture.server import Voice, serve
    from cache_worthy.logs.blocks import Cutter
    from cache_worthy.sim.cost import load_model

    load_model(args.model)  # refuse it before the work
    cutter = Cutter(arg.read_options(args), intern=False)
    sock = bind(host, port, remote=args.allow_remote)
    voice = Voice()
    with contextlib.ExitStack() as stack:
        stack.callback(voice.close, 2.0)
        stack.callback(sock.close)
        arg.require(
            not is_own(upstream, host, sock),
            f"--upstream {upstream}: is the address of --listen; requests would go in circles",
        )
        key = secret_key(args.key_file, args.quiet)
        piece = None if args.rotate_mib is None else args.rotate_mib << 20
        log = LogFile(Path(args.output), append=args.append, piece=piece)
        stack.callback(log.close)
        recorder = Recorder(
            log,
            cutter,
            key,
            keep_text=args.keep_text,
            longest=args.max_body_mib << 20,
            say=voice.say,
            recorded=_advised(args, log, say=voice.say, stack=stack),
        )
        _warn(args)
        server = serve(
            lambda session: Proxy(
                upstream, recorder, session, trace=voice.say if args.verbose else None
            ),
            sock,
            grace=float(args.grace),
            say=voice.say,
            ready=lambda: note(
                f"{url_of(sock)} -> {upstream}, recording to {_newest(log, args)}; Ctrl-C stops",
                args.quiet,
            ),
        )
        asyncio.run(server)
        written = recorder.close(CLOSE_SECONDS)
        voice.close(2.0)
        _tell_end(args, recorder.counts, log, written=written)
    return 1 if recorder.counts.lost or not written else 0


def _refuse(args: argparse.Namespace) -> None:
    """What cannot work is refused before anything is opened."""
    arg.require(args.output != "-", "-o -: expected a file name; the log is written while it runs")
    arg.require(
        args.key_file is None or Path(args.key_file).resolve() != Path(args.output).resolve(),
        "--key-file: is the log, and readers of the log must not have the key; give another file",
    )
    arg.require(
        not args.append or args.keep_text or args.key_file is not None,
        "--append: give the --key-file of the earlier run too: under another key the same prompt "
        "gets other numbers and would count as new",
    )
    arg.require(all(map(importlib.util.find_spec, ("aiohttp", "uvicorn"))), INSTALL)


def _advised(
    args: argparse.Namespace,
    log: LogFile,
    *,
    say: Callable[[str], None],
    stack: contextlib.ExitStack,
) -> Callable[[int], None]:
    """What is told the number of records after each one: the advisor, where it was asked for."""
    if args.analyze_every is None:
        return lambda count: None
    from cache_worthy.capture.advice import Advisor

    arg.require(
        bool(log.files),
        f"--analyze-every: -o {args.output} is not a file that can be read while it is written",
    )
    advisor = Advisor(
        args.analyze_every,
        files=lambda: list(log.files),
        options=["--model", args.model, *(_cutting_again(args) if args.keep_text else ())],
        show=_show,
        say=say,
    )
    stack.callback(advisor.close)
    return advisor.recorded


def _warn(args: argparse.Namespace) -> None:
    if args.append and args.keep_text and args.key_file is None:
        note("without --key-file a cache_salt counts as another in each run", args.quiet)
    if args.allow_remote:
        note("--allow-remote: whoever reaches this port uses the server, unencrypted", args.quiet)


def _newest(log: LogFile, args: argparse.Namespace) -> object:
    return log.files[-1] if log.files else args.output


def _tell_end(args: argparse.Namespace, counts: Counts, log: LogFile, *, written: bool) -> None:
    if not written:
        note("writing the log is blocked; what waited to be written is lost", quiet=False)
    for line in summary(counts, args.chars_per_token, args.tokenizer):
        note(line, args.quiet)
    if counts.recorded and log.files:
        note(f"next: cache-worthy analyze {shlex.join(map(str, log.files))}", args.quiet)


def _show(answer: str) -> None:
    with contextlib.suppress(OSError):
        print(answer, flush=True)


def _cutting_again(args: argparse.Namespace) -> list[str]:
    again = ["--tokenizer", args.tokenizer, "--template", args.template]
    for option, value in (
        ("--chars-per-token", args.chars_per_token),
        ("--block-size", args.block_size),
    ):
        again += [] if value is None else [option, str(value)]
    return again
