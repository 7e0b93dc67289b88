"""Requests to records: one thread that cuts prompts as log readers do, and writes.

The event loop that carries the traffic never parses, hashes or writes. The queue is bounded in bytes
and in number; a record that does not fit, or cannot be written, is counted and dropped, and the
traffic is not affected.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import queue
import sys
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from cache_worthy.capture.counts import Counts
from cache_worthy.capture.logfile import LogFile
from cache_worthy.capture.usage import PACKED, PLAIN, Answer
from cache_worthy.logs.blocks import Cutter, rekeyed
from cache_worthy.logs.body import body_field, prompts
from cache_worthy.logs.json_text import parse_line
from cache_worthy.logs.prompts import Prompt, Skipped, Unusable, label

KEPT = (
    "model", "system", "instructions", "tools", "functions", "messages", "prompt", "input", "n",
    "priority", "lora_name",
)  # fmt: skip
"""What --keep-text keeps of a body: all that makes its blocks, and nothing else of it."""

SECRET_KEYS = ("authorization", "headers", "api_key", "server_url")
"""Left out of tool definitions: remote tools carry their credentials there, some in the address."""

WAITING = 10_000
"""Jobs that may wait for the thread."""

CLIENT_CLOSED = 499
"""Status of a record whose client hung up before there was an answer, as nginx writes it."""

PATIENCE = 0.25
"""Seconds that the end of a response waits for its record, once; then no more until the thread has
caught up."""


@dataclass(slots=True)
class Entry:
    """One request on its way into the log."""

    time: float
    """Arrival, in milliseconds since 1970; strictly increasing."""
    encoding: str
    """Content-Encoding of the body."""
    parts: list[bytes] = field(default_factory=list)
    """The body, until it has been cut."""
    held: int = 0
    """Bytes of memory that count against the budget."""
    whole: bool = False
    """Whether the body was read to its end."""
    rows: list[dict[str, object]] = field(default_factory=list)
    """Records so far."""
    status: int = CLIENT_CLOSED
    ended: str | None = None
    """Who ended the answer early: ``client``, ``upstream`` or ``capture``."""
    answer: Answer = field(default_factory=Answer)
    open: bool = True
    """Whether it may still be recorded and nobody has asked for the record to be written."""


Work = Callable[[Entry], None]


class Recorder:
    """The thread, its queue and its counts.

    Parameters
    ----------
    log : LogFile
    cutter : Cutter
        How prompts are cut; it must intern nothing, or memory grows with the traffic.
    key : bytes
        Secret key of the block ids.
    keep_text : bool
        Write bodies instead of block ids.
    longest : int
        Largest body that is recorded, in bytes, unpacked.
    say : callable
        Takes a line for the user; must not block.
    recorded : callable
        Called in the thread with the number of records after each one.
    """

    def __init__(
        self,
        log: LogFile,
        cutter: Cutter,
        key: bytes,
        *,
        keep_text: bool,
        longest: int,
        say: Callable[[str], None],
        recorded: Callable[[int], None] = lambda count: None,
    ) -> None:
        self.log = log
        self.longest = longest
        self.counts = Counts()
        self._key, self._keep_text = key, keep_text
        self._say, self._recorded = say, recorded
        self._cutter = cutter
        self._room = max(1 << 28, 4 * longest)
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[Work, Entry, Callable[[], None]] | None]
        self._jobs = queue.SimpleQueue()
        self._told = self._behind = False
        self._start = time.time() * 1000, time.monotonic()
        self._last = 0.0
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    # On the event loop.

    def begin(self, encoding: str) -> Entry:
        """A request whose body will follow.

        Its time runs on from the clock at the start, so that a corrected clock reorders nothing.
        """
        wall, tick = self._start
        now = wall + (time.monotonic() - tick) * 1000
        self._last = max(round(now, 3), round(self._last + 0.001, 3))
        return Entry(self._last, encoding)

    def take(self, entry: Entry, data: bytes) -> None:
        """The next bytes of the body."""
        size = entry.held + len(data)
        if not entry.open:
            return
        if size > self.longest:
            self.counts.too_long += 1
        elif not self._hold(entry, size, must_fit=True):
            self.counts.no_room += 1
        else:
            entry.parts.append(data)
            return
        self._drop(entry)

    def body_done(self, entry: Entry) -> None:
        """The body has ended: cut it while the server works on it."""
        if entry.open:
            entry.whole = True
            self._put(self._prepare, entry)

    def leave(self, entry: Entry, ended: str | None = None) -> None:
        """The answer has ended: write the record when there is time."""
        if entry.open:
            entry.open, entry.ended = False, ended
            self._put(self._finish, entry)

    async def finish(self, entry: Entry) -> None:
        """As :meth:`leave`, and wait until it is written, unless the thread is behind."""
        if self._behind or not entry.open:
            self.leave(entry)
            return
        loop, written = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(written.set)

        entry.open = False
        if self._put(self._finish, entry, tell):
            try:
                async with asyncio.timeout(PATIENCE):
                    await written.wait()
            except TimeoutError:
                self._behind = True

    def _put(self, work: Work, entry: Entry, done: Callable[[], None] = lambda: None) -> bool:
        if self._jobs.qsize() > WAITING:
            self.counts.no_room += 1
            self._drop(entry)
            return False
        self._jobs.put((work, entry, done))
        return True

    def close(self, seconds: float) -> bool:
        """Write what waits; False if that took too long."""
        self._jobs.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _drop(self, entry: Entry) -> None:
        entry.open, entry.parts = False, []
        self._hold(entry, 0)

    def _hold(self, entry: Entry, size: int, *, must_fit: bool = False) -> bool:
        """Let an entry count for ``size`` bytes of memory; False if they must fit and do not."""
        with self._lock:
            if must_fit and size - entry.held > self._room:
                return False
            self._room += entry.held - size
        entry.held = size
        return True

    # In the thread.

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, entry, done = job
            try:
                work(entry)
            except Exception as error:  # noqa: BLE001 (a bug costs a record, never the traffic)
                self.counts.unwritten += 1
                self._drop(entry)
                self._complain(f"a request could not be recorded ({type(error).__name__})")
            done()
            if self._behind and self._jobs.empty():
                self._behind = False

    def _prepare(self, entry: Entry) -> None:
        try:
            entry.rows = self._rows(entry)
        except (Unusable, Skipped, ValueError, RecursionError, zlib.error):
            entry.rows = []
        entry.parts = []
        self._hold(entry, sum(map(_size, entry.rows)))

    def _rows(self, entry: Entry) -> list[dict[str, object]]:
        data = unpacked(b"".join(entry.parts), entry.encoding, self.longest)
        body = parse_line(data.decode("utf-8").strip())
        if not isinstance(body, dict) or (name := body_field(body)) is None:
            raise Unusable("no prompt")
        found = prompts({"timestamp": entry.time}, body, name)
        if self._keep_text:
            return [self._text_row(entry, body, len(found))]
        return [self._trace_row(entry, prompt) for prompt in found]

    def _text_row(self, entry: Entry, body: dict[str, object], count: int) -> dict[str, object]:
        kept: dict[str, object] = {name: body[name] for name in KEPT if name in body}
        tools = kept.get("tools")
        if isinstance(tools, list):
            kept["tools"] = [without_secrets(tool) for tool in tools]
        if (salt := label(body.get("cache_salt"))) is not None:
            kept["cache_salt"] = self._keyed(salt)
        prompts = count if count > 1 else None
        return _present({"timestamp": entry.time, "prompts": prompts, "body": kept})

    def _trace_row(self, entry: Entry, prompt: Prompt) -> dict[str, object]:
        request = self._cutter.request(dataclasses.replace(prompt, model=None))
        return _present({
            "timestamp": entry.time,
            "input_length": request.input_length,
            "model": prompt.model,
            "cache_salt": None if prompt.salt is None else self._keyed(prompt.salt),
            "priority": prompt.priority or None,
            "block_size": self._cutter.block_tokens,
            "hash_ids": [rekeyed(int(i), self._key) for i in request.hash_ids],
        })  # fmt: skip

    def _keyed(self, salt: str) -> str:
        data = salt.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8, key=self._key, person=b"salt").hexdigest()

    def _finish(self, entry: Entry) -> None:
        counts = self.counts
        if not entry.whole or not entry.rows:
            counts.no_prompt += 1
            self._hold(entry, 0)
            return
        usage = entry.answer.usage()
        single = len(entry.rows) == 1 and "prompts" not in entry.rows[0]
        facts: dict[str, object] = {"status": entry.status, "ended": entry.ended}
        if single:
            facts |= {
                "output_length": usage.output,
                "prompt_tokens": usage.prompt,
                "cached_tokens": usage.cached,
            }
        lines = [json.dumps(_joined(row, _present(facts))) + "\n" for row in entry.rows]
        data = "".join(lines).encode()
        self._hold(entry, 0)
        try:
            self.log.write(data)
        except OSError as error:
            counts.unwritten += 1
            self._complain(
                f"cannot write the log: {error.strerror or error}; requests go on being passed, "
                "their records are lost and counted until it can be written again"
            )
            return
        counts.recorded += 1
        failed = entry.status >= 400
        counts.failed += failed
        if not failed:
            counts.no_length += usage.output is None
            length = entry.rows[0].get("input_length")
            if single and usage.prompt is not None and type(length) is int:
                counts.counted_tokens += usage.prompt
                counts.cut_tokens += length
            if usage.prompt is not None and usage.cached is not None:
                counts.prompt_tokens += usage.prompt
                counts.cached_tokens += usage.cached
        self._recorded(counts.recorded)

    def _complain(self, text: str) -> None:
        if not self._told:
            self._told = True
            self._say(text)


def _size(row: dict[str, object]) -> int:
    ids = row.get("hash_ids")
    if isinstance(ids, list):
        return 40 * len(ids) + 200
    return sys.getsizeof(json.dumps(row))


def _present(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if value is not None}


def _joined(row: dict[str, object], facts: dict[str, object]) -> dict[str, object]:
    """A record with what the answer told before its last field, which is long."""
    *first, last = row.items()
    return dict([*first, *facts.items(), last])


def without_secrets(tool: object) -> object:
    """A tool definition without the credentials that a remote tool's may hold.

    Examples
    --------
    >>> without_secrets({"type": "mcp", "server_label": "a", "authorization": "token"})
    {'type': 'mcp', 'server_label': 'a'}
    """
    if not isinstance(tool, dict):
        return tool
    return {k: v for k, v in tool.items() if str(k).lower() not in SECRET_KEYS}


def unpacked(data: bytes, encoding: str, limit: int) -> bytes:
    """A body without its Content-Encoding.

    Raises
    ------
    Unusable
        On an encoding other than gzip and deflate, or more than ``limit`` bytes.
    """
    if encoding in PLAIN:
        return data
    if encoding not in PACKED:
        raise Unusable("an unknown encoding")
    inflate = zlib.decompressobj(47)
    out = inflate.decompress(data, limit)
    if inflate.unconsumed_tail or not inflate.eof:
        raise Unusable("cut, or longer than the limit")
    return out
