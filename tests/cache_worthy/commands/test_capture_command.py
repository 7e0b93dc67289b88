"""cache-worthy capture: what cannot start, and what it says at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bare_http import Capture, Upstream
from capture_traffic import CHAT, answers, send

from cache_worthy.capture.counts import Counts, summary
from cache_worthy.capture.given import bind, is_own

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream(answers)
    yield server
    server.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "anyone who reaches this port"),
        (["--listen", "8100"], "expected HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "expected HOST:PORT"),
        (["--upstream", "localhost:8000"], "expected http://HOST:PORT"),
        (["--upstream", "http://me:secret@localhost"], "clients send their own"),
        (["--upstream", "http://localhost/v1?key=secret"], "has a query"),
        (["--key-file", "log.jsonl", "-o", "./log.jsonl"], "--key-file: is the log"),
        (["-o", "/dev/null", "--analyze-every", "5"], "not a file that can be read"),
        (["-o", "-"], "expected a file name"),
        (["-o", "/no/such/folder/log"], "no folder /no/such/folder"),
        (["--append"], "give the --key-file"),
        (["--max-body-mib", "0"], "expected an integer >= 1"),
        (["--model", "no-such"], "no-such"),
        (["--tokenizer", "no-such"], "unknown; expected chars"),
    ],
)
def test_what_cannot_start_says_why(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0"]
    code, out, err = run("capture", *argv, "-o", tmp_path / "log.jsonl", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "secret" not in err
    assert not (tmp_path / "log.jsonl").exists()


@pytest.mark.parametrize("listen", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_a_proxy_is_no_upstream_of_itself(listen: str) -> None:
    with bind(listen, 0, remote=True) as sock:
        port = sock.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            assert is_own(f"http://{host}:{port}/v1", listen, sock)
        for url in (
            f"http://127.0.0.1:{port - 1}",
            f"http://192.0.2.1:{port}",
            "https://localhost",
        ):
            assert not is_own(url, listen, sock)


def test_an_existing_log_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("mine\n", encoding="utf-8")
    argv = ("--upstream", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "-o", log)
    assert "exists; a log is never overwritten" in run("capture", *argv)[2]
    assert log.read_text(encoding="utf-8") == "mine\n"
    key = tmp_path / "key"
    key.write_text("short\n", encoding="ascii")
    assert "expected at least 16" in run("capture", *argv, "--append", "--key-file", key)[2]


def test_without_the_extra(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    argv = ("--upstream", "http://127.0.0.1:9", "-o", tmp_path / "log.jsonl")
    code, _, err = run("capture", *argv)
    assert code == 2
    assert err == (
        "cache-worthy: capture needs packages that are not installed; pip install aiohttp uvicorn\n"
    )


def test_what_the_end_says(upstream: Upstream, tmp_path: Path) -> None:
    """The next command can be typed as it stands; who recorded nothing learns what is recorded."""
    running = Capture(upstream.port, tmp_path / "my log.jsonl")
    send(running.port, [(CHAT, b'{"model": "m", "prompt": "a"}')])
    assert f"next: cache-worthy analyze '{running.log}'" in running.stop()[2]
    assert "none was a POST to .../chat/completions" in summary(Counts(passed=1), 4.0, "chars")[1]
    assert len(summary(Counts(passed=1, recorded=1), 4.0, "chars")) == 1
