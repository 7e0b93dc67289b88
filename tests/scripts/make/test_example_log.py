"""The sample log: the committed bytes are the script's, and its shape is what the README says.

Rank 4 (hand-computed): requests per tenant, the shared preamble, sessions that extend themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from commands import ROOT, script

#: Sessions per tenant, each a number of requests that extend one another.
SESSIONS = {"code-agent": 11, "support-chat": 8, "document-desk": 17, "one-off": 10}


def made(*words: object) -> bytes:
    """What the script writes to stdout."""
    done = script("make/example_log.py", "-o", "-", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.encode("ascii")


@pytest.fixture(scope="module")
def records() -> list[dict[str, object]]:
    return [json.loads(line) for line in (ROOT / "examples/sample_log.jsonl").open("rb")]


def text(record: dict[str, object]) -> str:
    messages = record["messages"]
    assert isinstance(messages, list)
    return "".join(m["content"] for m in messages)


def test_committed_file_is_byte_for_byte_the_scripts() -> None:
    assert made() == (ROOT / "examples/sample_log.jsonl").read_bytes()


def test_bytes_are_the_same_on_every_python() -> None:
    # The digest is the point: a Python whose generator differed would write other bytes.
    digest = hashlib.sha256(made()).hexdigest()
    assert digest == "6154c84379a60ce336e886e946d164fcf167f6ce4b7bccef2c8d013a0715ca98"


def test_another_seed_writes_another_log() -> None:
    assert made("--seed", "1") != made("--seed", "2")


def test_every_record_is_labelled_constructed(records: list[dict[str, object]]) -> None:
    assert all(r["constructed"] is True for r in records)


def test_requests_per_tenant_are_those_of_the_readme(records: list[dict[str, object]]) -> None:
    counted = Counter(str(r["user"]) for r in records)
    assert counted == {"code-agent": 51, "support-chat": 31, "document-desk": 31, "one-off": 10}
    readme = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for tenant, sessions in SESSIONS.items():
        assert f"| `{tenant}` | {counted[tenant]} | {sessions} |" in readme


def test_a_tenant_shares_exactly_its_preamble_and_one_off_shares_nothing(
    records: list[dict[str, object]],
) -> None:
    first_chunks: dict[str, set[str]] = {}
    for record in records:
        first_chunks.setdefault(str(record["user"]), set()).add(text(record)[:2048])
    sizes = {user: len(chunks) for user, chunks in first_chunks.items()}
    assert sizes == {"code-agent": 1, "support-chat": 1, "document-desk": 1, "one-off": 10}


def test_a_session_extends_itself(records: list[dict[str, object]]) -> None:
    # Each record of more than two messages repeats an earlier record and adds two messages.
    seen: set[str] = set()
    extended = 0
    for record in records:
        messages = record["messages"]
        assert isinstance(messages, list)
        if len(messages) > 2:
            assert json.dumps(messages[:-2]) in seen
            extended += 1
        seen.add(json.dumps(messages))
    assert extended == len(records) - sum(SESSIONS.values())


def test_check_tells_a_changed_file(tmp_path: Path) -> None:
    def run(*words: object) -> int:
        return script("make/example_log.py", "-o", tmp_path / "log.jsonl", *words).returncode

    out = tmp_path / "log.jsonl"
    assert run() == 0
    assert run("--check") == 0
    data = bytearray(out.read_bytes())
    data[len(data) // 2] ^= 1
    out.write_bytes(bytes(data))
    assert run("--check") == 1
    out.unlink()
    assert run("--check") == 1
