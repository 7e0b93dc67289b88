"""A request log cut to pages: what the radix cache is keyed by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cache_worthy.sim.errors import InputError
from cache_worthy.sim.trace import BLOCK_SIZE_TOKENS, BlockId, Request

Generated = Literal["ignore", "length"]


@dataclass(frozen=True, slots=True)
class PagedLog:
    """Requests as dense block ids with their sizes.

    Parameters
    ----------
    prompts : list of list of int
        Dense ids of each prompt, each naming its whole prefix.
    generated : list of list of int
        Dense ids that the finished request adds behind its prompt.
    weights : list of int
        Tokens of each id.
    prompt_tokens : list of int
        Prompt length as the log has it.
    prompt_room, total_room : list of int
        Tokens of memory of the prompt, and of prompt and output: whole pages.
    priorities : list of int
    prompt_blocks : list of int
        Blocks of each prompt as the log has them, before the cut.
    """

    prompts: list[list[int]]
    generated: list[list[int]]
    weights: list[int]
    prompt_tokens: list[int]
    prompt_room: list[int]
    total_room: list[int]
    priorities: list[int]
    prompt_blocks: list[int]

    @property
    def floor(self) -> int:
        """Tokens of the largest request: no smaller cache can serve the log."""
        return max(self.total_room, default=0)

    @classmethod
    def from_requests(
        cls,
        requests: Sequence[Request],
        *,
        block_tokens: int = BLOCK_SIZE_TOKENS,
        page_size: int | None = None,
        generated: Generated = "length",
        priorities: Sequence[int] | None = None,
    ) -> PagedLog:
        """Cut a loaded log to pages.

        Parameters
        ----------
        requests : sequence of Request
        block_tokens : int
            Tokens in a block of the log.
        page_size : int, optional
            Tokens of a page of the server, a divisor of the block. The last block of a prompt
            keeps its whole pages only. None takes every block of the log as a full one, the
            convention of the radix policies, for a comparison on equal terms.
        generated : {"ignore", "length"}
            Whether a finished request leaves its generated tokens in the cache, where the log
            says how many there were. A block log has no ids for them: they take room and no later
            request is seen to reuse them, although its prompt may contain them.
        priorities : sequence of int, optional
            One a request, in place of the log's own (0 where it has none).

        Raises
        ------
        InputError
            If the page does not divide the block, or the priorities are too few or too many.

        Examples
        --------
        >>> log = PagedLog.from_requests(
        ...     [Request((7, 8), 600, 100)], block_tokens=512, page_size=64
        ... )
        >>> log.weights, log.generated, log.prompt_room, log.total_room
        ([512, 64, 64], [[2]], [640], [704])
        """
        page = block_tokens if page_size is None else page_size
        if page < 1 or block_tokens % page:
            raise InputError(
                f"page size {page}: expected a divisor of the log's block of {block_tokens} tokens"
            )
        if priorities is None:
            priorities = [r.priority for r in requests]
        elif len(priorities) != len(requests):
            raise InputError(f"{len(priorities)} priorities for {len(requests)} requests")
        number: dict[tuple[int, BlockId, int], int] = {}
        weights: list[int] = []
        prompts: list[list[int]] = []
        answers: list[list[int]] = []
        room: list[int] = []
        total: list[int] = []
        for request in requests:
            covered = len(request.hash_ids) * block_tokens
            tokens = covered if page_size is None else request.input_length
            path: list[int] = []
            above = -1
            left = min(tokens, covered)
            for block in request.hash_ids:
                size = min(left, block_tokens) // page * page
                if size <= 0:
                    break
                left -= size
                # Anonymous ids are numbered in the same row, so a new id is the next weight.
                above = number.setdefault((above, block, size), len(weights))
                if above == len(weights):
                    weights.append(size)
                path.append(above)
            output = (request.output_length or 0) if generated == "length" else 0
            cut = sum(weights[b] for b in path)
            # Tokens that no block id names come last and are never found again, like the output.
            rest = (tokens + output) // page * page - cut if output else 0
            prompts.append(path)
            answers.append([len(weights)] if rest > 0 else [])
            if rest > 0:
                weights.append(rest)
            room.append(-(-tokens // page) * page)
            total.append(-(-(tokens + output) // page) * page)
        return cls(
            prompts=prompts,
            generated=answers,
            weights=weights,
            prompt_tokens=[r.input_length for r in requests],
            prompt_room=room,
            total_room=total,
            priorities=list(priorities),
            prompt_blocks=[len(r.hash_ids) for r in requests],
        )
