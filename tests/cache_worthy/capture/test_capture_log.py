"""The log that cache-worthy capture writes: what analyze makes of it, and what does not break it.

Rank 4, differential: the analysis of a recorded log is that of the same bodies given as a log.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bare_http import Capture, Upstream, fetch
from capture_traffic import CHAT, COMPLETIONS, MESSAGES, answers, send

from cache_worthy.advise.sections import skippable
from cache_worthy.capture.given import secret_key
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(answers)
    yield server
    server.close()


def traffic(count: int) -> list[tuple[bytes, dict[str, Any]]]:
    """Conversations of several tenants through every endpoint, some of them failing."""
    rng = random.Random(7)
    preambles = ["You are Ada. " * 400, "Answer in one word. " * 150]
    histories: list[list[dict[str, str]]] = []
    out: list[tuple[bytes, dict[str, Any]]] = []
    for n in range(count):
        if len(histories) < 4 or rng.random() < 0.2:
            histories.append([{"role": "system", "content": rng.choice(preambles)}])
        history = rng.choice(histories)
        history.append(
            {"role": "user", "content": f"{n}: " + "\u00e9 and so on " * rng.randint(1, 200)}
        )
        body: dict[str, Any] = {"model": "m", "messages": list(history), "stream": n % 3 == 0}
        history.append({"role": "assistant", "content": "yes " * rng.randint(1, 100)})
        path = CHAT
        if n % 7 == 3:
            system, *rest = body.pop("messages")
            path, body = MESSAGES, {**body, "system": system["content"], "messages": rest}
            body["tools"] = [{"name": "look", "input_schema": {"type": "object"}}]
        if n % 11 == 5:
            path, body = COMPLETIONS, {"model": "m", "prompt": preambles[n % 2] + str(n), "n": 2}
        if n % 13 == 6:
            path, body = COMPLETIONS, {"model": "m", "prompt": [preambles[0] + "a", preambles[1]]}
        if n % 17 == 8:
            path, body = COMPLETIONS, {"model": "m", "prompt": list(range(2000 + n))}
        if n % 5 == 1:
            body["cache_salt"] = f"tenant {n % 2}"
        if n % 19 == 4 and path == CHAT:
            body["messages"].append({"role": "user", "content": "too many"})
        if n % 9 == 2:
            body["priority"] = 2
        out.append((path, body))
    return out


def analysis(run: Run, *argv: object) -> dict[str, Any]:
    code, out, err = run("analyze", *argv, "--json", "--skip", ",".join(skippable()))
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Without what names the file and its format, and the ids themselves."""
    of_file = ("source", "sha256", "format", "field", "chars_per_block", "tokenizer", "template")
    document["input"] = {k: v for k, v in document["input"].items() if k not in of_file}
    text = json.dumps(document, sort_keys=True)
    out: dict[str, Any] = json.loads(text)
    for pin in (out.get("pin") or {}).get("pins", []):
        pin.pop("last_block_id", None)
    return out


@pytest.mark.parametrize("keep", [False, True])
def test_the_log_is_analysed_as_the_traffic(
    run: Run, upstream: Upstream, tmp_path: Path, keep: bool
) -> None:
    """Field by field, with the options of the command line given to the one or the other."""
    cutting = ("--block-size", 64, "--template", "chatml", "--chars-per-token", 4)
    options = [] if keep else cutting
    running = Capture(upstream.port, tmp_path / "log.jsonl", *options, *["--keep-text"] * keep)
    sent = traffic(100)
    bodies = [(path, json.dumps(body).encode()) for path, body in sent]
    bodies[::4] = [(path, gzip.compress(body)) for path, body in bodies[::4]]
    send(running.port, bodies)
    send(running.port, [(b"/v1/embeddings", b'{"model": "e", "input": "not a prompt"}')])
    assert running.stop()[0] == 0
    rows = running.rows()
    times = iter(dict.fromkeys(row["timestamp"] for row in rows))
    plain = tmp_path / "bodies.jsonl"
    with plain.open("w", encoding="utf-8") as file:
        for _, body in sent:
            failed = b"too many" in json.dumps(body).encode()
            record = {"timestamp": next(times), "status": 429 if failed else 200, "body": body}
            if not failed:
                record["output_length"] = 6
            file.write(json.dumps(record) + "\n")
    recorded = analysis(run, running.log, *(cutting if keep else ()))
    given = analysis(run, plain, *cutting)
    failed_ones = sum("too many" in str(body) for _, body in sent)
    assert given["input"]["records"]["skipped"] == {"failed request": failed_ones}
    assert failed_ones > 3
    assert len(given["input"]["salts"]) == 2
    if not keep:  # n is no part of a trace: one prefill either way
        assert given["input"]["records"].pop("several_answers") > 3
        del recorded["input"]["records"]["several_answers"]
    assert comparable(recorded) == comparable(given)
    mine = read_log(running.log)
    theirs = read_log(plain, ReadOptions(block_size=64, template="chatml", chars_per_token=4))
    assert [r.output_length for r in mine.requests] == [r.output_length for r in theirs.requests]
    assert [r.priority for r in mine.requests] == [r.priority for r in theirs.requests]
    if not keep:  # who guesses a prompt cannot look for it without the key
        ids = [{i for r in log.requests for i in r.hash_ids} for log in (mine, theirs)]
        assert not ids[0] & ids[1]


def test_nothing_secret_is_written(upstream: Upstream, tmp_path: Path) -> None:
    """No header, key or query anywhere, and no prompt in the trace; with --keep-text prompts alone."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "PROMPT-SECRET " * 300}],
        "tools": [
            {"type": "mcp", "server_label": "s", "authorization": "TOOL-SECRET"},
            {"type": "mcp", "server_label": "t", "server_url": "https://t/URL-SECRET/mcp"},
        ],
        "cache_salt": "SALT-SECRET",
        "api_key": "BODY-SECRET",
        "user": "USER-SECRET",
        "metadata": {"a": "META-SECRET"},
    }
    headers = (
        b"Authorization: Bearer KEY-SECRET",
        b"X-Api-Key: OTHER-SECRET",
        b"Cookie: COOKIE-SECRET",
    )
    for keep in (False, True):
        log = tmp_path / f"{keep}.jsonl"
        running = Capture(upstream.port, log, "-v", *["--keep-text"] * keep)
        data = json.dumps(body).encode()
        send(running.port, [(CHAT, data), (CHAT, b"not json SECRET"), (CHAT, data[:-20])], *headers)
        send(running.port, [(CHAT + b"?key=QUERY-SECRET", data)], *headers)
        code, out, err = running.stop()
        assert code == 0
        assert "POST /v1/chat/completions 200" in err
        assert "2 without a prompt that could be read" in err
        assert "SECRET" not in out + err
        text = log.read_text(encoding="utf-8")
        assert text.count("\n") == 2
        assert text.count("SECRET") == text.count("PROMPT-SECRET") == (600 if keep else 0)
        assert log.stat().st_mode & 0o077 == 0


def test_a_key_is_fresh_unless_it_is_kept(tmp_path: Path) -> None:
    file = str(tmp_path / "key")
    assert secret_key(file, True) == secret_key(file, True)
    assert len({secret_key(None, True), secret_key(None, True), secret_key(file, True)}) == 3


def test_runs_under_one_key_share_ids(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    log, key = tmp_path / "log.jsonl", tmp_path / "key"
    body = [
        (
            CHAT,
            json.dumps(
                {"model": "m", "messages": [{"role": "user", "content": "a" * 5000}]}
            ).encode(),
        )
    ]
    for options in (["--key-file", key], ["--key-file", key, "--append"]):
        running = Capture(upstream.port, log, *options)
        send(running.port, body)
        assert running.stop()[0] == 0
        with log.open("ab") as file:
            file.write(b'{"timestamp": 1')  # as a crash leaves it
    first, _, second, _ = log.read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["hash_ids"] for line in (first, second)]
    assert ids[0] == ids[1]
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text(encoding="ascii").strip() not in log.read_text(encoding="utf-8")


def test_rotation_keeps_every_record_in_order(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    running = Capture(
        upstream.port, tmp_path / "log.jsonl", "--rotate-mib", 1, "--keep-text", "--max-body-mib", 1
    )
    texts = [f"{n} " + "x" * 300_000 for n in range(8)] + ["y" * (1 << 20)]
    bodies = [{"model": "m", "messages": [{"role": "user", "content": text}]} for text in texts]
    send(running.port, [(CHAT, json.dumps(body).encode()) for body in bodies])
    code, _, err = running.stop()
    assert code == 0
    assert "1 over --max-body-mib" in err
    pieces = sorted(tmp_path.glob("log-*.jsonl"))
    assert [p.name for p in pieces] == [f"log-{n:05d}.jsonl" for n in (1, 2, 3)]
    assert all(p.stat().st_size <= 1 << 20 for p in pieces)
    assert not running.log.exists()
    log = read_log(pieces)
    assert len(log.requests) == 8
    assert log.moved == 0
    argv = ("--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "-o", running.log)
    code, _, err = run("capture", *argv, "--rotate-mib", 1)
    assert code == 2
    assert "log-00001.jsonl: exists; a log is never overwritten" in err


def load(port: int, stop: threading.Event, done: list[int]) -> threading.Thread:
    """Requests on eight connections until they break; counts answers seen to their end."""

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not stop.is_set():
            body = json.dumps({"model": "m", "prompt": "word " * 2000 + str(len(done))}).encode()
            writer.write(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                         % (COMPLETIONS, len(body), body))  # fmt: skip
            try:
                response = await fetch(reader, b"POST")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            if response.whole:
                done.append(1)

    async def eight() -> None:
        await asyncio.gather(*[one() for _ in range(8)])

    thread = threading.Thread(target=lambda: asyncio.run(eight()), daemon=True)
    thread.start()
    return thread


def test_kill_9_loses_only_what_was_under_way(run: Run, upstream: Upstream, tmp_path: Path) -> None:
    """Every answer that a client saw to its end stands in the log, and analyze reads it."""
    running = Capture(upstream.port, tmp_path / "log.jsonl")
    done: list[int] = []
    thread = load(running.port, threading.Event(), done)
    while len(done) < 100:
        time.sleep(0.001)
    code, _, _ = running.stop(signal.SIGKILL)
    assert code == -signal.SIGKILL
    thread.join(10)
    log = read_log(running.log)
    assert len(done) <= len(log.requests) <= len(done) + 8
    assert analysis(run, running.log)["input"]["requests"] == len(log.requests)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_full_disk_stops_no_traffic(upstream: Upstream) -> None:
    running = Capture(upstream.port, Path("/dev/full"))
    bodies = [(CHAT, b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}')] * 20
    send(running.port, bodies)
    code, _, err = running.stop()
    assert code == 1
    assert err.count("cannot write the log: No space left on device") == 1
    assert "20 requests passed on, 0 recorded" in err
    assert "20 lost because the log could not be written" in err


@pytest.mark.skipif(sys.platform == "win32", reason="ulimit")
def test_a_log_at_its_limit_keeps_whole_records(upstream: Upstream, tmp_path: Path) -> None:
    """The record that did not fit is taken back; those before it stand."""
    limit = ("sh", "-c", 'ulimit -f 16; exec "$@"', "sh")
    running = Capture(upstream.port, tmp_path / "log.jsonl", "--block-size", 16, prefix=limit)
    bodies = [
        (COMPLETIONS, json.dumps({"model": "m", "prompt": str(n) + "x" * 6000}).encode())
        for n in range(12)
    ]
    send(running.port, bodies)
    code, _, err = running.stop()
    assert code == 1
    assert err.count("cannot write the log: File too large") == 1
    rows = running.rows()  # whole lines alone
    assert 0 < len(rows) < 12
    assert f"{len(rows)} recorded" in err
