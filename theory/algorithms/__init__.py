"""Literal transcriptions of the algorithms, one small file each, and the registry of their names.

Every entry of :data:`ALGORITHMS` is called as ``factory(instance, k, **options)`` and returns a
:class:`cache_worthy.theory.steps.Transcription`. All take ``tie=``; the keyed policies and the
rent loops also take ``hits=``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cache_worthy.theory.algorithms.cosigned import CosignedEager, CosignedTouch
from cache_worthy.theory.algorithms.cosigned_rate import CosignedRate
from cache_worthy.theory.algorithms.keyed import FreqLandlord, Gdsf, LandlordKeys, Lru, RecursiveLru
from cache_worthy.theory.algorithms.landlord import Landlord
from cache_worthy.theory.algorithms.near_misses import DensityForgiving, LeafPaysPath
from cache_worthy.theory.instance import Instance, InstanceError, Number
from cache_worthy.theory.steps import Run, Transcription, drive

Factory = Callable[..., Transcription]

ALGORITHMS: dict[str, Factory] = {
    "landlord": Landlord,
    "landlord_eager": partial(Landlord, eager=True),
    "landlord_leaf_rent": partial(Landlord, rent="leaf"),
    "landlord_clamped": partial(Landlord, clamp=True),
    "landlord_keys": LandlordKeys,
    "lru": Lru,
    "recursive_lru": RecursiveLru,
    "gdsf": Gdsf,
    "freq_landlord": FreqLandlord,
    "cosigned": CosignedRate,
    "cosigned_eager": CosignedEager,
    "cosigned_touch": CosignedTouch,
    "density_forgiving": DensityForgiving,
    "leaf_pays_path": LeafPaysPath,
}

#: The forms for which ``k/(k-h+1)`` is claimed on every forest (``proofs/cosigned.md``).
COSIGNED = ("cosigned", "cosigned_eager", "cosigned_touch")


def make(name: str, instance: Instance, k: int, **options: Any) -> Transcription:
    """A fresh transcription by name.

    Raises
    ------
    InstanceError
        If there is no such algorithm.
    """
    if name not in ALGORITHMS:
        raise InstanceError(f"policy {name!r}: expected one of {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name](instance, k, **options)


def run(name: str, instance: Instance, k: int, *, keep_events: bool = False, **options: Any) -> Run:
    """Run a named algorithm over ``instance.requests`` from an empty cache.

    Examples
    --------
    Landlord exceeds its flat-cache bound 3/2 on six requests (``proofs/refutation.md``); the exact
    optimum at h = 2 is 7.

    >>> witness = Instance(parent=(None, 0, None, None), size=(1, 1, 1, 1), cost=(0, 5, 2, 0),
    ...                    requests=(1, 2, 3, 2, 3, 2))
    >>> run("landlord", witness, 3).cost
    11
    """
    return drive(make(name, instance, k, **options), keep_events=keep_events)


def exact_cost(name: str, instance: Instance, k: int, **options: Any) -> Number:
    """Total cost of a named algorithm on ``instance`` at capacity ``k``."""
    return run(name, instance, k, **options).cost
