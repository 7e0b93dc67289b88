"""Requests logged in two records: one has the prompt, the other its adapter (vLLM at DEBUG)."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Container, Iterator

from cache_worthy.logs.prompts import Prompt, Unusable
from cache_worthy.logs.tally import Bad, Place

HELD = 64
"""Requests that may wait at once for the record that names their adapter."""


class Pairing:
    """Requests that wait for their other record, in file order, and those behind them."""

    def __init__(self) -> None:
        self._held: deque[tuple[Place, Prompt]] = deque()
        self._promptless: dict[str, Bad] = {}

    def hold(self, place: Place, prompts: list[Prompt]) -> bool:
        """Let requests wait, if they must; whether they do."""
        if not self._held and not any(p.unfinished for p in prompts):
            return False
        self._held += [(place, p) for p in prompts]
        return True

    def finish(self, rest: Unusable) -> bool:
        """Give a request that waits what a later record says of it; whether one waited."""
        for n, (place, prompt) in enumerate(self._held):
            if prompt.unfinished and prompt.request_id == rest.request_id:
                whole = dataclasses.replace(
                    prompt, salt=rest.salt, answers=rest.answers, unfinished=False
                )
                self._held[n] = place, whole
                return True
        return False

    def ready(self, *, end: bool) -> Iterator[tuple[Place, Prompt]]:
        """What waits no longer; at the end of the log, all."""
        held = self._held
        while held and (end or not held[0][1].unfinished or len(held) > HELD):
            yield held.popleft()

    def without_prompt(self, place: Place, error: Unusable) -> None:
        """Remember a record whose prompt another one may carry."""
        self._promptless.setdefault(error.request_id or "", Bad(place, str(error)))

    def alone(self, requests: Container[str]) -> Iterator[Bad]:
        """Records without a prompt whose request ids are not among ``requests``."""
        return (bad for name, bad in self._promptless.items() if name not in requests)
