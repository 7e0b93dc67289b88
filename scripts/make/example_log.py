"""Write examples/sample_log.jsonl: a constructed text log, the same bytes on every machine.

    python scripts/make/example_log.py            # rewrites examples/sample_log.jsonl
    python scripts/make/example_log.py -o -       # to stdout
    python scripts/make/example_log.py --check    # exit 1 when the committed file differs

The log is CONSTRUCTED, not recorded: three tenants with a shared preamble each (an agent that calls
tools, a support chat, short sessions over documents) and a trickle of unrelated one-off prompts.
Every record carries ``"constructed": true``. It exists so that a first run needs no download;
nothing measured on it says anything about real traffic. See examples/README.md.

Only ``random.Random(seed).random()`` is used: it is the one generator whose sequence the Python
documentation promises to keep between versions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "examples" / "sample_log.jsonl"
SEED = 20260219

#: Characters of a preamble: one whole chunk of 2,048 and a little more, so that the first chunk is
#: shared by a tenant's requests whatever a renderer puts around the text.
PREAMBLE_CHARS = 2300
#: Sessions that talk at the same time; a new one starts when one ends.
CONCURRENT = 4


@dataclass(frozen=True, slots=True)
class Tenant:
    """One source of requests: its words and the shape of its sessions.

    Attributes
    ----------
    turns : tuple of int
        Requests of each session, in the order in which sessions start.
    opening, growth : (int, int)
        Characters of a session's first user message, and of what each later request adds
        (an answer and the next message together): uniform between the two.
    """

    name: str
    role: str
    words: tuple[str, ...]
    turns: tuple[int, ...]
    opening: tuple[int, int]
    growth: tuple[int, int]
    preamble: bool = True


_COMMON = [
    "the",
    "a",
    "this",
    "that",
    "every",
    "each",
    "when",
    "before",
    "after",
    "unless",
    "and",
    "or",
    "then",
    "with",
    "without",
    "from",
    "into",
    "must",
    "should",
    "may",
    "will",
    "can",
    "check",
    "read",
    "write",
    "send",
    "keep",
    "drop",
    "first",
    "next",
    "last",
    "one",
    "two",
    "whole",
    "short",
    "long",
    "clear",
    "open",
    "closed",
    "new",
    "old",
    "same",
    "other",
]

TENANTS = (
    Tenant(
        name="code-agent",
        role="an engineering agent that works in a repository by calling tools",
        words=(
            *_COMMON,
            *[
                "file",
                "line",
                "patch",
                "test",
                "branch",
                "merge",
                "function",
                "module",
                "import",
                "build",
                "error",
                "trace",
                "log",
                "stack",
                "type",
                "value",
                "table",
                "loop",
                "cache",
                "index",
                "queue",
                "lock",
                "thread",
                "commit",
                "diff",
                "review",
            ],
        ),
        turns=(5, 5, 4, 5, 4, 5, 4, 5, 5, 4, 5),
        opening=(1800, 2600),
        growth=(1200, 1800),
    ),
    Tenant(
        name="support-chat",
        role="a support assistant that answers customers of a parcel service",
        words=(
            *_COMMON,
            *[
                "parcel",
                "order",
                "address",
                "label",
                "courier",
                "refund",
                "delay",
                "depot",
                "door",
                "customs",
                "invoice",
                "account",
                "weekend",
                "morning",
                "signature",
                "neighbour",
                "locker",
                "claim",
                "photo",
                "phone",
                "receipt",
            ],
        ),
        turns=(4, 3, 4, 4, 4, 4, 4, 4),
        opening=(1700, 2100),
        growth=(1400, 2000),
    ),
    Tenant(
        name="document-desk",
        role="an analyst who answers questions about one contract",
        words=(
            *_COMMON,
            *[
                "clause",
                "party",
                "notice",
                "term",
                "fee",
                "schedule",
                "annex",
                "liability",
                "payment",
                "renewal",
                "breach",
                "consent",
                "law",
                "court",
                "date",
                "sum",
                "share",
                "licence",
                "goods",
                "delivery",
                "audit",
                "record",
            ],
        ),
        turns=(1,) * 7 + (2,) * 6 + (3,) * 4,
        opening=(1700, 3000),
        growth=(1100, 1700),
    ),
    Tenant(
        name="one-off",
        role="",
        words=(
            *_COMMON,
            *[
                "river",
                "city",
                "music",
                "winter",
                "bridge",
                "letter",
                "garden",
                "story",
                "market",
                "island",
                "train",
                "coffee",
                "paper",
                "window",
                "kitchen",
                "colour",
                "history",
                "weather",
                "question",
                "answer",
            ],
        ),
        turns=(1,) * 10,
        opening=(400, 1900),
        growth=(0, 0),
        preamble=False,
    ),
)


def between(rng: random.Random, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def prose(rng: random.Random, words: Sequence[str], chars: int) -> str:
    """Sentences of drawn words, cut to exactly ``chars`` characters."""
    sentences: list[str] = []
    length = 0
    while length < chars:
        drawn = [words[between(rng, 0, len(words) - 1)] for _ in range(between(rng, 6, 14))]
        sentence = " ".join(drawn).capitalize() + "."
        sentences.append(sentence)
        length += len(sentence) + 1
    return " ".join(sentences)[:chars]


@dataclass(slots=True)
class Session:
    """A running conversation: its messages so far and the requests still to come."""

    tenant: Tenant
    left: int
    messages: list[dict[str, str]] = field(default_factory=list)


def build_records(seed: int) -> list[dict[str, object]]:
    """The records of the log, in arrival order.

    A request holds the whole conversation up to it, as an OpenAI-style client sends it, so a
    session's later requests extend its earlier ones. Time: linear in the characters written.

    Examples
    --------
    >>> records = build_records(SEED)
    >>> len(records), sorted(records[0])
    (123, ['constructed', 'messages', 'timestamp', 'user'])
    """
    rng = random.Random(seed)
    preambles = {
        t.name: f"You are {t.role}. " + prose(rng, t.words, PREAMBLE_CHARS)
        for t in TENANTS
        if t.preamble
    }
    waiting = [(t, turns) for t in TENANTS for turns in t.turns]
    for i in range(len(waiting) - 1, 0, -1):  # Fisher-Yates, on rng.random() alone
        j = between(rng, 0, i)
        waiting[i], waiting[j] = waiting[j], waiting[i]

    records: list[dict[str, object]] = []
    running: list[Session] = []
    clock = 0
    while waiting or running:
        while waiting and len(running) < CONCURRENT:
            tenant, turns = waiting.pop()
            running.append(Session(tenant, turns))
        session = running[between(rng, 0, len(running) - 1)]
        _speak(rng, session, preambles)
        clock += between(rng, 40, 2600)
        records.append(
            {
                "constructed": True,
                "timestamp": clock,
                "user": session.tenant.name,
                "messages": list(session.messages),
            }
        )
        session.left -= 1
        if session.left == 0:
            running.remove(session)
    return records


def _speak(rng: random.Random, session: Session, preambles: dict[str, str]) -> None:
    """Append what the session's next request adds to its messages."""
    tenant = session.tenant
    if not session.messages:
        if tenant.preamble:
            session.messages.append({"role": "system", "content": preambles[tenant.name]})
        opening = prose(rng, tenant.words, between(rng, *tenant.opening))
        session.messages.append({"role": "user", "content": opening})
        return
    grown = between(rng, *tenant.growth)
    answer = grown // 3
    asker = "tool" if tenant.name == "code-agent" else "user"
    session.messages.append({"role": "assistant", "content": prose(rng, tenant.words, answer)})
    session.messages.append({"role": asker, "content": prose(rng, tenant.words, grown - answer)})


def render(records: Sequence[dict[str, object]]) -> bytes:
    """One JSON object per line, ASCII, LF line ends: the same bytes on every platform."""
    return "".join(json.dumps(r, separators=(", ", ": ")) + "\n" for r in records).encode("ascii")


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the log. Exit code 0, or 1 when --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("-o", "--output", default=str(OUT), help="a file, or - for stdout")
    parser.add_argument("--seed", type=int, default=SEED, help="another seed, another log")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args(argv)
    data = render(build_records(args.seed))
    if args.output == "-":
        sys.stdout.buffer.write(data)
        return 0
    path = Path(args.output)
    if args.check:
        same = path.is_file() and path.read_bytes() == data
        print(f"{path}: {'is what this script writes' if same else 'DIFFERS'}", file=sys.stderr)
        return 0 if same else 1
    path.write_bytes(data)
    print(f"{path}: {len(data)} bytes, constructed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
