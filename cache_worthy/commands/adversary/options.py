"""Options that several actions share: the policy, and the choices that the rules leave open."""

from __future__ import annotations

import argparse

from cache_worthy.theory.algorithms import ALGORITHMS
from cache_worthy.theory.steps import TIES


def add_policy(parser: argparse.ArgumentParser) -> None:
    """The policy that is attacked."""
    parser.add_argument(
        "--policy",
        required=True,
        choices=tuple(ALGORITHMS),
        metavar="P",
        help=", ".join(ALGORITHMS),
    )


def add_tie(parser: argparse.ArgumentParser) -> None:
    """The order of equal candidates."""
    parser.add_argument(
        "--tie",
        choices=tuple(TIES),
        default="lru",
        help="order of equal candidates: least or most recently touched, first or last loaded, "
        "lowest number (default lru)",
    )
