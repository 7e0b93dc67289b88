"""Bytes offered to the log readers: requests come out, or one clear error."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
KEPT = 3000  # bytes of a sample that become a seed

SMALL = (
    (
        "DEBUG 03-04 10:00:01 [a.py:57] Request c1 details: prompt: 'a b', prompt_token_ids: [1, 2].\n"
        "INFO 03-04 10:00:01 [a.py:66] Received request c1: params: SamplingParams(n=2), lora_request: "
        "LoRARequest(lora_name='fr', lora_int_id=1, lora_path='x').\n"
    ),
    (
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "1777629600000000001", '
        '"status": {"code": 0}, "attributes": [{"key": "gen_ai.input.messages", "value": {"arrayValue": '
        '{"values": [{"kvlistValue": {"values": [{"key": "role", "value": {"stringValue": "user"}}, '
        '{"key": "content", "value": {"stringValue": "hi"}}]}}]}}}]}, {"status": {"code": 2}, '
        '"attributes": [{"key": "gen_ai.prompt", "value": {"stringValue": "[]"}}]}]}]}]}\n'
    ),
    '{"data": [{"type": "SPAN"}, {"type": "GENERATION", "input": ["a", "b"]}], "meta": {"page": 1}}\n',
    (
        '{"request_id": "r", "startTime": "2026-11-20 10:00:00", "prompt_tokens": 9, "metadata": '
        '"{\\"prefix_block_hashes\\": {\\"block_size\\": 16, \\"ids\\": [\\"00aa\\"]}}"}\n'
    ),
    '{"url": "/v1/embeddings", "body": {"model": "m", "input": ["one", "two"]}}\n',
    '{"custom_id": "r", "result": {"type": "succeeded", "message": {}}}\n',
    "INFO 03-04 10:00:00 [a.py:39] Received request c1: prompt: 'x', params: p.\n",
    (
        '{"log": "{\\"prompt\\": ", "stream": "stdout", "time": "t"}\n'
        '{"log": "\\n", "stream": "stderr", "time": "t"}\n'
        '{"log": "\\"a\\"}\\n", "stream": "stdout", "time": "t"}\n'
    ),
    '2026-03-04T10:00:00.1Z stdout P {"prompt": \n2026-03-04T10:00:00Z stdout F "a"}\n',
    'gate-1  | {"prompt": "a"}\n',
    '{"prompt": "a"}{"prompt": "b"}',
    '[{"prompt": "a"}]\n[{"prompt": "b"}]\n',
    'request_id;prompt;model\na;"b;""c""";m\nd;"e;m\nf;g;m\n',
    (
        '{"attributes": {"gen_ai.prompt.0.role": "assistant", "gen_ai.prompt.0.tool_calls.0.name": "f", '
        '"llm.request.functions.0.name": "f"}}\n'
    ),
    (
        '{"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": '
        '{"url": "data:a;base64,AA=="}}, {"type": "blob", "content": "AA"}]}]}\n'
    ),
)
"""Inputs for what no sample's beginning reaches whole."""


class Finding(Exception):
    """Bytes that a reader neither takes nor refuses clearly."""


def attempt(data: bytes) -> int:
    """Read ``data`` as the log on standard input; the first two bytes choose the options.

    Returns
    -------
    int
        Requests read; -1 where the log was refused.

    Raises
    ------
    Finding
        On an unclear refusal. Any other exception is a finding too.
    """
    from cache_worthy.advise.workload import measure_workload
    from cache_worthy.documents import to_json
    from cache_worthy.errors import UsageError
    from cache_worthy.logs import source
    from cache_worthy.logs.formats import FORMATS
    from cache_worthy.logs.options import ORDERS, TEMPLATES, ReadOptions
    from cache_worthy.logs.session import read_log
    from cache_worthy.sim.cost import DEFAULT_MODEL
    from cache_worthy.sim.errors import InputError
    from cache_worthy.sim.forest import build_forest
    from cache_worthy.sim.trace import paths_of

    first, second = (*data[:2], 0, 0)[:2]
    names = ["auto", *(f.NAME for f in FORMATS)]
    # A short limit, so that inputs of this size are longer than it too.
    longest = 300 if 64 <= first < 128 else source.LONGEST
    # Detection is what most bytes should meet, so only some of them name a format.
    options = ReadOptions(
        format=names[first % 64] if first % 64 < len(names) else "auto",
        block_size=(None, 1, 16, 512)[second % 4],
        order=ORDERS[second // 4 % 3],
        template=TEMPLATES[second // 16 % 3],
        model=(None, "*")[second // 64 % 2],
        allow_partial=second >= 128,
    )
    with (
        mock.patch.object(sys, "stdin", mock.Mock(buffer=io.BytesIO(data[2:]))),
        mock.patch.object(source, "LONGEST", longest),
        mock.patch.object(source, "ENDLESS", 8 * longest),
    ):
        try:
            log = read_log("-", options)
        except (InputError, UsageError) as error:
            if not str(error) or str(error).count("\n") > 2:
                raise Finding(f"unclear: {error}") from error
            return -1
    forest = build_forest(paths_of(log.requests))
    workload = measure_workload(forest, DEFAULT_MODEL, 16)
    to_json([log.records, log.order, log.models, log.salts, forest.block_ids, workload]).encode()
    return len(log.requests)


def seeds() -> Iterator[bytes]:
    """Inputs that reach every format."""
    from cache_worthy.logs.formats import FORMATS

    for number, module in enumerate(FORMATS, 1):
        yield bytes([255, 0]) + module.EXAMPLE.encode() + b"\n"
        yield bytes([number, 130]) + module.EXAMPLE.encode() + b"\n"
    for text in SMALL:
        yield bytes([255, 2]) + text.encode()
        yield bytes([127, 130]) + text.encode() + text.encode()[:-5] * 3
    for file in sorted((ROOT / "examples" / "formats").iterdir()):
        if file.is_file():
            yield bytes([255, 2]) + file.read_bytes()[:KEPT]
