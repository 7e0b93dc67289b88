"""OpenTelemetry GenAI spans: flat spans, or OTLP JSON as the file exporter writes it.

Messages are JSON inside a string, or values of the protocol's own kind (``arrayValue``,
``kvlistValue``). A span that ended in an error is a failed request. Arrival is kept in whole
nanoseconds for the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from cache_worthy.logs.body import as_dict, parsed, time_of
from cache_worthy.logs.chat import ChatError, read_chat
from cache_worthy.logs.prompts import Prompt, Record, Skipped, Unusable, count, label
from cache_worthy.logs.times import to_ms

NAME = "otel"
SUMMARY = "OpenTelemetry GenAI spans (gen_ai.input.messages)"
EXAMPLE = (
    '{"startTimeUnixNano": "1777629600000000000", "attributes": {"gen_ai.request.model": "m", '
    '"gen_ai.input.messages": "[{\\"role\\":\\"user\\",\\"parts\\":[{\\"type\\":\\"text\\",'
    '\\"content\\":\\"hi\\"}]}]"}}'
)
FIELDS: tuple[str, ...] = ("attributes.gen_ai.input.messages",)
INTERLEAVED = False

NO_PROMPT = (
    "a GenAI span without gen_ai.input.messages; turn on message capture "
    "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)"
)


def detect(record: Record, field: str | None = None) -> str | None:
    """A trace document, or a span with GenAI attributes; later any span, of other libraries too."""
    if not isinstance(record, dict):
        return None
    if field is not None:
        return field if "attributes" in record or "resourceSpans" in record else None
    if isinstance(record.get("resourceSpans"), list):
        return FIELDS[0]
    return FIELDS[0] if any(k.startswith("gen_ai.") for k in _attributes(record)) else None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt | Unusable | Skipped, ...]:
    """Every model call of a record; one that cannot be read does not hide the others."""
    row = as_dict(record)
    found: list[Prompt | Unusable | Skipped] = []
    for span in _spans(row) if "resourceSpans" in row else [row]:
        try:
            prompt = _span(span)
        except (Unusable, Skipped) as error:
            found.append(error)
        else:
            found += [] if prompt is None else [prompt]
    return tuple(found)


def _spans(row: dict[str, object]) -> Iterator[dict[str, object]]:
    for resource in _dicts(row.get("resourceSpans")):
        for scope in _dicts(resource.get("scopeSpans")):
            yield from _dicts(scope.get("spans"))


def _dicts(value: object) -> list[dict[str, object]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _attributes(span: dict[str, object]) -> dict[str, object]:
    found = span.get("attributes")
    return found if isinstance(found, dict) else _pairs(found)


def _pairs(value: object) -> dict[str, object]:
    return {str(pair.get("key")): _plain(pair.get("value")) for pair in _dicts(value)}


def _plain(value: object) -> object:
    """An ``AnyValue`` of the protocol as the plain value that it wraps.

    Examples
    --------
    >>> _plain({"arrayValue": {"values": [{"intValue": "7"}, {"boolValue": True}]}})
    ['7', True]
    >>> _plain({"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}})
    {'a': 'b'}
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None if value == {} else value
    name, inner = next(iter(value.items()))
    if name in ("arrayValue", "array_value"):
        values = inner.get("values") if isinstance(inner, dict) else None
        return [_plain(v) for v in values] if isinstance(values, list) else []
    if name in ("kvlistValue", "kvlist_value"):
        return _pairs(inner.get("values") if isinstance(inner, dict) else None)
    return inner


def _failed(span: dict[str, object], found: dict[str, object]) -> bool:
    """Whether the span's status is an error (by number, by name), or it has an error type."""
    code = span.get("status")
    if isinstance(code, dict):
        code = code.get("code", code.get("status_code", code.get("statusCode")))
    if isinstance(code, str):
        code = code.rpartition("_")[2].upper()
    return code in (2, "2", "ERROR") or bool(found.get("error.type"))


def _span(span: dict[str, object]) -> Prompt | None:
    found = _attributes(span)
    if not any(k.startswith("gen_ai.") for k in found):
        return None
    for event in _dicts(span.get("events")):  # messages may be on an event of the span
        found = {**_attributes(event), **found}
    operation = found.get("gen_ai.operation.name", "chat")
    if operation not in ("chat", "text_completion", "generate_content"):
        return None
    if _failed(span, found):
        raise Skipped("failed request")
    messages = parsed(found.get("gen_ai.input.messages", found.get("gen_ai.prompt")))
    if messages is None:
        messages = _numbered(found)
    if not isinstance(messages, list) or not messages:
        raise Unusable(NO_PROMPT)
    body: dict[str, object] = {
        "system": parsed(found.get("gen_ai.system_instructions")),
        "tools": _tools(found),
        "messages": messages,
    }
    try:
        chat = read_chat(body)
    except ChatError as error:
        raise Unusable(str(error)) from error
    nano = to_ms(span.get("startTimeUnixNano", span.get("start_time_unix_nano")))
    exact = nano if isinstance(nano, int) else None
    out = found.get("gen_ai.usage.output_tokens")
    return Prompt(
        content=chat,
        output_length=count(int(out) if isinstance(out, str) and out.isdecimal() else out),
        timestamp=time_of(span) if exact is None else _milliseconds(exact),
        exact=exact,
        model=label(found.get("gen_ai.request.model")),
        request_id=label(span.get("spanId", span.get("span_id"))),
    )


def _milliseconds(nano: int) -> int | float:
    return nano / 10**6 if nano % 10**6 else nano // 10**6


def _numbered(found: dict[str, object]) -> list[object]:
    """Messages spread over ``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content``, … (OpenLLMetry).

    The calls of a message are ``tool_calls.0.name`` and ``.arguments``, under ``.function`` in
    between, or whole under ``tool_calls`` as JSON; all three are written by instrumentations.

    Examples
    --------
    >>> _numbered({"gen_ai.prompt.0.role": "assistant", "gen_ai.prompt.0.tool_calls.0.name": "f"})
    [{'role': 'assistant', 'content': '', 'tool_calls': [{'name': 'f'}]}]
    """
    out: list[object] = []
    while True:
        at = f"gen_ai.prompt.{len(out)}"
        calls = parsed(found.get(f"{at}.tool_calls"))
        if not isinstance(calls, list):
            calls = _listed(found, f"{at}.tool_calls", ("name", "arguments"))
        content = _parts(found.get(f"{at}.content", ""))
        if f"{at}.role" not in found and not content and not calls:
            return out
        message: dict[str, object] = {"role": found.get(f"{at}.role", ""), "content": content}
        out.append({**message, "tool_calls": calls} if calls else message)


def _parts(value: object) -> object:
    """Content that is a list of typed parts, written as JSON; any other text is the text itself.

    Examples
    --------
    >>> _parts('[{"type": "text", "text": "hi"}]'), _parts('{"city": "Graz"}'), _parts("[1]")
    ([{'type': 'text', 'text': 'hi'}], '{"city": "Graz"}', '[1]')
    """
    listed = parsed(value)
    typed = isinstance(listed, list) and all(isinstance(p, dict) and "type" in p for p in listed)
    return listed if typed and listed else value


def _listed(found: dict[str, object], name: str, fields: tuple[str, ...]) -> list[object]:
    """Objects spread over ``name.0.field``, ``name.1.field``, …"""
    out: list[object] = []
    while True:
        at = f"{name}.{len(out)}."
        one = {f: found[k] for f in fields for k in (f"{at}{f}", f"{at}function.{f}") if k in found}
        if not one:
            return out
        out.append(one)


def _tools(found: dict[str, object]) -> object:
    """Tool definitions: as one list, or spread over ``llm.request.functions.0.name``, …"""
    for name in ("gen_ai.tool.definitions", "llm.request.functions"):
        if isinstance(listed := parsed(found.get(name)), list):
            return listed
    tools = _listed(found, "llm.request.functions", ("name", "description", "parameters"))
    return [{k: parsed(v) for k, v in tool.items()} for tool in tools if isinstance(tool, dict)]
