"""Every format against the same traffic in native form.

Rank 4: the twins in examples/formats/native number whole prefixes by comparing them, and share no
code with the readers (scripts/support/samples.py).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import samples
from sample_traffic import BLOCK

from cache_worthy.logs.formats import FORMATS
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import Request

Run = Callable[..., tuple[int, str, str]]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
SAMPLES = {s.file: s for s in samples.SAMPLES}
CARRIED = ("workload", "worth", "capacity", "policy", "pin")


@pytest.mark.parametrize("name", [*SAMPLES, *(f"native/{t}.jsonl" for t in samples.TWINS)])
def test_the_committed_files_are_the_scripts(name: str) -> None:
    sample = SAMPLES.get(name)
    make = sample.make if sample else samples.TWINS[Path(name).stem]
    assert (FOLDER / name).read_bytes() == make().encode()


def test_every_format_has_a_sample() -> None:
    without = {"counts", "lines"}  # one is only refused, the other is a text file
    assert {s.format for s in samples.SAMPLES} == {f.NAME for f in FORMATS} - without


def analysed(run: Run, *argv: object) -> dict[str, Any]:
    code, out, err = run("analyze", *argv, "--json", "-q", "--no-bound")
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    for pin in document["pin"]["pins"]:
        del pin["last_block_id"]  # the log's own name of a block, not a figure
    return document


def relative(requests: Sequence[Request]) -> list[float | None]:
    first = requests[0].timestamp
    return [None if r.timestamp is None or first is None else r.timestamp - first for r in requests]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_analysis_as_in_native_form(run: Run, name: str) -> None:
    """Field by field; times relative to the first, answers where the format has them."""
    sample = SAMPLES[name]
    twin = FOLDER / "native" / f"{sample.twin}.jsonl"
    ours = analysed(run, FOLDER / name, *sample.options, "--chars-per-token", 4)
    theirs = analysed(run, twin)
    assert ours["input"]["format"] == sample.format
    assert {k: ours[k] for k in CARRIED} == {k: theirs[k] for k in CARRIED}
    assert ours["worth"]["worth_caching"]
    assert ours["input"]["requests"] == theirs["input"]["requests"] >= 15
    assert ours["input"]["block_tokens"] == theirs["input"]["block_tokens"] == BLOCK
    assert ours["input"]["length_mismatches"] == 0
    a, b = read(name), read_log(twin)
    assert [r.input_length for r in a.requests] == [r.input_length for r in b.requests]
    if sample.timed:
        assert relative(a.requests) == relative(b.requests)
    if sample.outputs:
        assert [r.output_length for r in a.requests] == [r.output_length for r in b.requests]


def read(name: str, **more: Any) -> Log:
    """A sample as its options say."""
    options = dict(zip(SAMPLES[name].options[::2], SAMPLES[name].options[1::2], strict=True))
    size = options.get("--block-size")
    block = int(size) if size else None
    return read_log(FOLDER / name, block_size=block, chars_per_token=4, **more)


SAME_MESSAGES = [
    "openai_batch.jsonl", "openai_chat.jsonl", "litellm.jsonl", "litellm.json", "litellm.csv",
    "anthropic.jsonl", "anthropic_batch.jsonl", "langfuse.jsonl", "otel.jsonl", "otlp.json",
    "langfuse_pages.json",
]  # fmt: skip


@pytest.mark.parametrize("template", ["simple", "chatml", "llama3"])
def test_the_same_messages_give_the_same_blocks(template: str) -> None:
    """In every vendor's shape, tools and tool calls included."""
    paths = {
        name: [r.hash_ids for r in read(name, template=template).requests] for name in SAME_MESSAGES
    }
    first = paths[SAME_MESSAGES[0]]
    assert all(p == first for p in paths.values())
    assert len({i for path in first for i in path}) > 50


def test_templates_differ_and_keep_what_is_shared() -> None:
    """Which requests start alike does not depend on the template, only where blocks end."""
    logs = {t: read("openai_chat.jsonl", template=t) for t in ("simple", "chatml", "llama3")}
    ids = {t: [r.hash_ids for r in log.requests] for t, log in logs.items()}
    assert ids["simple"] != ids["chatml"] != ids["llama3"]
    alike = {t: [[a[0] == b[0] for b in paths] for a in paths] for t, paths in ids.items()}
    assert alike["simple"] == alike["chatml"] == alike["llama3"]


def test_templates_by_hand(write: Callable[..., Path]) -> None:
    """One chat, written out: system with tools, a call, its result."""
    from cache_worthy.logs.chat import read_chat
    from cache_worthy.logs.chat_templates import load_template

    chat = read_chat(
        {
            "tools": [{"type": "function", "function": {"name": "f"}}],
            "messages": [
                {"role": "system", "content": "S"},
                {"role": "user", "content": "U"},
                {
                    "role": "assistant",
                    "tool_calls": [{"function": {"name": "f", "arguments": '{"b": 1, "a": 2}'}}],
                },
                {"role": "tool", "content": "R"},
            ],
        }
    )
    call = '{"name":"f","arguments":{"a":2,"b":1}}'
    assert load_template("simple")(chat) == (
        f'<|tools|>\n[{{"name":"f"}}]\n<|system|>\nS\n<|user|>\nU\n<|assistant|>\n\n'
        f"<|tool_call|>\n{call}\n<|tool|>\nR\n"
    )
    assert load_template("chatml")(chat) == (
        '<|im_start|>system\nS\n\n# Tools\n\n<tools>\n[{"name":"f"}]\n</tools><|im_end|>\n'
        "<|im_start|>user\nU<|im_end|>\n"
        f"<|im_start|>assistant\n\n<tool_call>\n{call}\n</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nR\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert load_template("llama3")(chat) == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n"
        'S\n\nYou have access to these functions:\n\n[{"name":"f"}]<|eot_id|>'
        "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>\n\n{call}<|eot_id|>"
        "<|start_header_id|>ipython<|end_header_id|>\n\nR<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


@pytest.mark.parametrize("module", FORMATS, ids=[f.NAME for f in FORMATS])
def test_the_listed_example_is_read_as_its_format(
    run: Run, write: Callable[..., Path], module: Any
) -> None:
    file = write(module.EXAMPLE)
    if module.NAME == "counts":
        code, _, err = run("analyze", file)
        assert code == 2
        assert "which prefixes they share" in err
        return
    form = "lines" if module.NAME == "lines" else "auto"
    log = read_log(file, ReadOptions(format=form))
    assert log.format == module.NAME
    assert len(log.requests) == 1
    assert log.requests[0].hash_ids
    assert log.records.unusable == 0


def test_formats_lists_them_all(run: Run) -> None:
    code, out, _ = run("formats")
    assert code == 0
    unwrapped = "".join(out.split())
    assert all(f.NAME in out and "".join(f.EXAMPLE.split()) in unwrapped for f in FORMATS)
    code, out, _ = run("formats", "--json")
    assert [f["name"] for f in json.loads(out)["formats"]] == [f.NAME for f in FORMATS]


def test_a_named_format_is_held_to(run: Run) -> None:
    code, out, err = run("analyze", FOLDER / "text.jsonl", "--format", "vllm")
    assert (code, out) == (2, "")
    assert "text.jsonl" in err
    code, _, err = run("analyze", FOLDER / "text.jsonl", "--format", "nope")
    assert code == 2
    assert f"expected auto, {', '.join(f.NAME for f in FORMATS)}" in " ".join(err.split())
    assert shlex.split(err)


def agrees(name: str) -> bool:
    """Whether a sample has its twin's sharing and lengths."""
    number: tuple[dict[object, int], dict[object, int]] = ({}, {})
    logs = read(name), read_log(FOLDER / "native" / f"{SAMPLES[name].twin}.jsonl")
    shapes = [
        [([seen.setdefault(i, len(seen)) for i in r.hash_ids], r.input_length) for r in g.requests]
        for g, seen in zip(logs, number, strict=True)
    ]
    return shapes[0] == shapes[1] and logs[0].block_tokens == logs[1].block_tokens


MISTAKES: list[tuple[str, str, object, str]] = [
    ("roles of other names", "chat.ROLES", {}, "sharegpt.json"),
    ("tool calls dropped", "chat._CALLS", (), "anthropic.jsonl"),
    ("tool results dropped", "chat._RESULTS", (), "otel.jsonl"),
    ("tools dropped", "chat.read_tools", lambda value: "", "openai_chat.jsonl"),
    ("call ids rendered", "chat._call", lambda call: ("f", str(call)), "litellm.jsonl"),
    ("blocks of 512 tokens", "formats.bailian.BLOCK_TOKENS", 512, "bailian.jsonl"),
    ("local ids merged", "formats.weka._scoped", lambda key, block: block, "weka.json"),
    ("failed requests kept", "formats.litellm.Skipped", KeyError, "litellm.csv"),
    ("partial last blocks dropped", "blocks.chunk_ids",
     lambda text, ends, root: tuple(text[:n] for n in ends if n <= len(text)),
     "text.jsonl"),
    ("every turn a request", "formats.conversations.turns", lambda m: range(1, len(m)), "lmsys.jsonl"),
    ("the finish is a request", "intake.Intake._again", lambda self, prompt: True, "sglang.jsonl"),
    ("failed spans kept", "formats.otel._failed", lambda span, found: False, "otlp.json"),
    ("values of the protocol taken as they are", "formats.otel._plain",
     lambda value: next(iter(value.values())) if len(value) == 1 else value, "otlp.json"),
    ("pages not taken apart", "session.unpaged", lambda records: records, "langfuse_pages.json"),
    ("the first id list of a line", "formats.vllm._tokens", lambda rest: [9, 9], "vllm.log"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "value", "name"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_a_planted_mistake_is_seen(
    monkeypatch: pytest.MonkeyPatch, target: str, value: object, name: str
) -> None:
    """The comparison with the twins can fail."""
    assert agrees(name)
    monkeypatch.setattr(f"cache_worthy.logs.{target}", value)
    try:
        same = agrees(name)
    except (KeyError, TraceError):
        return
    assert not same


def test_memory_follows_distinct_blocks_not_text(tmp_path: Path) -> None:
    """24 MB of text that repeats itself is read within 6 MB (buffers are 2 MB of them)."""
    import tracemalloc

    file = tmp_path / "log.jsonl"
    line = json.dumps({"prompt": "the same preamble " * 3300}) + "\n"
    file.write_text(line * 400, encoding="utf-8")
    assert file.stat().st_size > 23_000_000
    tracemalloc.start()
    try:
        log = read_log(file, block_size=512)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(log.requests) == 400
    assert peak < 6_000_000
