"""An analysis as a user asks for it: names, files and numbers, checked before the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Literal

from cache_worthy.advise.context import Options
from cache_worthy.advise.memory import ENGINES, Engine
from cache_worthy.advise.sections import parse_skip
from cache_worthy.checks import boolean, file_name, integer, listed, one_of, real, text
from cache_worthy.errors import UsageError
from cache_worthy.measure.capacity import LARGEST_GIB, Capacity
from cache_worthy.measure.cost_curve import load_curve
from cache_worthy.measure.policies import EXPECTED, Factory, by_default, own_policy, shipped_radix
from cache_worthy.sim.cost import DEFAULT_MODEL, Model, load_model
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.sglang.versions import server_for

Compared = Literal["default", "all"]
COMPARED: tuple[Compared, ...] = ("default", "all")
"""Shipped policies to compare: all, or those with ``by_default``."""

_SKIP = "names of sections"


def requested(
    *,
    capacity: Capacity,
    model: str | Model = DEFAULT_MODEL.name,
    policy: Iterable[str | Factory] = (),
    policies: Compared = "default",
    pins: int = 5,
    skip: Iterable[str] = (),
    cost_curve: str | PathLike[str] | None = None,
    sample: float | None = None,
    show_text: bool = True,
    engine: Engine = "generic",
    gpu_gib: float | None = None,
    sglang_version: str | None = None,
) -> Options:
    """The options of an analysis, by the names of the command line.

    Raises
    ------
    InputError
        On a value out of its range, an unknown name, a file that cannot be read, or options that
        exclude each other.
    """
    pins, show_text = integer("pins", pins, least=1), boolean("show_text", show_text)
    if sample is not None:
        sample = real("sample", sample, above=0, most=1)
    if gpu_gib is not None:
        gpu_gib = real("gpu_gib", gpu_gib, above=0, most=LARGEST_GIB)
    shipped, own = _compared(policies, policy)
    engine = one_of("engine", engine, ENGINES)
    left_out = parse_skip(text("skip", name, _SKIP) for name in listed("skip", skip, _SKIP))
    _fit(engine, gpu_gib=gpu_gib, sglang_version=sglang_version, sample=sample)
    if cost_curve is not None:
        cost_curve = file_name("cost_curve", cost_curve)
        band = "is a member of the sensitivity band, which"
        if "band" in left_out:
            raise UsageError(f"--cost-curve: {band} --skip band leaves out")
        if sample not in (None, 1):
            raise UsageError(f"--cost-curve: {band} --sample {sample} leaves out")
    return Options(
        cost_curve=None if cost_curve is None else load_curve(cost_curve),
        model=load_model(model) if isinstance(model, str) else model,
        capacity=capacity.in_bytes,
        shipped=shipped,
        own_policies=own,
        pins=pins,
        skip=left_out,
        sample=sample,
        show_text=show_text,
        engine=engine,
        gpu_gib=gpu_gib,
        sglang_version=sglang_version,
    )


def _fit(
    engine: Engine, *, gpu_gib: float | None, sglang_version: str | None, sample: float | None
) -> None:
    """Refuse options that the engine gives no meaning to."""
    if gpu_gib is not None and engine == "generic":
        raise UsageError(
            f"--gpu-gib {gpu_gib}: only with --engine sglang or --engine vllm, whose memory flags "
            "it is for"
        )
    if sglang_version is not None:
        if engine != "sglang":
            raise UsageError(f"--sglang-version {sglang_version}: only with --engine sglang")
        server_for(text("sglang_version", sglang_version))
    if sample is not None and engine != "generic":
        raise UsageError(
            f"--sample {sample}: not with --engine {engine}, whose replays need the whole log"
        )


def _compared(policies: Compared, policy: object) -> tuple[tuple[str, ...], Mapping[str, Factory]]:
    """The shipped policies to compare, and the user's own by name."""
    every = one_of("policies", policies, COMPARED) == "all"
    chosen = set(POLICIES if every else by_default())
    own: dict[str, Factory] = {}
    given: dict[str, object] = {}
    for one in listed("policy", policy, EXPECTED):
        if known := shipped_radix(one):
            chosen.add(known[0])
            continue
        name, factory = own_policy(one)
        if given.setdefault(name, one) != one:
            raise UsageError(f"policy {name}: two classes have this name; give one another name")
        own[name] = factory
    return tuple(name for name in POLICIES if name in chosen), own
