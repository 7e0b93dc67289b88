"""Print a completion script for your shell.

cache-worthy completion bash > ~/.local/share/bash-completion/completions/cache-worthy
cache-worthy completion zsh  > some/folder/of/$fpath/_cache-worthy
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from cache_worthy.commands.parser import build_parser

    print(shtab.complete(build_parser(), args.shell))
    return 0
