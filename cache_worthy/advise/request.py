"""An analysis as a user asks for it: names, files and numbers, checked before the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike

from cache_worthy.advise.context import Options
from cache_worthy.advise.memory import ENGINES, Engine
from cache_worthy.advise.sections import parse_skip
from cache_worthy.errors import UsageError
from cache_worthy.measure.capacity import LARGEST_GIB, Capacity
from cache_worthy.measure.cost_curve import load_curve
from cache_worthy.measure.user_policy import own_policy
from cache_worthy.sim.cost import DEFAULT_MODEL, Model, load_model
from cache_worthy.sim.radix.policies import POLICIES, EvictionPolicy
from cache_worthy.sim.sglang.versions import server_for


def requested(
    *,
    capacity: Capacity,
    model: str | Model = DEFAULT_MODEL.name,
    policy: Iterable[str | Callable[[], EvictionPolicy]] = (),
    pins: int = 5,
    skip: Iterable[str] = (),
    cost_curve: str | PathLike[str] | None = None,
    sample: float | None = None,
    show_text: bool = True,
    engine: Engine = "generic",
    gpu_gib: float | None = None,
    sglang_version: str | None = None,
    chars_per_token: float = 4.0,
) -> Options:
    """The options of an analysis, by the names of the command line.

    Raises
    ------
    UsageError, InputError
        On a value out of its range, an unknown name, a file that cannot be read, or options that
        exclude each other.
    """
    _in_range(pins=pins, sample=sample, gpu_gib=gpu_gib)
    if engine not in ENGINES:
        raise UsageError(f"engine {engine!r}: expected one of {', '.join(ENGINES)}")
    left_out = parse_skip(skip)
    _fit(engine, gpu_gib=gpu_gib, sglang_version=sglang_version, sample=sample)
    if cost_curve is not None:
        band = "is a member of the sensitivity band, which"
        if "band" in left_out:
            raise UsageError(f"--cost-curve: {band} --skip band leaves out")
        if sample not in (None, 1):
            raise UsageError(f"--cost-curve: {band} --sample {sample} leaves out")
    return Options(
        cost_curve=None if cost_curve is None else load_curve(str(cost_curve)),
        model=load_model(model) if isinstance(model, str) else model,
        chars_per_token=chars_per_token,
        capacity=capacity.in_bytes,
        own_policies=_own(policy),
        top_pins=pins,
        skip=left_out,
        sample=sample,
        show_text=show_text,
        engine=engine,
        gpu_gib=gpu_gib,
        sglang_version=sglang_version,
    )


def _in_range(*, pins: int, sample: float | None, gpu_gib: float | None) -> None:
    if type(pins) is not int or pins < 1:
        raise UsageError(f"pins: expected an integer >= 1, got {pins!r}")
    for name, value, most in (("sample", sample, 1), ("gpu_gib", gpu_gib, LARGEST_GIB)):
        if value is not None and (type(value) not in (int, float) or not 0 < value <= most):
            raise UsageError(f"{name}: expected a number > 0 and <= {most:g}, got {value!r}")


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
        server_for(sglang_version)
    if sample is not None and engine != "generic":
        raise UsageError(
            f"--sample {sample}: not with --engine {engine}, whose replays need the whole log"
        )


def _own(
    policies: Iterable[str | Callable[[], EvictionPolicy]],
) -> Mapping[str, Callable[[], EvictionPolicy]]:
    """The user's own policies by name; shipped ones are scored anyway."""
    found = {}
    for policy in policies:
        if isinstance(policy, str) and policy in POLICIES:
            continue
        name, factory = own_policy(policy)
        if name in POLICIES:
            raise UsageError(f"policy {name}: is the name of a shipped one; give it another name")
        found[name] = factory
    return found
