"""Every oracle on an instance of the formal model, in one list.

To add one: write a file with a function ``(instance, capacity) -> Number``, and one entry in
:data:`ORACLES`. ``tests/oracles/test_registry.py`` then holds it against the exact optimum on random
instances, by its kind, with no further code.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cache_worthy.theory.instance import Instance, Number

Answer = Callable[[Instance, int], Number]


@dataclass(frozen=True, slots=True)
class Oracle:
    """An oracle and what its answer is to the optimum.

    Parameters
    ----------
    name : str
    kind : {"exact", "lower", "upper"}
        Equal to the optimum, never above it, or the cost of a feasible schedule.
    target : str
        ``module:function`` under ``cache_worthy.oracles``; imported at first use.
    domain : {"any", "flat unit"}
        Which instances it answers.
    """

    name: str
    kind: Literal["exact", "lower", "upper"]
    target: str
    domain: Literal["any", "flat unit"] = "any"

    def load(self) -> Answer:
        """The function itself."""
        module, function = self.target.split(":")
        loaded: Answer = getattr(
            importlib.import_module(f"cache_worthy.oracles.{module}"), function
        )
        return loaded


ORACLES: tuple[Oracle, ...] = (
    Oracle("dynamic program", "exact", "optimum.optimal:optimal_cost"),
    Oracle("integer program, HiGHS", "exact", "on_instances:milp_highs"),
    Oracle("integer program, CBC", "exact", "on_instances:milp_cbc"),
    Oracle("Belady", "exact", "optimum.belady:flat_belady_cost", domain="flat unit"),
    Oracle("certified chain", "lower", "on_instances:lower_chain"),
    Oracle("certified A2", "lower", "on_instances:lower_a2"),
    Oracle("certified A3", "lower", "on_instances:lower_a3"),
    Oracle("certified ascent", "lower", "on_instances:lower_ascent"),
    Oracle("min-cost flow", "lower", "on_instances:lower_flow"),
    Oracle("tree Belady", "upper", "on_instances:upper_belady"),
    Oracle("LPround", "upper", "on_instances:upper_rounded"),
)
