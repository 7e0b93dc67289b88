"""Logs of any known shape to requests: one file a format, one line each in ``FORMATS``.

A format module meets :class:`cache_worthy.logs.prompts.Format`; the order of the registry is the
order of detection.
"""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from cache_worthy.errors import UsageError
from cache_worthy.logs.blocks import Cutter
from cache_worthy.logs.formats import FORMATS, counts, lines, native, text, vllm
from cache_worthy.logs.json_text import HINT, Broken, parse_line, plain_parser
from cache_worthy.logs.log import Log, Records
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.prompts import (
    Blocks,
    Format,
    Prompt,
    Record,
    Refused,
    Skipped,
    Unusable,
    label,
    lookup,
)
from cache_worthy.logs.records import read_records
from cache_worthy.logs.source import Source
from cache_worthy.logs.times import to_ms
from cache_worthy.logs.truncation import Lengths
from cache_worthy.sim.columns import Column, RequestTable, grown
from cache_worthy.sim.errors import TraceError
from cache_worthy.sim.trace import Request

UNUSABLE_LIMIT = 0.05
"""A larger share of unusable records ends the run unless ``allow_partial``."""

GIVE_UP = 100_000
"""Lines without a known format after which the rest is not read."""

NO_MODEL = "(none)"

HELD = 64
"""Requests that may wait at once for the line that names their adapter."""

_NOT_PLAIN = {"block_size", "model", "cache_salt", "status"}
_INTEGER = {int}


def read_log(source: str | Path | Sequence[str | Path], options: ReadOptions | None = None) -> Log:
    """Read a whole log, in one file or several; the first recognised record decides the format.

    Parameters
    ----------
    source : str, Path or sequence of them
        Files, or ``"-"`` for standard input.
    options : ReadOptions, optional

    Raises
    ------
    TraceError
        On a file that cannot be read, a log of no known format, one that cannot be analysed, or one
        with more than 5 percent unusable records. The message names file and place.
    UsageError
        On an option that does not fit the log.

    Notes
    -----
    Time: linear in the bytes. Memory: 8 bytes a block reference, and one record at a time; where ids
    are no integers of 64 bits, also the distinct ids.
    """
    sources = [source] if isinstance(source, str | Path) else list(source)
    reading = _Reading(options or ReadOptions())
    for one in sources:
        reading.read(one)
    return reading.log()


class _Bad(NamedTuple):
    """A record that cannot be used, until it is known whether it was the file's last."""

    place: str
    reason: str
    cut: bool  # as the last one it is a log still being written
    request: str = ""  # the line-wise format whose request it would be; "*": any JSON format's
    ends: bool = False  # nothing behind it could be read


@dataclass(slots=True)
class _Held:
    """A request that waits for the line that names its adapter, or behind one that does."""

    name: str
    place: str
    prompt: Prompt
    record: Record


class _Reading:
    """One call of :func:`read_log`."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.cutter = Cutter(options)
        self.digest = hashlib.sha256()
        self.names: list[str] = []
        self.format: Format | None = None
        self.field = ""
        self.first_place = ("", "")  # file and place of the first record of the format
        self.requests = RequestTable()
        self.times: Column = array("q")  # to order by
        # What stood before the first recognised record: other lines, or unusable ones.
        self.leading = 0
        self.leading_requests: dict[str, tuple[int, str]] = {}  # by format: how many, the first
        self.in_json = True
        self.held: deque[_Held] = deque()
        self.seen: dict[str, int | float | None] = {}
        self.promptless: dict[str, tuple[str, str]] = {}
        self.cut = self.other = self.retries = self.answers = self.truncated = 0
        self.ended_early = 0
        self.skipped: Counter[str] = Counter()
        self.unusable: Counter[str] = Counter()
        self.first_unusable = self.unread = ""
        self.models: Counter[str] = Counter()
        self.salts: Counter[str] = Counter()
        self.clock = _Clock()
        self.source_name = ""
        self.pending: _Bad | None = None
        self.usable = False  # whether the file at hand has had a record of the format
        # The short way of plain native records, see _plain.
        self.parser = plain_parser()
        self.short = (options.model, options.model_field, options.salt_field) == (None,) * 3
        self.plain = 0
        self.mismatches = self.perhaps_cut = 0
        self.lengths = Lengths()
        if options.format != "auto":
            names = {f.NAME: f for f in FORMATS}
            if options.format not in names:
                raise UsageError(
                    f"--format {options.format}: unknown; expected auto, {', '.join(names)}"
                )
            self.format = names[options.format]

    def read(self, one: str | Path) -> None:
        """Take in one file."""
        source = Source(one, self.digest)
        self.names.append(source.name)
        try:
            self._read(source)
        finally:
            source.close()

    def _read(self, source: Source) -> None:
        self.source_name, self.pending, self.usable = source.name, None, False
        for place, value in _unwrapped(read_records(source, self.format is lines, self._plain)):
            self._flush()
            if isinstance(value, Broken):
                self.pending = self._broken(place, value)
                continue
            try:
                self.usable = self._record(source.name, place, value) or self.usable
            except Unusable as error:
                if error.request_id is None:
                    self.pending = _Bad(place, str(error), error.incomplete)
                elif self._finished(error) or error.request_id in self.seen:
                    self.other += 1
                else:
                    self.promptless.setdefault(
                        error.request_id, (f"{source.name}: {place}", str(error))
                    )
            except Skipped as error:
                self.skipped[str(error)] += 1
            except Refused as error:
                raise Refused(f"{source.name}: {place}: {error}") from None
            except RecursionError:
                self.pending = _Bad(place, "nested too deeply", False)
            if self.format is None and self.leading > GIVE_UP:
                break
        if self.pending is not None and (self.pending.cut or source.open_end) and self.usable:
            self.truncated += 1
        else:
            self._flush()
        self.ended_early += source.cut_short

    def _flush(self) -> None:
        """Count the bad record before as such: it was not the file's last, or no cut explains it."""
        if self.pending is not None:
            self._unusable(self.source_name, self.pending)
            self.pending = None

    def _plain(self, raw: bytes) -> bool:
        """Take in a line of a native log with nothing unusual in it; whether it was one.

        The way of all other records, without the objects made on it: with orjson, reading 120
        thousand requests took 2.3 s of CPU that way and takes 0.7 s this way. Whatever is not
        plain, right or wrong, is left to that way.
        """
        if self.format is not native or not self.short:
            return False
        try:
            record = self.parser(raw)
        except (ValueError, RecursionError):
            return False
        if not isinstance(record, dict) or not _NOT_PLAIN.isdisjoint(record):
            return False
        find = record.get
        ids, length, output = find("hash_ids"), find("input_length"), find("output_length")
        priority = find("priority", 0)
        block = self.options.block_tokens
        if (
            type(ids) is not list
            or not set(map(type, ids)) <= _INTEGER
            or type(length) is not int
            or length < 0
            or (output is not None and (type(output) is not int or output < 0))
            or type(priority) is not int
            or self.cutter.block_tokens != block
        ):
            return False
        self._flush()
        self.usable = True
        time = to_ms(find("timestamp"))
        self.requests.add(ids, length, output, time, priority)
        self._time(time)
        self.mismatches += len(ids) != -(-length // block)
        self.plain += 1
        return True

    def _time(self, time: float | None) -> None:
        try:
            self.times.append(time)
        except (TypeError, OverflowError):
            self.times = grown(self.times, [time])

    def _broken(self, place: str, value: Broken) -> _Bad | None:
        chosen = self.format
        cut = value.opens and not value.whole
        if value.ends or (chosen is not None and not chosen.INTERLEAVED):
            return _Bad(place, value.reason, cut, "*" if self.in_json else "", value.ends)
        if value.opens:
            owner = "*" if self.in_json else ""
        else:  # a request whose prompt cannot be trusted, or any other line
            among = FORMATS if chosen is None else (chosen,)
            mine = (f.NAME for f in among if f.INTERLEAVED and value.text and f.detect(value.text))
            owner = next(mine, "")
        if chosen is None or owner:
            return _Bad(place, value.reason, cut, owner)
        self.other += 1
        return None

    def _unusable(self, name: str, bad: _Bad) -> None:
        where = f"{name}: {bad.place}: {bad.reason}"
        if bad.ends:
            self.unread = self.unread or where
        if not self.first_unusable:
            self.first_unusable = where
        if self.format is not None:
            self.unusable[bad.reason] += 1
            return
        self.leading += 1
        if bad.request:
            before, first = self.leading_requests.get(bad.request, (0, where))
            self.leading_requests[bad.request] = before + 1, first

    def _record(self, name: str, place: str, record: Record) -> bool:
        """Take in one record; whether it was one of the log's format."""
        if self.format is None:
            self._detect(place, record)
        chosen = self.format
        field = None if chosen is None else chosen.accept(record, self.field)
        if chosen is None or field is None:
            if chosen is not None and chosen.INTERLEAVED:
                self.other += 1
                return False
            raise Unusable(self._unknown(record, chosen))
        if not self.field:
            self.field, self.first_place = field, (name, place)
            self.in_json = isinstance(record, dict)
        elif chosen is text and field != self.field:
            raise Unusable(self._mixed(f"has {field!r}"))
        prompts = chosen.parse(record, field, f"{len(self.names)}:{place}")
        if not prompts:
            self.other += 1
        for found in prompts:
            if isinstance(found, Skipped):
                self.skipped[str(found)] += 1
            elif isinstance(found, Unusable):
                self._unusable(name, _Bad(place, str(found), False))
        whole = [p for p in prompts if isinstance(p, Prompt)]
        if self.held or any(p.unfinished for p in whole):
            self.held += [_Held(name, place, p, record) for p in whole]
            self._release()
        else:
            self._take(name, place, whole, record)
        return True

    def _take(self, name: str, place: str, prompts: list[Prompt], record: Record) -> None:
        """Take in the requests of one record; of several, one may be unusable alone."""
        known = {p.request_id for p in prompts if p.request_id in self.seen}
        for prompt in prompts:
            if prompt.request_id in known and not self._again(prompt):
                continue
            try:
                self._prompt(prompt, record)
            except Unusable as error:
                if len(prompts) == 1:
                    raise
                self._unusable(name, _Bad(place, str(error), False))

    def _finished(self, rest: Unusable) -> bool:
        """Give a request that waits what a later record says of it; whether one waited."""
        for held in self.held:
            if held.prompt.unfinished and held.prompt.request_id == rest.request_id:
                held.prompt = dataclasses.replace(
                    held.prompt, salt=rest.salt, answers=rest.answers, unfinished=False
                )
                self._release()
                return True
        return False

    def _release(self, *, all_of_them: bool = False) -> None:
        """Take in, in file order, what waits no longer."""
        while self.held and (
            all_of_them or not self.held[0].prompt.unfinished or len(self.held) > HELD
        ):
            held = self.held.popleft()
            try:
                self._take(held.name, held.place, [held.prompt], held.record)
            except Unusable as error:
                self._unusable(held.name, _Bad(held.place, str(error), False))

    def _detect(self, place: str, record: Record) -> None:
        for module in FORMATS:
            field = module.detect(record)
            if field is not None:
                self.format, self.field, self.first_place = module, field, (self.names[-1], place)
                self.in_json = isinstance(record, dict)
                if module.INTERLEAVED:
                    owners = (module.NAME, "*") if self.in_json else (module.NAME,)
                    mine = [r for o in owners if (r := self.leading_requests.get(o))]
                    count = sum(n for n, _ in mine)
                    self.other += self.leading - count
                    self.first_unusable = mine[0][1] if mine else ""
                    if count:
                        self.unusable["before the first readable request"] += count
                elif self.leading:
                    self.unusable["before the first record of a known format"] += self.leading
                return

    def _mixed(self, has: str) -> str:
        name, place = self.first_place
        where = place if name == self.names[-1] else f"{name}: {place}"
        return f"{has}, but {where} has {self.field!r}; a log must keep one shape"

    def _unknown(self, record: Record, chosen: Format | None) -> str:
        if isinstance(record, str):
            parsed = parse_line(record)
            if isinstance(parsed, Broken):
                return parsed.reason
            return f"not JSON (Expecting value); {HINT}, or a server log (cache-worthy formats)"
        if chosen is None:
            readable = [m for m in FORMATS if m not in (counts, lines)]
            fields = dict.fromkeys(f for m in (native, text, *readable) for f in m.FIELDS)
            return f"no prompt: expected one of the fields {', '.join(fields)}"
        other = next((f for m in FORMATS if m is not counts and (f := m.detect(record))), None)
        return self._mixed(f"has {other!r}" if other else "has no prompt field")

    def _again(self, prompt: Prompt) -> bool:
        """Whether a request id met before is a retry, which was served, and not a second mention."""
        before = self.seen[prompt.request_id or ""]
        if prompt.echo:
            self.other += 1
            return False
        if before is not None and before == prompt.timestamp:
            self.skipped["duplicate record"] += 1
            return False
        self.retries += 1
        return True

    def _prompt(self, prompt: Prompt, record: Record) -> None:
        options = self.options
        model, salt, time = prompt.model, prompt.salt, prompt.timestamp
        logged = time
        if isinstance(record, dict):
            if options.model_field is not None:
                # "model" is also the name of what a format finds elsewhere (in a request's body).
                found = label(lookup(record, options.model_field))
                model = found or (model if options.model_field == "model" else None)
            if options.salt_field is not None:
                salt = label(lookup(record, options.salt_field))
        if options.model not in (None, "*", model):
            self.models[model or NO_MODEL] += 1
            self.skipped["another model"] += 1
            return
        if self.format is vllm and time is not None:
            time = self.clock.with_year(time)
        apart = model if options.model == "*" else None
        if (apart, salt, time) != (prompt.model, prompt.salt, prompt.timestamp):
            prompt = dataclasses.replace(prompt, model=apart, salt=salt, timestamp=time)
        request = self.cutter.request(prompt)
        self.models[model or NO_MODEL] += 1
        if salt is not None:
            self.salts[salt] += 1
        self.cut += prompt.cut
        self.answers += prompt.answers > 1
        if prompt.request_id is not None:
            self.seen[prompt.request_id] = logged
            self.promptless.pop(prompt.request_id, None)
        if prompt.may_be_cut:
            self._watch_lengths(prompt, request)
        if isinstance(prompt.content, Blocks):
            block = self.cutter.block_tokens or options.block_tokens
            self.mismatches += len(request.hash_ids) != -(-request.input_length // block)
        self.requests.append(request)
        self._time(time if prompt.exact is None else prompt.exact)

    def _watch_lengths(self, prompt: Prompt, request: Request) -> None:
        content = prompt.content
        by_characters = isinstance(content, str) and self.cutter.encode is None
        a_block = self.options.chars_per_block if by_characters else self.cutter.block_tokens
        size = len(content) if isinstance(content, str) else request.input_length
        whole = (size if by_characters else request.input_length) // (a_block or 1)
        last = request.hash_ids[-1] if request.hash_ids else None
        place = len(self.requests)
        if prompt.characters is None:
            self.lengths.watch(place, size, whole, last)
        else:
            self.lengths.watch_both(place, prompt.characters, size, whole, last)

    def _judge_lengths(self) -> None:
        whole, self.perhaps_cut = self.lengths.judge(len(self.requests))
        self.cut += len(whole)
        if whole:  # may still be chance, so one without a whole block stays
            self.requests = self.requests.shortened({p: n for p, n in whole.items() if n})

    def log(self) -> Log:
        """The log, once every file is read.

        Raises
        ------
        TraceError, UsageError
            See :func:`read_log`.
        """
        name = ", ".join(self.names)
        self._release(all_of_them=True)
        if self.plain:
            self.models[NO_MODEL] += self.plain
        for where, reason in self.promptless.values():
            self.unusable[reason] += 1
            self.first_unusable = self.first_unusable or f"{where}: {reason}"
        self._judge_lengths()
        chosen = self.format
        self._check_usable(name)
        if chosen is None or not self.requests:
            raise TraceError(f"{name}: empty: no requests; {HINT}")
        self._check_models(name)
        requests, order, moved = _ordered(self.requests, self.times, self.options.order, name)
        cutter = self.cutter
        block = cutter.block_tokens or self.options.block_tokens
        kinds = [self.options.tokenizer] * bool(cutter.from_text) + ["log"] * bool(
            cutter.from_tokens
        )
        return Log(
            source=name,
            sha256=self.digest.hexdigest(),
            format=chosen.NAME,
            field=self.field,
            requests=requests,
            block_tokens=block,
            chars_per_block=(
                self.options.chars_per_block if cutter.from_text and not cutter.encode else None
            ),
            skipped_truncated=self.truncated,
            length_mismatches=self.mismatches,
            records=Records(
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
            ),
            order=order,
            moved=moved,
            tokenizer="+".join(kinds) or None,
            template=self.options.template if cutter.from_chat else None,
            models={} if set(self.models) == {NO_MODEL} else dict(self.models.most_common()),
            salts=self._salts(),
            evidence=cutter.evidence,
        )

    def _salts(self) -> dict[str, int]:
        """By value where the user named the field; a server's own salt is a secret: by rank."""
        ranked = self.salts.most_common(20)
        if self.options.salt_field is not None:
            return dict(ranked)
        return {f"#{rank}": n for rank, (_, n) in enumerate(ranked, 1)}

    def _check_usable(self, name: str) -> None:
        bad = self.unusable.total() + (self.leading if self.format is None else 0)
        whole = bad + len(self.requests) + self.skipped.total()
        if not bad:
            return
        few = bad <= UNUSABLE_LIMIT * whole and not self.unread
        if self.requests and (self.options.allow_partial or few):
            return
        if self.requests and bad <= UNUSABLE_LIMIT * whole:
            raise TraceError(
                f"{self.unread}\n  how many records that leaves out is unknown, which needs "
                "--allow-partial"
            )
        share = f"{bad} of {whole} records are unusable ({100 * bad / whole:.1f}%)"
        hint = (
            f"; more than {UNUSABLE_LIMIT:.0%} needs --allow-partial"
            if self.requests
            else "; see cache-worthy formats for the logs that can be read"
        )
        raise TraceError(f"{self.first_unusable}\n  {share}{hint}")

    def _check_models(self, name: str) -> None:
        named = [m for m in self.models if m != NO_MODEL]
        if self.options.model is None and len(named) > 1:
            listed = ", ".join(f"{m} ({n})" for m, n in self.models.most_common(8))
            more = f", and {len(self.models) - 8} more" if len(self.models) > 8 else ""
            field = self.options.model_field or "model"
            raise UsageError(
                f"{name}: requests of {len(named)} models: {listed}{more}; one cache serves one "
                f"model\n  choose one with --model-field {field}=NAME, or keep all apart in one "
                f"cache with --model-field {field}=*"
            )


class _Clock:
    """Years for times that have none: a step back of half a year is a new year."""

    YEAR = 366 * 86_400_000

    def __init__(self) -> None:
        self._last: float = 0
        self._years = 0

    def with_year(self, time: float) -> int | float:
        if time + self._years * self.YEAR < self._last - self.YEAR / 2:
            self._years += 1
        self._last = time + self._years * self.YEAR
        return self._last


def _unwrapped(
    records: Iterable[tuple[str, Record | Broken]],
) -> Iterator[tuple[str, Record | Broken]]:
    """Records one by one, also those that an interface hands out by the page under ``data``."""
    for place, value in records:
        rows = value.get("data") if isinstance(value, dict) else None
        if (
            isinstance(value, dict)
            and isinstance(rows, list)
            and rows
            and all(isinstance(r, dict) for r in rows)
            and not any(f.detect(value) for f in FORMATS)
            and any(f.detect(rows[0]) for f in FORMATS)
        ):
            for n, row in enumerate(rows):
                yield f"{place}, data[{n}]", row
        else:
            yield place, value


def _in_two_units(times: Iterable[float]) -> bool:
    """Whether times of one log are seconds of this century and milliseconds of it.

    Read in one unit they would lie a thousand years apart, and nothing between: nanoseconds since
    a start pass through.
    """
    seconds = milliseconds = False
    for time in times:
        if 10**11 <= time < 10**12:
            return False
        seconds |= 10**9 <= time < 10**11
        milliseconds |= time >= 10**12
    return seconds and milliseconds


def _ordered(
    requests: RequestTable, times: Column, order: str, name: str
) -> tuple[RequestTable, str, int]:
    """The requests in the order of ``times``, that order in words, and how many had to move."""
    without = times.count(None)
    if without:
        if order == "time":
            raise UsageError(
                f"--order time: {name}: {without} of {len(times)} requests have no arrival time; "
                "leave the option out for file order"
            )
        why = "no arrival times" if without == len(times) else f"{without} without arrival time"
        return requests, f"file order ({why})", 0
    if len(times) and max(times) >= 10**12 and _in_two_units(times):
        if order == "time":
            raise UsageError(
                f"--order time: {name}: some times count seconds since 1970 and others milliseconds; "
                "write them in one unit, or leave the option out for file order"
            )
        return requests, "file order (times in seconds and in milliseconds)", 0
    back = sum(a > b for a, b in pairwise(times))
    backwards = bool(back) and not any(a < b for a, b in pairwise(times))
    if order == "file":
        note = (
            "; its times run backwards"
            if backwards
            else f"; {back} steps back in time"
            if back
            else ""
        )
        return requests, f"file order (--order file{note})", 0
    if not back:
        return requests, "arrival time, as in the file", 0
    ranks = sorted(range(len(times)), key=times.__getitem__)
    moved = sum(i != n for n, i in enumerate(ranks))
    how = "the file is in reverse order" if backwards else f"{moved} stand elsewhere in the file"
    return requests.reordered(ranks), f"arrival time ({how}); ties in file order", moved
