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
    model: Model, block_tokens: int, depth: int, curve: CostCurve | None = None
) -> tuple[CostMember, ...]:
    """The members: the model, its attention share halved, doubled and gone, both shipped models.

    b is even for every model, so its half is an integer. A shipped model that is the chosen one in
    all but name is listed once.

    Raises
    ------
    UsageError
        If a measured curve does not reach the deepest prompt.
    """
    own = BlockSize(model, block_tokens)
    a, b = model.linear, model.quadratic
    members = [CostMember(model.name, a, b, own, BlockCost(model, block_tokens))]
    for name, quadratic in (
        ("attention x0.5", b // 2),
        ("attention x2", 2 * b),
        ("linear only", 0),
    ):
        table = tuple(
            a * n + quadratic * n * n for n in range(0, depth * block_tokens + 1, block_tokens)
        )
        members.append(CostMember(name, a, quadratic, own, TableCost(table)))
    for other in MODELS.values():
        size = BlockSize(other, block_tokens)
        if (other.linear, other.quadratic, size.block) != (a, b, own.block):
            members.append(
                CostMember(
                    other.name if other.name != model.name else f"{other.name} (shipped)",
                    other.linear,
                    other.quadratic,
                    size,
                    BlockCost(other, block_tokens),
                )
            )
    if curve is not None:
        table = tuple(curve.cumulative(depth, block_tokens))
        members.append(CostMember("measured curve", None, None, own, TableCost(table)))
    return tuple(members)
