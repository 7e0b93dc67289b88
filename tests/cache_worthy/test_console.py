"""What reaches a terminal: clean and cut text, columns, the live line that shows what takes long."""

from __future__ import annotations

import io
import sys
import time
import unicodedata
from itertools import pairwise

import pytest

from cache_worthy.console import Progress, one_line, plain, wrap


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


def shown_width(line: str) -> int:
    """Columns of a line, counted apart from the code."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1
        for c in line
    )


HOSTILE = ("a\x1b[31mb", "a\rb", "a\x00b", "a\u202eb", "a\u2028b", "a\tb", "a\x9bb", "a\ud800b")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_control_character_gets_through(text: str) -> None:
    for clean in (plain(text), one_line(text)):
        assert clean.isprintable()
        assert clean[0] == "a"
        assert clean[-1] == "b"


@pytest.mark.parametrize("letter", ["x", "\u4e2d", "e\u0301", "\U0001f600", "\x1b"])
@pytest.mark.parametrize("most", [9, 10, 79, 1000])
def test_a_long_text_is_cut_in_its_middle(letter: str, most: int) -> None:
    text = plain(f"A{letter * 5000}Z", most)
    assert shown_width(text) <= most
    assert text[0] == "A"
    assert text[-1] == "Z"
    assert " ... " in text
    assert plain("x" * most, most) == "x" * most


def test_a_message_of_several_lines_is_one() -> None:
    assert one_line("one \n\n  two\r\nthree\u2028four\n") == "one; two; three; four"


@pytest.mark.parametrize("width", [5, 12, 40, 80])
@pytest.mark.parametrize(
    "text",
    [
        "plain words of a sentence, some of them quite long " * 3,
        "\u65e5\u672c\u8a9e\u306e\u6a21\u578b " * 20,
        "\u65e5\u672c\u8a9e" * 60,
        "\U0001f600\U0001f680 " * 30 + "\U0001f600" * 90,
        "Zu\u0308rich " * 30 + "u\u0308" * 200,
        "x" * 300,
    ],
)
def test_wrapping_counts_columns_and_loses_nothing(text: str, width: int) -> None:
    lines = wrap(text, width, first="* ", rest="  ")
    assert max(map(shown_width, lines)) <= width
    assert "".join(line[2:] for line in lines).replace(" ", "") == text.replace(" ", "")
    for line, below in pairwise(lines):  # no word would have fitted above
        assert shown_width(line) + shown_width(below.split()[0]) + 1 > width
    assert wrap("", width) == []
    assert wrap("", width, first="name  ") == ["name"]


def test_a_live_line_is_clean_and_no_wider_than_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = attach(monkeypatch)
    progress = Progress()
    progress.step("policy \x1b]0;title\x07\n" + "\u65e5" * 100)
    wait_for(terminal, "policy")
    progress.done()
    (line,) = terminal.getvalue().split("\r\x1b[K")[1:-1]
    assert line.isprintable()
    assert shown_width(line) < 80
