"""The short answer while the proxy runs: the document of an analysis in a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bare_http import Capture, Upstream
from capture_traffic import CHAT, answers, send

from cache_worthy.capture.advice import short_answer

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(answers)
    yield server
    server.close()


def test_the_short_answer_while_it_runs(upstream: Upstream, tmp_path: Path) -> None:
    running = Capture(upstream.port, tmp_path / "log.jsonl", "--analyze-every", 20)
    body = {"model": "m", "messages": [{"role": "user", "content": "same " * 2000}]}
    send(running.port, [(CHAT, json.dumps(body).encode())] * 25)
    assert running.process.stdout is not None
    first = running.process.stdout.readline()
    send(running.port, [(CHAT, json.dumps(body).encode())])
    code, out, err = running.stop()
    assert code == 0, err
    assert first.startswith("after 2")
    assert "Caching pays off" in out
    assert "WORKLOAD" not in out


def test_the_short_answer_has_the_figures_of_the_document(run: Run, sample: Path) -> None:
    document = json.loads(run("analyze", sample, "--json")[1])
    text = " ".join(short_answer(document).split())
    assert f"would save {100 * document['worth']['ceiling']:.1f}% of your prefill work" in text
    curve, pin = document["capacity"], document["pin"]
    assert f"Allocate {curve['recommended_bytes'] / 2**30:.3g} GiB" in text
    assert f"({100 * curve['recommended_fraction']:.1f}% of all distinct blocks)" in text
    assert f"{document['workload']['floor_bytes'] / 2**30:.3g} GiB, one copy" in text
    (row,) = (r for r in document["policy"]["rows"] if r["bytes"] == curve["recommended_bytes"])
    assert f"At that size {row['verdict']}" in text
    assert f"Pinning {len(pin['pins'])} prefixes ({pin['together_bytes'] / 2**30:.3g} GiB)" in text
    assert f"at most {100 * pin['together_protected_fraction']:.1f}% of what caching" in text
    assert max(map(len, short_answer(document).splitlines())) <= 72


def test_a_log_that_shares_nothing_is_answered_in_a_line(
    run: Run, write: Callable[..., Path]
) -> None:
    log = write(*({"hash_ids": [n], "input_length": 512} for n in range(40)))
    document = json.loads(run("analyze", log, "--json")[1])
    assert " ".join(short_answer(document).split()) == (
        "Prefix caching is not worth enabling on this log: an unlimited cache would save 0.0% "
        "of your prefill work."
    )
