"""Files that no format's author thought of: encodings, archives, devices, names, times (rank 4)."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import struct
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from cache_worthy.errors import UsageError
from cache_worthy.logs.options import ReadOptions
from cache_worthy.logs.session import read_log

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
FOLDER = Path(__file__).resolve().parents[3] / "examples" / "formats"
TEXT = (FOLDER / "text.jsonl").read_bytes()
VLLM = (FOLDER / "vllm.log").read_bytes()
SKIPPED = struct.pack("<II", 0x184D2A5E, 5) + b"hello"
PRINTED = [b"gate-1  | ", b"[pod/gate-5c9/gate] ", b"2026-03-04T10:00:00.123Z ",
           b"gate-1 | 2026-03-04T10:00:00+01:00 ", b"Mar  4 10:00:00 host gate[12]: "]  # fmt: skip


def tar(data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("log.jsonl")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed(data: bytes) -> bytes:
    """Without the time, which names of tests would hold."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (TEXT.decode().encode("utf-16"), "UTF-16 text: write it as UTF-8 first"),
        (TEXT.decode().encode("utf-16-le"), "UTF-16 text: write it as UTF-8 first"),
        (TEXT.decode().encode("utf-16-be"), "UTF-16 text: write it as UTF-8 first"),
        (VLLM.decode().encode("utf-16-le"), "UTF-16 text: write it as UTF-8 first"),
        (TEXT.decode().encode("utf-32"), "UTF-32 text: write it as UTF-8 first"),
        (packed(TEXT.decode().encode("utf-16-le")), "UTF-16 text"),
        (tar(TEXT), "a tar archive: unpack it first"),
        (packed(tar(TEXT)), "a tar archive: unpack it first"),
        (packed(packed(TEXT)), "compressed twice: unpack it once"),
        (packed(zstandard.compress(TEXT)), "compressed twice: unpack it once"),
        (zstandard.compress(SKIPPED + zstandard.compress(TEXT)), "compressed twice"),
        (packed(TEXT) + b"trailing garbage", "something else follows it"),
        (zstandard.compress(TEXT) + b"trailing garbage", "something else follows it"),
        (packed(TEXT)[:-8] + b"\1" * 8, "the compressed data is damaged"),
        (b"", "empty"),
        (packed(b""), "empty"),
        (zstandard.compress(b""), "empty"),
        (b"\0" * 5000, "1 of 1 records are unusable"),
    ],
)
def test_what_is_no_log_is_named(run: Run, tmp_path: Path, data: bytes, words: str) -> None:
    file = tmp_path / "log"
    file.write_bytes(data)
    code, out, err = run("analyze", file)
    assert (code, out) == (2, "")
    assert words in err
    assert str(file) in err
    assert err.count("\n") <= 2


@pytest.mark.parametrize(
    "data",
    [
        packed(b"") + packed(TEXT),
        packed(TEXT) + b"\0" * 600,  # a tape's padding
        SKIPPED + zstandard.compress(TEXT),
        zstandard.compress(TEXT[:5000]) + SKIPPED + zstandard.compress(TEXT[5000:]),
        TEXT + b"\n\n \n",
        TEXT.replace(b"\n", b"\r\n"),
        *[b"".join(p + line for line in TEXT.splitlines(keepends=True)) for p in PRINTED],
        *[b"".join(p + line for line in VLLM.splitlines(keepends=True)) for p in PRINTED],
    ],
)
def test_what_is_a_log_is_read(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "log"
    file.write_bytes(data)
    small = ReadOptions(block_size=16)
    log = read_log(file, small)
    want = read_log(FOLDER / ("text.jsonl" if log.format == "text" else "vllm.log"), small)
    assert log.requests == want.requests
    assert log.records == want.records


def test_what_a_crash_leaves_at_the_end_is_one_unusable_record(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(TEXT * 2 + b"\0" * 4096)
    log = read_log(file)
    assert log.records.unusable == 1
    assert len(log.requests) == 2 * len(TEXT.splitlines())


def test_devices_folders_and_loops(run: Run, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for file in (tmp_path, loop, tmp_path / "absent", "/dev/null", ""):
        code, out, err = run("analyze", file)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert "Traceback" not in err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(TEXT,), daemon=True).start()
    assert read_log(pipe).requests == read_log(FOLDER / "text.jsonl").requests


def test_a_file_named_twice_is_refused(run: Run, tmp_path: Path) -> None:
    """Under whatever name: each request would be its own hit."""
    file, link, hard = tmp_path / "a.jsonl", tmp_path / "link", tmp_path / "hard"
    file.write_bytes(TEXT)
    link.symlink_to(file)
    os.link(file, hard)
    for other in (file, link, hard, f"{tmp_path}/./a.jsonl"):
        code, out, err = run("analyze", file, other)
        assert (code, out) == (2, "")
        assert f"{other}: named twice" in err
    copy = tmp_path / "b.jsonl"
    copy.write_bytes(TEXT)
    assert run("convert", file, copy)[0] == 0


def test_a_file_that_is_standard_input_too_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(TEXT)
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code, out, err = run("analyze", file, "-")
        assert (code, out) == (2, "")
        assert "-: named twice" in err
        assert run("convert", "-")[0] == 0


def test_two_formats_in_two_files(run: Run, write: Write, tmp_path: Path) -> None:
    """The message names the file of the record that set the format."""
    other = tmp_path / "other.jsonl"
    other.write_text('{"hash_ids": [1]}\n' * 9, encoding="utf-8")
    first = write({"prompt": "a"})
    code, _, err = run("analyze", first, other)
    assert code == 2
    assert f"{other}: line 1: has 'hash_ids', but {first}: line 1 has 'prompt'" in err


def test_times_in_two_units(write: Write) -> None:
    """Seconds and milliseconds of one century are no order; alone, either is."""
    now = 1_760_000_000
    rows = [{"timestamp": (now + n) * (1000 if n % 2 else 1), "hash_ids": [n]} for n in range(9)]
    log = read_log(write(*rows))
    assert [r.hash_ids[0] for r in log.requests] == list(range(9))
    assert log.order == "file order (times in seconds and in milliseconds)"
    with pytest.raises(UsageError, match="write them in one unit"):
        read_log(write(*rows), ReadOptions(order="time"))
    for unit in (1, 1000):
        back = [{"timestamp": (now - n) * unit, "hash_ids": [n]} for n in range(9)]
        assert [r.hash_ids[0] for r in read_log(write(*back)).requests] == list(range(8, -1, -1))


def test_a_time_of_zero_hides_no_mixture_of_units(write: Write) -> None:
    """A clock that was not set yet, in a log of seconds and milliseconds."""
    now = 1_760_000_000
    times = [0, now, (now + 1) * 1000, now + 2, -1]
    log = read_log(write(*({"timestamp": t, "hash_ids": [n]} for n, t in enumerate(times))))
    assert log.order == "file order (times in seconds and in milliseconds)"


def test_nanoseconds_since_a_start_are_one_unit(write: Write) -> None:
    """From two seconds on to an hour, backwards: by size alone seconds and milliseconds."""
    times = [2 * 10**9 + n * 36 * 10**9 for n in range(100)][::-1]
    log = read_log(write(*({"timestamp": t, "hash_ids": [n]} for n, t in enumerate(times))))
    assert "reverse order" in log.order


def test_negative_times_are_times(write: Write) -> None:
    rows = [{"timestamp": -5 * n, "hash_ids": [n]} for n in range(9)]
    assert [r.hash_ids[0] for r in read_log(write(*rows)).requests] == list(range(8, -1, -1))


def test_convert_of_its_own_output(run: Run, tmp_path: Path) -> None:
    """Changes nothing; anonymised twice, the shape and the minutes stand and the ids are others."""

    def shape(text: str) -> list[object]:
        number: dict[object, int] = {}
        rows = [json.loads(row) for row in text.splitlines()]
        return [
            {**r, "hash_ids": [number.setdefault(i, len(number)) for i in r["hash_ids"]]}
            for r in rows
        ]

    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    for option in ((), ("--anonymise",)):
        assert run("convert", FOLDER / "litellm.csv", *option, "-o", once, "--force")[0] == 0
        assert run("convert", once, *option, "-o", twice, "--force")[0] == 0
        a, b = once.read_text(encoding="utf-8"), twice.read_text(encoding="utf-8")
        assert shape(a) == shape(b)
        assert (a == b) == (not option)


def prompts(file: Path) -> list[int]:
    return [r.input_length for r in read_log(file, ReadOptions(chars_per_token=1)).requests]


@pytest.mark.parametrize("between", ["", " ", "\n", "\n\n", "\r\n" * 40_000])
def test_arrays_after_each_other_are_one_log(tmp_path: Path, between: str) -> None:
    """Pages of a listing appended to one file."""
    pages = [[{"prompt": "x" * n} for n in range(k, k + 3)] for k in (1, 4, 7)]
    file = tmp_path / "log.json"
    file.write_text(between.join(map(json.dumps, [*pages, []])), encoding="utf-8", newline="")
    assert prompts(file) == list(range(1, 10))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "text",
    ['{"prompt": "xx"}\n{"prompt": "xxx"}\n', "request_id,prompt\na,xx\nb,xxx\n",
     '"request_id","prompt"\n"a","xx"\n"b","xxx"\n'],
)  # fmt: skip
def test_files_one_after_another_in_one(tmp_path: Path, mark: str, text: str) -> None:
    """What ``cat`` makes of them: marks and headers in the middle."""
    file = tmp_path / "log"
    file.write_text((mark + text) * 3, encoding="utf-8")
    assert prompts(file) == [2, 3] * 3
    assert read_log(file).records.unusable == 0


@pytest.mark.parametrize("at", [0, 5, 11])
def test_two_records_on_a_line(tmp_path: Path, at: int) -> None:
    """A file without a last line end that another was added to, or two writers; also commas."""
    rows = [json.dumps({"prompt": "x" * n}) for n in range(1, 13)]
    rows[at] = rows[at] + rows[at]
    file = tmp_path / "log"
    file.write_text("\n".join(rows), encoding="utf-8")
    log = read_log(file, ReadOptions(chars_per_token=1))
    assert len(log.requests) == 13
    assert (log.records.unusable, log.skipped_truncated) == (0, 0)
    file.write_text(",\n".join(rows), encoding="utf-8")
    assert len(read_log(file).requests) == 13


def test_a_last_line_with_something_behind_it_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text('{"prompt": "x"}\n' * 40 + '{"prompt": "x"} and more', encoding="utf-8")
    log = read_log(file)
    assert (log.records.unusable, log.skipped_truncated) == (1, 0)


@pytest.mark.parametrize("head", [b"request_id,prompt\n", b""])
def test_no_text_is_taken_for_another(tmp_path: Path, head: bytes) -> None:
    """Bytes that are no UTF-8 would all become one character, and prompts alike."""
    rows = [
        b"r%d,caf\xe9 %d\n" % (n, n) if n % 20 == 3 else b"r%d,tea %d\n" % (n, n) for n in range(60)
    ]
    file = tmp_path / "log"
    file.write_bytes(head + b"".join(rows))
    log = read_log(file, ReadOptions(format="auto" if head else "lines"))
    assert (len(log.requests), log.records.unusable) == (57, 3)
    assert "not UTF-8 text (invalid continuation byte at byte" in log.records.first_unusable


def test_text_after_an_array_ends_the_reading(run: Run, tmp_path: Path) -> None:
    """How much stands there is not known, so it is no small share."""
    file = tmp_path / "log.json"
    file.write_text(json.dumps([{"prompt": "x"}] * 99) + ' {"prompt": "y"}', encoding="utf-8")
    code, _, err = run("analyze", file)
    assert code == 2
    assert "text after the array's end" in err
    assert "--allow-partial" in err


def test_events_of_a_damaged_array(run: Run, tmp_path: Path) -> None:
    """Of a log that may hold other lines too, what could not be read is no other line."""
    events = [
        {"event": "request.received", "obj": {"rid": f"r{n}", "text": "x"}} for n in range(99)
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(events)[:-1] + ", Traceback", encoding="utf-8")
    code, _, err = run("analyze", file)
    assert code == 2
    assert "the rest cannot be read" in err
    log = read_log(file, ReadOptions(allow_partial=True))
    assert (len(log.requests), log.records.unusable, log.records.other_lines) == (99, 1, 0)


@pytest.mark.parametrize("between", ["", " ", "\r"])
def test_objects_on_one_line(tmp_path: Path, between: str) -> None:
    """As delivery streams write them, and with the line ends of old."""
    file = tmp_path / "log.json"
    rows = [json.dumps({"prompt": "x" * n}) for n in range(1, 3000, 300)]
    file.write_text(between.join(rows), encoding="utf-8", newline="")
    assert prompts(file) == list(range(1, 3000, 300))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_of_spreadsheets(tmp_path: Path, delimiter: str) -> None:
    rows = [["request_id", "model", "prompt"], ["a", "m", "one; two, \t three"], ["b", "m", "x"]]
    file = tmp_path / "log.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=delimiter).writerows(rows)
    assert prompts(file) == [17, 1]


def test_block_ids_in_cells(tmp_path: Path, write: Write) -> None:
    rows = [
        {
            "timestamp": 5 * n,
            "input_length": 900,
            "output_length": 7,
            "block_size": 16,
            "hash_ids": [1, n],
        }
        for n in range(9)
    ]
    file = tmp_path / "trace.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert read_log(file).requests == read_log(write(*rows)).requests


def test_local_ids_of_two_conversations_on_a_line_stay_apart(tmp_path: Path) -> None:
    """Block 1 of one conversation is not block 1 of another."""
    one = '{"id": "a", "block_size": 64, "hash_id_scope": "local", "requests": [{"in": 64, "hash_ids": [1]}]}'
    file = tmp_path / "log"
    file.write_text(f"{one}\n{one}{one}\n{one} {one},\n")
    requests = read_log(file).requests
    assert len(requests) == len({r.hash_ids[0] for r in requests}) == 5
