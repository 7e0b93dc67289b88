"""The invented traffic of the samples in examples/formats, before any format writes it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BLOCK = 16  # tokens

CHARS = 4  # characters per token

START = datetime(2026, 5, 1, 10, 0, 0, tzinfo=UTC)

MODEL = "invented-8b"

Json = dict[str, object]

WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "juniper",
    "kelp",
    "lagoon",
    "maple",
    "nectar",
    "orchard",
    "pebble",
    "quartz",
    "river",
    "spruce",
    "tundra",
    "umber",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
]

TOOLS = [
    ("lookup", "Find an entry of the field guide.", {"type": "object", "properties": {"key": {"type": "string"}}}),
    ("measure", "Measure a distance.", {"type": "object", "properties": {"unit": {"type": "string"}}}),
]  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """One message. A call is an assistant message that only calls a tool."""

    role: str
    text: str
    call: tuple[str, dict[str, str]] | None = None


@dataclass(frozen=True)
class Asked:
    """One request: seconds since the start, what was asked, tokens answered, whether with tools."""

    second: int
    turns: tuple[Turn, ...]
    output: int
    tools: bool


def traffic() -> list[Asked]:
    """Four agents in two groups, each group with its own preamble, interleaved, from a fixed seed."""
    rng = random.Random(20260501)

    def words(n: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(n)).capitalize() + "."

    preambles = [words(60), words(45)]
    sessions: list[list[Turn]] = [[Turn("system", preambles[s % 2])] for s in range(4)]
    asked: list[Asked] = []
    second = 0
    for step in range(14):
        second += rng.randrange(1, 9)
        which = step % 4 if step < 4 else rng.randrange(4)
        turns = sessions[which]
        turns.append(
            Turn("user", words(rng.randrange(8, 30)) + (' It\'s "so"\n' if step % 5 == 0 else ""))
        )
        tools = which % 2 == 0
        asked.append(Asked(second, tuple(turns), rng.randrange(5, 60), tools))
        if tools and step % 3 == 0:
            turns.append(Turn("assistant", "", ("lookup", {"key": rng.choice(WORDS)})))
            turns.append(Turn("tool", words(rng.randrange(5, 20))))
            second += 1
            asked.append(Asked(second, tuple(turns), rng.randrange(5, 60), tools))
        turns.append(Turn("assistant", words(rng.randrange(5, 25))))
    return asked


def last_of_sessions() -> list[Asked]:
    """Whole conversations: of requests that extend each other, the longest, in order of start."""
    requests = traffic()
    return [
        a
        for a in requests
        if not any(b is not a and b.turns[: len(a.turns)] == a.turns for b in requests)
    ]


def conversation_requests() -> list[Asked]:
    """The prompts of those conversations, turn after turn."""
    out = []
    for whole in last_of_sessions():
        answered = (*whole.turns, Turn("assistant", "Done."))
        for n in range(1, len(answered)):
            if answered[n].role == "assistant":
                out.append(Asked(0, answered[:n], 0, False))
    return out


def compact(value: object) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def jsonl(records: Sequence[object]) -> str:
    """One JSON value a line."""
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def stamp(second: int, form: str) -> str:
    """A moment of the traffic as text."""
    return (START + timedelta(seconds=second)).strftime(form)
