"""How a log is stored: encodings, compression, arrays, several files, standard input (rank 4)."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
TEXT = FOLDER / "text.jsonl"
SMALL = ReadOptions(block_size=16)


def same(a: Log, b: Log) -> bool:
    return a.requests == b.requests and len(a.requests) > 0


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "sglang.log", "litellm.csv",
                                  "litellm.json", "sharegpt.json", "weka.json"])  # fmt: skip
def test_bom_crlf_and_blank_lines_in_every_container(tmp_path: Path, name: str) -> None:
    plain = (FOLDER / name).read_bytes()
    file = tmp_path / name
    file.write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n\r\n"))
    options = ReadOptions() if name == "weka.json" else SMALL
    assert same(read_log(file, options), read_log(FOLDER / name, options))


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "litellm.csv", "litellm.json"])
def test_gzip_and_zstd(tmp_path: Path, name: str) -> None:
    """Told by their first bytes, not by their names; two members one after another are one log."""
    plain = (FOLDER / name).read_bytes()
    middle = plain.index(b"\n", len(plain) // 2) + 1
    gz = gzip.compress(plain[:middle]) + gzip.compress(plain[middle:])
    zst = zstandard.compress(plain[:middle]) + zstandard.compress(plain[middle:])
    want = read_log(FOLDER / name, SMALL)
    for data in (gz, zst):
        file = tmp_path / "log"
        file.write_bytes(data)
        assert same(read_log(file, SMALL), want)


def test_a_bom_inside_gzip(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(b"\xef\xbb\xbf" + TEXT.read_bytes()))
    assert same(read_log(file, SMALL), read_log(TEXT, SMALL))


def test_a_gzip_file_still_being_written(tmp_path: Path) -> None:
    whole = gzip.compress(TEXT.read_bytes())
    file = tmp_path / "log.gz"
    file.write_bytes(whole[: len(whole) * 3 // 4])
    log = read_log(file, SMALL)
    want = read_log(TEXT, SMALL)
    assert log.records.ended_early == 1
    assert 0 < len(log.requests) < len(want.requests)
    assert log.requests == want.requests[: len(log.requests)]


def test_damaged_compressed_data(tmp_path: Path, run: Run) -> None:
    for data in (gzip.compress(TEXT.read_bytes()), zstandard.compress(TEXT.read_bytes())):
        file = tmp_path / "log"
        file.write_bytes(data[:200] + b"\0" * 50 + data[250:])
        code, out, err = run("analyze", file)
        assert (code, out) == (2, "")
        assert "cannot read" in err
        assert err.count("\n") <= 3


def test_zstd_without_the_package(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.zst"
    file.write_bytes(zstandard.compress(TEXT.read_bytes()))
    real = __import__("importlib").import_module

    def absent(name: str) -> object:
        if name in ("zstandard", "compression.zstd"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr("cache_worthy.logs.source.importlib.import_module", absent)
    code, _, err = run("analyze", file)
    assert code == 2
    assert "pip install zstandard" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["text.jsonl", "vllm.log", "sglang.log", "litellm.json",
                                  "sharegpt.json", "litellm.csv"])  # fmt: skip
@pytest.mark.parametrize("off", [3, 40, 400])
def test_a_last_record_cut_anywhere(tmp_path: Path, name: str, off: int) -> None:
    """A log still being written: the rest of it is read, and the cut is counted."""
    plain = (FOLDER / name).read_bytes()
    if name in ("vllm.log", "sglang.log"):  # end with a request, not with another line
        plain = plain[: plain.rstrip().rindex(b"\n") + 1]
    file = tmp_path / name
    file.write_bytes(plain[:-off])
    log, want = read_log(file, SMALL), read_log(FOLDER / name, SMALL)
    assert log.records.unusable == 0
    assert log.requests
    if name == "litellm.csv":  # newest first, so the cut takes the oldest
        assert log.requests == want.requests[-len(log.requests) :]
    else:
        assert log.requests == want.requests[: len(log.requests)]
    if log.requests != want.requests:
        assert log.skipped_truncated == 1


def test_several_files_are_one_log(tmp_path: Path, run: Run) -> None:
    plain = TEXT.read_bytes().splitlines(keepends=True)
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    first.write_bytes(b"".join(plain[:6]))
    second.write_bytes(gzip.compress(b"".join(plain[6:])))
    log = read_log([first, second], SMALL)
    assert same(log, read_log(TEXT, SMALL))
    assert log.source == f"{first}, {second}"
    back = read_log([second, first], SMALL)
    assert back.requests == log.requests
    assert back.moved > 0
    code, out, _ = run("analyze", first, second, "--block-size", "16", "--no-bound")
    assert code == 0
    assert f"records          {len(log.requests)}" in out


def test_a_json_array_is_streamed_across_its_buffer(tmp_path: Path) -> None:
    """Elements shorter and longer than the first read, cut anywhere by it."""
    sizes = [10, 70_000, 300_000, 5, 65_536, 131_072, 1]
    file = tmp_path / "log.json"
    file.write_text(
        json.dumps([{"prompt": "é" * n} for n in sizes], ensure_ascii=False), encoding="utf-8"
    )
    log = read_log(file, ReadOptions(chars_per_token=1))
    assert [r.input_length for r in log.requests] == sizes


@pytest.mark.parametrize("tail", ["", "]", "}", ", {]", "] {}"])
def test_a_broken_array(run: Run, tmp_path: Path, tail: str) -> None:
    file = tmp_path / "log.json"
    file.write_text('[{"prompt": "a"}, {"prompt": "b"}' + tail, encoding="utf-8")
    code, _, err = run("analyze", file)
    assert code == (0 if tail in ("", "]") else 2)
    assert "Traceback" not in err


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bytes])
def test_standard_input_plain_and_compressed(
    monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    """Also of a server log with lines between, with a BOM and CRLF."""
    plain = (FOLDER / "vllm.log").read_bytes()
    data = pack(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(data)}))
    log = read_log("-", SMALL)
    assert log.requests == read_log(FOLDER / "vllm.log", SMALL).requests
    assert log.source == "<stdin>"


def test_csv_cells_longer_than_the_default_limit(tmp_path: Path) -> None:
    """And the limit, which is the whole process's, is put back."""
    before = csv.field_size_limit()
    file = tmp_path / "log.csv"
    rows = "".join(f"2026-05-01,{'x' * 200_000}\n" for _ in range(2))
    file.write_text("timestamp,prompt\n" + rows, encoding="utf-8")
    assert [r.input_length for r in read_log(file, chars_per_token=4).requests] == [50_000] * 2
    assert csv.field_size_limit() == before


def test_standard_input_among_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = (FOLDER / "text.jsonl").read_bytes().splitlines(keepends=True)
    file = tmp_path / "first.jsonl"
    file.write_bytes(b"".join(lines[:6]))
    data = io.BytesIO(b"".join(lines[6:]))
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": data}))
    log = read_log([file, "-"], SMALL)
    assert log.requests == read_log(FOLDER / "text.jsonl", SMALL).requests


def test_duplicate_keys_take_the_last(write: Write) -> None:
    """As every server's JSON reader does."""
    log = read_log(write('{"hash_ids": [1, 2], "input_length": 9, "hash_ids": [3]}'))
    assert log.requests[0].hash_ids == (3,)


def test_duplicate_keys_of_a_request_body_take_the_last(write: Write) -> None:
    twice = '{"model": "m", "prompt": "first", "prompt": "the second"}'
    once = {"model": "m", "prompt": "the second"}
    assert read_log(write(twice)).requests == read_log(write(once)).requests


def test_nan_makes_a_record_unusable(write: Write) -> None:
    good = {"hash_ids": [1]}
    file = write(*[good] * 30, '{"hash_ids": [1], "input_length": NaN}', good)
    log = read_log(file)
    assert len(log.requests) == 31
    assert log.records.unusable == 1
    assert "NaN is not a JSON number" in next(iter(log.records.unusable_reasons))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_no_number_in_any_container(tmp_path: Path, constant: str) -> None:
    good = [{"prompt": f"p{n}"} for n in range(30)]
    lines = [json.dumps(g) for g in good] + [f'{{"prompt": "x", "timestamp": {constant}}}']
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    log = read_log(file)
    assert (len(log.requests), log.records.unusable) == (30, 1)
    assert f"{constant} is not a JSON number" in log.records.first_unusable
