"""Prompts to requests: models, salts and request ids are told apart, blocks are cut."""

from __future__ import annotations

import dataclasses
from collections import Counter

from cache_worthy.errors import UsageError
from cache_worthy.logs.blocks import Cutter
from cache_worthy.logs.hash_ids import fitting_size
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.order import Arrivals, Clock
from cache_worthy.logs.prompts import Blocks, Prompt, Record, Unusable, label, lookup
from cache_worthy.logs.tally import Bad, Place, Tally
from cache_worthy.logs.truncation import Lengths
from cache_worthy.sim.columns import RequestTable
from cache_worthy.sim.trace import Request

NO_MODEL = "(none)"

SALTS = 20
"""Salts that are listed, at most."""


class Intake:
    """The requests of a log in file order, collected while it is read."""

    def __init__(self, options: ReadOptions, tally: Tally) -> None:
        self.options = options
        self.cutter = Cutter(options)
        self.requests = RequestTable()
        self.arrivals = Arrivals()
        self.seen: dict[str, int | float | None] = {}  # by request id: when it came, by the log
        self.plain = 0  # taken in by plain_lines: they have no model
        self.stated = 0  # with block ids and a length, taken in otherwise
        self.mismatches = 0  # whose block ids and length do not agree
        self.tally = tally
        self._models: Counter[str] = Counter()
        self._salts: Counter[str] = Counter()
        self._clock = Clock()
        self._lengths = Lengths()

    def labelled(self, prompt: Prompt, record: Record) -> Prompt:
        """The prompt with the model and the salt of the fields that the user named."""
        options = self.options
        if not isinstance(record, dict):
            return prompt
        if options.model_field is not None:
            # "model" is also the name of what a format finds elsewhere (in a request's body).
            found = label(lookup(record, options.model_field))
            own = prompt.model if options.model_field == "model" else None
            prompt = dataclasses.replace(prompt, model=found or own)
        if options.salt_field is not None:
            prompt = dataclasses.replace(prompt, salt=label(lookup(record, options.salt_field)))
        return prompt

    def take(self, place: Place, prompts: list[Prompt]) -> None:
        """Take in the requests of one record; raises if it is a single one and unusable."""
        known = {p.request_id for p in prompts if p.request_id in self.seen}
        for prompt in prompts:
            if prompt.request_id in known and not self._again(prompt):
                continue
            try:
                self._request(prompt)
            except Unusable as error:
                if len(prompts) == 1:
                    raise
                self.tally.bad(Bad(place, str(error)))

    def _again(self, prompt: Prompt) -> bool:
        """Whether a request id met before is a retry, which was served, and not a second mention."""
        before = self.seen[prompt.request_id or ""]
        if prompt.echo:
            self.tally.other += 1
            return False
        if before is not None and before == prompt.timestamp:
            self.tally.skipped["duplicate record"] += 1
            return False
        self.tally.retries += 1
        return True

    def _request(self, prompt: Prompt) -> None:
        model, logged, time = prompt.model, prompt.timestamp, prompt.timestamp
        if self.options.model not in (None, "*", model):
            self._models[model or NO_MODEL] += 1
            self.tally.skipped["another model"] += 1
            return
        if prompt.yearless and time is not None:
            time = self._clock.with_year(time)
        apart = model if self.options.model == "*" else None
        if (apart, time) != (model, logged):
            prompt = dataclasses.replace(prompt, model=apart, timestamp=time)
        request = self.cutter.request(prompt)
        self._models[model or NO_MODEL] += 1
        if prompt.salt is not None:
            self._salts[prompt.salt] += 1
        self.tally.cut += prompt.cut
        self.tally.answers += prompt.answers > 1
        if prompt.request_id is not None:
            self.seen[prompt.request_id] = logged
        if prompt.may_be_cut:
            self._watch_length(prompt, request)
        if isinstance(prompt.content, Blocks):
            block = self.cutter.block_tokens or 1
            self.stated += prompt.input_length is not None
            self.mismatches += len(request.hash_ids) != -(-request.input_length // block)
        self.requests.append(request)
        arrival = time if prompt.exact is None else prompt.exact
        self.arrivals.add(arrival, prompt.session, own_clock=prompt.own_clock)

    def _watch_length(self, prompt: Prompt, request: Request) -> None:
        content = prompt.content
        by_characters = isinstance(content, str) and self.cutter.encode is None
        a_block = self.options.chars_per_block if by_characters else self.cutter.block_tokens
        size = len(content) if isinstance(content, str) else request.input_length
        measured = size if by_characters else request.input_length
        # Of estimated tokens the end of the last block is not known to be one.
        whole = max(len(request.hash_ids) - 1, 0) if a_block is None else measured // a_block
        self._lengths.watch(
            len(self.requests),
            size,
            characters=prompt.characters,
            whole=whole,
            last=request.hash_ids[-1] if request.hash_ids else None,
        )

    def judge_lengths(self) -> None:
        """Keep only the whole blocks of requests that were cut without a mark."""
        whole, self.tally.perhaps_cut = self._lengths.judge(len(self.requests))
        self.tally.cut += len(whole)
        if whole:  # may still be chance, so one without a whole block stays
            self.requests = self.requests.shortened({p: n for p, n in whole.items() if n})

    def check_block_size(self, name: str) -> None:
        """Refuse a ``--block-size`` that most records with ids and a length contradict.

        Raises
        ------
        UsageError
            With the size that the ids fit best.
        """
        asked, stated = self.options.block_size, self.stated + self.plain
        if asked is None or 2 * self.mismatches <= stated:
            return
        size = fitting_size(self.requests)
        raise UsageError(
            f"--block-size {asked}: {name}: these ids stand for {size} tokens each "
            f"({self.mismatches} of {stated} records contradict {asked}); give --block-size {size}"
        )

    def models(self, name: str) -> dict[str, int]:
        """Requests by model, empty if no record names one; several must have been asked for."""
        models = self._models + Counter({NO_MODEL: self.plain})
        named = [m for m in models if m != NO_MODEL]
        if self.options.model is None and len(named) > 1:
            listed = ", ".join(f"{m} ({n})" for m, n in models.most_common(8))
            more = f", and {len(models) - 8} more" if len(models) > 8 else ""
            field = self.options.model_field or "model"
            raise UsageError(
                f"{name}: requests of {len(named)} models: {listed}{more}; one cache serves one "
                f"model\n  choose one with --model-field {field}=NAME, or keep all apart in one "
                f"cache with --model-field {field}=*"
            )
        return dict(models.most_common()) if named else {}

    def salts(self) -> dict[str, int]:
        """Requests by salt, or by its rank unless the user named the field: it may be a secret."""
        ranked = self._salts.most_common(SALTS)
        if self.options.salt_field is not None:
            return dict(ranked)
        return {f"#{rank}": n for rank, (_, n) in enumerate(ranked, 1)}

    def tokenizer(self) -> str | None:
        """What made tokens of prompts, as ``Log.tokenizer``."""
        kinds = [self.options.tokenizer] if self.cutter.evidence.texts else []
        kinds += ["log"] if self.cutter.evidence.tokens else []
        return "+".join(kinds) or None
