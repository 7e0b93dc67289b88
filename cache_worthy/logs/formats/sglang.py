"""SGLang request logs (``--log-requests``): JSON events, or ``Receive:`` and ``Finish:`` lines.

The default level cuts every string and list over 2048 in the middle. Only the part before the cut
is used, in whole blocks, and such records are counted. A request is taken from its arrival; its
finish counts only if the log has no arrival. Images (``image_data``) are not read: prompts that
differ in nothing else look equal, so of requests with images more seems shared than is.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator

from cache_worthy.logs.literals import QUOTE, STRING, python_literal
from cache_worthy.logs.prompts import Prompt, Record, Skipped, Tokens, Unusable, label
from cache_worthy.logs.times import to_ms

NAME = "sglang"
SUMMARY = "SGLang --log-requests, JSON or text"
EXAMPLE = (
    '{"timestamp": "2026-06-02T08:15:09.250000", "event": "request.received", "rid": "q4", "obj": '
    '{"rid": "q4", "text": null, "input_ids": [675, 264, 15140]}}'
)
FIELDS: tuple[str, ...] = ("obj.text", "obj.input_ids")
INTERLEAVED = True

HALF = 1024  # characters or ids before the cut at the default level

NO_PROMPT = (
    "SGLang logged this request without its prompt (level 0 or 1); start the server with "
    "--log-requests --log-requests-level 3"
)

_LINE = re.compile(r"\b(Receive|Finish): obj=(\w+)\(")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)")
_PIECE = re.compile(
    r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|\[[-\d, ]*+\]|[(\[{]|[)\]}]|,|[^'"()\[\]{},]++""",
    re.DOTALL,
)
_LIST = re.compile(r"\[[-\d, ]*+\]")
_ADAPTER = re.compile(r"\b(lora_path|extra_key)=('[^']*'|None)")
_WANTED = {"rid", "text", "input_ids", "lora_path", "extra_key"}


def detect(record: Record, field: str | None = None) -> str | None:
    """A request event or line."""
    if isinstance(record, str):
        return "obj.text" if _match(record) else None
    event = record.get("event")
    known = isinstance(event, str) and event.startswith("request.")
    return "obj.text" if known and isinstance(record.get("obj"), dict) else None


def _match(line: str) -> re.Match[str] | None:
    """The head of a request line; not one that is quoted in a prompt or an answer."""
    found = _LINE.search(line[:300])
    return None if found is None or QUOTE.search(line, 0, found.start()) else found


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The requests of an event or line (several if the client sent a batch)."""
    if isinstance(record, str):
        match = _match(record)
        if match is None:
            return ()
        obj, cut = _fields(record, match.end())
        stamp = _TIME.search(record[: match.start()])
        time = to_ms(stamp[1].replace(",", ".")) if stamp else None
        finished = match[1] == "Finish"
    else:
        inner = record.get("obj")
        if not isinstance(inner, dict):
            return ()
        obj, cut = {k: v for k, v in inner.items() if k in _WANTED}, False
        obj.setdefault("rid", record.get("rid"))
        time = to_ms(record.get("timestamp"))
        finished = record.get("event") == "request.finished"
    rid = obj.get("rid")
    first = str(rid[0]) if isinstance(rid, list) and rid else label(rid)
    if first is not None and first.startswith("HEALTH_CHECK"):
        raise Skipped("health check")
    salt = label(obj.get("extra_key")) or label(obj.get("lora_path"))
    out = []
    for n, (content, is_cut) in enumerate(_contents(obj)):
        name = str(rid[n]) if isinstance(rid, list) and n < len(rid) else first
        out.append(
            Prompt(content=content, timestamp=time, salt=salt, request_id=name,
                   echo=finished, cut=is_cut or cut)
        )  # fmt: skip
    if not out:
        raise Unusable(NO_PROMPT, first)
    return tuple(out)


def _contents(obj: dict[str, object]) -> Iterator[tuple[Tokens | str, bool]]:
    ids, text = obj.get("input_ids"), obj.get("text")
    if isinstance(ids, list) and ids:
        rows = ids if isinstance(ids[0], list) else [ids]
        for row in rows:
            if not isinstance(row, list):
                continue  # the mark of a cut list of lists
            at = row.index("...") if "..." in row else None
            yield Tokens(row if at is None else row[:at]), at is not None
    elif isinstance(text, str):
        yield cut_text(text)
    elif isinstance(text, list):
        for one in text:
            if isinstance(one, str) and one != "...":
                yield cut_text(one)


def cut_text(text: str) -> tuple[str, bool]:
    """The part before the default level's cut, and whether there is one.

    Examples
    --------
    >>> cut_text("short"), len(cut_text("a" * 1024 + "..." + "b" * 1024)[0])
    (('short', False), 1024)
    """
    if len(text) == 2 * HALF + 3 and text[HALF : HALF + 3] == "...":
        return text[:HALF], True
    return text, False


def _fields(line: str, start: int) -> tuple[dict[str, object], bool]:
    """The wanted fields of a dataclass's text, and whether one of them was cut."""
    values: dict[str, object] = {}
    cut = False
    depth, begin, at = 1, start, start
    while depth:
        piece = _PIECE.match(line, at)
        if piece is None:
            raise Unusable("the line ends inside the request", incomplete=True)
        token = piece[0]
        at = piece.end()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        if (token == "," and depth == 1) or depth == 0:
            name, _, raw = line[begin : piece.start()].strip().partition("=")
            if name in _WANTED:
                values[name], one = _value(raw.strip())
                cut = cut or (one and name in ("text", "input_ids"))
            begin = at
            if "text" in values and "input_ids" in values and "rid" in values and depth == 1:
                # What follows is large and only adapters matter there.
                for key, literal in _ADAPTER.findall(line[at : at + 100_000]):
                    values[key] = _value(literal)[0]
                break
    return values, cut


def _value(raw: str) -> tuple[object, bool]:
    strings = STRING.match(raw)
    if strings:
        try:
            text = python_literal(strings[0])
        except ValueError as error:
            raise Unusable("a field is no Python string literal") from error
        return text, raw[strings.end() :].startswith(" ... ")
    with contextlib.suppress(ValueError):
        if ids := _LIST.match(raw):
            return json.loads(ids[0]), raw[ids.end() :].startswith(" ... ")
        if raw.startswith("["):
            return python_literal(raw), False
    return None, False
