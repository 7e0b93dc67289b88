"""How prompts become blocks: ids and tokens as they are, sizes, templates, images (rank 4)."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.blocks import token_block_ids
from cache_worthy.logs.hash_ids import fitting_size
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import Request

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
SMALL = ReadOptions(block_size=16)


def test_hex_ids_strings_and_ids_over_2_53(write: Write) -> None:
    """Neighbours that a float would merge stay apart, and 1 is not "1" or "0x1"."""
    big = 2**53
    file = write(
        {"hash_ids": [big, "0xff"]}, {"hash_ids": [big + 1, "0xff"]}, {"hash_ids": [1]},
        {"hash_ids": ["1"]}, {"hash_ids": ["0x1"]}, {"hash_ids": [2**64 - 1]},
    )  # fmt: skip
    log = read_log(file)
    assert len({r.hash_ids[0] for r in log.requests}) == 6


def test_more_or_fewer_ids_than_the_length_needs(write: Write) -> None:
    file = write(
        {"chat_id": 1, "hash_ids": [1, 2], "input_length": 33},
        {"chat_id": 2, "hash_ids": [1, 2], "input_length": 32},
        {"chat_id": 3, "hash_ids": [1, 2], "input_length": 16},
    )
    log = read_log(file)
    assert log.block_tokens == 16
    assert log.length_mismatches == 2


def test_token_ids_are_used_as_they_are(write: Write, run: Run) -> None:
    file = write(*[{"model": "m", "prompt": [*range(40), n]} for n in range(4)])
    log = read_log(file, SMALL)
    assert [len(r.hash_ids) for r in log.requests] == [3] * 4
    assert len({r.hash_ids[:2] for r in log.requests}) == 1
    assert len({r.hash_ids[2] for r in log.requests}) == 4
    assert log.chars_per_block is None
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound")
    assert "token ids of the log, 16 per block" in out
    assert "approximate" not in out


def test_text_beside_token_ids_is_said(write: Write, run: Run) -> None:
    file = write(*[{"model": "m", "prompt": p} for p in ("a" * 9000, [1, 2, 3], "a" * 9000)])
    assert read_log(file).tokenizer == "chars+log"
    _, out, _ = run("analyze", file, "--no-bound")
    assert "the two share no block" in " ".join(out.split())


def test_token_blocks_are_chained_hashes() -> None:
    """A known answer, so that no release changes ids silently."""
    first = hashlib.blake2b(b"tokens" + struct.pack("<2I", 7, 2**32 - 1), digest_size=8).digest()
    second = hashlib.blake2b(first + struct.pack("<I", 5), digest_size=8).digest()
    want = tuple(int.from_bytes(d, "big") >> 1 for d in (first, second))
    assert token_block_ids([7, 2**32 - 1, 5], 2) == want


@pytest.mark.parametrize("bad", [[-1], [2**32], [1.5], ["1"], [True], [None]])
def test_token_ids_out_of_range(write: Write, bad: list[object]) -> None:
    file = write({"event": "request.received", "obj": {"rid": "a", "input_ids": bad}})
    with pytest.raises(TraceError, match="token ids"):
        read_log(file)


def test_block_sizes_that_contradict(run: Run, write: Write) -> None:
    dynamo = FOLDER / "dynamo.jsonl"
    code, _, err = run("analyze", dynamo, "--block-size", "32")
    assert code == 2
    assert "this log states 16 tokens per block" in err
    log = write({"hash_ids": [1], "input_length": 600}, {"hash_ids": [1, 2], "input_length": 600})
    assert read_log(log, ReadOptions(block_size=300)).length_mismatches == 1
    code, _, err = run(
        "analyze", write({"hash_ids": [1], "block_size": 16}, {"hash_ids": [1], "block_size": 32})
    )
    assert code == 2
    assert "a log that began with 16" in err


@pytest.mark.parametrize(
    ("name", "asked", "size"), [("bailian", 32, 16), ("native", 512, 16), ("native", 8320, 16)]
)
def test_a_size_that_the_ids_contradict_is_refused(
    run: Run, name: str, asked: int, size: int
) -> None:
    """In one line, with the size by which most records agree."""
    code, _, err = run("replay", FOLDER / f"{name}.jsonl", "--policy", "lru",
                       "--capacity-blocks", 99, "--block-size", asked)  # fmt: skip
    assert code == 2
    assert err.count("\n") == 1
    assert f"--block-size {asked}: " in err
    assert f"these ids stand for {size} tokens each" in err


@pytest.mark.traces
def test_a_size_that_a_trace_contradicts_is_refused(run: Run, traces: Path) -> None:
    _, _, err = run("analyze", traces / "conversation_trace.jsonl", "--block-size", 16)
    assert "512 tokens each (12031 of 12031 records contradict 16); give --block-size 512" in err


@pytest.mark.parametrize("block", [16, 64, 512, 784, 8320])
def test_the_size_of_ids_is_found_from_lengths(block: int) -> None:
    lengths = [1 + 7919 * n % 100_000 for n in range(300)]
    requests = [Request(tuple(range(-(-n // block))), n) for n in lengths]
    odd = [Request((1,), 10**6)] * 40
    assert fitting_size([*odd, *requests, *odd]) == block


def test_prompts_are_cut_at_sixteen_tokens_and_ids_keep_their_own(write: Write) -> None:
    assert read_log(write({"prompt": "a" * 640})).block_tokens == 16
    assert read_log(write({"prompt": [5] * 20})).block_tokens == 16
    assert read_log(write({"hash_ids": [1], "input_length": 20})).block_tokens == 512
    assert read_log(write({"prompt": "a" * 640}), block_size=8320).block_tokens == 8320


def test_what_sglangs_page_means_is_said(run: Run, write: Write) -> None:
    log = write({"prompt": "a" * 6400}, {"prompt": "a" * 6400})
    for options, said in (((), False), (("--engine", "sglang"), True)):
        text = " ".join(run("analyze", log, *options)[1].split())
        assert ("SGLang's default page is 1 token, this replay's 16" in text) is said


def test_sixteen_token_blocks_reach_sizes_and_costs(run: Run) -> None:
    """128 KiB a token of Llama-3.1-8B: a block of 16 tokens is 2 MiB, of 512 tokens 64 MiB."""
    _, out, _ = run("analyze", FOLDER / "bailian.jsonl", "--json", "--no-bound")
    workload = json.loads(out)["workload"]
    assert workload["block_bytes"] == 2 * 2**20
    assert workload["working_set_bytes"] == workload["distinct_blocks"] * 2 * 2**20


@pytest.mark.parametrize("ratio", [3.3, 2.7, 4.0])
@pytest.mark.parametrize("block", [16, 7, 512])
def test_odd_ratios_are_no_length_mismatch(
    write: Write, run: Run, ratio: float, block: int
) -> None:
    """Blocks are cut from the text here, so nothing of the log's can disagree."""
    file = write(*[{"prompt": "x" * n} for n in range(1, 400, 7)])
    options = ("--chars-per-token", ratio, "--block-size", block, "--no-bound")
    _, out, _ = run("analyze", file, *options, "--json", "-q")
    assert json.loads(out)["input"]["length_mismatches"] == 0
    _, out, _ = run("analyze", file, *options)
    assert "more or fewer blocks" not in out


def test_images_stand_as_one_marker(write: Write) -> None:
    def asked(url: str) -> dict[str, object]:
        image = {"type": "image_url", "image_url": {"url": url}}
        return {
            "messages": [{"role": "user", "content": [image, {"type": "text", "text": "what?"}]}]
        }

    a, b = "data:image/png;base64," + "A" * 90_000, "data:image/png;base64," + "B" * 90_000
    log = read_log(write(asked(a), asked(b), asked(a)))
    paths = [r.hash_ids for r in log.requests]
    assert paths[0] == paths[2] != paths[1]
    assert all(r.input_length < 30 for r in log.requests)


def test_moved_cache_breakpoints_change_nothing(write: Write) -> None:
    """Anthropic clients mark another part each turn; the model never reads the mark."""

    def asked(mark: dict[str, object]) -> dict[str, object]:
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        parts = [{"type": "image", "source": source, **mark}, {"type": "text", "text": "what?"}]
        tool = {"type": "function", "function": {"name": "f", "parameters": {}, **mark}}
        return {"messages": [{"role": "user", "content": parts}], "tools": [tool]}

    log = read_log(write(asked({}), asked({"cache_control": {"type": "ephemeral"}})))
    assert log.requests[0].hash_ids == log.requests[1].hash_ids


def test_the_template_option_reaches_the_blocks(run: Run, write: Write) -> None:
    chat = {"messages": [{"role": "user", "content": "hello " * 40}]}
    file = write(chat, chat)
    found = {}
    for template in ("simple", "chatml", "llama3"):
        _, out, _ = run("analyze", file, "--template", template, "--json", "--no-bound", "-q")
        assert json.loads(out)["input"]["template"] == template
        _, found[template], _ = run("convert", file, "--template", template, "-q")
    assert len(set(found.values())) == 3
    code, _, err = run("analyze", file, "--template", "vicuna")
    assert code == 2
    assert "simple" in err
