"""The commands as functions: what ``import cache_worthy`` offers beside ``read_log``.

Each gives the figures of the command of its name, as an object that converts to the command's JSON
document (``to_dict``) and to a pandas ``DataFrame`` (``to_frame``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.analysis import analyze as _analyze
from cache_worthy.advise.memory import Engine
from cache_worthy.advise.request import requested
from cache_worthy.logs.log import Log
from cache_worthy.measure.any_policy import Replay, replay_log
from cache_worthy.measure.bound import BoundDocument, Costs, Rows, bound_log
from cache_worthy.measure.capacity import Capacity
from cache_worthy.measure.policies import plan_replay
from cache_worthy.sim.cost import DEFAULT_MODEL, Model, load_model
from cache_worthy.sim.radix.policies import EvictionPolicy

OwnPolicy = str | Callable[[], EvictionPolicy]


def analyze(
    log: Log,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    model: str | Model = DEFAULT_MODEL.name,
    policy: OwnPolicy | Iterable[OwnPolicy] = (),
    pins: int = 5,
    skip: str | Iterable[str] = (),
    cost_curve: str | PathLike[str] | None = None,
    sample: float | None = None,
    show_text: bool = True,
    engine: Engine = "generic",
    gpu_gib: float | None = None,
    sglang_version: str | None = None,
) -> Analysis:
    """Answer the six questions about a log, as ``cache-worthy analyze``.

    Parameters
    ----------
    log : Log
        Of :func:`cache_worthy.read_log`.
    capacity_fraction, capacity_gib : float, optional
        Your own cache size, to be shown beside the recommended one: one of them at most.
    model : str or Model
        A shipped model, a JSON file, or the model itself.
    policy : str or class, or several
        Your own policies, scored beside the shipped ones.
    pins, skip, cost_curve, sample, show_text, engine, gpu_gib, sglang_version
        As the options of the command; ``skip`` names one section or several.

    Raises
    ------
    UsageError, InputError
        As the command prints it.

    Examples
    --------
    >>> import cache_worthy
    >>> log = cache_worthy.read_log("examples/sample_log.jsonl")
    >>> found = cache_worthy.analyze(log, skip="bound,band,splits")
    >>> found.worth.worth_caching, found.to_dict()["command"]
    (True, 'analyze')
    """
    options = requested(
        capacity=Capacity(fraction=capacity_fraction, gib=capacity_gib),
        model=model,
        policy=[policy] if isinstance(policy, str) or callable(policy) else policy,
        pins=pins,
        skip=[skip] if isinstance(skip, str) else skip,
        cost_curve=cost_curve,
        sample=sample,
        show_text=show_text,
        engine=engine,
        gpu_gib=gpu_gib,
        sglang_version=sglang_version,
    )
    return _analyze(log, options)


def replay(
    log: Log,
    policy: OwnPolicy,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    capacity_blocks: int | None = None,
    model: str | Model = DEFAULT_MODEL.name,
    per_request: bool = True,
    **parameters: str | float | Mapping[str, int],
) -> Replay:
    """Replay a log under one policy at one capacity, as ``cache-worthy replay``.

    Block size, costs and order of the requests are the log's.

    Parameters
    ----------
    log : Log
        Of :func:`cache_worthy.read_log`.
    policy : str or class
        A name that ``cache-worthy policies`` lists, or your own: a subclass of
        :class:`cache_worthy.EvictionPolicy`, or ``"package.module:Class"``.
    capacity_fraction, capacity_gib, capacity_blocks : number
        The cache size: one of them.
    model : str or Model
        A shipped model, a JSON file, or the model itself.
    per_request : bool
        Whether the result has the hits of every request.
    **parameters
        The policy's own, by the names of the command's options: ``small_ratio=0.2``.

    Raises
    ------
    UsageError, InputError
        As the command prints it.

    Examples
    --------
    >>> import cache_worthy
    >>> log = cache_worthy.read_log("examples/formats/vllm.log", block_size=16)
    >>> found = cache_worthy.replay(log, "lru", capacity_blocks=32)
    >>> round(found.cost_ratio, 6), found.per_request[0]
    (1.499576, RequestHits(hit_tokens=0, prompt_tokens=213))
    """
    return replay_log(
        log,
        plan_replay(policy, parameters),
        _needed(capacity_fraction, capacity_gib, capacity_blocks),
        model=_model(model),
        per_request=per_request,
        note=warnings.warn,
    )


def bound(
    log: Log,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    capacity_blocks: int | None = None,
    model: str | Model = DEFAULT_MODEL.name,
    costs: Costs | None = None,
    rows: Rows = "A3",
    solver: str | None = None,
) -> BoundDocument:
    """What any schedule must recompute at one capacity, certified, as ``cache-worthy bound``.

    Parameters
    ----------
    log : Log
        Of :func:`cache_worthy.read_log`.
    capacity_fraction, capacity_gib, capacity_blocks : number
        The cache size: one of them.
    model : str or Model
        A shipped model, a JSON file, or the model itself.
    costs : str, path or sequence of int, optional
        Measured costs instead of the model's: of the first 0, 1, 2, ... blocks of a path.
    rows : {"chain", "A2", "A3"}
        Dependency rows of the relaxation.
    solver : {"highs", "cbc"}, optional

    Returns
    -------
    BoundDocument
        ``proof.to_json()`` is the certificate for ``proofs/check_certificate.py``.

    Raises
    ------
    UsageError
        As the command prints it.

    Examples
    --------
    >>> import cache_worthy
    >>> log = cache_worthy.read_log("examples/formats/vllm.log", block_size=16)
    >>> found = cache_worthy.bound(log, capacity_blocks=32)
    >>> found.lower_bound_ratio <= found.lru_ratio
    True
    """
    return bound_log(
        log,
        _needed(capacity_fraction, capacity_gib, capacity_blocks),
        model=_model(model),
        costs=costs,
        rows=rows,
        solver=solver,
    )


def _needed(fraction: float | None, gib: float | None, blocks: int | None) -> Capacity:
    return Capacity(fraction=fraction, gib=gib, blocks=blocks).needed()


def _model(model: str | Model) -> Model:
    return load_model(model) if isinstance(model, str) else model
