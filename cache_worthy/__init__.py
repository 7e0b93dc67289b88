"""cache-worthy: workbench and advisor for dependency-constrained prefix caching.

>>> import cache_worthy
>>> log = cache_worthy.read_log("examples/sample_log.jsonl")
>>> lru, gdsf = (cache_worthy.replay(log, p, capacity_fraction=0.05) for p in ("lru", "gdsf"))
>>> gdsf.total_cost < lru.total_cost
True
"""

from __future__ import annotations

TYPE_CHECKING = False  # of typing, whose import would take a third of the time of --version
if TYPE_CHECKING:
    from cache_worthy.api import analyze, bound, read_log, replay
    from cache_worthy.sim.errors import InputError
    from cache_worthy.sim.radix.policies import EvictionPolicy

__version__ = "0.1.0"

__all__ = [
    "EvictionPolicy",
    "InputError",
    "__version__",
    "analyze",
    "bound",
    "read_log",
    "replay",
]

_HOMES = {
    "EvictionPolicy": "cache_worthy.sim.radix.policies",
    "InputError": "cache_worthy.sim.errors",
    "analyze": "cache_worthy.api",
    "bound": "cache_worthy.api",
    "read_log": "cache_worthy.api",
    "replay": "cache_worthy.api",
}
"""Where each name is defined; loaded at its first use, so that importing the package costs nothing."""


def __getattr__(name: str) -> object:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
