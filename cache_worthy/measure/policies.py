"""The policies of every kind, and one of them with its parameters, checked before a log is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from cache_worthy.errors import UsageError
from cache_worthy.measure.user_policy import own_policy, resolve_policy
from cache_worthy.sim.blocks.policies import POLICIES as BLOCK_POLICIES
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.sglang.strategies import STRATEGIES, Strategy
from cache_worthy.sim.sglang.versions import CURRENT

SGLANG_PARAMETERS = ("policy_config", "page_size", "generated", "sglang_version")

PARAMETERS = ("small_ratio", "max_freq", "ghost_hit_freq", "partial_blocks", *SGLANG_PARAMETERS)
"""What belongs to some policies only, each an option of the command line."""

Factory = Callable[[], EvictionPolicy]
Parameter = str | int | float


@dataclass(frozen=True, slots=True)
class Listed:
    """A policy as ``cache-worthy policies`` lists it.

    Attributes
    ----------
    name, summary, source : str
    engine : str
        ``radix``, ``vllm``, ``sglang``, or ``generic``.
    pins_path : bool
        The blocks of the request in service stay.
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


def plan_replay(
    policy: str | Factory, parameters: Mapping[str, Parameter | Mapping[str, int]]
) -> Plan:
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
        For an unknown policy, or a parameter that the policy does not have.
    """
    if not isinstance(policy, str):
        name, _ = own_policy(policy)
        given = _checked(name, parameters, allowed=())
        covered = POLICIES.get(name) is policy
        return Plan(policy=_radix(name), factory=policy, parameters=given, covered=covered)
    shipped = {p.name: p for p in listed()}
    chosen = shipped.get(policy, _radix(policy))
    allowed: tuple[str, ...] = ()
    if chosen.engine == "sglang":
        allowed = SGLANG_PARAMETERS
    elif policy in BLOCK_POLICIES:
        allowed = BLOCK_POLICIES[policy].parameters
    given = _checked(policy, parameters, allowed)
    factory = resolve_policy(policy) if chosen.engine == "radix" else None
    return Plan(policy=chosen, factory=factory, parameters=given, covered=policy in shipped)


def _checked(
    policy: str,
    parameters: Mapping[str, Parameter | Mapping[str, int]],
    allowed: Sequence[str],
) -> dict[str, Parameter]:
    for name in parameters:
        if name not in allowed:
            flags = ", ".join(_flag(p) for p in PARAMETERS if p in allowed)
            raise UsageError(
                f"{_flag(name)}: policy {policy} does not have it; it takes "
                f"{flags or 'no option of its own'}"
            )
    return {
        name: json.dumps(dict(value)) if isinstance(value, Mapping) else value
        for name, value in parameters.items()
    }


def _flag(parameter: str) -> str:
    return "--" + parameter.replace("_", "-")


def strategy_config(text: object) -> dict[str, Any]:
    """The strategy's parameters from a JSON object.

    Raises
    ------
    UsageError
        Unless it is an object of integers.
    """
    if text is None:
        return {}
    try:
        value = json.loads(str(text))
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(type(v) is int for v in value.values()):
        raise UsageError(
            f"--policy-config {text}: expected a JSON object of integers, for instance "
            '{"protected_threshold": 3}'
        )
    return value
