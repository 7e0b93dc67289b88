"""vLLM: lines at INFO and at DEBUG, where the adapter and n stand on a line of their own (rank 4)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16)

PROMPT = "the same long prompt " * 20


def debug(n: int, text: str = PROMPT, second: int = 1) -> str:
    return (
        f"DEBUG 03-04 10:00:{second:02} [request_logger.py:57] Request c{n} details: prompt: {text!r}, "
        "prompt_token_ids: None, prompt_embeds shape: None."
    )


def info(n: int, adapter: str = "None", answers: int = 1, stop: str = "", second: int = 1) -> str:
    return (
        f"INFO 03-04 10:00:{second:02} [request_logger.py:66] Received request c{n}: params: "
        f"SamplingParams(n={answers}, stop=[{stop!r}]), lora_request: {adapter}."
    )


def lora(name: str, number: int = 1) -> str:
    return f"LoRARequest(lora_name={name!r}, lora_int_id={number}, lora_path='/x')"


def test_adapters_of_a_debug_log(write: Write) -> None:
    log = read_log(
        write(
            debug(1), info(1), debug(2), info(2, lora("fr")), debug(3), info(3, lora("fr")),
            debug(4), info(4, lora("de", 2)),
        )
    )  # fmt: skip
    plain, one, two, other = (r.hash_ids for r in log.requests)
    assert one == two
    assert len({plain, one, other}) == 3
    assert log.salts == {"#1": 2, "#2": 1}
    assert log.records.other_lines == 4
    assert log.records.unusable == 0


def test_the_adapter_is_the_one_an_info_log_of_old_gives(write: Write) -> None:
    """The same traffic logged by both releases gives the same blocks."""
    old = (
        f"INFO 03-04 10:00:01 [logger.py:39] Received request c1: prompt: {PROMPT!r}, params: "
        f"SamplingParams(n=1), prompt_token_ids: None, lora_request: {lora('fr')}."
    )
    assert read_log(write(old)).requests == read_log(write(debug(1), info(1, lora("fr")))).requests


def test_several_answers_of_a_debug_log(write: Write) -> None:
    log = read_log(write(debug(1), info(1, answers=4), debug(2), info(2)))
    assert len(log.requests) == 2
    assert log.records.several_answers == 1


def test_lines_of_two_servers_interleave(write: Write) -> None:
    """Joined by request id, and file order stands among equal times."""
    lines = [debug(1, "a" * 90), debug(2, "b" * 90), info(2, lora("fr")), info(1, lora("de", 2))]
    apart = [lines[0], lines[3], lines[1], lines[2]]
    assert read_log(write(*lines)).requests == read_log(write(*apart)).requests


def test_a_stop_string_that_looks_like_an_adapter(write: Write) -> None:
    log = read_log(write(debug(1), info(1, lora("fr"), stop=f"lora_request: {lora('x', 9)}")))
    assert log.requests == read_log(write(debug(1), info(1, lora("fr")))).requests


def test_details_whose_info_line_is_missing_are_kept_in_order(write: Write) -> None:
    """A filtered log: nothing waits for ever, and nothing is lost."""
    log = read_log(write(*[debug(n, f"{n} " * 50) for n in range(300)]), SMALL)
    assert len(log.requests) == 300
    assert log.records.unusable == 0
    texts = write(*[{"prompt": f"{n} " * 50} for n in range(300)])
    assert [r.hash_ids for r in log.requests] == [
        r.hash_ids for r in read_log(texts, SMALL).requests
    ]


def test_the_info_line_may_stand_in_the_next_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(debug(1) + "\n", encoding="utf-8")
    second.write_text(info(1, lora("fr")) + "\n", encoding="utf-8")
    assert read_log([first, second]).salts == {"#1": 1}


def test_a_held_request_that_cannot_be_used_is_counted_where_it_stood(write: Write) -> None:
    bad = debug(99).replace("prompt_token_ids: None", "prompt_token_ids: [-1]")
    rows = [line for n in range(30) for line in (debug(n), info(n))]
    log = read_log(write(*rows, bad, info(99)))
    assert (len(log.requests), log.records.unusable) == (30, 1)
    assert "line 61: token ids" in log.records.first_unusable


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
