"""``analyze --engine``: the flag is one that the server accepts, and the numbers are the replays'."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from request_logs import block_log, paged_log

from cache_worthy.advise.memory import gpu_room, weights_bytes
from cache_worthy.advise.sglang import pins_text
from cache_worthy.logs.session import read_log
from cache_worthy.report.model import Command
from cache_worthy.report.terminal import command_lines
from cache_worthy.sim.blocks import replay_blocks
from cache_worthy.sim.cost import BlockCost, BlockSize, load_model
from cache_worthy.sim.sglang.replay import replay_sglang
from cache_worthy.sim.sglang.strategies import STRATEGIES
from cache_worthy.sim.sglang.versions import CURRENT, SERVERS, Server, flag_for

ROOT = Path(__file__).resolve().parents[3]
Run = Callable[..., tuple[int, str, str]]
MODEL = load_model("Llama-3.1-8B")


def scenario(name: str) -> Path:
    return ROOT / "examples" / "scenarios" / f"{name}.jsonl"


def analyze(run: Run, log: Path, engine: str, *more: object) -> tuple[dict[str, Any], str]:
    argv = ("analyze", log, "--engine", engine, "--no-bound", *more)
    code, out, err = run(*argv, "--json")
    assert code == 0, err
    code, text, _ = run(*argv)
    assert code == 0
    document = json.loads(out)
    assert isinstance(document, dict)
    return document, text


def flat(text: str) -> str:
    """One line, options that were broken by a backslash joined again."""
    return " ".join(text.replace("\\\n", "").split())


@pytest.mark.parametrize(
    ("name", "blocks", "typed"),
    [
        ("scan_flood", 64, "--radix-eviction-policy lfu"),
        ("priority", 32, "--radix-eviction-policy priority --enable-priority-scheduling"),
        ("dying_burst", 56, "--radix-eviction-policy lru"),
        ("alternating_prompts", 36, "--radix-eviction-policy lru"),
    ],
)
def test_the_flag_for_a_scenario(name: str, blocks: int, typed: str, run: Run) -> None:
    document, text = analyze(run, scenario(name), "sglang", "--capacity-gib", blocks / 16)
    advice = document["engine"]
    assert advice["type_this"] == typed
    assert f"type {typed}" in flat(text)
    assert flat(advice["verdict"]) in flat(text)
    head = flat(text[: text.index("WORKLOAD")])
    assert (typed in head) == (not typed.endswith(" lru"))
    assert ("keep the default lru" in head) == typed.endswith(" lru")
    assert document["policy"]["rows"][advice["at"]]["blocks"] == blocks


def test_every_sglang_option_is_one_the_server_accepts(run: Run) -> None:
    document, _ = analyze(run, scenario("priority"), "sglang")
    for option in document["engine"]["options"]:
        words = shlex.split(option["flag"])
        assert words[0] == "--radix-eviction-policy"
        assert words[1] in CURRENT.choices
        if words[1] == "priority":
            assert words[2:] == ["--enable-priority-scheduling"]
        elif len(words) > 2:
            assert words[2] == "--radix-eviction-policy-config"
            known = dict(STRATEGIES[f"sglang_{words[1]}"].defaults)
            assert set(json.loads(words[3])) <= set(known)
            assert len(words) == 4
    assert {o["label"].split()[0] for o in document["engine"]["options"]} == set(CURRENT.choices)
    assert [o["default"] for o in document["engine"]["options"]].index(True) == 0


def test_an_older_release_is_offered_what_it_accepts(run: Run) -> None:
    more = ("--sglang-version", "0.5.14", "--capacity-gib", 4)
    document, text = analyze(run, scenario("scan_flood"), "sglang", *more)
    flags = [o["flag"] for o in document["engine"]["options"]]
    assert flags == [
        *(f"--radix-eviction-policy {n}" for n in ("lru", "lfu", "slru")),
        "--radix-eviction-policy priority --enable-priority-scheduling",
    ]
    assert (
        "slru a request counts twice (sglang#30689), so this default acts as lru on prompts alone"
        in flat(text)
    )
    document, text = analyze(run, scenario("scan_flood"), "sglang", "--sglang-version", "0.5.9")
    assert [o["label"] for o in document["engine"]["options"]] == ["lru", "lfu"]
    assert "do not move before 0.5.10, so it acts as lru" in flat(text)
    for engine in ("vllm", "generic"):
        code, _, err = run("analyze", scenario("priority"), "--engine", engine, *more[:2])
        assert code == 2
        assert "only with --engine sglang" in err


def test_sglang_numbers_are_the_replays(run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), "sglang")
    requests = read_log(scenario("scan_flood")).requests
    log = paged_log(requests, generated=False)
    table = BlockCost(MODEL).cumulative(10)
    compulsory = document["policy"]["compulsory_cost"]
    for option in document["engine"]["options"]:
        words = shlex.split(option["flag"])
        parameters: dict[str, Any] = json.loads(words[3]) if len(words) > 3 else {}
        lines = [line for line in text.splitlines() if line.startswith(f"  {option['label']}  ")]
        for n, row in enumerate(document["policy"]["rows"]):
            result = replay_sglang(log, f"sglang_{words[1]}", row["blocks"] * 512, **parameters)
            cost = sum(
                table[len(r.hash_ids)] - table[k]
                for r, k in zip(requests, result.matched, strict=True)
            )
            assert option["total_cost"][n] == cost
            assert option["cost_ratio"][n] == cost / compulsory
            assert f"{cost / compulsory:.4f}" in lines[0].split()[-len(option["cost_ratio"]) + n :][
                0
            ].lstrip("*")
            hit = result.total_hit_tokens / result.total_prompt_tokens
            assert option["token_hit_rate"][n] == hit


def test_research_policies_follow_the_engines_own(run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), "sglang")
    own = [o["label"] for o in document["engine"]["options"]]
    research = document["policy"]["policies"]
    _, _, after = text.partition("  What SGLang offers\n")
    options, _, after = after.partition("\n\n")
    _, _, after = after.partition("  Research policies, no flags of SGLang")
    for names, table in ((own, options), (research, after.partition("\n\n")[0])):
        labels = [line.split("  ")[1] for line in table.splitlines() if line.startswith("  ")]
        assert labels == ["capacity", "GiB", *names]


def test_vllm_has_nothing_to_set(run: Run) -> None:
    document, text = analyze(run, scenario("short_prompts"), "vllm")
    advice = document["engine"]
    assert advice["type_this"] is None
    assert "no choice" in advice["verdict"]
    assert "--radix-eviction-policy" not in text
    assert "cheapest of what" not in text
    section = text[text.index("  SERVER ") : text.index("  Memory, as flags")]
    assert max(map(len, section.splitlines())) <= 80
    assert "vLLM offers no eviction policy to set" in flat(text)
    requests = read_log(scenario("short_prompts")).requests
    trace = block_log(requests, by_path=True)
    for n, row in enumerate(document["policy"]["rows"]):
        for option, partial in zip(advice["options"], ("drop", "keep"), strict=True):
            result = replay_blocks(trace, "vllm_lru", row["blocks"], partial_blocks=partial)
            assert option["token_hit_rate"][n] == result.token_hit_rate


def test_memory_flags_by_hand(run: Run) -> None:
    """8.03 B parameters of two bytes are 14.96 GiB; the scan flood asks for 8.557 GiB of KV.

    A token is 131,072 bytes, so that is 70,098 tokens or 4,382 blocks of 16 and the server's own,
    and (14.957 + 8.557) / 80 = 0.2939 is 0.30 rounded up: the default holds it.
    """
    assert weights_bytes(MODEL) == 2 * 8_030_261_248
    document, text = analyze(run, scenario("scan_flood"), "vllm", "--gpu-gib", 80)
    memory = document["engine"]["memory"]
    points = document["capacity"]["points"]
    recommended = points[document["capacity"]["recommended_index"]]["bytes"]
    assert memory["kv_bytes"] == memory["recommended_bytes"] == recommended == 9_188_000_356
    assert memory["kv_tokens"] == 70_098
    assert memory["minimum"] == [
        "--gpu-memory-utilization 0.30 --max-model-len 70096",
        "--num-gpu-blocks-override 4383 --max-model-len 70096",
    ]
    assert memory["flags"] == []  # 57 GiB hold more than the model's 131,072 tokens
    assert "keep it (the default is 0.92)" in flat(text)
    assert "A lower limit that ignores" in flat(text)
    document, text = analyze(run, scenario("scan_flood"), "sglang", "--gpu-gib", 80)
    memory = document["engine"]["memory"]
    assert (memory["flags"], memory["minimum"]) == ([], ["--mem-fraction-static 0.30"])
    assert "keep it (the server chooses about 0.88)" in flat(text)


@pytest.mark.parametrize(("engine", "gib"), [("sglang", "55.44"), ("vllm", "57.04")])
def test_what_a_kept_default_leaves_can_be_asked_about(engine: str, gib: str, run: Run) -> None:
    """0.88 * 80 - 14.957 for SGLang; vLLM's 0.92 is counted as 0.90: its activations are inside."""
    _, text = analyze(run, scenario("scan_flood"), engine, "--gpu-gib", 80)
    roughly = "To evaluate roughly what the default leaves, rerun with"
    sentence = f"The verdict above is for 8.56 GiB. {roughly} --capacity-gib {gib}."
    assert sentence in flat(text)
    more = ("--gpu-gib", 80, "--capacity-gib", gib)
    document, text = analyze(run, scenario("scan_flood"), engine, *more)
    assert document["engine"]["memory"]["default_holds"] is True
    assert sentence not in flat(text)


def test_a_fraction_over_the_default_is_typed(run: Run) -> None:
    """(14.957 + 6.5) / 24 = 0.894: over what SGLang takes by itself, and within 90 percent."""
    more = ("--gpu-gib", 24, "--capacity-gib", 6.5)
    document, text = analyze(run, scenario("scan_flood"), "sglang", *more)
    memory = document["engine"]["memory"]
    assert (memory["flags"], memory["minimum"]) == (["--mem-fraction-static 0.90"], [])
    assert "keep it" not in text


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_memory_is_that_of_the_capacity_asked_for(engine: str, run: Run) -> None:
    asked = ("--capacity-gib", 4)
    document, text = analyze(run, scenario("scan_flood"), engine, *asked, "--gpu-gib", 24)
    memory = document["engine"]["memory"]
    assert memory["kv_bytes"] == memory["asked_bytes"] == 4 * 2**30 < memory["recommended_bytes"]
    row = document["policy"]["rows"][document["engine"]["at"]]
    assert row["bytes"] == memory["kv_bytes"]
    assert "4.00 GiB = 32768 tokens (your capacity)" in text
    assert "as yours" not in text
    if engine == "vllm":
        assert "--num-gpu-blocks-override 2049 --max-model-len 32768" in text
    document, text = analyze(
        run, scenario("scan_flood"), engine, "--capacity-fraction", 1, "--gpu-gib", 24
    )
    memory = document["engine"]["memory"]
    assert memory["kv_bytes"] == memory["asked_bytes"] > memory["room_bytes"]
    assert (memory["fits"], memory["holds"], memory["flags"]) == (True, False, [])
    assert "do not fit" in flat(text)


def test_a_small_gpu_moves_the_verdict_to_what_it_holds(run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), "sglang", "--gpu-gib", 24)
    room = gpu_room(MODEL, 24.0)
    memory = document["engine"]["memory"]
    assert memory["kv_bytes"] == memory["room_bytes"] == room < memory["recommended_bytes"]
    row = document["policy"]["rows"][document["engine"]["at"]]
    assert (row["bytes"], row["label"]) == (room, "yours")
    assert "leaves only 6.64 GiB" in flat(text)
    assert "counts what fits as yours" in flat(text)
    assert "Use the largest --mem-fraction-static that starts" in flat(text)
    assert memory["flags"] == ["--mem-fraction-static 0.90"]


def test_vllm_is_told_a_length_that_starts(run: Run, tmp_path: Path, sample: Path) -> None:
    """Neither 24 GiB's default nor the recommendation holds the 131,072 tokens of Llama-3.1."""
    document, text = analyze(run, sample, "vllm", "--gpu-gib", 24)
    memory = document["engine"]["memory"]
    room = memory["room_bytes"] // 131_072
    assert memory["flags"] == [f"--max-model-len {room // 16 * 16}"]
    assert room < 131_072
    longest = max(r.input_length + (r.output_length or 0) for r in read_log(sample).requests)
    assert longest <= memory["max_model_len"] <= memory["kv_tokens"]
    assert f"this log needs {longest}" in flat(text)
    # A model file does not say how long its context is.
    model = tmp_path / "mine.json"
    fields = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
    model.write_text(json.dumps({name: getattr(MODEL, name) for name in fields}))
    document, text = analyze(run, sample, "vllm", "--model", model)
    assert document["engine"]["memory"]["max_model_len"] is None
    assert "the model file does not say" in flat(text)


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_gpu_that_holds_nothing_gets_no_flag(engine: str, run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), engine, "--gpu-gib", 16)
    memory = document["engine"]["memory"]
    assert memory["fits"] is False
    assert memory["flags"] == []
    assert "give the replica more GPUs" in flat(text)
    assert "The weights, 14.96 GiB, do not fit in 90% of 16 GiB" in flat(text)
    _, text = analyze(run, scenario("scan_flood"), engine, "--gpu-gib", 16.75)
    assert "90% of 16.75 GiB leaves 0.12 GiB after the weights; the least cache" in flat(text)


def test_without_a_gpu_the_fraction_is_asked_for(run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), "vllm")
    memory = document["engine"]["memory"]
    assert memory["fraction"] is None
    assert memory["flags"] == ["--num-gpu-blocks-override 4383 --max-model-len 70096"]
    assert "Give --gpu-gib" in text


@pytest.mark.parametrize(
    ("engine", "words", "title"),
    [
        ("generic", "TokenRangeRetentionConfig", "through your server's retention interface"),
        ("sglang", "--enable-session-radix-cache", "SGLang can only prefer prefixes"),
        ("vllm", "vLLM cannot hold a prefix", "vLLM cannot pin"),
    ],
)
def test_pins_are_worded_for_the_engine(engine: str, words: str, title: str, run: Run) -> None:
    document, text = analyze(run, scenario("scan_flood"), engine)
    assert words in flat(text)
    (heading,) = [line for line in text.splitlines() if line.startswith("  PIN ")]
    assert title in heading
    head = flat(text[: text.index("WORKLOAD")])
    assert ("vLLM cannot pin prefixes" in head) == (engine == "vllm")
    assert ("pinning" in head) == (engine != "vllm")
    if engine == "generic":
        assert document["engine"] is None
        assert "the deployed default" in text
    else:
        assert words in document["engine"]["pins"]
        assert "under lru, on the tree of this project" in text


@pytest.mark.parametrize("server", SERVERS, ids=lambda s: s.label)
def test_pins_name_only_what_the_release_has(server: Server) -> None:
    text = pins_text(server)
    assert ("--radix-eviction-policy priority" in text) == ("priority" in server.choices)
    assert ("--enable-session-radix-cache" in text) == (server.since >= (0, 5, 18))
    # Released code: 0.5.18 asks for the variable, 0.5.20 builds the unified tree by itself.
    assert ("SGLANG_ENABLE_UNIFIED_RADIX_TREE=1" in text) == (server.since == (0, 5, 18))
    assert ("has nothing to set" in text) == ("priority" not in server.choices)


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        (80, "80 GiB of GPU hold the weights and 8.56 GiB of KV"),
        (24, "90% of 24 GiB leaves only 6.64 GiB"),
        (16.75, "the least cache of question 2 is 0.50 GiB"),
        (12, "The weights, 14.96 GiB, do not fit in 90% of 12 GiB"),
    ],
)
def test_the_head_says_what_the_gpu_holds(gpu: float, words: str, run: Run) -> None:
    for engine in ("sglang", "vllm"):
        _, text = analyze(run, scenario("scan_flood"), engine, "--gpu-gib", gpu)
        head = flat(text[: text.index("WORKLOAD")])
        assert words in head
        assert ("flags are below" in head) == (engine == "vllm" and gpu >= 24)


def test_prompts_that_end_inside_a_block(run: Run, coarse: Run, sample: Path) -> None:
    """Most prompts, of 300 tokens, have no full block of 512, so vLLM would prefill each again."""
    document, text = analyze(run, scenario("short_prompts"), "vllm")
    assert document["engine"]["tail_cost_ratio"] == pytest.approx(25.1128, abs=1e-3)
    sentence = "Prompts end inside a block of 512 tokens: vLLM caches full blocks only."
    assert sentence in flat(text[: text.index("WORKLOAD")])
    assert "a log of block ids cannot be cut smaller" in flat(text)
    document, text = analyze(coarse, sample, "vllm")
    assert document["engine"]["tail_cost_ratio"] < 1.1
    assert "Prompts end inside" not in text
    assert "rerun with --block-size 16" in flat(text)
    assert "truth lies between" not in text
    _, text = analyze(run, sample, "vllm")
    assert "--block-size 16" not in flat(text)


@pytest.mark.parametrize("engine", ["generic", "sglang", "vllm"])
def test_no_line_is_too_long(engine: str, run: Run) -> None:
    for log in sorted((ROOT / "examples" / "scenarios").glob("*.jsonl")):
        _, text = analyze(run, log, engine, *(() if engine == "generic" else ("--gpu-gib", 16)))
        assert max(map(len, text.splitlines())) <= 80, log.name


def test_a_long_flag_is_broken_between_two_options() -> None:
    flag = flag_for("slru", {"protected_threshold": 3})
    assert flag is not None
    lines = command_lines(Command("type", flag))
    assert len(lines) == 2
    assert lines[0].endswith(" \\")
    assert max(map(len, lines)) <= 80
    assert flat("\n".join(lines)) == f"type {flag}"


def test_what_the_translation_leaves_out_is_said(run: Run, sample: Path) -> None:
    for engine in ("sglang", "vllm"):
        document, text = analyze(run, sample, engine, "--gpu-gib", 80)
        for sentence in document["engine"]["memory"]["left_out"]:
            assert sentence in flat(text)


def test_gpu_memory_needs_an_engine(run: Run, sample: Path) -> None:
    code, _, err = run("analyze", sample, "--gpu-gib", 24)
    assert code == 2
    assert "only with --engine" in err
    code, _, err = run("analyze", sample, "--engine", "tgi")
    assert code == 2
    assert "sglang" in err


def test_a_verdict_that_ends_at_question_1_has_no_engine(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"input_length": 512, "hash_ids": [1]}\n{"input_length": 512, "hash_ids": [2]}\n'
    )
    document, _ = analyze(run, log, "sglang")
    assert document["engine"] is None


@pytest.mark.traces
def test_engines_on_conversation(run: Run, traces: Path) -> None:
    log = traces / "conversation_trace.jsonl"
    document, _ = analyze(run, log, "vllm")
    size = BlockSize(MODEL).block
    (kept,) = [o for o in document["engine"]["options"] if "tails" in o["label"]]
    row = next(r for r in document["policy"]["rows"] if round(r["fraction"], 2) == 0.02)
    assert row["bytes"] // size == 3655
    n = document["policy"]["rows"].index(row)
    trace = block_log(read_log(log).requests)
    result = replay_blocks(trace, "vllm_lru", 3655)
    assert kept["token_hit_rate"][n] == result.token_hit_rate
