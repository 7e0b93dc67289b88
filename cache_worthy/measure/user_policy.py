"""Policies of the user's own: imported by name, their errors turned into one line."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable

from cache_worthy.errors import UsageError
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy


def load_user_policy(spec: str) -> type[EvictionPolicy]:
    """Import ``package.module:Class`` from the current folder or the installed packages.

    Raises
    ------
    UsageError
        If the module does not import, or the class is no policy that takes no arguments.
    """
    module_name, _, class_name = spec.partition(":")
    if not module_name or not class_name:
        raise UsageError(
            f"--policy {spec}: unknown; expected one of {', '.join(POLICIES)}, one of the block or "
            "server policies that cache-worthy policies lists (replay only), or your own as "
            "package.module:Class"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints must not enter the result
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # any error of the user's own code: one clear line
        raise UsageError(
            f"--policy {spec}: cannot import {module_name}: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, EvictionPolicy)):
        raise UsageError(
            f"--policy {spec}: expected a subclass of cache_worthy.EvictionPolicy named {class_name} "
            f"in {module_name}"
        )
    return found


def resolve_policy(spec: str) -> Callable[[], EvictionPolicy]:
    """A shipped policy by name, or the user's own."""
    if spec in POLICIES:
        return POLICIES[spec]
    return user_factory(spec)


def own_policy(
    policy: str | Callable[[], EvictionPolicy],
) -> tuple[str, Callable[[], EvictionPolicy]]:
    """Name and factory of a policy of the user's: ``package.module:Class``, or the class itself."""
    if isinstance(policy, str):
        return policy, user_factory(policy)
    try:
        made = policy()
    except (Exception, SystemExit) as error:
        raise UsageError(f"policy {policy!r}: failed: {type(error).__name__}: {error}") from error
    if not isinstance(made, EvictionPolicy):
        raise UsageError(f"policy {policy!r}: expected a subclass of cache_worthy.EvictionPolicy")
    return getattr(made, "name", type(made).__name__), policy


def user_factory(spec: str) -> Callable[[], EvictionPolicy]:
    """A factory that turns errors of the user's constructor into usage errors."""
    found = load_user_policy(spec)

    def make() -> EvictionPolicy:
        try:
            return found()
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"--policy {spec}: {found.__name__}() failed: {type(error).__name__}: {error}"
            ) from error

    make()
    return make
