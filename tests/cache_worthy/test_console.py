"""The live line shows what takes long, also where that is the first step."""

from __future__ import annotations

import io
import sys
import time

import pytest

from cache_worthy.console import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def attach(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on stderr; pytest puts its own there between a fixture and its test."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(Progress, "AFTER", 0.05)
    return found


def wait_for(terminal: Terminal, text: str) -> None:
    end = time.monotonic() + 30
    while text not in terminal.getvalue():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_first_step_that_takes_long_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach(monkeypatch)
    progress = Progress()
    progress.step("replay 1/20")
    wait_for(terminal, "replay 1/20")
    time.sleep(0.3)
    progress.step("replay 2/20")
    progress.done()
    assert terminal.getvalue() == "\r\x1b[Kreplay 1/20\r\x1b[Kreplay 2/20\r\x1b[K"


def test_a_short_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach(monkeypatch)
    for quiet in (True, False):
        progress = Progress(quiet)
        progress.step("replay 1/20")
        if not quiet:
            progress.done()
        time.sleep(0.2)
    assert terminal.getvalue() == ""


def test_every_step_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach(monkeypatch)
    progress = Progress(verbose=True)
    progress.step("one")
    progress.step("two")
    time.sleep(0.2)
    progress.done()
    assert terminal.getvalue() == "cache-worthy: one\ncache-worthy: two\n"
