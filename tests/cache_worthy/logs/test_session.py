"""Reading logs: what messy files may hold, and text logs against native ones (rank 5)."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_worthy.logs.blocks import chunk_ids
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log
from cache_worthy.sim.cost import BlockSize
from cache_worthy.sim.forest import build_forest
from cache_worthy.sim.radix.policies import POLICIES
from cache_worthy.sim.radix.replay import replay
from cache_worthy.sim.trace import Request, paths_of

Write = Callable[..., Path]


def test_bom_crlf_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"hash_ids": [1, "a"]}\r\n\r\n{"hash_ids": [-5]}\r\n')
    log = read_log(file)
    assert [r.hash_ids for r in log.requests] == [(1, "a"), (-5,)]
    assert log.skipped_truncated == 0
    assert log.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("cut", ['{"hash_ids": [1, 2', '{"hash', "{", '{"hash_ids": [1, 2\n'])
def test_a_truncated_last_line_is_skipped_and_counted(tmp_path: Path, cut: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"hash_ids": [1]}\n' + cut, encoding="utf-8")
    log = read_log(file)
    assert len(log.requests) == 1
    assert log.skipped_truncated == 1


def test_a_last_line_cut_inside_a_character(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"prompt": "x"}\n' + '{"prompt": "é'.encode()[:-1])
    assert read_log(file).skipped_truncated == 1


def test_truncation_is_reported(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, sample: Path
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(sample.read_bytes()[:-7])
    code, out, err = run("analyze", file)
    assert code == 0
    assert "the last line is cut; skipped 1 record" in err
    assert "1 truncated last line skipped" in out
    code, out, err = run("analyze", file, "-q", "--json")
    assert err == ""
    assert json.loads(out)["input"]["skipped_truncated_lines"] == 1


def test_a_complete_last_line_without_newline_counts(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"hash_ids": [1]}\n{"hash_ids": [2]}', encoding="utf-8")
    assert len(read_log(file).requests) == 2


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., tuple[int, str, str]], sample: Path
) -> None:
    _, from_file, _ = run("analyze", sample, "--json")

    class Stdin:
        buffer = io.BytesIO(sample.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin())
    code, from_stdin, _ = run("analyze", "-", "--json")
    assert code == 0
    a, b = json.loads(from_file), json.loads(from_stdin)
    assert b["input"].pop("source") == "<stdin>"
    a["input"].pop("source")
    assert a == b


def test_ids_of_any_size_and_sign(write: Write) -> None:
    huge = 2**200
    log = read_log(write({"hash_ids": [huge, -huge, "x", ""]}, {"hash_ids": [huge, -huge]}))
    forest = build_forest(paths_of(log.requests))
    assert forest.distinct == 4
    assert not forest.reinterned


def test_ids_that_do_not_fix_their_prefix(
    write: Write, run: Callable[..., tuple[int, str, str]]
) -> None:
    """Block 7 under two parents is two blocks."""
    file = write({"hash_ids": [1, 7]}, {"hash_ids": [2, 7]}, {"hash_ids": [1, 7]}, {"hash_ids": []})
    forest = build_forest(paths_of(read_log(file).requests))
    assert forest.reinterned
    assert forest.distinct == 4
    _, out, _ = run("analyze", file)
    assert "do not fix their prefix" in out


def test_length_mismatches_are_counted(
    write: Write, run: Callable[..., tuple[int, str, str]]
) -> None:
    file = write({"hash_ids": [1, 2], "input_length": 600}, {"hash_ids": [1], "input_length": 600})
    assert read_log(file).length_mismatches == 1
    _, out, _ = run("analyze", file)
    assert "1 records have more or fewer blocks" in out


texts = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 5)).map(lambda t: t[0] * t[1]),
    min_size=1,
    max_size=5,
).map("".join)


@given(st.lists(texts, min_size=1, max_size=12))
def test_two_prompts_share_a_block_exactly_when_they_share_its_prefix(prompts: list[str]) -> None:
    """Against a direct comparison of characters, no hash involved."""
    size = 4
    ids = [chunk_ids(p, range(size, len(p) + size, size)) for p in prompts]
    for a, path_a in zip(prompts, ids, strict=True):
        assert len(path_a) == -(-len(a) // size)
        for b, path_b in zip(prompts, ids, strict=True):
            for n in range(min(len(path_a), len(path_b))):
                same_text = a[: (n + 1) * size] == b[: (n + 1) * size]
                assert (path_a[n] == path_b[n]) == same_text


def test_hashes_are_63_bits_and_fixed() -> None:
    """A known answer, so that no release changes ids silently."""
    ids = chunk_ids("x" * 5000, (2048, 4096, 5000))
    digest = hashlib.blake2b(b"x" * 2048, digest_size=8).digest()
    assert ids[0] == int.from_bytes(digest, "big") >> 1
    assert all(0 <= i < 2**63 for i in ids)
    assert len(ids) == 3


def test_a_text_log_replays_as_its_native_twin(sample: Path) -> None:
    """Isomorphic logs give the same result in every field under every policy."""
    log = read_log(sample)
    number: dict[object, int] = {}
    native = [
        Request(tuple(number.setdefault(i, len(number)) for i in r.hash_ids), r.input_length)
        for r in log.requests
    ]
    a, b = build_forest(paths_of(log.requests)), build_forest(paths_of(native))
    assert replace(a, block_ids=[]) == replace(b, block_ids=[])
    for policy in POLICIES.values():
        capacity = a.depth * BlockSize().block
        assert replay(a, policy(), capacity) == replay(b, policy(), capacity)


def test_the_ratio_moves_the_scale_only(sample: Path) -> None:
    coarse = read_log(sample, ReadOptions(chars_per_token=8.0))
    fine = read_log(sample, ReadOptions(chars_per_token=2.0))
    assert coarse.chars_per_block == 128
    assert fine.chars_per_block == 32
    assert sum(len(r.hash_ids) for r in fine.requests) > 2 * sum(
        len(r.hash_ids) for r in coarse.requests
    )


def test_messages_of_every_kind(write: Write) -> None:
    record = {
        "messages": [
            {"role": "system", "content": "You are Ada."},
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}, "x"]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"content": {"any": "thing"}},
            {"role": "user", "content": "lone surrogate \ud800"},
        ]
    }
    log = read_log(write(json.dumps(record)), block_size=512)
    assert (log.format, log.field) == ("text", "messages")
    assert len(log.requests[0].hash_ids) == 1
