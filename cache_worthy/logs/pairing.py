"""Requests told in two records: one has the prompt, the other its adapter (vLLM at DEBUG)."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from cache_worthy.logs.prompts import Prompt, Unusable
from cache_worthy.logs.tally import Bad, Place

HELD = 64
"""Requests that may wait at once for the line that names their adapter."""


@dataclass(slots=True)
class _Held:
    """A request that waits for its other record, or comes after one that does."""

    place: Place
    prompt: Prompt


class Pairing:
    """Records that wait for each other."""

    def __init__(self) -> None:
        self._held: deque[_Held] = deque()
        self._promptless: dict[str, Bad] = {}

    def waits(self, prompts: Iterable[Prompt]) -> bool:
        """Whether these requests must wait, or come after one that does."""
        return bool(self._held) or any(p.unfinished for p in prompts)

    def hold(self, place: Place, prompts: Iterable[Prompt]) -> None:
        """Let requests wait."""
        self._held += [_Held(place, p) for p in prompts]

    def finish(self, rest: Unusable) -> bool:
        """Give a request that waits what a later record says of it; whether one waited."""
        for held in self._held:
            if held.prompt.unfinished and held.prompt.request_id == rest.request_id:
                held.prompt = dataclasses.replace(
                    held.prompt, salt=rest.salt, answers=rest.answers, unfinished=False
                )
                return True
        return False

    def ready(self, *, end: bool = False) -> Iterator[tuple[Place, Prompt]]:
        """What waits no longer, in file order; at the end of the log, all."""
        held = self._held
        while held and (end or not held[0].prompt.unfinished or len(held) > HELD):
            first = held.popleft()
            yield first.place, first.prompt

    def without_prompt(self, place: Place, error: Unusable) -> None:
        """Remember a record whose prompt another one may carry."""
        self._promptless.setdefault(error.request_id or "", Bad(place, str(error)))

    def alone(self, requests: Container[str]) -> Iterator[Bad]:
        """Records without a prompt whose request ids are not among ``requests``."""
        return (bad for name, bad in self._promptless.items() if name not in requests)
