"""A request log cut to pages: what the radix cache is keyed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cache_worthy.sim.cost import BlockCost, DepthFn
from cache_worthy.sim.errors import InputError
from cache_worthy.sim.forest import Forest
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS


@dataclass(frozen=True, slots=True)
class PagedLog:
    """Requests as dense block ids with their sizes; made by :meth:`of`."""

    forest: Forest
    """The log, interned, in blocks of ``block_tokens`` tokens."""
    block_tokens: int
    cost_fn: DepthFn
    """Of whole blocks."""
    weights: list[int]
    """Tokens of each id."""
    prompt_tokens: list[int]
    """Prompt length as the log has it."""
    priorities: list[int]
    prompts: list[Sequence[int]] = field(default_factory=list)
    """Dense ids, each naming its whole prefix: those of the forest for full blocks, others for
    blocks that are cut."""
    generated: list[list[int]] = field(default_factory=list)
    """Dense ids that the finished request adds behind its prompt."""
    prompt_room: list[int] = field(default_factory=list)
    """Tokens of memory of the prompt: whole pages."""
    total_room: list[int] = field(default_factory=list)
    """The same of prompt and output."""

    @property
    def floor(self) -> int:
        """Tokens of the largest request: no smaller cache can serve the log."""
        return max(self.total_room, default=0)

    @property
    def distinct(self) -> int:
        """Distinct blocks of the prompts, a block cut in several ways counted for each."""
        return len(set().union(*self.prompts))

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
        >>> [log.weights[block] for block in log.prompts[0]], log.prompt_room, log.total_room
        ([512, 64], [640], [704])
        """
        page = block_tokens if page_size is None else page_size
        if page < 1 or block_tokens % page:
            raise InputError(
                f"page size {page}: expected a divisor of the log's block of {block_tokens} tokens"
            )
        outputs = [None] * forest.requests if outputs is None else outputs
        priorities = [0] * forest.requests if priorities is None else priorities
        _require_one_each(forest.requests, lengths=lengths, outputs=outputs, priorities=priorities)
        log = cls(
            forest=forest,
            block_tokens=block_tokens,
            cost_fn=BlockCost(block_tokens=block_tokens) if costs is None else costs,
            weights=[block_tokens] * forest.distinct,
            prompt_tokens=list(lengths),
            priorities=list(priorities),
        )
        cut: dict[tuple[int, int], int] = {}
        for path, length, output in zip(forest.paths(), lengths, outputs, strict=True):
            covered = len(path) * block_tokens
            log._add(path, covered if page_size is None else length, output or 0, page, cut)
        return log

    def _add(
        self,
        path: Sequence[int],
        tokens: int,
        output: int,
        page: int,
        cut: dict[tuple[int, int], int],
    ) -> None:
        """Cut one request of ``tokens`` prompt tokens; ``cut`` has the ids of cut blocks by size."""
        weights = self.weights
        whole, rest = divmod(min(tokens, len(path) * self.block_tokens), self.block_tokens)
        prompt = path[:whole]
        size = rest // page * page
        if size:  # the last block: no other can follow one that is cut
            block = cut.setdefault((path[whole], size), len(weights))
            if block == len(weights):
                weights.append(size)
            prompt = [*prompt, block]
        self.prompts.append(prompt)
        # Tokens that no block id names come last and are never found again, like the output.
        named = whole * self.block_tokens + size
        unnamed = (tokens + output) // page * page - named if output else 0
        self.generated.append([len(weights)] if unnamed > 0 else [])
        if unnamed > 0:
            weights.append(unnamed)
        self.prompt_room.append(-(-tokens // page) * page)
        self.total_room.append(-(-(tokens + output) // page) * page)


def _require_one_each(requests: int, **columns: Sequence[object]) -> None:
    for name, column in columns.items():
        if len(column) != requests:
            raise InputError(f"{len(column)} {name} for {requests} requests")
