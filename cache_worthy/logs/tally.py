"""What becomes of the records of a log that are no requests, counted while it is read."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from cache_worthy.logs.log import Records
from cache_worthy.logs.prompts import Format
from cache_worthy.sim.errors import TraceError

UNUSABLE_LIMIT = 0.05
"""A larger share of unusable records ends the run unless ``allow_partial``."""

ANY_JSON = "*"
"""Owner of a bad record that any format with JSON objects may have."""


class Place(NamedTuple):
    """Where a record is."""

    file: str
    record: str

    def __str__(self) -> str:
        return f"{self.file}: {self.record}"


class Bad(NamedTuple):
    """A record that cannot be used.

    ``cut``: as the last one of its file it is a log still being written. ``owner``: the format whose
    request it would be, or ``ANY_JSON``; "" if nothing says that it is a request. ``ends``: nothing
    behind it could be read.
    """

    place: Place
    reason: str
    cut: bool = False
    owner: str = ""
    ends: bool = False


class Tally:
    """The counts of a whole log, mostly those of :class:`~cache_worthy.logs.log.Records`.

    A bad record counts once it is known that it was not its file's last (``pending``), which a log
    still being written explains. Before the first record of a known format, bad records and other
    lines are ``leading``: which of them count depends on the format.
    """

    def __init__(self, *, known: bool) -> None:
        self._known = known  # whether the format is
        self.leading = 0
        self._leading_of: dict[str, tuple[int, str]] = {}  # by owner: how many, the first
        self.cut = self.perhaps_cut = self.other = self.retries = self.answers = 0
        self.truncated = self.ended_early = 0  # files
        self.skipped: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        self.first_unusable = ""
        self._unread = ""  # the first record behind which nothing could be read
        self.usable = False  # whether this file has had a record of the log's format
        self.pending: Bad | None = None

    def flush(self) -> None:
        """Count the pending record, as there is one behind it."""
        if self.pending is not None:
            self.bad(self.pending)
            self.pending = None

    def end_file(self, *, open_end: bool, cut_short: bool) -> None:
        """The file is read; with ``open_end`` its last record may be cut, whatever it looks like."""
        if self.pending is not None and (self.pending.cut or open_end) and self.usable:
            self.truncated += 1
            self.pending = None
        self.flush()
        self.usable = False
        self.ended_early += cut_short

    def bad(self, bad: Bad) -> None:
        """Count an unusable record."""
        where = f"{bad.place}: {bad.reason}"
        if bad.ends:
            self._unread = self._unread or where
        self.first_unusable = self.first_unusable or where
        if self._known:
            self.unusable[bad.reason] += 1
            return
        self.leading += 1
        if bad.owner:
            before, first = self._leading_of.get(bad.owner, (0, where))
            self._leading_of[bad.owner] = before + 1, first

    def recognised(self, chosen: Format, *, in_json: bool) -> None:
        """Judge what came before the first record of a known format."""
        self._known = True
        if chosen.INTERLEAVED:
            owners = (chosen.NAME, ANY_JSON) if in_json else (chosen.NAME,)
            mine = [found for o in owners if (found := self._leading_of.get(o))]
            requests = sum(n for n, _ in mine)
            self.other += self.leading - requests
            self.first_unusable = mine[0][1] if mine else ""
            if requests:
                self.unusable["before the first readable request"] += requests
        elif self.leading:
            self.unusable["before the first record of a known format"] += self.leading

    def check(self, requests: int, *, allow_partial: bool) -> None:
        """Refuse a log of which too much is unusable.

        Raises
        ------
        TraceError
            The message names the first unusable record.
        """
        bad = self.unusable.total() + (0 if self._known else self.leading)
        whole = bad + requests + self.skipped.total()
        few = bad <= UNUSABLE_LIMIT * whole
        if not bad or (requests and (allow_partial or (few and not self._unread))):
            return
        if requests and few:
            raise TraceError(
                f"{self._unread}\n  how many records that leaves out is unknown, which needs "
                "--allow-partial"
            )
        share = f"{bad} of {whole} records are unusable ({100 * bad / whole:.1f}%)"
        hint = (
            f"; more than {UNUSABLE_LIMIT:.0%} needs --allow-partial"
            if requests
            else "; see cache-worthy formats for the logs that can be read"
        )
        raise TraceError(f"{self.first_unusable}\n  {share}{hint}")

    def records(self) -> Records:
        """The counts as the log has them."""
        return Records(
            cut=self.cut,
            perhaps_cut=self.perhaps_cut,
            skipped=dict(sorted(self.skipped.items())),
            unusable=self.unusable.total(),
            unusable_reasons=dict(self.unusable.most_common(5)),
            other_lines=self.other,
            retries=self.retries,
            several_answers=self.answers,
            ended_early=self.ended_early,
            first_unusable=self.first_unusable if self.unusable else "",
        )
