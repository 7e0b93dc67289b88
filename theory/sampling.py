"""Random instances for the checks that sample: every draw comes from the generator passed in."""

from __future__ import annotations

from random import Random

from cache_worthy.theory.instance import Instance


def random_instance(
    rng: Random,
    *,
    nodes: int,
    requests: int,
    max_size: int = 3,
    max_cost: int = 9,
    max_path: int | None = None,
    flat: bool = False,
    leaves_only: bool = False,
    falling: bool = False,
) -> Instance:
    """Draw a forest, sizes 1..``max_size``, costs 0..``max_cost`` and uniform requests.

    Node ``v`` hangs under a uniform earlier node or is a root, each with the same probability, so
    deep chains and bushes both occur.

    Parameters
    ----------
    max_path : int, optional
        Only nodes whose path is no larger are requested (node 0 is shrunk to size 1 so that there
        always is one).
    flat : bool
        No dependencies.
    leaves_only : bool
        Only nodes without a child are requested, if one of them is admissible.
    falling : bool
        Cost per size never rises from a node to its child (the safe sub-case of
        ``proofs/refutation.md``): more expensive children are lowered to their parent's density.

    Examples
    --------
    >>> a = random_instance(Random(1), nodes=4, requests=3)
    >>> a == random_instance(Random(1), nodes=4, requests=3)
    True
    """
    parent: list[int | None] = []
    for v in range(nodes):
        up = rng.randint(-1, v - 1)
        parent.append(None if flat or up < 0 else up)
    size = [rng.randint(1, max_size) for _ in range(nodes)]
    if max_path is not None:
        size[0] = 1
    cost = [rng.randint(0, max_cost) for _ in range(nodes)]
    if falling:
        for v, p in enumerate(parent):  # parents come first
            if p is not None:
                cost[v] = min(cost[v], cost[p] * size[v] // size[p])
    forest = Instance(tuple(parent), tuple(size), tuple(cost), ())
    fits = [v for v in range(nodes) if max_path is None or forest.path_size(v) <= max_path]
    if leaves_only:
        kids = forest.children()
        fits = [v for v in fits if not kids[v]] or fits
    return Instance(
        forest.parent, forest.size, forest.cost, tuple(rng.choice(fits) for _ in range(requests))
    )
