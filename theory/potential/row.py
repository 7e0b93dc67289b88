"""One row of a potential argument as a z3 formula, with its mutated twins.

A row says how much one event may change the potential. Its formula has the event's quantities as
variables, constrained only by what the row may assume (its named hypotheses). The row holds if
``hypotheses and not conclusion`` is unsatisfiable. A *mutant* drops one hypothesis or puts a wrong
constant into the conclusion, and must be satisfiable: a row whose mutants are unsatisfiable too
would say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Formula = Any
"""A z3 expression; z3 ships no type stubs."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: hypotheses, conclusion, and what must break it."""

    table: str
    """``cosigned`` or ``landlord``."""
    name: str
    """The row's name in the table."""
    says: str
    """The row in words."""
    hypotheses: dict[str, Formula]
    """Named, so that each can be dropped."""
    conclusion: Formula
    needed: tuple[str, ...]
    """Hypotheses without which the row must fail."""
    wrong: dict[str, Formula] = field(default_factory=dict)
    """Conclusions with a wrong constant, which must fail."""

    def mutants(self) -> tuple[str, ...]:
        """Names of the mutated twins: ``without:HYPOTHESIS`` and ``wrong:CONSTANT``."""
        return (
            *(f"without:{name}" for name in self.needed),
            *(f"wrong:{name}" for name in self.wrong),
        )

    def check(self, mutant: str | None = None, *, timeout_ms: int = 60_000) -> str:
        """Decide the row's negation, or a mutant's.

        Returns
        -------
        str
            ``"unsat"`` (the row holds), ``"sat"`` (a counterexample exists) or ``"unknown"``.

        Raises
        ------
        KeyError
            If there is no such mutant.
        """
        import z3

        hypotheses = dict(self.hypotheses)
        conclusion = self.conclusion
        if mutant is not None:
            kind, _, name = mutant.partition(":")
            if mutant not in self.mutants():
                raise KeyError(
                    f"{self.table}.{self.name} has no mutant {mutant!r}: {self.mutants()}"
                )
            if kind == "without":
                del hypotheses[name]
            else:
                conclusion = self.wrong[name]
        solver = z3.Solver()
        solver.set("timeout", timeout_ms)
        solver.add(*hypotheses.values(), z3.Not(conclusion))
        return str(solver.check())


def reals(names: str) -> Any:
    """z3 variables, one per word."""
    import z3

    return z3.Reals(names)


def capacities() -> tuple[Formula, Formula, dict[str, Formula]]:
    """``k`` and ``h``, and what always holds of them."""
    k, h = reals("k h")
    return k, h, {"h >= 1": h >= 1, "h <= k": h <= k}
