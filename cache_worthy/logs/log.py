"""A log as it was read: its requests, and what became of its other records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from cache_worthy.logs.evidence import Evidence
from cache_worthy.sim.trace import Request


@dataclass(frozen=True, slots=True)
class Records:
    """What became of the records of a log that are not simply requests.

    Attributes
    ----------
    cut : int
        Requests of which the log holds only a beginning; their whole blocks before the cut are used.
    perhaps_cut : int
        Requests exactly as long as the longest, in a log that may cut without a mark (vLLM); they are
        used as they are.
    skipped : dict of str to int
        Records rightly left out, by reason.
    unusable : int
        Records that should hold a prompt and do not; ``unusable_reasons`` has the commonest reasons.
    other_lines : int
        Lines and events of other kinds between the requests.
    retries : int
        Requests that repeat an earlier request's id at another time: served again, so kept.
    several_answers : int
        Requests with ``n > 1``; each is one prefill.
    ended_early : int
        Compressed files that end too early; what would have followed is lost.
    first_unusable : str
        Place and reason of the first unusable record, or "".
    """

    cut: int = 0
    perhaps_cut: int = 0
    skipped: dict[str, int] = dataclasses.field(default_factory=dict)
    unusable: int = 0
    unusable_reasons: dict[str, int] = dataclasses.field(default_factory=dict)
    other_lines: int = 0
    retries: int = 0
    several_answers: int = 0
    ended_early: int = 0
    first_unusable: str = ""

    def text(self) -> str:
        """All counts in one line; the first three always."""
        skipped = sum(self.skipped.values())
        reasons = f" ({', '.join(f'{n} {k}' for k, n in self.skipped.items())})" if skipped else ""
        parts = [f"{self.cut} cut", f"{skipped} skipped{reasons}", f"{self.unusable} unusable"]
        if self.first_unusable:
            parts[-1] += f" (first: {self.first_unusable})"
        if self.ended_early:
            parts.append("compressed data ends too early and what would have followed is lost")
        for n, what in (
            (self.perhaps_cut, "perhaps cut (all as long as the longest, as --max-log-len makes)"),
            (self.other_lines, "other lines"),
            (self.retries, "retries kept"),
            (self.several_answers, "ask for several answers (one prefill each)"),
        ):
            if n:
                parts.append(f"{n} {what}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Log:
    """A request log as the advisor sees it.

    Attributes
    ----------
    source : str
        File name, or ``<stdin>``; several joined by a comma.
    sha256 : str
        Digest of the bytes as stored (perhaps compressed), files one after another.
    format : str
        Name of the format.
    field : str
        The field that carries the prompt.
    requests : sequence of Request
        In the order of ``order``; a :class:`~cache_worthy.sim.columns.RequestTable` as read.
    block_tokens : int
        Tokens in one block.
    chars_per_block : int or None
        If blocks were cut from text by a given number of characters per token.
    chars_per_token : float
        As given, or the mean of the tokens estimated; 4 where neither was needed.
    characters_by_kind : dict of str to float or None
        Shares of the characters whose tokens were estimated, the most frequent kind first.
    skipped_truncated : int
        Files whose last line was cut and skipped.
    length_mismatches : int
        Records whose number of block ids is not ``ceil(input_length / block_tokens)``.
    records : Records
    order : str
        How the requests are ordered, in words.
    moved : int
        Requests whose place in the file is not that in the order.
    tokenizer : str or None
        What made tokens of text, or ``log`` for token ids of the log, or both joined by ``+``; None
        for block ids.
    template : str or None
        What made text of messages, if the log has any.
    evidence : Evidence
        What its prompts say about why they share nothing; in no document as it is.
    models, salts : dict of str to int
        Requests by model and by salt, if the log names them. Salts (at most 20) are listed by rank
        unless the user named their field: a ``cache_salt`` may be a secret.
    """

    source: str
    sha256: str
    format: str
    field: str
    requests: Sequence[Request] = dataclasses.field(repr=False)
    block_tokens: int
    chars_per_block: int | None
    skipped_truncated: int
    length_mismatches: int
    records: Records = dataclasses.field(default_factory=Records)
    order: str = "file order"
    moved: int = 0
    tokenizer: str | None = None
    template: str | None = None
    models: dict[str, int] = dataclasses.field(default_factory=dict)
    salts: dict[str, int] = dataclasses.field(default_factory=dict)
    chars_per_token: float = 4.0
    characters_by_kind: dict[str, float] | None = None
    evidence: Evidence = dataclasses.field(default_factory=Evidence, repr=False, compare=False)
