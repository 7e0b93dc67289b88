"""Chat requests of any vendor in one form, which a template makes one text of.

JSON (tools, arguments) has sorted keys and no spaces. Not kept: ids of tool calls, reasoning of earlier
turns, and fields other than role and content. An image, a sound or a file becomes one marker with the
digest of its source, so its own tokens are not counted. The source is the data (base64) or the address,
the same in every vendor's form, and ``detail`` if one is asked for; names and media types are no part of
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

ROLES = {"human": "user", "gpt": "assistant", "ai": "assistant", "model": "assistant",
         "bot": "assistant", "observation": "tool", "function": "tool", "ipython": "tool"}  # fmt: skip
"""Other names of roles."""

# Tuples, not sets: what a log has under "type" need not be hashable.
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its role, its text, and the tool calls in it as (name, arguments)."""

    role: str
    content: str
    calls: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """What a model is asked: messages, and tools as one canonical JSON text (empty: none)."""

    messages: tuple[Message, ...]
    tools: str = ""

    def first(self, count: int) -> Chat:
        """The same chat, cut to its first messages."""
        return Chat(self.messages[:count], self.tools)


class ChatError(ValueError):
    """Messages in no known shape; says where, and what was expected."""


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces, so that equal values are equal texts."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def read_chat(body: dict[str, object], field: str = "messages") -> Chat:
    """A request body of any vendor (OpenAI chat or responses, Anthropic) in the one form.

    Examples
    --------
    >>> read_chat({"system": "Rules", "messages": [{"role": "user", "content": "Hi"}]}).messages
    (Message(role='system', content='Rules', calls=()), Message(role='user', content='Hi', calls=()))
    """
    messages: list[Message] = []
    for name in ("system", "instructions"):
        if head := body.get(name):
            messages += _message({"role": "system", "content": head}, name)
    messages += read_messages(body.get(field), field)
    return Chat(tuple(messages), read_tools(body.get("tools") or body.get("functions")))


def read_messages(value: object, field: str = "messages") -> list[Message]:
    """A list of messages; one that holds results of tools becomes several."""
    if not isinstance(value, list):
        raise ChatError(f"{field}: expected a list of messages, got {type(value).__name__}")
    out: list[Message] = []
    for i, message in enumerate(value):
        if isinstance(message, str) and field == "input":
            message = {"role": "user", "content": message}
        if not isinstance(message, dict):
            raise ChatError(f"{field}[{i}]: expected an object, got {type(message).__name__}")
        out += _message(message, f"{field}[{i}]")
    return out


def read_tools(value: object) -> str:
    """Tool definitions of any vendor as one canonical text.

    Examples
    --------
    >>> read_tools([{"type": "function", "function": {"name": "f", "parameters": {}}}])
    '[{"name":"f","parameters":{}}]'
    >>> read_tools([{"name": "f", "input_schema": {}}])
    '[{"name":"f","parameters":{}}]'
    """
    if not isinstance(value, list) or not value:
        return ""
    return canonical([_tool(t) for t in value])


def _tool(tool: object) -> object:
    if not isinstance(tool, dict):
        return tool
    inner = tool.get("function")
    if not isinstance(inner, dict):
        inner = {k: v for k, v in tool.items() if k != "type"}
    out = {k: v for k, v in inner.items() if k != "cache_control"}
    if "input_schema" in out:
        out["parameters"] = out.pop("input_schema")
    return out


def _message(message: dict[str, object], place: str) -> list[Message]:
    name = message.get("role", message.get("from", ""))
    role = name if isinstance(name, str) else canonical(name)
    role = ROLES.get(role, role)
    content = message.get("content", message.get("parts", message.get("value")))
    if type(content) is str and "tool_calls" not in message and "function_call" not in message:
        return [Message(role, content)]  # nearly all messages of nearly all logs
    if content is None and message.get("type") in (*_CALLS, *_RESULTS):  # items of responses
        content = [message]
    texts: list[str] = []
    calls: list[tuple[str, str]] = []
    results: list[Message] = []
    whole = [] if content is None else [content if isinstance(content, str) else canonical(content)]
    for part in content if isinstance(content, list) else whole:
        what = part.get("type") if isinstance(part, dict) else None
        if what in _CALLS:
            calls.append(_call(part))
        elif isinstance(part, dict) and what in _RESULTS:
            results.append(Message("tool", _result(part)))
        elif what not in _THOUGHTS:
            texts.append(_text(part))
    listed = message.get("tool_calls")
    single = message.get("function_call")
    calls += map(
        _call, [*(listed if isinstance(listed, list) else []), *([single] if single else [])]
    )
    if results and not texts and not calls:
        return results
    return [*results, Message(role, "".join(texts), tuple(calls))]


_CALLS = ("tool_use", "tool_call", "function_call")
_RESULTS = ("tool_result", "tool_call_response", "function_call_output")


def _result(part: dict[str, object]) -> str:
    """The text of what a tool returned; what looks like a call or a result in it is its text too."""
    value = next((part[k] for k in ("content", "output", "response", "result") if k in part), "")
    pieces = value if isinstance(value, list) else [value]
    return "".join(
        _text(p) for p in pieces if not (isinstance(p, dict) and p.get("type") in _THOUGHTS)
    )


def _text(part: object) -> str:
    """The text of a part, or a marker if it has none."""
    if not isinstance(part, dict):
        return part if isinstance(part, str) else canonical(part)
    text, content, source = part.get("text"), part.get("content"), part.get("source")
    if isinstance(text, str):
        return text
    if part.get("type") in (None, "text") and isinstance(content, str):
        return content
    if isinstance(source, dict) and source.get("type") == "text":  # a document (Anthropic)
        data = source.get("data")
        if isinstance(data, str):
            return data
    if (media := _media(part)) is not None:
        return _marker("media", media)
    # A cache breakpoint moves from turn to turn and is no part of what the model reads.
    rest = canonical({k: v for k, v in part.items() if k != "cache_control"})
    what = part.get("type")
    return _marker(what if isinstance(what, str) else "part", rest)


def _marker(what: str, source: str) -> str:
    digest = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"<|{what}:{digest}|>"


_HOLDERS = ("source", "image_url", "video_url", "audio_url", "input_audio", "file", "inline_data",
            "inlineData", "file_data", "fileData")  # fmt: skip
_INSIDE = ("data", "file_data")
_ADDRESS = ("url", "uri", "file_uri", "fileUri", "file_id", "fileId")
_BESIDE = ("type", "modality", "detail", "format", "mime_type", "mimeType", "media_type", "mediaType",
           "filename", "file_name", "fileName", "display_name", "displayName", "name", "id", "uuid",
           "cache_control", "citations", "content")  # fmt: skip
_OF_MEDIA = {*_HOLDERS, *_INSIDE, *_ADDRESS, *_BESIDE}


def _media(part: dict[str, object]) -> str | None:
    """What an image, a sound or a file is, in one form for all vendors; None for anything else.

    OpenAI (chat, responses), Anthropic, Gemini and OpenTelemetry write the same in different fields. A
    part with another field (a search result, what a tool returned) says more than its address.

    Examples
    --------
    >>> a = _media({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
    >>> b = _media({"type": "image", "source": {"type": "base64", "data": "AAAA"}})
    >>> a == b == _media({"type": "blob", "modality": "image", "content": "AAAA"})
    True
    """
    fields = {name for name, value in part.items() if value is not None}
    if part.get("type") is None:  # Gemini, or a row that a tool returned
        other = fields - {*_HOLDERS, "cache_control"}
    elif part["type"] in ("blob", "binary"):
        other = fields - _OF_MEDIA
    else:
        other = fields - _OF_MEDIA | fields & {"content"}
    if other:
        return None
    for name in ("", *_HOLDERS):
        holder = part.get(name) if name else part
        holder = {"url": holder} if isinstance(holder, str) else holder
        if not isinstance(holder, dict):
            continue
        inside = next((v for k in _INSIDE if isinstance(v := holder.get(k), str)), None)
        if holder is part and part.get("type") in ("blob", "binary"):
            content = part.get("content")
            inside = content if isinstance(content, str) else None
        address = next((v for k in _ADDRESS if isinstance(v := holder.get(k), str)), None)
        if address is not None and address.startswith("data:"):
            inside = address
        if inside is None and address is None:
            continue
        detail = holder.get("detail", part.get("detail"))
        asked = f"{detail}:" if isinstance(detail, str) and detail != "auto" else ""
        if inside is None:
            return f"{asked}{address}"
        data = inside.partition(",")[2] if inside.startswith("data:") else inside
        return asked + "".join(data.split()).rstrip("=").replace("-", "+").replace("_", "/")
    return None


def _call(call: object) -> tuple[str, str]:
    if not isinstance(call, dict):
        return "", canonical(call)
    inner = call.get("function")
    if not isinstance(inner, dict):
        inner = call
    name = inner.get("name")
    arguments = next((inner[k] for k in ("arguments", "input") if k in inner), "")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return str(name or ""), str(arguments)
    return str(name or ""), canonical(arguments)


def turns(messages: Iterable[Message]) -> list[int]:
    """How many messages come before each answer of a recorded conversation.

    Every run of assistant messages answers one prompt; a conversation that ends with a question has
    one prompt more.

    Examples
    --------
    >>> turns([Message("user", "a"), Message("assistant", "b"), Message("user", "c")])
    [1, 3]
    """
    out = []
    before = ""
    n = 0
    for n, message in enumerate(messages, 1):
        if message.role == "assistant" and before not in ("", "assistant"):
            out.append(n - 1)
        before = message.role
    if before not in ("", "assistant", "system"):
        out.append(n)
    return out
