"""The cost functions of the sensitivity band."""

from __future__ import annotations

from dataclasses import dataclass

from cache_worthy.measure.cost_curve import CostCurve
from cache_worthy.sim.cost import MODELS, BlockCost, BlockSize, DepthFn, Model, TableCost


@dataclass(frozen=True, slots=True)
class CostMember:
    """One cost function of the family, with the sizes that go with it."""

    name: str
    linear: int | None
    quadratic: int | None
    size: BlockSize
    cost: DepthFn


def family(
    model: Model, block_tokens: int, *, depth: int, curve: CostCurve | None = None
) -> tuple[CostMember, ...]:
    """The members: the model, the model with its attention share halved, doubled and removed, both
    shipped models.

    b is even for every model, so its half is an integer. A shipped model that differs from the
    chosen one only by name is left out.

    Raises
    ------
    UsageError
        If a measured curve does not reach the deepest prompt.
    """
    own = BlockSize(model, block_tokens)
    a, b = model.linear, model.quadratic

    def scaled(name: str, quadratic: int) -> CostMember:
        tokens = range(0, depth * block_tokens + 1, block_tokens)
        cost = TableCost(tuple(a * n + quadratic * n * n for n in tokens))
        return CostMember(name=name, linear=a, quadratic=quadratic, size=own, cost=cost)

    members = [
        _of_model(model, model.name, own),
        scaled("attention x0.5", b // 2),
        scaled("attention x2", 2 * b),
        scaled("linear only", 0),
    ]
    for other in MODELS.values():
        size = BlockSize(other, block_tokens)
        if (other.linear, other.quadratic, size.block) != (a, b, own.block):
            name = other.name if other.name != model.name else f"{other.name} (shipped)"
            members.append(_of_model(other, name, size))
    if curve is not None:
        cost = TableCost(tuple(curve.cumulative(depth, block_tokens)))
        members.append(
            CostMember(name="measured curve", linear=None, quadratic=None, size=own, cost=cost)
        )
    return tuple(members)


def _of_model(model: Model, name: str, size: BlockSize) -> CostMember:
    return CostMember(
        name=name,
        linear=model.linear,
        quadratic=model.quadratic,
        size=size,
        cost=BlockCost(model, size.block_tokens),
    )
