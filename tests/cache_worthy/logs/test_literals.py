"""Python literals in server logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.literals import python_literal
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Write = Callable[..., Path]


@given(st.text())
def test_literals_are_what_repr_writes(text: str) -> None:
    assert python_literal(repr(text)) == text


def test_damaged_escapes_do_not_warn(recwarn: pytest.WarningsRecorder, write: Write) -> None:
    line = r"INFO 03-04 10:00:00 [logger.py:39] Received request c1: prompt: 'a\d\q', params: p, prompt_token_ids: None."
    event = r"[2026-03-01 09:00:00] Receive: obj=GenerateReqInput(rid=['a\d'], text=['\d'])"
    assert read_log(write(line), ReadOptions(chars_per_token=1)).requests[0].input_length == 5
    assert len(read_log(write(event)).requests) == 1
    assert not recwarn.list
