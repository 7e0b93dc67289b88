"""The scenarios: bytes from their script, and the order of the policies that each is made for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import ROOT, script
from request_logs import block_log, paged_log

from cache_worthy.logs.session import read_log
from cache_worthy.sim.blocks import ideal, replay_blocks
from cache_worthy.sim.sglang.replay import replay_sglang
from cache_worthy.sim.sglang.versions import CURRENT, server_for
from cache_worthy.sim.trace import Request

CAPACITY = {
    "scan_flood": 64,
    "priority": 32,
    "dying_burst": 56,
    "alternating_prompts": 36,
    "short_prompts": 40,
}

# Best first; policies in one tuple are equal.
ORDER: dict[str, tuple[tuple[str, ...], ...]] = {
    "scan_flood": (
        ("ideal", "sglang_lfu", "sglang_slru"),
        ("s3fifo",),
        ("sglang_lru", "sglang_slru@0.5.21", "vllm_lru"),
    ),
    "priority": (
        ("ideal", "sglang_priority"),
        ("sglang_lru", "sglang_lfu", "vllm_lru", "s3fifo"),
    ),
    "dying_burst": (
        ("ideal",),
        ("sglang_lru", "sglang_slru@0.5.21", "vllm_lru"),
        ("s3fifo",),
        ("sglang_slru",),
        ("sglang_lfu",),
    ),
    "alternating_prompts": (
        ("ideal",),
        ("sglang_mru",),
        ("vllm_lru",),
        ("sglang_lru", "sglang_lfu", "sglang_fifo", "s3fifo"),
    ),
    "short_prompts": (
        ("ideal", "vllm_lru", "sglang_lru"),
        ("vllm_lru:drop",),
    ),
}


def hit_tokens(policy: str, requests: Sequence[Request], capacity: int) -> int:
    name, _, variant = policy.partition(":")
    blocks = block_log(requests)
    if name == "ideal":
        return ideal(blocks).total_hit_tokens
    if name.startswith("sglang_"):
        strategy, _, release = name.partition("@")
        server = server_for(release) if release else CURRENT
        log = paged_log(requests)
        return replay_sglang(log, strategy, capacity * 512, server=server).total_hit_tokens
    options = {"partial_blocks": variant} if variant else {}
    return replay_blocks(blocks, name, capacity, **options).total_hit_tokens


@pytest.fixture(params=CAPACITY)
def name(request: pytest.FixtureRequest) -> str:
    assert isinstance(request.param, str)
    return request.param


def test_policies_come_in_the_expected_order(name: str) -> None:
    requests = read_log(ROOT / "examples" / "scenarios" / f"{name}.jsonl").requests
    values = [
        {hit_tokens(policy, requests, CAPACITY[name]) for policy in group} for group in ORDER[name]
    ]
    assert all(len(v) == 1 for v in values), values
    steps = [v.pop() for v in values]
    assert steps == sorted(set(steps), reverse=True)


def test_a_prompt_shorter_than_a_block_is_never_found_whatever_the_size() -> None:
    requests = read_log(ROOT / "examples" / "scenarios" / "short_prompts.jsonl").requests
    full = sum(512 for r in requests if r.input_length >= 512) - 512
    for capacity in (2, 40, 10_000):
        assert hit_tokens("vllm_lru:drop", requests, capacity) == full


def test_figures_of_the_readme() -> None:
    text = (ROOT / "examples" / "scenarios" / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    assert [r[1].strip(" `").removesuffix(".jsonl") for r in rows] == list(CAPACITY)
    for row in rows:
        name = row[1].strip(" `").removesuffix(".jsonl")
        assert int(row[2]) == CAPACITY[name]
        requests = read_log(ROOT / "examples" / "scenarios" / f"{name}.jsonl").requests
        for group in ORDER[name]:
            for policy in group:
                if f"`{policy}`" in row[4]:
                    assert f"{hit_tokens(policy, requests, CAPACITY[name]):,}" in row[4]


def test_files_are_their_scripts_bytes(tmp_path: Path) -> None:
    def run(*words: object) -> int:
        return script("make/scenarios.py", *words).returncode

    folder = ROOT / "examples" / "scenarios"
    assert run("--check") == 0
    assert run("--to", tmp_path) == 0
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert written == {file.name: file.read_bytes() for file in folder.glob("*.jsonl")}
    assert set(written) == {f"{name}.jsonl" for name in CAPACITY}
    for name, data in written.items():
        assert all(json.loads(line)["constructed"] is True for line in data.splitlines())
        (tmp_path / name).write_bytes(data[:-2])
        assert run("--check", "--to", tmp_path) == 1
        (tmp_path / name).write_bytes(data)
