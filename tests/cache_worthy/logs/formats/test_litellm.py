"""LiteLLM: cuts by the proxy, its own cache, pages, prefix hashes (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


def test_litellm_prompts_cut_by_the_proxy(write: Write) -> None:
    """Only whole blocks before the mark count: tails behind it are no prefix."""

    def row(n: int, tail: str) -> dict[str, object]:
        text = "S" * 700 + "... (litellm_truncated skipped 90000 chars) ..." + tail * 300
        body = {"messages": [{"role": "user", "content": text}, {"role": "user", "content": "z"}]}
        return {"request_id": f"r{n}", "spend": 0, "proxy_server_request": json.dumps(body)}

    log = read_log(write(row(0, "a"), row(1, "b")), chars_per_token=4)
    assert log.records.cut == 2
    first, second = (r.hash_ids for r in log.requests)
    assert first == second
    assert len(first) == (len("<|user|>\n") + 700) // 64


def test_pages_of_a_litellm_listing(write: Write) -> None:
    body = {"messages": [{"role": "user", "content": "question " * 30}]}
    rows: list[dict[str, object]] = [
        {"request_id": f"r{n}", "startTime": f"2026-05-01 10:00:0{n}",
         "status": "failure" if n == 1 else "success", "proxy_server_request": json.dumps(body)}
        for n in range(4)
    ]  # fmt: skip
    page = {"data": rows, "total": 4, "page": 1, "page_size": 50, "total_pages": 1}
    log = read_log(write(page))
    assert log.requests == read_log(write(*rows)).requests
    assert log.records.skipped == {"failed request": 1}


@pytest.mark.parametrize("hit", [True, "True", "true"])
def test_what_the_proxy_answered_itself_is_no_request(write: Write, hit: object) -> None:
    """LiteLLM's own cache of answers: the server behind it prefilled nothing."""
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]})
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "proxy_server_request": body}
    hits: list[object] = [None, hit, "False", False, "", "None"]
    log = read_log(
        write(*[{**row, "request_id": f"r{n}", "cache_hit": h} for n, h in enumerate(hits)])
    )
    assert len(log.requests) == 5
    assert log.records.skipped == {"answered from the proxy's cache": 1}


HASHES = ["00aa00aa00aa00aa", "11bb11bb11bb11bb"]


@pytest.mark.parametrize(
    ("value", "options", "block"),
    [
        ({"hash_ids": HASHES, "block_size": 64}, ReadOptions(), 64),
        ({"anything": HASHES, "version": 1, "block_size": 64}, ReadOptions(), 64),
        (HASHES, ReadOptions(block_size=64), 64),
        (json.dumps(HASHES), ReadOptions(), 512),
    ],
)
def test_prefix_hashes_of_litellm(
    write: Write, value: object, options: ReadOptions, block: int
) -> None:
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "prompt_tokens": "100",
           "completion_tokens": 7, "messages": "{}"}  # fmt: skip
    for metadata in ({"prefix_block_hashes": value}, json.dumps({"prefix_block_hashes": value})):
        log = read_log(write({**row, "metadata": metadata}), options)
        assert log.requests[0].hash_ids == tuple(HASHES)
        assert log.requests[0].input_length == 100
        assert log.requests[0].output_length == 7
        assert log.block_tokens == block
        assert log.length_mismatches == (block == 512)


def test_hashes_of_another_shape_are_no_hashes(run: Run, write: Write) -> None:
    row = {"request_id": "r", "startTime": "2026-11-20 10:00:00", "messages": "{}"}
    for value in ({"a": HASHES, "b": HASHES}, [1, 2], [], {}, "off", 5):
        code, _, err = run("analyze", write({**row, "metadata": {"prefix_block_hashes": value}}))
        assert code == 2
        assert "prefix_block_hashes callback" in err
