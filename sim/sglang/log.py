"""A request log cut to pages: what the radix cache is keyed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.sim.cost import BlockCost, DepthFn
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS


@dataclass(frozen=True, slots=True)
class PagedRequest:
    """One request, cut to pages."""

    tokens: int
    """Prompt length as the log has it."""
    priority: int
    prompt: Sequence[int]
    """Dense ids, each naming its whole prefix: those of the forest for full blocks, others for
    blocks that are cut."""
    generated: list[int]
    """Dense ids that the finished request adds behind its prompt."""
    prompt_room: int
    """Tokens of memory of the prompt: whole pages."""
    total_room: int
    """The same of prompt and output."""


@dataclass(frozen=True, slots=True)
class PagedLog:
    """Requests as dense block ids with their sizes; made by :meth:`of`."""

    forest: Forest
    """The log, interned."""
    cost_fn: DepthFn
    """Of whole blocks."""
    weights: list[int]
    """Tokens of each id."""
    requests: list[PagedRequest]

    @property
    def floor(self) -> int:
        """Tokens of the largest request: no smaller cache can serve the log."""
        return max((r.total_room for r in self.requests), default=0)

    @property
    def distinct(self) -> int:
        """Distinct blocks of the prompts, a block cut in several ways counted for each."""
        return len(set().union(*(r.prompt for r in self.requests)))

    @classmethod
    def of(
        cls,
        forest: Forest,
        lengths: Sequence[int],
        *,
        outputs: Sequence[int | None] | None = None,
        priorities: Sequence[int] | None = None,
        block_tokens: int = BLOCK_SIZE_TOKENS,
        page_size: int | None = None,
        costs: DepthFn | None = None,
    ) -> PagedLog:
        """Cut a log to pages.

        Parameters
        ----------
        lengths : sequence of int
            Prompt length of each request, in tokens.
        outputs : sequence of (int or None), optional
            Generated tokens left in the cache, without ids: no later request reuses them.
        priorities : sequence of int, optional
            One per request; 0 by default.
        page_size : int, optional
            Tokens of a page, a divisor of the block; a prompt's last block keeps whole pages only.
            None takes every block as full, as the radix policies do.
        costs : DepthFn, optional
            Of whole blocks; prefill FLOPs of the default model by default.

        Raises
        ------
        InputError
            If the page does not divide the block, or there are too few or too many numbers.

        Examples
        --------
        >>> from cache_worthy.sim.forest import build_forest
        >>> log = PagedLog.of(build_forest([(7, 8)]), [600], outputs=[100], page_size=64)
        >>> [log.weights[block] for block in log.requests[0].prompt], log.requests[0].total_room
        ([512, 64], 704)
        """
        page = block_tokens if page_size is None else page_size
        if page < 1 or block_tokens % page:
            raise InputError(
                f"page size {page}: expected a divisor of the log's block of {block_tokens} tokens"
            )
        outputs = [None] * forest.requests if outputs is None else outputs
        priorities = [0] * forest.requests if priorities is None else priorities
        _require_one_each(forest.requests, lengths=lengths, outputs=outputs, priorities=priorities)
        costs = BlockCost(block_tokens=block_tokens) if costs is None else costs
        log = cls(forest, costs, [block_tokens] * forest.distinct, [])
        cut: dict[tuple[int, int], int] = {}
        for path, n, output, priority in zip(
            forest.paths(), lengths, outputs, priorities, strict=True
        ):
            tokens = len(path) * block_tokens if page_size is None else n
            paged = _pages(path, tokens, output or 0, block_tokens, page, log.weights, cut)
            log.requests.append(PagedRequest(n, priority, *paged))
        return log


def _require_one_each(requests: int, **columns: Sequence[object]) -> None:
    for name, column in columns.items():
        if len(column) != requests:
            raise InputError(f"{len(column)} {name} for {requests} requests")


def _pages(
    path: Sequence[int],
    tokens: int,
    output: int,
    block_tokens: int,
    page: int,
    weights: list[int],
    cut: dict[tuple[int, int], int],
) -> tuple[Sequence[int], list[int], int, int]:
    """Ids of prompt and output, and the memory of both; ``cut`` has the ids of cut blocks by size."""
    whole, rest = divmod(min(tokens, len(path) * block_tokens), block_tokens)
    prompt = path[:whole]
    size = rest // page * page
    if size:  # the last block: no other can follow one that is cut
        block = cut.setdefault((path[whole], size), len(weights))
        if block == len(weights):
            weights.append(size)
        prompt = [*prompt, block]
    # Tokens that no block id names come last and are never found again, like the output.
    unnamed = (tokens + output) // page * page - whole * block_tokens - size if output else 0
    generated = []
    if unnamed > 0:
        generated.append(len(weights))
        weights.append(unnamed)
    return prompt, generated, -(-tokens // page) * page, -(-(tokens + output) // page) * page
