"""The commands as functions: what ``import cache_worthy`` offers.

Each but ``read_log`` gives the figures of the command of its name, as an object that converts to the
command's JSON document (``to_dict``) and to a pandas ``DataFrame`` (``to_frame``). A wrong argument is
an ``InputError`` of a line or two.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from os import PathLike
from typing import ParamSpec, TypeVar

from cache_worthy.advise.analysis import Analysis
from cache_worthy.advise.analysis import analyze as _analyze
from cache_worthy.advise.memory import Engine
from cache_worthy.advise.request import Compared, requested
from cache_worthy.checks import boolean, file_name, text, wrong
from cache_worthy.logs import session
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.measure.any_policy import Replay, replay_log
from cache_worthy.measure.bound import BoundDocument, Costs, Rows, bound_log
from cache_worthy.measure.capacity import Capacity
from cache_worthy.measure.policies import PARAMETERS, plan_replay
from cache_worthy.sim.cost import DEFAULT_MODEL, Model, load_model
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.models.loading import with_dtypes
from cache_worthy.sim.radix.policies import EvictionPolicy

OwnPolicy = str | Callable[[], EvictionPolicy]

P = ParamSpec("P")
T = TypeVar("T")


def _by_argument(call: Callable[P, T]) -> Callable[P, T]:
    """The function, whose errors name arguments where the command line's name options."""

    @functools.wraps(call)
    def named(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except InputError as error:
            said = _MODEL_FIELD.sub(r"model_field='\1', model='\2'", str(error))
            error.args = (_OPTION.sub(lambda found: _argument(found[1]) or found[0], said),)
            raise

    return named


_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")
_MODEL_FIELD = re.compile(r"--model-field ([^\s=]+)=(\w+|\*)")


def _argument(option: str) -> str | None:
    """The argument that is an option of the command line, None for an option of something else."""
    name = option.replace("-", "_")
    return name if name in _arguments() else None


@functools.cache
def _arguments() -> frozenset[str]:
    found = {*PARAMETERS, *(field.name for field in fields(ReadOptions))}
    for call in (analyze, replay, bound):
        found |= inspect.signature(call).parameters.keys()
    return frozenset(found)


read_log = _by_argument(session.read_log)


@_by_argument
def analyze(
    log: Log,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    model: str | PathLike[str] | Model = DEFAULT_MODEL.name,
    kv_dtype: str | None = None,
    weight_dtype: str | None = None,
    indexer_dtype: str | None = None,
    policy: OwnPolicy | Iterable[OwnPolicy] = (),
    policies: Compared = "default",
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
    capacity_fraction, capacity_gib : float, optional
        Your own cache size, to be shown beside the recommended one: one of them at most.
    model : str, path or Model
        A shipped model, a JSON file, or the model itself; ``kv_dtype``, ``weight_dtype`` and
        ``indexer_dtype`` are other precisions than its own, such as ``"fp8"``.
    policy : str or class, or several
        Your own policies, scored beside the shipped ones.
    policies, pins, skip, cost_curve, sample, show_text, engine, gpu_gib, sglang_version
        As the options of the command; ``skip`` names one section or several.

    Raises
    ------
    InputError

    Examples
    --------
    >>> log = read_log("examples/sample_log.jsonl")
    >>> analyze(log, skip="bound,band,splits").worth.worth_caching
    True
    """
    options = requested(
        capacity=Capacity(fraction=capacity_fraction, gib=capacity_gib),
        model=_model(model, kv=kv_dtype, weights=weight_dtype, index=indexer_dtype),
        policy=[policy] if isinstance(policy, str) or callable(policy) else policy,
        policies=policies,
        pins=pins,
        skip=[skip] if isinstance(skip, str) else skip,
        cost_curve=cost_curve,
        sample=sample,
        show_text=show_text,
        engine=engine,
        gpu_gib=gpu_gib,
        sglang_version=sglang_version,
    )
    return _analyze(_log(log), options)


@_by_argument
def replay(
    log: Log,
    policy: OwnPolicy,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    capacity_blocks: int | None = None,
    model: str | PathLike[str] | Model = DEFAULT_MODEL.name,
    kv_dtype: str | None = None,
    weight_dtype: str | None = None,
    indexer_dtype: str | None = None,
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
    model : str, path or Model
        A shipped model, a JSON file, or the model itself.
    kv_dtype, weight_dtype, indexer_dtype : str, optional
        Other precisions than the model's: ``"fp8"``.
    per_request : bool
        Whether the result has the hits of every request.
    **parameters
        The policy's own, by the names of the command's options: ``small_ratio=0.2``.

    Raises
    ------
    InputError
        As the command prints it, by the names of the arguments.

    Examples
    --------
    >>> import cache_worthy
    >>> log = cache_worthy.read_log("examples/formats/vllm.log", chars_per_token=4)
    >>> found = cache_worthy.replay(log, "lru", capacity_blocks=32)
    >>> round(found.cost_ratio, 6), found.per_request[0]
    (1.499576, RequestHits(hit_tokens=0, prompt_tokens=213))
    """
    return replay_log(
        _log(log),
        plan_replay(policy, parameters),
        _needed(capacity_fraction, capacity_gib, capacity_blocks),
        model=_model(model, kv=kv_dtype, weights=weight_dtype, index=indexer_dtype),
        per_request=boolean("per_request", per_request),
        note=warnings.warn,
    )


@_by_argument
def bound(
    log: Log,
    *,
    capacity_fraction: float | None = None,
    capacity_gib: float | None = None,
    capacity_blocks: int | None = None,
    model: str | PathLike[str] | Model = DEFAULT_MODEL.name,
    kv_dtype: str | None = None,
    weight_dtype: str | None = None,
    indexer_dtype: str | None = None,
    costs: Costs | None = None,
    rows: Rows = "A3",
    solver: str | None = None,
) -> BoundDocument:
    """A certified lower bound on what any schedule must recompute, as ``cache-worthy bound``.

    Parameters
    ----------
    log : Log
        Of :func:`cache_worthy.read_log`.
    capacity_fraction, capacity_gib, capacity_blocks : number
        The cache size: one of them.
    model : str, path or Model
        A shipped model, a JSON file, or the model itself.
    kv_dtype, weight_dtype, indexer_dtype : str, optional
        Other precisions than the model's: ``"fp8"``.
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
    InputError
        As the command prints it, by the names of the arguments.

    Examples
    --------
    >>> import cache_worthy
    >>> log = cache_worthy.read_log("examples/formats/vllm.log", block_size=16)
    >>> found = cache_worthy.bound(log, capacity_blocks=32)
    >>> found.lower_bound_ratio <= found.lru_ratio
    True
    """
    return bound_log(
        _log(log),
        _needed(capacity_fraction, capacity_gib, capacity_blocks),
        model=_model(model, kv=kv_dtype, weights=weight_dtype, index=indexer_dtype),
        costs=costs,
        rows=rows,
        solver=solver,
    )


def _log(log: object) -> Log:
    if isinstance(log, Log):
        return log
    raise wrong("log", "what cache_worthy.read_log returns", log)


def _model(model: object, *, kv: str | None, weights: str | None, index: str | None) -> Model:
    for name, dtype in (("kv_dtype", kv), ("weight_dtype", weights), ("indexer_dtype", index)):
        if dtype is not None:
            text(name, dtype, "the name of a precision")
    if isinstance(model, Model):
        return with_dtypes(model, kv=kv, weights=weights, index=index)
    return load_model(
        file_name("model", model, "the name of a model, a JSON file or a Model"),
        kv_dtype=kv,
        weight_dtype=weights,
        indexer_dtype=index,
    )


def _needed(fraction: float | None, gib: float | None, blocks: int | None) -> Capacity:
    return Capacity(fraction=fraction, gib=gib, blocks=blocks).needed()
