"""The policies of every kind, and one of them with its parameters, checked before a log is read."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from cache_worthy.checks import integer, one_of, real, text, wrong
from cache_worthy.errors import UsageError
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.sglang.strategies import STRATEGIES, Strategy
from cache_worthy.sim.sglang.versions import CURRENT

SGLANG_PARAMETERS = ("policy_config", "page_size", "generated", "sglang_version")

Factory = Callable[[], EvictionPolicy]
Parameter = str | int | float

EXPECTED = "a name, package.module:Class, or a subclass of cache_worthy.EvictionPolicy"


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy as ``cache-worthy policies`` lists it.

    Attributes
    ----------
    name, summary, source : str
    engine : str
        ``radix``, ``vllm``, ``sglang``, or ``generic``.
    pins_path : bool
        Whether the blocks of the request in service cannot be evicted.
    """

    name: str
    summary: str
    source: str
    engine: str
    pins_path: bool


def listed() -> list[Listed]:
    """Every policy of every registry."""
    blocks = BLOCK_POLICIES.values()
    return [
        *(_radix(p.name, p.summary, p.source) for p in POLICIES.values()),
        *(Listed(**{f.name: getattr(spec, f.name) for f in fields(Listed)}) for spec in blocks),
        *map(_sglang, STRATEGIES.values()),
    ]


def by_default() -> tuple[str, ...]:
    """The shipped policies of the radix tree that an analysis compares without being told to."""
    return tuple(name for name, policy in POLICIES.items() if policy.by_default)


def _radix(name: str, summary: str = "", source: str = "") -> Listed:
    """A shipped policy of the radix tree, or one of the user's own."""
    return Listed(name=name, summary=summary, source=source, engine="radix", pins_path=True)


def _sglang(strategy: Strategy) -> Listed:
    offered = "offered" if strategy.server_name in CURRENT.choices else "refused"
    return Listed(
        name=strategy.name,
        summary=strategy.summary,
        source=f"SGLang evict_policy.py; {offered} by its command line",
        engine="sglang",
        pins_path=True,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """A policy and its parameters, checked before a log is read.

    Attributes
    ----------
    policy : Listed
    factory : callable or None
        Of a radix-tree policy.
    parameters : dict of str to (str, int or float)
    covered : bool
        Inside oracle coverage.
    """

    policy: Listed
    factory: Factory | None
    parameters: dict[str, Parameter]
    covered: bool = True


def plan_replay(policy: object, parameters: Mapping[str, object]) -> Plan:
    """What to replay.

    Parameters
    ----------
    policy : str or callable
        A name that :func:`listed` has, ``package.module:Class``, or a policy class of the user's.
    parameters : mapping of str to (str, int, float or mapping)
        Those of the policy.

    Raises
    ------
    UsageError
        For an unknown policy, or a parameter that the policy does not have or not of this type.
    """
    shipped = {p.name: p for p in listed()}
    name, factory = shipped_radix(policy) or (policy, None)
    if isinstance(name, str) and name in shipped:
        chosen = shipped[name]
    else:
        name, factory = own_policy(policy)
        chosen = _radix(name)
    allowed: Sequence[str] = ()
    if chosen.engine == "sglang":
        allowed = SGLANG_PARAMETERS
    elif name in BLOCK_POLICIES:
        allowed = BLOCK_POLICIES[name].parameters
    given = _checked(name, parameters, allowed)
    return Plan(policy=chosen, factory=factory, parameters=given, covered=name in shipped)


def shipped_radix(policy: object) -> tuple[str, Factory] | None:
    """Name and class of a shipped policy of the radix tree, given as one of the two."""
    for name, factory in POLICIES.items():
        if policy is factory or (isinstance(policy, str) and policy == name):
            return name, factory
    return None


def own_policy(policy: object) -> tuple[str, Factory]:
    """Name and factory of a policy of the user's: ``package.module:Class``, or the class itself.

    Raises
    ------
    UsageError
        If it cannot be had, or its name is none or a shipped policy's.
    """
    if not (isinstance(policy, str) or callable(policy)):
        raise wrong("policy", EXPECTED, policy)
    factory = _load(policy) if isinstance(policy, str) else policy
    label = getattr(factory, "__name__", "policy")
    given = policy if isinstance(policy, str) else label
    try:
        made = factory()
        name = policy if isinstance(policy, str) else getattr(made, "name", label)
    except (Exception, SystemExit) as error:
        raise UsageError(f"--policy {given}: {label}() failed: {told(error)}") from error
    if not isinstance(made, EvictionPolicy):
        raise UsageError(f"--policy {given}: expected a subclass of cache_worthy.EvictionPolicy")
    if not (isinstance(name, str) and name.strip() and name.isprintable()):
        raise wrong(f"policy {label}: name", "a string of one line", name)
    if any(name == shipped.name for shipped in listed()):
        raise UsageError(f"--policy {name}: is the name of a shipped one; give it another name")
    return name, factory


def _load(spec: str) -> type[EvictionPolicy]:
    """Import ``package.module:Class`` from the current folder or the installed packages."""
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
            found = getattr(module, class_name, None)
    except (Exception, SystemExit) as error:  # any error of the user's own code
        raise UsageError(f"--policy {spec}: cannot import {module_name}: {told(error)}") from error
    if not (isinstance(found, type) and issubclass(found, EvictionPolicy)):
        raise UsageError(
            f"--policy {spec}: expected a subclass of cache_worthy.EvictionPolicy named {class_name} "
            f"in {module_name}"
        )
    return found


def told(error: BaseException) -> str:
    """An error of the user's code in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _checked(
    policy: str, parameters: Mapping[str, object], allowed: Sequence[str]
) -> dict[str, Parameter]:
    for name in parameters:
        if name not in allowed:
            flags = ", ".join(_flag(p) for p in PARAMETERS if p in allowed)
            raise UsageError(
                f"{_flag(name)}: policy {policy} does not have it; it takes "
                f"{flags or 'no option of its own'}"
            )
    return {name: PARAMETERS[name](name, value) for name, value in parameters.items()}


def _flag(parameter: str) -> str:
    return "--" + parameter.replace("_", "-") if parameter in PARAMETERS else parameter


def _config(name: str, value: object) -> str:
    """Parameters of a strategy, as JSON."""
    expected = "a JSON object of integers, or a dict of them"
    if not isinstance(value, Mapping):
        return text(name, value, expected)
    return json.dumps({text(name, key, expected): integer(name, n) for key, n in value.items()})


def _choice(*names: str) -> Callable[[str, object], str]:
    return lambda name, value: one_of(name, value, names)


PARAMETERS: Mapping[str, Callable[[str, object], Parameter]] = {
    "small_ratio": real,
    "max_freq": integer,
    "ghost_hit_freq": integer,
    "partial_blocks": _choice("keep", "drop"),
    "policy_config": _config,
    "page_size": lambda name, value: integer(name, value, least=1),
    "generated": _choice("ignore", "length"),
    "sglang_version": text,
}
"""Parameters that only some policies have, each an option of the command line; the policy checks the
range."""


def strategy_config(given: object) -> dict[str, Any]:
    """The strategy's parameters from a JSON object.

    Raises
    ------
    UsageError
        Unless it is an object of integers.
    """
    if given is None:
        return {}
    try:
        value = json.loads(str(given))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not all(type(v) is int for v in value.values()):
        raise UsageError(
            f"--policy-config {given}: expected a JSON object of integers, for instance "
            '{"protected_threshold": 3}'
        )
    return value
