"""What a format returns for one request, and what it raises if it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cache_worthy.logs.chat import Chat
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import BlockId

Record = dict[str, object] | str
"""A JSON object or CSV row, or a line of a text log."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Block ids of the log, from the root on.

    ``block_tokens``: tokens in one block, if the log or its format says so. ``binding``: the record
    says so itself, so an option may not contradict it.
    """

    ids: Sequence[BlockId]
    block_tokens: int | None = None
    binding: bool = False


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token ids of the log, unchecked."""

    ids: Sequence[object]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request before its blocks are cut.

    Attributes
    ----------
    content : Blocks, Tokens, str or Chat
    input_length : int or None
        Tokens, if the log states them beside block ids.
    output_length : int or None
    timestamp : int, float or None
        Arrival: milliseconds if the format fixes the unit, else the log's own number.
    model, salt : str or None
        Requests of different models or salts share no block.
    request_id : str or None
    echo : bool
        Only a second mention of a request that the log also has at its arrival.
    cut : bool
        The log holds only a beginning of the prompt.
    cut_mark : str
        What the log writes where it cut a text; nothing from its first occurrence on is used.
    priority : int
    answers : int
        Answers asked for (``n``); the prompt is prefilled once.
    exact : int or None
        Arrival in the log's own whole units, if ``timestamp`` is too coarse to order by.
    unfinished : bool
        A later record with this request id names its salt and answers (vLLM at DEBUG).
    may_be_cut : bool
        The log may hold only a beginning, and nothing in the record says so.
    characters : int or None
        Of the text, if the record has it beside the token ids.
    session : str or None
        The conversation or user session that the request is part of, if the log says so.
    own_clock : bool
        Whether the session's times count from its own start.
    yearless : bool
        The time may lack its year; one half a year before the last is of the next year.
    """

    content: Blocks | Tokens | Chat | str
    input_length: int | None = None
    output_length: int | None = None
    timestamp: int | float | None = None
    model: str | None = None
    salt: str | None = None
    request_id: str | None = None
    echo: bool = False
    cut: bool = False
    cut_mark: str = ""
    priority: int = 0
    answers: int = 1
    exact: int | None = None
    unfinished: bool = False
    may_be_cut: bool = False
    characters: int | None = None
    session: str | None = None
    own_clock: bool = False
    yearless: bool = False


class Unusable(Exception):
    """A record that should hold a prompt and does not; counted, and too many end the run.

    With a ``request_id``, an earlier or later record with that id may carry the prompt; then this one
    does not count, and ``salt`` and ``answers`` are what it says of the request. ``incomplete``: the
    text ends too early, which on the last line is a log still being written.
    """

    def __init__(
        self,
        reason: str,
        request_id: str | None = None,
        *,
        incomplete: bool = False,
        salt: str | None = None,
        answers: int = 1,
    ) -> None:
        super().__init__(reason)
        self.request_id, self.incomplete = request_id, incomplete
        self.salt, self.answers = salt, answers


class Skipped(Exception):
    """A record that is rightly left out (a failed request); counted under its reason."""


class Refused(TraceError):
    """A log that cannot be analysed at all; the message says why and what to turn on."""


class Format(Protocol):
    """A format module.

    ``detect`` returns the field that makes a first record one of this format, or None; with the field
    of the first record, that of a later one, or None if it does not belong. ``parse`` turns a record
    into its requests (none for a line that is no request) and raises :class:`Unusable`,
    :class:`Skipped` or :class:`Refused`; if one record holds many requests, the first two stand in the
    sequence instead. ``INTERLEAVED``: lines of other kinds belong in such a log.
    """

    NAME: str
    SUMMARY: str
    EXAMPLE: str
    FIELDS: tuple[str, ...]
    INTERLEAVED: bool

    def detect(self, record: Record, field: str | None = None) -> str | None: ...

    def parse(
        self, record: Record, field: str, scope: str
    ) -> Sequence[Prompt | Unusable | Skipped]: ...


def lookup(record: Mapping[str, object], path: str) -> object:
    """The value under a dotted path, or None; a key that contains the dots itself goes first.

    Examples
    --------
    >>> lookup({"a": {"b": 1}, "c.d": 2}, "a.b"), lookup({"c.d": 2}, "c.d"), lookup({}, "x")
    (1, 2, None)
    """
    if path in record:
        return record[path]
    value: object = record
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def label(value: object) -> str | None:
    """A model or salt as text, if there is one.

    Examples
    --------
    >>> label("m"), label(7), label(""), label(None)
    ('m', '7', None, None)
    """
    if value is None or value == "":
        return None
    text = value if isinstance(value, str) else str(value)[:200]
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # a lone surrogate cannot print


def count(value: object) -> int | None:
    """A token count, or None for anything else."""
    return value if type(value) is int and value >= 0 else None


def token_count(value: object) -> int | None:
    """A token count, as a number or as the text of a CSV cell; None for anything else.

    Examples
    --------
    >>> token_count("7"), token_count(3), token_count("-1"), token_count(True)
    (7, 3, None, None)
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    return count(value)


def priority_of(record: Mapping[str, object]) -> int:
    """The request's priority, 0 if the log has none."""
    value = record.get("priority")
    return value if type(value) is int and abs(value) < 1 << 63 else 0


def check_status(record: Mapping[str, object]) -> None:
    """Skip a request with an HTTP ``status`` from 400 on; nothing was prefilled for it."""
    status = token_count(record.get("status"))
    if status is not None and status >= 400:
        raise Skipped("failed request")


def kind(value: object) -> str:
    """The type of a value as a message names it."""
    return type(value).__name__
