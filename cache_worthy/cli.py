"""Command line of cache-worthy."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence

from cache_worthy import __version__
from cache_worthy.errors import UsageError
from cache_worthy.sim.errors import InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns
    -------
    int
        0 holds, 1 found something, 2 usage or could not run; other codes are a command's own.
    """
    try:
        _prepare_streams()
        code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except InputError as error:
        _say(str(error))
        return 2
    except BrokenPipeError:
        _forget_stdout()  # the reader went away (head, less): not an error
        return 0
    except OSError as error:
        # Commands name their own files; what is left is stdout, stderr or a name no system takes.
        where = f" {error.filename!r}" if error.filename else ""
        _say(f"cannot read or write{where}: {error.strerror}")
        _forget_stdout()
        return 2
    except KeyboardInterrupt:
        _say("interrupted")
        return 130


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(
            f"cache-worthy {__version__}"
        )  # importing argparse would take longer than Python itself
        return 0
    from cache_worthy.commands import OTHER_SPELLINGS
    from cache_worthy.commands.parser import build_parser

    # The program's own options take no value, so the first other word names the command.
    place = next((n for n, word in enumerate(words) if not word.startswith("-")), None)
    if place is not None:
        words[place] = OTHER_SPELLINGS.get(words[place], words[place])
    parser = build_parser(() if place is None else {words[place]})
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 2
    code: int = args.run(args)
    return code


def _say(text: str) -> None:
    from cache_worthy.console import note  # not needed for --version

    note(text, quiet=False)


def _prepare_streams() -> None:
    """Closed standard streams become empty ones; text that the terminal lacks is escaped."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (lives as long as the process)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise UsageError("standard output is closed; nothing could be printed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Keep the interpreter from complaining when it flushes stdout at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
