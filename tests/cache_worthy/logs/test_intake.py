"""Requests that are told apart or are the same: ids, models, salts, retries, lists of prompts (rank 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.errors import TraceError

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


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


def test_the_salt_field_option_keeps_tenants_apart(run: Run, write: Write) -> None:
    file = write(*[{"prompt": "same " * 900, "meta": {"tenant": t}} for t in "aabb"])
    _, whole, _ = run("analyze", file, "--json", "--no-bound", "-q")
    _, apart, _ = run("analyze", file, "--salt-field", "meta.tenant", "--json", "--no-bound", "-q")
    blocks = [json.loads(t)["workload"]["distinct_blocks"] for t in (whole, apart)]
    assert blocks[1] == 2 * blocks[0]
    assert json.loads(apart)["input"]["salts"] == {"a": 2, "b": 2}


@pytest.mark.parametrize("field", ["model", "meta.engine"])
def test_the_model_field_option_in_its_three_forms(run: Run, write: Write, field: str) -> None:
    rows = [
        {"prompt": "same " * 900, "model": m, "meta": {"engine": m}} for m in ("x", "x", "y", "y")
    ]
    file = write(*rows)
    code, out, err = run("analyze", file, "--model-field", field)
    assert (code, out) == (2, "")
    assert "requests of 2 models: x (2), y (2)" in err
    for value, requests in (("x", 2), ("*", 4)):
        argv = ("analyze", file, "--model-field", f"{field}={value}", "--json", "--no-bound", "-q")
        assert json.loads(run(*argv)[1])["input"]["requests"] == requests


def test_one_bad_request_of_a_conversation_is_counted_alone(write: Write) -> None:
    rows = [{"t": float(n), "in": 64, "hash_ids": [n]} for n in range(30)]
    talk = {"id": "t", "block_size": 64, "requests": rows}
    tokens = {"model": "m", "prompt": [[1, 2], [-1], *[[n] for n in range(40)]]}
    assert len(read_log(write(talk)).requests) == 30
    log = read_log(write(tokens))
    assert (len(log.requests), log.records.unusable) == (41, 1)
    with pytest.raises(TraceError, match="token ids"):
        read_log(write({"model": "m", "prompt": [[-1], [-2]]}))


def test_anonymised_priorities_are_ranks(write: Write, run: Run) -> None:
    given = [7_000_123, 0, -55, 12, 7_000_123]
    file = write(*[{"priority": p, "hash_ids": [i]} for i, p in enumerate(given)])
    _, out, err = run("convert", file, "--anonymise")
    assert [json.loads(row).get("priority", 0) for row in out.splitlines()] == [2, 0, -1, 1, 2]
    assert "priorities" in err
