"""Images, sounds and files are the same blocks in every vendor's form (rank 4, hand-written)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.logs.chat import read_chat
from cache_worthy.logs.chat_templates import simple
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Write = Callable[..., Path]
SMALL = ReadOptions(block_size=16)
PIXELS = bytes(range(256)) * 9 + b"\xfb\xff"
DATA = base64.b64encode(PIXELS).decode()
URL = "https://example.org/a.png"

INSIDE: dict[str, Any] = {
    "openai chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "openai responses": {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    "opentelemetry": {"type": "blob", "modality": "image", "mime_type": "image/png", "content": DATA},
    "gemini": {"inline_data": {"mime_type": "image/png", "data": DATA}},
    "file": {"type": "file", "file": {"filename": "a", "file_data": f"data:image/png;base64,{DATA}"}},
    "url alphabet, no padding": {
        "type": "image",
        "source": {"type": "base64", "data": base64.urlsafe_b64encode(PIXELS).decode().rstrip("=")},
    },
    "lines": {"type": "image", "source": {"data": base64.encodebytes(PIXELS).decode()}},
    "automatic detail": {
        "type": "image_url",
        "image_url": {"url": f"data:image/jpeg;base64,{DATA}", "detail": "auto"},
    },
    "cache breakpoint": {
        "type": "image",
        "source": {"type": "base64", "data": DATA},
        "cache_control": {"type": "ephemeral"},
    },
}  # fmt: skip
ADDRESS: dict[str, Any] = {
    "openai chat": {"type": "image_url", "image_url": {"url": URL}},
    "openai responses": {"type": "input_image", "image_url": URL},
    "anthropic": {"type": "image", "source": {"type": "url", "url": URL}},
    "opentelemetry": {"type": "uri", "modality": "image", "uri": URL},
    "gemini": {"file_data": {"mime_type": "image/png", "file_uri": URL}},
}


def rendered(part: dict[str, Any]) -> str:
    text = {"type": "text", "text": "what?"}
    return simple(read_chat({"messages": [{"role": "user", "content": [part, text]}]}))


@pytest.mark.parametrize("forms", [INSIDE, ADDRESS], ids=["inside", "address"])
def test_one_image_in_every_form(forms: dict[str, Any]) -> None:
    texts = {name: rendered(part) for name, part in forms.items()}
    assert len(set(texts.values())) == 1
    assert len(texts["anthropic"]) < 60


def test_others_differ() -> None:
    """Other bytes, another address, another detail, an image and its address."""
    other = base64.b64encode(PIXELS + b"x").decode()
    parts: list[Any] = [
        INSIDE["anthropic"],
        ADDRESS["anthropic"],
        {"type": "image", "source": {"type": "base64", "data": other}},
        {"type": "image", "source": {"type": "url", "url": URL + "?"}},
        {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "something new", "payload": {"x": 1}},
        {"type": "something new", "payload": {"x": 2}},
    ]
    assert len({rendered(p) for p in parts}) == len(parts)


def test_the_blocks_of_two_logs(write: Write) -> None:
    def log(part: dict[str, Any], **more: object) -> list[tuple[object, ...]]:
        text = {"type": "text", "text": "what is this? " * 20}
        record = {"messages": [{"role": "user", "content": [part, text]}], **more}
        return [r.hash_ids for r in read_log(write(record), SMALL).requests]

    assert log(INSIDE["openai chat"], model="m") == log(INSIDE["anthropic"], model="m")


def test_a_document_of_plain_text_is_text() -> None:
    document: Any = {
        "type": "document",
        "source": {"type": "text", "data": "the words", "media_type": "text/plain"},
    }
    assert "the words" in rendered(document)


@pytest.mark.parametrize("value", [None, 7, [], {}, {"url": 7}, {"data": None}, {"url": ""}])
def test_odd_parts(value: object) -> None:
    for name in ("source", "image_url", "file", "inline_data", "content"):
        for kind in ("image", "blob", 5, None):
            assert rendered({"type": kind, name: value})


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"type": "search_result", "source": URL, "title": "t", "content": [{"type": "text"}]}, "content"),
        ({"type": "web_search_result", "url": URL, "encrypted_content": "abc"}, "encrypted_content"),
        ({"type": "document", "source": {"data": DATA}, "context": "c"}, "context"),
        ({"type": "document", "source": {"data": DATA}, "content": "c"}, "content"),
        ({"file": "a.py", "line": 3}, "line"),
        ({"url": URL, "name": "a"}, "name"),
        ({"data": "57 F", "city": "Graz"}, "city"),
        ({"inline_data": {"data": DATA}, "video_metadata": {"start_offset": "1s"}}, "video_metadata"),
    ],
)  # fmt: skip
def test_what_says_more_than_its_address_is_not_told_by_it(
    part: dict[str, Any], field: str
) -> None:
    """Two results of one page, two lines of one file: equal addresses, different prompts."""
    other = {**part, field: "something else"}
    assert rendered(part) != rendered(other)
    result = {"type": "tool_result", "content": [part]}
    assert rendered(result) != rendered({"type": "tool_result", "content": [other]})
    assert rendered(part) == rendered(dict(part))


def test_fields_without_a_value_say_nothing() -> None:
    """As clients write every field of a class."""
    part = ADDRESS["openai chat"]
    assert rendered({**part, "text": None, "title": None, "content": None}) == rendered(part)


def test_what_tools_returned_in_items_of_responses_is_read() -> None:
    """Two prompts that differ only in it share no more than what is before it."""
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    asked = [{"role": "user", "content": "q"}, call]
    texts = [
        simple(
            read_chat({"input": [*asked, {"type": "function_call_output", "output": out}]}, "input")
        )
        for out in ("a", [{"type": "input_text", "text": "b"}])
    ]
    assert [t[-11:] for t in texts] == ["<|tool|>\na\n", "<|tool|>\nb\n"]
    assert texts[0][:-2] == texts[1][:-2]
