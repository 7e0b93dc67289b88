"""OpenTelemetry GenAI spans: flat spans, or OTLP JSON as the file exporter writes it."""

from __future__ import annotations

from collections.abc import Iterator

from cache_worthy.ingest.body import as_dict, parsed, time_of
from cache_worthy.ingest.chat import Chat, ChatError, read_chat
from cache_worthy.ingest.record import Prompt, Record, Unusable, count, label
from cache_worthy.ingest.times import to_ms

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


def detect(record: Record) -> str | None:
    """A trace document, or a span with GenAI attributes."""
    if not isinstance(record, dict):
        return None
    if isinstance(record.get("resourceSpans"), list):
        return FIELDS[0]
    return FIELDS[0] if any(k.startswith("gen_ai.") for k in _attributes(record)) else None


def accept(record: Record, field: str) -> str | None:
    """Any span; those of other libraries are others."""
    if isinstance(record, dict) and ("attributes" in record or "resourceSpans" in record):
        return field
    return None


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """Every model call of a record."""
    row = as_dict(record)
    spans = list(_spans(row)) if "resourceSpans" in row else [row]
    return tuple(p for s in spans for p in _span(s))


def _spans(row: dict[str, object]) -> Iterator[dict[str, object]]:
    for resource in _dicts(row.get("resourceSpans")):
        for scope in _dicts(resource.get("scopeSpans")):
            yield from _dicts(scope.get("spans"))


def _dicts(value: object) -> list[dict[str, object]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _attributes(span: dict[str, object]) -> dict[str, object]:
    found = span.get("attributes")
    if isinstance(found, dict):
        return found
    out: dict[str, object] = {}
    for pair in _dicts(found):
        value = pair.get("value")
        if isinstance(value, dict) and len(value) == 1:
            value = next(iter(value.values()))
        out[str(pair.get("key"))] = value
    return out


def _span(span: dict[str, object]) -> Iterator[Prompt]:
    found = _attributes(span)
    if not any(k.startswith("gen_ai.") for k in found):
        return
    for event in _dicts(span.get("events")):  # messages may stand on an event of the span
        found = {**_attributes(event), **found}
    operation = found.get("gen_ai.operation.name", "chat")
    if operation not in ("chat", "text_completion", "generate_content"):
        return
    messages = parsed(found.get("gen_ai.input.messages", found.get("gen_ai.prompt")))
    if messages is None:
        messages = _numbered(found)
    if not isinstance(messages, list) or not messages:
        raise Unusable(NO_PROMPT)
    body: dict[str, object] = {
        "system": parsed(found.get("gen_ai.system_instructions")),
        "tools": parsed(found.get("gen_ai.tool.definitions")),
        "messages": messages,
    }
    try:
        chat: Chat = read_chat(body)
    except ChatError as error:
        raise Unusable(str(error)) from error
    nano = to_ms(span.get("startTimeUnixNano"), 1)
    out = found.get("gen_ai.usage.output_tokens")
    yield Prompt(
        content=chat,
        output_length=count(int(out) if isinstance(out, str) and out.isdecimal() else out),
        timestamp=time_of(span) if nano is None else nano / 10**6,
        model=label(found.get("gen_ai.request.model")),
        request_id=label(span.get("spanId", span.get("span_id"))),
    )


def _numbered(found: dict[str, object]) -> list[object]:
    """Messages spread over ``gen_ai.prompt.0.role``, ``gen_ai.prompt.0.content``, …"""
    out: list[object] = []
    while f"gen_ai.prompt.{len(out)}.role" in found:
        at = f"gen_ai.prompt.{len(out)}"
        content = parsed(found.get(f"{at}.content", ""))
        out.append({"role": found[f"{at}.role"], "content": content})
    return out
