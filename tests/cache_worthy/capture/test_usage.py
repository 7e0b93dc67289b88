"""Token counts in answers, whole or in pieces."""

from __future__ import annotations

import gzip
import json

import pytest

from cache_worthy.capture.usage import Answer, Usage

EVENTS = (
    b'event: message_start\ndata: {"message": {"usage": {"input_tokens": 5, '
    b'"cache_read_input_tokens": 30, "output_tokens": 1}}}\n\n'
    b'data: {"usage": null}\r\n\r\ndata: {"text": "\\"usage\\": {"}\n\n'
    b'event: message_delta\ndata: {"usage": {"output_tokens": 12}}\n\n'
    b"event: message_stop\ndata: {}\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize("packed", [False, True])
def test_usage_in_pieces_of_any_size(size: int, packed: bool) -> None:
    data = gzip.compress(EVENTS) if packed else EVENTS
    answer = Answer(b"text/event-stream; charset=utf-8", b"gzip" if packed else b"")
    for at in range(0, len(data), size):
        answer.feed(data[at : at + size])
    assert answer.usage() == Usage(prompt=35, output=12, cached=30)
    assert answer.ended


def test_usage_that_cannot_be_read_is_none() -> None:
    for kind, encoding, data in (
        (b"application/json", b"", b'{"usage": {"prompt_tokens": -1}, "x": ['),
        (b"application/json", b"", b"[" * 900),
        (b"application/json", b"gzip", b"not gzip"),
        (b"application/json", b"br", b'{"usage": {"prompt_tokens": 3}}'),
        (
            b"application/json",
            b"",
            b'{"usage": {"prompt_tokens": 3}, "x": "' + b"y" * 300_000 + b'"}',
        ),
        (b"text/plain", b"", b'{"usage": {"prompt_tokens": 3}}'),
        (b"text/event-stream", b"", b'data: {"usage": {"prompt_tokens"\n\ndata: {"usage": {}}\n\n'),
        (
            b"text/event-stream",
            b"",
            b'data: {"usage": {"prompt_tokens": 3}, "x": "' + b"y" * 3_000_000 + b'"}\n',
        ),
    ):
        answer = Answer(kind, encoding)
        for at in range(0, len(data), 500_000):
            answer.feed(data[at : at + 500_000])
        assert answer.usage() == Usage()


def test_usage_at_the_end_of_a_long_answer() -> None:
    fake = json.dumps('"usage": {"prompt_tokens": 4}')
    data = (
        b'{"x": "' + b"y" * 500_000 + b'", "usage" : {"prompt_tokens": 3}, "z": %s}' % fake.encode()
    )
    for size in (1000, 100_000, 1_000_000):
        answer = Answer(b"application/json", b"")
        for at in range(0, len(data), size):
            answer.feed(data[at : at + size])
        assert answer.usage() == Usage(prompt=3)
