"""Small studies, rows of their CSV, and a clock that the engine's work moves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from cache_worthy.sim.serving import server, transformer, workload
from cache_worthy.sim.serving.pool import BlockPool, Floats
from cache_worthy.sim.serving.server import Engine
from cache_worthy.sim.serving.transformer import Transformer
from cache_worthy.sim.serving.workload import chat_workload
from cache_worthy.study.results import Run

SMALL = ("--prefix-lens", "0,32", "--requests", 4, "--tenants", 2, "--rate", 1000)
QUICK = (*SMALL, "--repeats", 1)


class Work:
    """A clock that prefill moves, by ``pace`` milliseconds a token, and a look by ``tick`` seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = 1.0
        self.tick = 0.0
        self.transformer = Transformer

    def __call__(self) -> float:
        self.now += self.tick
        return self.now

    @classmethod
    def installed(cls, monkeypatch: pytest.MonkeyPatch) -> Work:
        """Every engine of the study runs by this clock."""
        clock = cls()

        class Counted(Transformer):
            def prefill(
                self,
                tokens: Sequence[int],
                start: int,
                stored: int,
                table: Sequence[int],
                pool: BlockPool,
            ) -> Floats:
                clock.now += clock.pace * (len(tokens) - start) / 1000
                return super().prefill(tokens, start, stored, table, pool)

        clock.transformer = Counted
        monkeypatch.setattr(transformer, "Transformer", Counted)
        monkeypatch.setattr(server, "Engine", partial(Engine, clock=clock, sleep=clock.sleep))
        return clock

    def sleep(self, seconds: float) -> None:
        self.now += seconds + 1e-9  # a nap that rounds to nothing would be taken for ever


def runs_of(values: list[tuple[int, bool, float]]) -> list[Run]:
    return [Run(n, on, 1, v, 2 * v, 100 / v, 50, 50 - 10 * on, 0) for n, on, v in values]


RUN_ROW = {
    "prefix_tokens": "64",
    "prefix_cache": "1",
    "repeat": "2",
    "ttft_p50_s": "0.1",
    "ttft_p99_s": "0.2",
    "tokens_per_s": "300.0",
    "prompt_tokens": "50",
    "prefilled_tokens": "40",
    "evicted_blocks": "0",
}
POINT_ROW = {
    "request": "3",
    "prompt_tokens": "20",
    "cached_tokens": "16",
    "predicted_flops": "1000",
    "prefill_s": "0.1",
}


def lines_of(*rows: dict[str, str]) -> str:
    return "".join(",".join(cells) + "\n" for cells in (rows[0], *(r.values() for r in rows)))


OFF_ROW = {**RUN_ROW, "prefix_cache": "0"}
LOG = [
    {"text": "system rules " * 20 + "first question"},
    {"text": "system rules " * 20 + "second question, which is longer " * 3},
    {"text": "something else " * 30},
    {"text": "system rules " * 20 + "first question"},
]


def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, and with short answers, for speed."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(workload, "chat_workload", partial(chat_workload, answer_tokens=3))
