"""One pass over the files of a log: which format it is, what is a request, and what is not.

:func:`read_log` is the way in. A record goes from :mod:`~cache_worthy.logs.records` through the
format (:mod:`~cache_worthy.logs.shape`) to the requests (:mod:`~cache_worthy.logs.intake`); what is
no request is counted (:mod:`~cache_worthy.logs.tally`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from os import PathLike
from typing import Any

from cache_worthy.checks import file_name, listed, wrong
from cache_worthy.logs.formats import lines
from cache_worthy.logs.intake import Intake
from cache_worthy.logs.json_text import HINT, Broken
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions, with_choices
from cache_worthy.logs.pairing import Pairing
from cache_worthy.logs.plain import plain_lines
from cache_worthy.logs.prompts import Prompt, Record, Refused, Skipped, Unusable
from cache_worthy.logs.records import read_records
from cache_worthy.logs.shape import Shape, unpaged
from cache_worthy.logs.source import Source
from cache_worthy.logs.tally import Bad, FileRecords, Place, Tally
from cache_worthy.sim.errors import TraceError

GIVE_UP = 100_000
"""Lines without a known format after which the rest is not read."""


def read_log(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    options: ReadOptions | None = None,
    **choices: Any,
) -> Log:
    """Read a whole log, in one file or several; the first recognised record decides the format.

    Parameters
    ----------
    source : str, path or several
        Files, plain or compressed (``.gz``, ``.zst``), or ``"-"`` for standard input.
    options : ReadOptions, optional
    **choices
        Fields of :class:`~cache_worthy.logs.options.ReadOptions`, in place of those in ``options``:
        ``read_log("log.jsonl.gz", block_size=16)``.

    Raises
    ------
    TraceError
        On a file that cannot be read, a log of no known format, one that cannot be analysed, or one
        with more than 5 percent unusable records. The message names file and place.
    UsageError
        On an option that does not fit the log, or a value out of its range.
    TypeError
        On an option that does not exist.

    Notes
    -----
    Time: linear in the bytes. Memory: 8 bytes per block reference, and one record at a time; where
    ids are no integers of 64 bits, also the distinct ids.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write('{"input_length": 20, "hash_ids": [7, 8]}\\n')
    ...     file.flush()
    ...     log = read_log(file.name, block_size=16)
    >>> log.format, log.block_tokens, log.requests[0].hash_ids
    ('native', 16, (7, 8))
    """
    if options is None:
        options = ReadOptions()
    elif not isinstance(options, ReadOptions):
        raise wrong("options", "ReadOptions", options)
    session = _Session(with_choices(options, choices))
    expected = "the name of a file, or several"
    alone = isinstance(source, str | PathLike)
    files = [source] if alone else listed("source", source, expected)
    if not files:
        raise wrong("source", expected, source)
    for one in files:
        session.read(file_name("source", one, expected))
    return session.log()


class _Session:
    """One call of :func:`read_log`."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.digest = hashlib.sha256()
        self.names: list[str] = []
        self.shape = Shape(options.format)
        self.tally = Tally(known=self.shape.format is not None)
        self.intake = Intake(options, self.tally)
        self.pairing = Pairing()

    def read(self, name: str) -> None:
        """Take in one file."""
        source = Source(name, self.digest)
        self.names.append(source.name)
        file = FileRecords(source.name, self.tally)
        take = plain_lines(self.shape, self.intake, file)
        try:
            for place, value in unpaged(read_records(source, self.shape.format is lines, take)):
                file.flush()
                file.pending = self._take(file, Place(source.name, place), value)
                if self.shape.format is None and self.tally.leading > GIVE_UP:
                    break
        finally:
            source.close()
        file.end(open_end=source.open_end)
        self.tally.ended_early += source.cut_short

    def _take(self, file: FileRecords, place: Place, value: Record | Broken) -> Bad | None:
        """Take in one record; what is wrong with it."""
        if isinstance(value, Broken):
            return self._broken(place, value)
        try:
            if self._record(place, value):
                file.usable = True
        except Unusable as error:
            if error.request_id is None:
                return Bad(place, str(error), error.incomplete)
            if self.pairing.finish(error):
                self._release()
                self.tally.other += 1
            elif error.request_id in self.intake.seen:
                self.tally.other += 1
            else:
                self.pairing.without_prompt(place, error)
        except Skipped as error:
            self.tally.skipped[str(error)] += 1
        except Refused as error:
            raise Refused(f"{place}: {error}") from None
        except RecursionError:
            return Bad(place, "nested too deeply")
        return None

    def _broken(self, place: Place, value: Broken) -> Bad | None:
        owner = self.shape.owner(value)
        if owner is None:
            self.tally.other += 1
            return None
        cut = value.opens and not value.whole
        return Bad(place, value.reason, cut, owner=owner, ends=value.ends)

    def _record(self, place: Place, record: Record) -> bool:
        """Take in one record; whether it was one of the log's format."""
        shape, tally = self.shape, self.tally
        if shape.format is None and (found := shape.detect(place, record)) is not None:
            tally.recognised(found, in_json=shape.in_json)
        field = shape.accept(place, record)
        if shape.format is None or field is None:
            tally.other += 1
            return False
        prompts: list[Prompt] = []
        parsed = shape.format.parse(record, field, f"{len(self.names)}:{place.record}")
        if not parsed:
            tally.other += 1
        for one in parsed:
            if isinstance(one, Prompt):
                prompts.append(self.intake.labelled(one, record))
            elif isinstance(one, Skipped):
                tally.skipped[str(one)] += 1
            else:
                tally.bad(Bad(place, str(one)))
        if self.pairing.waits(prompts):
            self.pairing.hold(place, prompts)
            self._release()
        else:
            self.intake.take(place, prompts)
        return True

    def _release(self, *, end: bool = False) -> None:
        for place, prompt in self.pairing.ready(end=end):
            try:
                self.intake.take(place, [prompt])
            except Unusable as error:
                self.tally.bad(Bad(place, str(error)))

    def log(self) -> Log:
        """The log, once every file is read.

        Raises
        ------
        TraceError, UsageError
            See :func:`read_log`.
        """
        name, shape, tally, intake = ", ".join(self.names), self.shape, self.tally, self.intake
        self._release(end=True)
        for bad in self.pairing.alone(intake.seen):
            tally.bad(bad)
        intake.judge_lengths()
        tally.check(len(intake.requests), allow_partial=self.options.allow_partial)
        if shape.format is None or not intake.requests:
            raise TraceError(f"{name}: empty: no requests; {HINT}")
        models = intake.models(name)
        order = intake.arrivals.order(self.options.order, name)
        ranks, requests, cutter = order.ranks, intake.requests, intake.cutter
        by_characters = cutter.from_text and cutter.encode is None
        return Log(
            source=name,
            sha256=self.digest.hexdigest(),
            format=shape.format.NAME,
            field=shape.field,
            requests=requests if ranks is None else requests.reordered(ranks),
            block_tokens=cutter.block_tokens or self.options.block_tokens,
            chars_per_block=self.options.chars_per_block if by_characters else None,
            skipped_truncated=tally.truncated,
            length_mismatches=intake.mismatches,
            records=tally.records(),
            order=order.words,
            moved=order.moved,
            tokenizer=intake.tokenizer(),
            template=self.options.template if cutter.from_chat else None,
            models=models,
            salts=intake.salts(),
            chars_per_token=self.options.chars_per_token,
            evidence=cutter.evidence,
        )
