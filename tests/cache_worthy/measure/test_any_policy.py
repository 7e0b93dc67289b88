"""``replay`` of block policies: fields, identities, options, published figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.measure.policies import listed

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

ROWS = [{"hash_ids": ids, "input_length": n} for ids, n in (([1, 2], 600), ([1, 3], 1024))] * 2


def replay(run: Run, log: Path, policy: str, *more: object) -> dict[str, object]:
    code, out, err = run("replay", log, "--policy", policy, "--json", *more)
    assert code == 0, err
    document = json.loads(out)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("policy", [p.name for p in listed()])
def test_identities_of_the_document(policy: str, coarse: Run, sample: Path) -> None:
    document = replay(coarse, sample, policy, "--capacity-blocks", 80, "--per-request")
    rows = document["per_request"]
    assert isinstance(rows, list)
    assert sum(r["hit_tokens"] for r in rows) == document["total_hit_tokens"]
    assert sum(r["prompt_tokens"] for r in rows) == document["total_prompt_tokens"]
    assert all(0 <= r["hit_tokens"] <= r["prompt_tokens"] for r in rows)
    final = document["final_cache_blocks"]
    assert isinstance(final, int)
    assert 0 < final <= 80
    assert "per_request" not in replay(coarse, sample, policy, "--capacity-blocks", 80)


def test_by_hand(run: Run, write: Write) -> None:
    """Two blocks of room: 2 leaves for 3, then 3 for 2; block 1, worth 512 tokens, stays."""
    document = replay(run, write(*ROWS), "vllm_lru", "--capacity-blocks", 2, "--per-request")
    rows = document["per_request"]
    assert isinstance(rows, list)
    assert [r["hit_tokens"] for r in rows] == [0, 512, 512, 512]
    assert document["total_prompt_tokens"] == 2 * (600 + 1024)
    # Units of 2^36 FLOPs: block one 105, block two 107; compulsory 105 + 107 + 107.
    unit = 2 * 32 * 4096 * 512**2
    assert document["total_cost"] == (105 + 4 * 107) * unit
    assert document["compulsory_cost"] == (105 + 2 * 107) * unit
    # Dropped, the 600-token prompt has one full block and its tail is found by nobody.
    dropped = replay(
        run, write(*ROWS), "vllm_lru", "--capacity-blocks", 2, "--partial-blocks", "drop"
    )
    assert dropped["total_hit_tokens"] == 3 * 512


def test_per_request_of_a_radix_policy(run: Run, write: Write) -> None:
    document = replay(run, write(*ROWS), "lru", "--capacity-blocks", 3, "--per-request")
    assert document["per_request"] == [
        {"hit_tokens": 0, "prompt_tokens": 600},
        {"hit_tokens": 512, "prompt_tokens": 1024},
        {"hit_tokens": 600, "prompt_tokens": 600},
        {"hit_tokens": 1024, "prompt_tokens": 1024},
    ]


def test_text_shows_what_json_says(run: Run, sample: Path) -> None:
    argv = ("replay", sample, "--policy", "s3fifo", "--capacity-blocks", 80, "--per-request")
    code, text, _ = run(*argv)
    assert code == 0
    document = replay(run, sample, "s3fifo", "--capacity-blocks", 80, "--per-request")
    head, _, tail = text.partition("\n\n")
    shown = dict(line.split(maxsplit=1) for line in head.splitlines())
    for key in ("total_hit_tokens", "total_prompt_tokens", "final_cache_blocks", "total_cost"):
        assert shown[key] == str(document[key])
    assert shown["pins_path"].startswith("no")
    rows = document["per_request"]
    assert isinstance(rows, list)
    table = [line.split() for line in tail.splitlines()[1:]]
    assert table == [
        [str(n), str(r["hit_tokens"]), str(r["prompt_tokens"])] for n, r in enumerate(rows, 1)
    ]


def test_options_reach_the_policy(coarse: Run, sample: Path) -> None:
    plain = replay(coarse, sample, "s3fifo", "--capacity-blocks", 40)
    other = replay(
        coarse, sample, "s3fifo", "--capacity-blocks", 40, "--small-ratio", 0.5, "--max-freq", 1
    )
    assert other["parameters"] == {"small_ratio": 0.5, "max_freq": 1}
    assert other["total_hit_tokens"] != plain["total_hit_tokens"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("vllm_lru", "--max-freq", "2"), "vllm_lru does not have it; it takes --partial-blocks"),
        (("flat_lru", "--small-ratio", "0.2"), "it takes no option of its own"),
        (("s3fifo", "--small-ratio", "1.5"), "strictly between 0 and 1"),
        (("s3fifo_paper", "--max-freq", "1"), "from 2 to 255"),
        (("sglang_lru", "--max-freq", "1"), "it takes --policy-config, --page-size"),
        (("sglang_slru", "--policy-config", "3"), "expected a JSON object of integers"),
        (("sglang_slru", "--policy-config", '{"threshold": 3}'), "it takes protected_threshold"),
        (("sglang_lru", "--page-size", "100"), "expected a divisor"),
        (("sglang_lru", "--sglang-version", "0.4.1"), "from 0.5.3 on"),
        *(
            (("lru", *option), f"{option[0]}: policy lru does not have it; it takes no option")
            for option in (
                ("--policy-config", "garbage"),
                ("--page-size", "7"),
                ("--sglang-version", "foo"),
                ("--max-freq", "0"),
                ("--generated", "ignore"),
                ("--partial-blocks", "drop"),
            )
        ),
    ],
)
def test_bad_options(argv: tuple[str, ...], message: str, coarse: Run, sample: Path) -> None:
    code, out, err = coarse("replay", sample, "--policy", *argv, "--capacity-blocks", 80)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_server_cannot_run_under_the_floor(run: Run, sample: Path) -> None:
    code, _, err = run("replay", sample, "--policy", "vllm_lru", "--capacity-blocks", 2)
    assert code == 2
    assert "under the floor" in err
    # A policy that does not pin the path runs anyway.
    assert run("replay", sample, "--policy", "flat_lru", "--capacity-blocks", 2)[0] == 0


def test_loose_ids(run: Run, write: Write) -> None:
    """One id behind two prefixes: one block for S3-FIFO as worded, two for a server."""
    log = write({"hash_ids": [1, 2], "input_length": 1024}, {"hash_ids": [2], "input_length": 512})
    code, out, err = run("replay", log, "--policy", "s3fifo", "--capacity-blocks", 30, "--json")
    assert code == 0
    assert "do not fix their prefix" in err
    assert json.loads(out)["total_hit_tokens"] == 512
    assert replay(run, log, "vllm_lru", "--capacity-blocks", 30)["total_hit_tokens"] == 0


def test_priorities_come_from_the_log(run: Run, write: Write) -> None:
    """Three requests fill the cache; the first, of priority 1, outlives the newer second."""
    rows = [{"hash_ids": [n], "input_length": 512, "priority": int(n == 1)} for n in (1, 2, 3, 1)]
    asked = ("--capacity-blocks", 2)
    assert replay(run, write(*rows), "sglang_priority", *asked)["total_hit_tokens"] == 512
    assert replay(run, write(*rows), "sglang_lru", *asked)["total_hit_tokens"] == 0


def test_server_options_reach_the_strategy(coarse: Run, sample: Path) -> None:
    asked = ("--capacity-blocks", 60)
    lru = replay(coarse, sample, "sglang_lru", *asked)
    slru = replay(coarse, sample, "sglang_slru", *asked)
    assert slru["total_hit_tokens"] != lru["total_hit_tokens"]
    # Counted twice, every request passes the default threshold of two by itself.
    twice = ("--sglang-version", "0.5.21")
    old = replay(coarse, sample, "sglang_slru", *asked, *twice)
    assert old["total_hit_tokens"] == lru["total_hit_tokens"]
    config = ("--policy-config", '{"protected_threshold": 3}')
    raised = replay(coarse, sample, "sglang_slru", *asked, *twice, *config)
    assert raised["total_hit_tokens"] == slru["total_hit_tokens"]
    paged = replay(coarse, sample, "sglang_lru", *asked, "--page-size", 512)
    assert paged["total_hit_tokens"] != lru["total_hit_tokens"]
    # Pages are no blocks: what compares whole blocks is not said of them.
    for key in ("cost_ratio", "block_hit_rate"):
        assert paged[key] is None
        assert lru[key] is not None


def test_generated_tokens_need_room(run: Run, write: Write) -> None:
    """A prompt of one block that writes another: two blocks, or one for the prompt alone."""
    log = write(*[{"hash_ids": [n], "input_length": 512, "output_length": 512} for n in (1, 2, 1)])
    asked = ("replay", log, "--policy", "sglang_lru", "--capacity-blocks", 1)
    code, out, err = run(*asked)
    assert (code, out) == (2, "")
    assert "1024 tokens with what it generates" in err
    assert "--generated ignore" in err
    assert run(*asked, "--generated", "ignore")[0] == 0


def test_one_block_is_singular(run: Run, write: Write) -> None:
    log = write({"hash_ids": [1], "input_length": 512}, {"hash_ids": [1], "input_length": 512})
    code, _, err = run("replay", log, "--policy", "lru", "--capacity-gib", 0.01)
    assert code == 2
    assert "needs 1 block =" in err
    code, text, _ = run("analyze", log, "--no-bound")
    assert code == 0
    assert "only after its 1 block" in text
    assert "1 blocks" not in text


@pytest.mark.traces
def test_published_figures_through_the_command(run: Run, traces: Path) -> None:
    log = traces / "conversation_trace.jsonl"
    s3fifo = replay(run, log, "s3fifo", "--capacity-blocks", 4096)
    assert s3fifo["total_hit_tokens"] == 15_168_640
    assert s3fifo["total_prompt_tokens"] == 144_793_823
    assert s3fifo["final_cache_blocks"] == 4096
    assert replay(run, log, "vllm_lru", "--capacity-blocks", 3656)["block_misses"] == 265_631
