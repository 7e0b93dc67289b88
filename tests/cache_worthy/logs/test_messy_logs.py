"""What real logs hold beside requests: one test a row of the list of messy input (rank 4)."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard

from cache_worthy.logs.blocks import token_block_ids
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
TEXT = FOLDER / "text.jsonl"
SMALL = ReadOptions(block_size=16)


def same(a: Log, b: Log) -> bool:
    return a.requests == b.requests and len(a.requests) > 0


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "sglang.log", "litellm.csv",
                                  "litellm.json", "sharegpt.json", "weka.json"])  # fmt: skip
def test_bom_crlf_and_blank_lines_in_every_container(tmp_path: Path, name: str) -> None:
    plain = (FOLDER / name).read_bytes()
    file = tmp_path / name
    file.write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n\r\n"))
    options = ReadOptions() if name == "weka.json" else SMALL
    assert same(read_log(file, options), read_log(FOLDER / name, options))


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "litellm.csv", "litellm.json"])
def test_gzip_and_zstd(tmp_path: Path, name: str) -> None:
    """Told by their first bytes, not by their names; two members one after another are one log."""
    plain = (FOLDER / name).read_bytes()
    middle = plain.index(b"\n", len(plain) // 2) + 1
    gz = gzip.compress(plain[:middle]) + gzip.compress(plain[middle:])
    zst = zstandard.compress(plain[:middle]) + zstandard.compress(plain[middle:])
    want = read_log(FOLDER / name, SMALL)
    for data in (gz, zst):
        file = tmp_path / "log"
        file.write_bytes(data)
        assert same(read_log(file, SMALL), want)


def test_a_bom_inside_gzip(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(b"\xef\xbb\xbf" + TEXT.read_bytes()))
    assert same(read_log(file, SMALL), read_log(TEXT, SMALL))


def test_a_gzip_file_still_being_written(tmp_path: Path) -> None:
    whole = gzip.compress(TEXT.read_bytes())
    file = tmp_path / "log.gz"
    file.write_bytes(whole[: len(whole) * 3 // 4])
    log = read_log(file, SMALL)
    want = read_log(TEXT, SMALL)
    assert log.records.ended_early == 1
    assert 0 < len(log.requests) < len(want.requests)
    assert log.requests == want.requests[: len(log.requests)]


def test_damaged_compressed_data(tmp_path: Path, run: Run) -> None:
    for data in (gzip.compress(TEXT.read_bytes()), zstandard.compress(TEXT.read_bytes())):
        file = tmp_path / "log"
        file.write_bytes(data[:200] + b"\0" * 50 + data[250:])
        code, out, err = run("analyze", file)
        assert (code, out) == (2, "")
        assert "cannot read" in err
        assert err.count("\n") <= 3


def test_zstd_without_the_package(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.zst"
    file.write_bytes(zstandard.compress(TEXT.read_bytes()))
    real = __import__("importlib").import_module

    def absent(name: str) -> object:
        if name in ("zstandard", "compression.zstd"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr("cache_worthy.logs.source.importlib.import_module", absent)
    code, _, err = run("analyze", file)
    assert code == 2
    assert "pip install 'cache-worthy[zstd]'" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "sglang.log", "litellm.json",
                                  "sharegpt.json", "litellm.csv"])  # fmt: skip
@pytest.mark.parametrize("off", [3, 40, 400])
def test_a_last_record_cut_anywhere(tmp_path: Path, name: str, off: int) -> None:
    """A log still being written: the rest of it is read, and the cut is counted."""
    plain = (FOLDER / name).read_bytes()
    if name in ("vllm.log", "sglang.log"):  # end with a request, not with another line
        plain = plain[: plain.rstrip().rindex(b"\n") + 1]
    file = tmp_path / name
    file.write_bytes(plain[:-off])
    log, want = read_log(file, SMALL), read_log(FOLDER / name, SMALL)
    assert log.records.unusable == 0
    assert log.requests
    if name == "litellm.csv":  # newest first, so the cut takes the oldest
        assert log.requests == want.requests[-len(log.requests) :]
    else:
        assert log.requests == want.requests[: len(log.requests)]
    if log.requests != want.requests:
        assert log.skipped_truncated == 1


def test_several_files_are_one_log(tmp_path: Path, run: Run) -> None:
    plain = TEXT.read_bytes().splitlines(keepends=True)
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    first.write_bytes(b"".join(plain[:6]))
    second.write_bytes(gzip.compress(b"".join(plain[6:])))
    log = read_log([first, second], SMALL)
    assert same(log, read_log(TEXT, SMALL))
    assert log.source == f"{first}, {second}"
    back = read_log([second, first], SMALL)
    assert back.requests == log.requests
    assert back.moved > 0
    code, out, _ = run("analyze", first, second, "--block-size", "16", "--no-bound")
    assert code == 0
    assert f"records          {len(log.requests)}" in out


def test_duplicate_keys_take_the_last(write: Write) -> None:
    """As every server's JSON reader does."""
    log = read_log(write('{"hash_ids": [1, 2], "input_length": 9, "hash_ids": [3]}'))
    assert log.requests[0].hash_ids == (3,)


def test_nan_makes_a_record_unusable(write: Write) -> None:
    good = {"hash_ids": [1]}
    file = write(*[good] * 30, '{"hash_ids": [1], "input_length": NaN}', good)
    log = read_log(file)
    assert len(log.requests) == 31
    assert log.records.unusable == 1
    assert "NaN is not a JSON number" in next(iter(log.records.unusable_reasons))


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


def test_reverse_order_is_noticed_and_turned(write: Write) -> None:
    records = [{"timestamp": t, "hash_ids": [t]} for t in range(50)]
    log = read_log(write(*reversed(records)))
    assert [r.timestamp for r in log.requests] == list(range(50))
    assert "reverse order" in log.order
    kept = read_log(write(*reversed(records)), ReadOptions(order="file"))
    assert [r.timestamp for r in kept.requests] == list(range(49, -1, -1))
    assert "its times run backwards" in kept.order


def test_tied_times_keep_file_order(write: Write) -> None:
    log = read_log(write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate([3, 1, 3, 1])]))
    assert [r.hash_ids for r in log.requests] == [(1,), (3,), (0,), (2,)]
    assert log.moved == 4


def test_order_by_time_needs_times(write: Write, run: Run) -> None:
    file = write(
        {"timestamp": 2, "hash_ids": [1]}, {"hash_ids": [2]}, {"timestamp": 1, "hash_ids": [3]}
    )
    assert [r.hash_ids for r in read_log(file).requests] == [(1,), (2,), (3,)]
    assert read_log(file).order == "file order (1 without arrival time)"
    code, _, err = run("analyze", file, "--order", "time")
    assert code == 2
    assert "1 of 3 requests have no arrival time" in err


def lite(n: int, second: int, status: str = "success", **more: object) -> dict[str, object]:
    body = {"messages": [{"role": "user", "content": f"question {n} " * 20}]}
    return {
        "request_id": f"c{n}", "startTime": f"2026-05-01 10:00:{second:02}", "status": status,
        "proxy_server_request": json.dumps(body), **more,
    }  # fmt: skip


def test_failed_retried_and_doubled_requests(write: Write) -> None:
    """A failure is skipped, a retry was served and stays, the same record twice counts once."""
    log = read_log(write(lite(1, 1), lite(2, 2, "failure"), lite(2, 3), lite(1, 5), lite(1, 5)))
    assert len(log.requests) == 3
    assert log.records.skipped == {"duplicate record": 1, "failed request": 1}
    assert log.records.retries == 1


def test_several_models_are_refused_with_the_list_or_split(write: Write, run: Run) -> None:
    file = write(*[lite(n, n, model="ab"[n % 2]) for n in range(10)])
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert "requests of 2 models: a (5), b (5)" in err
    assert "--model-field model=NAME" in err
    one = read_log(file, ReadOptions(model_field="model", model="a"))
    assert len(one.requests) == 5
    assert one.records.skipped == {"another model": 5}
    code, out, _ = run("analyze", file, "--model-field", "model=*")
    assert code == 0
    assert "models           a (5), b (5)" in out


def test_the_model_of_a_request_body(write: Write) -> None:
    """The field that the list advises also finds a model inside the body."""
    file = write(
        *[{"custom_id": str(n), "body": {"model": "ab"[n % 2], "prompt": "x"}} for n in range(4)]
    )
    for field in ("model", "body.model"):
        log = read_log(file, ReadOptions(model_field=field, model="b"))
        assert len(log.requests) == 2


def test_models_kept_apart_share_nothing(write: Write) -> None:
    same_prompt = [{**lite(1, n, model="ab"[n % 2]), "request_id": f"x{n}"} for n in range(4)]
    log = read_log(write(*same_prompt), ReadOptions(model="*"))
    paths = [r.hash_ids for r in log.requests]
    assert paths[0] == paths[2] != paths[1] == paths[3]


def test_a_model_that_is_not_there(write: Write) -> None:
    with pytest.raises(TraceError, match="no requests"):
        read_log(write(lite(1, 1, model="a")), ReadOptions(model="z"))


@pytest.mark.parametrize("native", [False, True])
def test_salts_share_nothing(write: Write, native: bool) -> None:
    """vLLM's cache_salt: the same prompt under two salts is two trees; a tenant field likewise."""
    content = {"hash_ids": [1, 2]} if native else {"prompt": "the same " * 400}
    salts = ["x", "y", None, "x"]
    records = [{**content, **({"cache_salt": s, "team": {"id": s}} if s else {})} for s in salts]
    log = read_log(write(*records))
    a, b, c, d = (set(r.hash_ids) for r in log.requests)
    assert a == d
    assert not a & b
    assert not a & c
    assert not b & c
    assert log.salts == {"#1": 2, "#2": 1}  # a salt may be a secret
    by_field = read_log(write(*[{**r, "cache_salt": None} for r in records]),
                        ReadOptions(salt_field="team.id"))  # fmt: skip
    assert [r.hash_ids for r in by_field.requests] == [r.hash_ids for r in log.requests]
    assert by_field.salts == {"x": 2, "y": 1}


def test_adapters_share_nothing_in_a_vllm_log(write: Write) -> None:
    def line(n: int, adapter: str) -> str:
        return (
            f"INFO 03-04 10:00:0{n} [logger.py:39] Received request c{n}: prompt: {'same ' * 30!r}, "
            f"params: SamplingParams(n=1), prompt_token_ids: None, lora_request: {adapter}."
        )

    lora = "LoRARequest(lora_name='fr', lora_int_id=1, lora_path='x')"
    log = read_log(write(line(1, "None"), line(2, lora), line(3, lora)))
    paths = [r.hash_ids for r in log.requests]
    assert paths[0] != paths[1] == paths[2]


def test_several_answers_are_one_prefill(write: Write) -> None:
    log = read_log(
        write({"model": "m", "prompt": "x" * 5000, "n": 4}, {"model": "m", "prompt": "x"})
    )
    assert len(log.requests) == 2
    assert log.records.several_answers == 1


def test_several_prompts_of_one_body_are_requests_of_their_own(write: Write) -> None:
    log = read_log(
        write(
            {"custom_id": "a", "body": {"model": "m", "prompt": ["one", "two"]}},
            {"custom_id": "b", "body": {"model": "m", "prompt": [[1, 2], [1, 3]]}},
        )
    )
    assert [r.input_length for r in log.requests] == [1, 1, 2, 2]
    assert log.records.retries == 0


def test_token_ids_are_used_as_they_are(write: Write, run: Run) -> None:
    file = write(*[{"model": "m", "prompt": [*range(40), n]} for n in range(4)])
    log = read_log(file, SMALL)
    assert [len(r.hash_ids) for r in log.requests] == [3] * 4
    assert len({r.hash_ids[:2] for r in log.requests}) == 1
    assert len({r.hash_ids[2] for r in log.requests}) == 4
    assert log.chars_per_block is None
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound")
    assert "token ids of the log, 16 a block" in out
    assert "approximate" not in out


SGLANG_CUT = [
    {"rid": f"r{n}", "text": "a" * 1024 + "..." + str(n) * 1024, "input_ids": None}
    for n in range(3)
]


def test_sglang_cuts_in_the_middle(write: Write, run: Run) -> None:
    """Only the whole blocks before the cut count; too few of them end the run with advice."""
    records = [{"event": "request.received", "timestamp": f"2026-03-01T09:00:0{n}", "obj": o}
               for n, o in enumerate(SGLANG_CUT)]  # fmt: skip
    log = read_log(write(*records), SMALL)
    assert [len(r.hash_ids) for r in log.requests] == [16] * 3
    assert len({r.hash_ids for r in log.requests}) == 1
    assert log.records.cut == 3
    code, _, err = run("analyze", write(*records))  # blocks of 2,048 characters
    assert code == 2
    assert "--log-requests-level 3" in err
    assert "3 of 3 records are unusable" in err


def test_sglang_cut_lists_and_text_lines(write: Write) -> None:
    ids = [*range(1024), "...", *range(1024)]
    event = {"event": "request.received", "obj": {"rid": "x", "text": None, "input_ids": ids}}
    log = read_log(write(event), SMALL)
    assert len(log.requests[0].hash_ids) == 64
    line = (
        "[2026-03-01 09:00:00] Receive: obj=GenerateReqInput(rid='y', text=None, input_ids="
        f"{list(range(1024))} ... {list(range(1024))}, stream=False)"
    )
    text = (
        f"[2026-03-01 09:00:01] Receive: obj=GenerateReqInput(rid='z', text={'a' * 1024!r} ... 'b')"
    )
    read = read_log(write("other line", line, text), SMALL)
    assert [len(r.hash_ids) for r in read.requests] == [64, 16]
    assert read.requests[0].hash_ids == log.requests[0].hash_ids
    assert read.records.cut == 2
    assert read.records.other_lines == 1


def test_sglang_batches_finishes_and_health_checks(write: Write) -> None:
    def event(name: str, second: int, **obj: object) -> dict[str, object]:
        return {
            "event": f"request.{name}",
            "timestamp": f"2026-03-01T09:00:{second:02}",
            "obj": obj,
        }

    log = read_log(
        write(
            event("received", 1, rid=["a", "b"], text=["one", "two"]),
            event("finished", 3, rid=["a", "b"], text=["one", "two"]),
            event("finished", 4, rid="late", text="only its end was logged"),
            event("received", 5, rid="HEALTH_CHECK_1", input_ids=[0]),
        )
    )
    assert len(log.requests) == 3
    assert log.records.other_lines == 2
    assert log.records.skipped == {"health check": 1}


def test_sglang_without_prompts_is_refused_with_the_flag(write: Write, run: Run) -> None:
    file = write({"event": "request.received", "rid": "a", "obj": {"rid": "a", "stream": True}})
    code, _, err = run("analyze", file)
    assert code == 2
    assert "--log-requests --log-requests-level 3" in err


def test_a_vllm_prompt_that_looks_like_a_log_line(write: Write) -> None:
    prompt = (
        "', params: SamplingParams(n=1), prompt_token_ids: [1, 2], \" it's\n\\' Received request"
    )
    line = (
        f"INFO 03-04 10:00:00 [logger.py:39] Received request c1: prompt: {prompt!r}, params: "
        "SamplingParams(n=2, stop=['prompt_token_ids: [7]']), prompt_token_ids: None, lora_request: None."
    )
    log = read_log(write(line), ReadOptions(chars_per_token=1, block_size=1))
    assert log.requests[0].input_length == len(prompt)
    assert log.tokenizer == "chars"
    assert log.records.several_answers == 1


def test_vllm_without_prompts_is_refused_with_the_setting(write: Write, run: Run) -> None:
    line = "INFO 03-04 10:00:0{} [logger.py:40] Received request c{}: params: SamplingParams(n=1), lora_request: None."
    file = write(
        "INFO 03-04 09:59:59 [launcher.py:42] Route: /health", line.format(1, 1), line.format(2, 2)
    )
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert "VLLM_LOGGING_LEVEL=DEBUG" in err
    assert "2 of 2 records are unusable" in err


def test_vllm_over_new_year(write: Write) -> None:
    line = "INFO {} [logger.py:39] Received request c{}: prompt: 'x', params: p, prompt_token_ids: None."
    times = ["12-31 23:59:58", "01-01 00:00:01", "01-01 00:00:02"]
    log = read_log(write(*[line.format(t, n) for n, t in enumerate(times)]))
    times_ms = [r.timestamp or 0 for r in log.requests]
    steps = [b - a for a, b in pairwise(times_ms)]
    assert steps == [3000, 1000]
    assert log.moved == 0


def sized(n: int, size: int) -> str:
    """A line of vLLM's log with a prompt of ``size`` characters and no token ids."""
    text = (f"{n} " + "word " * 400)[:size]
    return f"INFO 01-01 00:{n // 60:02}:{n % 60:02} [logger.py:39] Received request c{n}: prompt: {text!r}, params: p, prompt_token_ids: None."


def test_vllm_max_log_len_is_noticed(write: Write) -> None:
    """Many prompts of one round, greatest length beside shorter ones of other lengths."""
    short = [90, 91, 92]
    lines = [*[sized(n, 500) for n in range(5)], *[sized(n + 5, s) for n, s in enumerate(short)]]
    cut = read_log(write(*lines), SMALL)
    assert cut.records.cut == 5
    assert cut.records.perhaps_cut == 0
    assert [len(r.hash_ids) for r in cut.requests] == [500 // 64] * 5 + [-(-90 // 64)] * 3
    assert read_log(write(*[sized(n, 90 + n) for n in range(5)]), SMALL).records.cut == 0


@pytest.mark.parametrize(
    "sizes",
    [
        [1000] * 200,  # all equal: a benchmark, or everything is cut
        [1000] * 199 + [40],  # a trial request before the benchmark
        [777] * 20 + list(range(100, 140)),  # no number anybody would set
    ],
)
def test_equal_lengths_alone_are_no_cut(write: Write, run: Run, sizes: list[int]) -> None:
    """What may be chance is noted, in JSON too, and nothing is dropped."""
    file = write(*[sized(n, s) for n, s in enumerate(sizes)])
    log = read_log(file, SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (0, sizes.count(max(sizes)))
    assert [len(r.hash_ids) for r in log.requests] == [-(-s // 64) for s in sizes]
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound")
    assert "perhaps cut" in " ".join(out.split())
    _, out, _ = run("analyze", file, "--block-size", "16", "--no-bound", "--json", "-q")
    assert json.loads(out)["input"]["records"]["perhaps_cut"] == sizes.count(max(sizes))


def test_equal_prompts_of_a_few_characters_are_nothing(write: Write) -> None:
    log = read_log(write(*[sized(n, 20) for n in range(100, 160)]), SMALL)
    assert "perhaps" not in log.records.text()


def test_text_beside_ids_shows_that_nothing_is_cut(write: Write) -> None:
    """A random benchmark: 1,024 ids each, but longer texts, so no limit stood at 1,024."""
    ids = [(n, list(range(n, n + 1024))) for n in range(20)]
    lines = [
        f"INFO 01-01 00:00:{n:02} [logger.py:39] Received request c{n}: prompt: {'ab ' * (1300 + n)!r}, params: p, prompt_token_ids: {i}."
        for n, i in ids
    ]
    log = read_log(write(*lines), SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (0, 0)


REFUSED = [
    ("burstgpt.csv", "Timestamp,Model,Request tokens,Response tokens\n5,m,1,2\n", "a BurstGPT trace"),
    ("azure.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97,374,44\n",
     "the Azure LLM inference trace"),
    ("counts.jsonl", {"prompt_tokens": 12, "completion_tokens": 3}, "which prefixes they share"),
    ("output.jsonl", {"custom_id": "r-1", "response": {"status_code": 200, "body": {}}, "error": None},
     "a batch output file"),
    ("spend.jsonl", {"request_id": "a", "startTime": "2026-05-01 10:00:00", "messages": "{}"},
     "store_prompts_in_spend_logs: true"),
    ("spans.jsonl", {"attributes": {"gen_ai.request.model": "m"}}, "CAPTURE_MESSAGE_CONTENT"),
    ("dynamo.jsonl", {"schema": "dynamo.request.trace.v1", "event_type": "request_end",
                      "request": {"input_tokens": 5}}, "DYN_REQUEST_TRACE"),
    ("generation.jsonl", {"type": "GENERATION", "input": None}, "without input"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_cannot_be_analysed_is_refused_with_the_reason(
    run: Run, tmp_path: Path, name: str, text: object, words: str
) -> None:
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert words in err
    assert str(file) in err
    assert err.count("\n") <= 3


def test_a_pickle_is_never_opened(run: Run, tmp_path: Path) -> None:
    """It would run: loading this one creates a file."""
    import os
    import pickle

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    for protocol in (2, 3, 4, 5):
        file = tmp_path / "dump.pkl"
        file.write_bytes(pickle.dumps(Trap(), protocol))
        code, _, err = run("analyze", file)
        assert code == 2
        assert "a Python pickle" in err
        assert "--log-requests-level 3" in err
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "magic", [b"PK\x03\x04", b"PAR1", b"SQLite format 3\0", b"BZh9", b"\xfd7zXZ\0"]
)
def test_binary_files_are_named(run: Run, tmp_path: Path, magic: bytes) -> None:
    file = tmp_path / "log.bin"
    file.write_bytes(magic + bytes(100))
    code, _, err = run("analyze", file)
    assert code == 2
    assert str(file) in err
    assert "first" in err


def test_more_than_five_percent_unusable_needs_a_word(write: Write, run: Run) -> None:
    good, bad = {"hash_ids": [1]}, {"hash_ids": "no list"}
    few = read_log(write(*[good] * 19, bad, good))
    assert (len(few.requests), few.records.unusable) == (20, 1)
    file = write(*[good] * 10, bad, good)
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert "line 11: hash_ids: expected a list" in err
    assert "1 of 12 records are unusable (8.3%); more than 5% needs --allow-partial" in err
    code, out, err = run("analyze", file, "--allow-partial", "--json")
    assert code == 0
    assert "0 cut, 0 skipped, 1 unusable" in err
    assert json.loads(out)["input"]["records"]["unusable"] == 1
    code, out, _ = run("analyze", file, "--allow-partial")
    assert "0 cut, 0 skipped, 1 unusable" in out
    code, _, err = run("analyze", write(bad, bad), "--allow-partial")
    assert code == 2


def test_counts_are_always_printed(run: Run, sample: Path) -> None:
    _, out, _ = run("analyze", sample, "--no-bound")
    assert "0 cut, 0 skipped, 0 unusable" in out
    _, out, _ = run("replay", sample, "--policy", "lru", "--capacity-fraction", "1", "--json")
    assert json.loads(out)["input"]["records"]["unusable"] == 0


def test_an_unknown_file_is_not_zero_percent(run: Run, write: Write) -> None:
    """Peers answer with exit code 0 and a hit rate of 0 %."""
    for records in (
        ["2026-05-01 some log line", "another"],
        [{"level": "info", "msg": "hello"}] * 50,
    ):
        code, out, err = run("analyze", write(*records))
        assert (code, out) == (2, "")
        assert "cache-worthy formats" in err


def test_a_json_array_is_streamed_across_its_buffer(tmp_path: Path) -> None:
    """Elements shorter and longer than the first read, cut anywhere by it."""
    sizes = [10, 70_000, 300_000, 5, 65_536, 131_072, 1]
    file = tmp_path / "log.json"
    file.write_text(
        json.dumps([{"prompt": "é" * n} for n in sizes], ensure_ascii=False), encoding="utf-8"
    )
    log = read_log(file, ReadOptions(chars_per_token=1))
    assert [r.input_length for r in log.requests] == sizes


@pytest.mark.parametrize("tail", ["", "]", "}", ", {]", "] {}"])
def test_a_broken_array(run: Run, tmp_path: Path, tail: str) -> None:
    file = tmp_path / "log.json"
    file.write_text('[{"prompt": "a"}, {"prompt": "b"}' + tail, encoding="utf-8")
    code, _, err = run("analyze", file)
    assert code == (0 if tail in ("", "]") else 2)
    assert "Traceback" not in err


def test_local_ids_never_merge(tmp_path: Path) -> None:
    """Two conversations, or the same file twice, share no block; subagents share their root's."""
    sub = {"type": "subagent", "t": 5.0, "requests": [{"t": 1.0, "in": 128, "hash_ids": [1, 9]}]}
    talk = {"id": "t", "block_size": 64, "hash_id_scope": "local",
            "requests": [{"t": 0.0, "in": 128, "hash_ids": [1, 2]}, sub]}  # fmt: skip
    file = tmp_path / "a.json"
    file.write_text(json.dumps(talk) + "\n" + json.dumps(talk), encoding="utf-8")
    log = read_log([file, file])
    assert log.block_tokens == 64
    assert len({i for r in log.requests for i in r.hash_ids}) == 4 * 3
    assert sorted(r.timestamp or 0 for r in log.requests) == [0] * 4 + [6000] * 4
    file.write_text(json.dumps({**talk, "hash_id_scope": "global"}), encoding="utf-8")
    assert {i for r in read_log([file, file]).requests for i in r.hash_ids} == {1, 2, 9}


def test_block_sizes_that_contradict(run: Run, write: Write) -> None:
    dynamo = FOLDER / "dynamo.jsonl"
    code, _, err = run("analyze", dynamo, "--block-size", "32")
    assert code == 2
    assert "this log states 16 tokens a block" in err
    assert read_log(FOLDER / "bailian.jsonl", ReadOptions(block_size=32)).block_tokens == 32
    code, _, err = run(
        "analyze", write({"hash_ids": [1], "block_size": 16}, {"hash_ids": [1], "block_size": 32})
    )
    assert code == 2
    assert "a log that began with 16" in err


def test_sixteen_token_blocks_reach_sizes_and_costs(run: Run) -> None:
    """128 KiB a token of Llama-3.1-8B: a block of 16 tokens is 2 MiB, of 512 tokens 64 MiB."""
    _, out, _ = run("analyze", FOLDER / "bailian.jsonl", "--json", "--no-bound")
    workload = json.loads(out)["workload"]
    assert workload["block_bytes"] == 2 * 2**20
    assert workload["working_set_bytes"] == workload["distinct_blocks"] * 2 * 2**20


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


def test_lines_is_one_prompt_a_line(tmp_path: Path) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text('first prompt\n\n{"prompt": "taken as text"}\n', encoding="utf-8")
    log = read_log(file, ReadOptions(format="lines", chars_per_token=1))
    assert [r.input_length for r in log.requests] == [12, 27]


def test_request_lines_quoted_inside_others_are_not_requests(write: Write) -> None:
    """A prompt or an answer may hold a whole log line."""
    line = "INFO 03-04 10:00:00 [logger.py:39] Received request c{}: prompt: 'x', params: p, prompt_token_ids: None."
    answer = f"INFO 03-04 10:00:02 [logger.py:70] Generated response c1: output: {line.format(7)!r}"
    details = (
        "DEBUG 03-04 10:00:03 [logger.py:40] Request c3 details: prompt: "
        f"{line.format(8)!r}, prompt_token_ids: None, prompt_embeds shape: None."
    )
    log = read_log(write(line.format(1), answer, details))
    assert len(log.requests) == 2
    assert log.records.other_lines == 1
    receive = (
        "[2026-03-01 09:00:00] Receive: obj=GenerateReqInput(rid='{}', text='x', input_ids=None)"
    )
    printed = f"[2026-03-01 09:00:01] client said {receive.format('b')!r}"
    assert len(read_log(write(receive.format("a"), printed)).requests) == 1


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


def test_otel_messages_on_an_event_of_the_span(write: Write) -> None:
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    attributes = {"gen_ai.operation.name": "chat"}
    event = {"name": "details", "attributes": {"gen_ai.input.messages": message}}
    there = read_log(write({"attributes": attributes, "events": [event]}))
    here = read_log(write({"attributes": {**attributes, "gen_ai.input.messages": message}}))
    assert there.requests == here.requests
    old = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi"}
    assert read_log(write({"attributes": old})).requests == here.requests


def test_moved_cache_breakpoints_change_nothing(write: Write) -> None:
    """Anthropic clients mark another part each turn; the model never reads the mark."""

    def asked(mark: dict[str, object]) -> dict[str, object]:
        source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        parts = [{"type": "image", "source": source, **mark}, {"type": "text", "text": "what?"}]
        tool = {"type": "function", "function": {"name": "f", "parameters": {}, **mark}}
        return {"messages": [{"role": "user", "content": parts}], "tools": [tool]}

    log = read_log(write(asked({}), asked({"cache_control": {"type": "ephemeral"}})))
    assert log.requests[0].hash_ids == log.requests[1].hash_ids


def test_answer_lengths_beside_texts(write: Write) -> None:
    text = write({"text_input": "a", "output_length": 9}, {"text_input": "b"})
    assert [r.output_length for r in read_log(text).requests] == [9, None]
    messages = [{"role": "user", "content": "a"}]
    row: dict[str, object] = {"startTime": "2026-06-02 08:15:09", "messages": messages}
    counts: list[dict[str, object]] = [{"completion_tokens": 5}, {"completion_tokens": "6"}, {}]
    spend = write(*[{"request_id": f"r{i}", **row, **c} for i, c in enumerate(counts)])
    assert [r.output_length for r in read_log(spend).requests] == [5, 6, None]


def test_anonymised_priorities_are_ranks(write: Write, run: Run) -> None:
    given = [7_000_123, 0, -55, 12, 7_000_123]
    file = write(*[{"priority": p, "hash_ids": [i]} for i, p in enumerate(given)])
    _, out, err = run("convert", file, "--anonymise")
    assert [json.loads(row).get("priority", 0) for row in out.splitlines()] == [2, 0, -1, 1, 2]
    assert "priorities" in err


def test_the_end_of_a_conversation_is_no_arrival(write: Write) -> None:
    talk = [{"role": r, "content": r} for r in ("user", "assistant", "user", "assistant")]
    times = ("2023-04-09T00:10:00+00:00", "2023-04-09T00:05:00+00:00")
    log = read_log(write(*[{"conversation": talk, "timestamp": t} for t in times]))
    assert [r.timestamp for r in log.requests] == [None] * 4
    assert log.order == "file order (no arrival times)"


def test_litellm_prompts_cut_by_the_proxy(write: Write) -> None:
    """Only whole blocks before the mark count: tails behind it are no prefix."""

    def row(n: int, tail: str) -> dict[str, object]:
        text = "S" * 700 + "... (litellm_truncated skipped 90000 chars) ..." + tail * 300
        body = {"messages": [{"role": "user", "content": text}, {"role": "user", "content": "z"}]}
        return {"request_id": f"r{n}", "spend": 0, "proxy_server_request": json.dumps(body)}

    log = read_log(write(row(0, "a"), row(1, "b")), ReadOptions(block_size=16))
    assert log.records.cut == 2
    first, second = (r.hash_ids for r in log.requests)
    assert first == second
    assert len(first) == (len("<|user|>\n") + 700) // 64


def test_times_that_step_back_are_not_converted(write: Write, run: Run) -> None:
    """A reader would sort by them and lose the order asked for."""
    file = write(*[{"timestamp": t, "hash_ids": [i]} for i, t in enumerate([5000, 1000, 9000])])
    _, out, err = run("convert", file, "--order", "file")
    rows = [json.loads(row) for row in out.splitlines()]
    assert [r["hash_ids"] for r in rows] == [[0], [1], [2]]
    assert not any("timestamp" in r for r in rows)
    assert "times left out" in err
    assert "times left out" not in run("convert", file)[2]


def test_request_lines_that_are_no_utf8_are_unusable(tmp_path: Path) -> None:
    line = "INFO 03-04 10:00:00 [logger.py:39] Received request c{}: prompt: 'x{}', params: p, prompt_token_ids: None."
    rows = [line.format(n, "y").encode() for n in range(40)]
    rows += [line.format(99, "@").encode().replace(b"@", b"\xff"), b"INFO other \xff"]
    file = tmp_path / "vllm.log"
    file.write_bytes(b"\n".join(rows) + b"\n")
    log = read_log(file)
    assert (len(log.requests), log.records.unusable, log.records.other_lines) == (40, 1, 1)
    assert "line 41: not UTF-8" in log.records.first_unusable


def both(n: int, characters: int, ids: int) -> str:
    """A line with a text and token ids, different from every other ``n``."""
    text, tokens = f"{n} ".ljust(characters, "w"), [n] * ids
    return f"INFO 03-04 10:00:{n:02} [logger.py:39] Received request c{n}: prompt: {text!r}, params: p, prompt_token_ids: {tokens}."


@pytest.mark.parametrize(
    ("lines", "cut", "perhaps", "blocks"),
    [
        ([(40, 40), (40, 40), (40, 11)], 2, 0, [2, 2, 1]),  # cut at 40
        ([(40, 40), (30, 11)], 0, 1, [3, 1]),  # one may be chance
        ([(40, 40), (90, 40)], 0, 0, [3, 3]),  # a text of 90 characters: no limit at 40
        ([(40, 40), (40, 40), (35, 35)], 0, 2, [3, 3, 3]),  # a tokeniser of one id a character
        ([(20, 20), (20, 20)], 0, 0, [2, 2]),  # too short for a limit
    ],
)
def test_as_many_ids_as_characters_is_a_cut(
    write: Write, lines: list[tuple[int, int]], cut: int, perhaps: int, blocks: list[int]
) -> None:
    """Where two different prompts show it, at the greatest length, and no shorter one does."""
    log = read_log(write(*[both(n, *line) for n, line in enumerate(lines)]), SMALL)
    assert (log.records.cut, log.records.perhaps_cut) == (cut, perhaps)
    assert [len(r.hash_ids) for r in log.requests] == blocks
