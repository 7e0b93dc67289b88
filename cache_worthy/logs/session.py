"""One pass over the files of a log, which finds its format, its requests, and what is no request.

:func:`read_log` is the entry. A record goes from :mod:`~cache_worthy.logs.records` through the
format (:mod:`~cache_worthy.logs.shape`) to the requests (:mod:`~cache_worthy.logs.intake`); what is
no request is counted (:mod:`~cache_worthy.logs.tally`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Container, Iterable, Iterator
from os import PathLike
from typing import Any

from cache_worthy.checks import file_name, listed, wrong
from cache_worthy.logs.estimate import shares
from cache_worthy.logs.formats import lines
from cache_worthy.logs.intake import Intake
from cache_worthy.logs.json_text import HINT, Broken
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions, with_choices
from cache_worthy.logs.plain import plain_lines
from cache_worthy.logs.prompts import Prompt, Record, Refused, Skipped, Unusable
from cache_worthy.logs.records import read_records
from cache_worthy.logs.shape import Shape, unpaged
from cache_worthy.logs.source import Source
from cache_worthy.logs.tally import Bad, Place, Tally
from cache_worthy.sim.errors import TraceError

GIVE_UP = 100_000
"""Lines without a known format after which the rest is not read."""

HELD = 64
"""Requests that may wait at once for the record that names their adapter."""


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
        Fields of :class:`~cache_worthy.logs.options.ReadOptions`, instead of those in ``options``.

    Raises
    ------
    TraceError
        If a file cannot be read, or the log is of no known format, cannot be analysed, or has more
        than 5 percent unusable records. The message names file and place.
    UsageError
        If an option does not fit the log, or a value is out of its range.
    TypeError
        If an option does not exist.

    Notes
    -----
    Time: linear in the bytes. Memory: 8 bytes per block reference, one record at a time, and the
    distinct ids if they are not integers of 64 bits.

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


class _Pairing:
    """Requests logged in two records, one with the prompt, the other with its adapter (vLLM at DEBUG).

    The first waits for the second, and what comes after it waits too, so that the order stays.
    """

    def __init__(self) -> None:
        self._held: deque[tuple[Place, Prompt]] = deque()
        self._promptless: dict[str, Bad] = {}

    def hold(self, place: Place, prompts: list[Prompt]) -> bool:
        """Let requests wait, if they must; whether they do."""
        if not self._held and not any(p.unfinished for p in prompts):
            return False
        self._held += [(place, p) for p in prompts]
        return True

    def finish(self, rest: Unusable) -> bool:
        """Give a request that waits what a later record says of it; whether one waited."""
        for n, (place, prompt) in enumerate(self._held):
            if prompt.unfinished and prompt.request_id == rest.request_id:
                whole = dataclasses.replace(
                    prompt, salt=rest.salt, answers=rest.answers, unfinished=False
                )
                self._held[n] = place, whole
                return True
        return False

    def ready(self, *, end: bool) -> Iterator[tuple[Place, Prompt]]:
        """What waits no longer; at the end of the log, all."""
        held = self._held
        while held and (end or not held[0][1].unfinished or len(held) > HELD):
            yield held.popleft()

    def without_prompt(self, place: Place, error: Unusable) -> None:
        """Remember a record whose prompt another one may carry."""
        self._promptless.setdefault(error.request_id or "", Bad(place, str(error)))

    def alone(self, requests: Container[str]) -> Iterator[Bad]:
        """Records without a prompt whose request ids are not among ``requests``."""
        return (bad for name, bad in self._promptless.items() if name not in requests)


class _Session:
    """One call of :func:`read_log`."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.digest = hashlib.sha256()
        self.names: list[str] = []
        self.shape = Shape(options.format)
        self.tally = Tally(known=self.shape.format is not None)
        self.intake = Intake(options, self.tally)
        self.pairing = _Pairing()

    def read(self, name: str) -> None:
        """Take in one file."""
        source, shape, tally = Source(name, self.digest), self.shape, self.tally
        self.names.append(source.name)
        take = plain_lines(shape, self.intake)
        try:
            for record, value in unpaged(read_records(source, shape.format is lines, take)):
                tally.flush()
                tally.pending = self._take(Place(source.name, record), value)
                if shape.format is None and tally.leading > GIVE_UP:
                    break
        finally:
            source.close()
        tally.end_file(open_end=source.open_end, cut_short=source.cut_short)

    def _take(self, place: Place, value: Record | Broken) -> Bad | None:
        """Take in one record and return what is wrong with it."""
        pairing, tally = self.pairing, self.tally
        try:
            if not isinstance(value, Broken):
                tally.usable |= self._record(place, value)
            elif (owner := self.shape.owner(value)) is None:
                tally.other += 1
            else:
                cut = value.opens and not value.whole
                return Bad(place, value.reason, cut, owner=owner, ends=value.ends)
        except Unusable as error:
            if error.request_id is None:
                return Bad(place, str(error), error.incomplete)
            if pairing.finish(error):
                self._release()
                tally.other += 1
            elif error.request_id in self.intake.seen:
                tally.other += 1
            else:
                pairing.without_prompt(place, error)
        except Skipped as error:
            tally.skipped[str(error)] += 1
        except Refused as error:
            raise Refused(f"{place}: {error}") from None
        except RecursionError:
            return Bad(place, "nested too deeply")
        return None

    def _record(self, place: Place, record: Record) -> bool:
        """Take in one record and return whether it was one of the log's format."""
        shape, tally = self.shape, self.tally
        if shape.format is None and shape.detect(place, record) and shape.format is not None:
            tally.recognised(shape.format, in_json=shape.in_json)
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
        if self.pairing.hold(place, prompts):
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
        """The log, once every file is read."""
        name, shape, tally, intake = ", ".join(self.names), self.shape, self.tally, self.intake
        self._release(end=True)
        for bad in self.pairing.alone(intake.seen):
            tally.bad(bad)
        intake.judge_lengths()
        intake.check_block_size(name)
        tally.check(len(intake.requests), allow_partial=self.options.allow_partial)
        if shape.format is None or not intake.requests:
            raise TraceError(f"{name}: empty: no requests; {HINT}")
        models = intake.models(name)
        order, at_once = intake.arrivals.order(self.options.order, name), self.options.concurrency
        if at_once is not None:
            order = intake.arrivals.at_once(at_once, name)
        requests, cutter = intake.requests, intake.cutter
        by_characters = cutter.evidence.texts and cutter.encode is None
        return Log(
            source=name,
            sha256=self.digest.hexdigest(),
            format=shape.format.NAME,
            field=shape.field,
            requests=requests if order.ranks is None else requests.reordered(order.ranks),
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
            chars_per_token=cutter.chars_per_token,
            characters_by_kind=shares(cutter.kinds),
            evidence=cutter.evidence,
        )
