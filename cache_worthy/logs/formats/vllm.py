"""vLLM server logs: ``Received request`` lines with the prompt, or ``details`` lines at DEBUG.

The prompt is a Python string literal and is read as one, so text that looks like the rest of the
line does no harm. At DEBUG the adapter and ``n`` are on the INFO line that follows, with the same
request id. The time has no year; a step back of half a year is a new year.

``--max-log-len N`` cuts the text to N characters and the ids to N, and leaves no mark (vLLM's
request logger, to the current one). :mod:`cache_worthy.logs.truncation` judges by the lengths of all
lines which prompts are cut. Images are not in such a line: prompts that differ in nothing else look
equal, so of requests with images more seems shared than is.
"""

from __future__ import annotations

import json
import re
from datetime import date

from cache_worthy.logs.literals import QUOTE, STRING, python_literal
from cache_worthy.logs.prompts import Prompt, Record, Tokens, Unusable

NAME = "vllm"
SUMMARY = "vLLM text log, with prompts (to v0.10 at INFO, later at DEBUG)"
EXAMPLE = (
    "INFO 06-02 08:15:09 [logger.py:39] Received request cmpl-31: prompt: 'Name a river.\\n', "
    "params: SamplingParams(n=1), prompt_token_ids: [675, 264, 15140], prompt_embeds shape: None, "
    "lora_request: None."
)
FIELDS: tuple[str, ...] = ("prompt",)
INTERLEAVED = True

_HEAD = re.compile(r"\bReceived request ([^\s:]+(?::[^\s:]+)*): (prompt: |params: )")
_DETAILS = re.compile(r"\bRequest ([^\s:]+(?::[^\s:]+)*) details: (prompt: )")
_TIME = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_IDS = "prompt_token_ids: "
_LORA = "lora_request: LoRARequest("
_N = re.compile(r"SamplingParams\(n=(\d{1,4})\b")

HEAD_LENGTH = 600  # in which a line says what it is: prefix, time, place in the code, request id

NO_PROMPT = (
    "vLLM logged this request without its prompt (INFO of recent versions); start the server with "
    "--enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG, without --max-log-len, or log request "
    "bodies in front of it"
)


def detect(record: Record, field: str | None = None) -> str | None:
    """A line about a received request."""
    return "prompt" if isinstance(record, str) and _match(record) else None


def _match(line: str) -> re.Match[str] | None:
    """The head of a request line; not one that is quoted in a prompt or an answer."""
    start = line[:HEAD_LENGTH]
    both = [m for m in (_HEAD.search(start), _DETAILS.search(start)) if m is not None]
    found = min(both, key=re.Match.start, default=None)
    return None if found is None or QUOTE.search(start, 0, found.start()) else found


def parse(record: Record, field: str, scope: str) -> tuple[Prompt, ...]:
    """The request of a line."""
    match = _match(record) if isinstance(record, str) else None
    if match is None or not isinstance(record, str):
        return ()
    request_id, rest = match[1], record[match.end() :]
    if match[2] == "params: ":
        raise Unusable(NO_PROMPT, request_id, salt=_adapter(rest), answers=_answers(rest))
    details = match.re is _DETAILS
    literal = STRING.match(rest)
    text: str | None = None
    if literal is not None:
        try:
            text = str(python_literal(literal[0]))
        except ValueError as error:
            raise Unusable("the prompt is no Python string literal") from error
        rest = rest[literal.end() :]
    elif not rest.startswith("None"):
        raise Unusable("the line ends inside the prompt", incomplete=True)
    tokens = _tokens(rest)
    if tokens is None and text is None:
        raise Unusable(NO_PROMPT, request_id)
    return (
        Prompt(
            content=text if tokens is None else Tokens(tokens),  # type: ignore[arg-type]
            timestamp=_time(record[: match.start()]),
            salt=None if details else _adapter(rest),
            request_id=request_id,
            answers=1 if details else _answers(rest),
            unfinished=details,
            may_be_cut=True,
            yearless=True,
            characters=None if text is None or tokens is None else len(text),
        ),
    )


def _adapter(rest: str) -> str | None:
    """Name and number of the LoRA adapter; the last mention, as parameters may hold look-alikes."""
    at = rest.rfind(_LORA)
    return None if at < 0 else rest[at + len(_LORA) :][:400].split(", lora_path")[0]


def _answers(rest: str) -> int:
    """``n`` of the sampling parameters."""
    found = _N.search(rest)
    return int(found[1]) if found else 1


def _tokens(rest: str) -> list[object] | None:
    """The last id list of the line: sampling parameters before it may hold look-alikes."""
    at = rest.rfind(_IDS)
    if at < 0:
        return None
    at += len(_IDS)
    if not rest.startswith("[", at):
        return None
    end = rest.find("]", at)
    if end < 0:
        raise Unusable("the line ends inside the token ids", incomplete=True)
    try:
        ids = json.loads(rest[at : end + 1])
    except ValueError:
        return None
    return ids if isinstance(ids, list) and ids else None


def _time(head: str) -> int | float | None:
    found = next(reversed(list(_TIME.finditer(head))), None)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(g or 0) for g in found.groups()[:6])
    try:
        days = (date(year or 2000, month, day) - date(2000, 1, 1)).days
    except ValueError:
        return None
    ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000
    return ms + int(found[7].ljust(6, "0")) / 1000 if found[7] else ms
