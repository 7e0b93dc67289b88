"""The terminal writer: what it prints, read back, is the model; widths, wrapping, order, hostile text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from reports import Made, made

from cache_worthy.console import plain
from cache_worthy.report.model import (
    Answer,
    Cell,
    Column,
    Command,
    Facts,
    Figure,
    Heading,
    Part,
    Prose,
    Report,
    Section,
    Table,
    Tile,
    Tiles,
    table,
)
from cache_worthy.report.terminal import (
    command_lines,
    render,
    render_parts,
    render_sections,
    table_lines,
)

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

ENGINES = (
    ("--engine", "sglang", "--gpu-gib", 40, "--skip", "bound,splits,band"),
    ("--engine", "vllm", "--gpu-gib", 18, "--skip", "bound,splits,band"),
)


def words_of(table: Table, *, spare: bool) -> list[str]:
    """The words of a table as they are read, line by line: heads stand at the foot of theirs."""
    shown = [n for n, c in enumerate(table.columns) if spare or not c.spare]
    heads = [table.columns[n].head.split("\n") for n in shown]
    height = max(map(len, heads))
    padded = [[""] * (height - len(lines)) + lines for lines in heads]
    found = [" ".join(table.caption.split())] if table.caption else []
    found += [" ".join(level) for level in zip(*padded, strict=True)]
    return [*found, *(" ".join(row[n].text for n in shown) for row in table.rows)]


def least_width(table: Table) -> int:
    """Columns that a table needs with one space between two, and two before it."""
    columns = zip(*(row for row in table.rows), strict=True)
    widths = [max(len(cell.text) for cell in column) for column in columns]
    heads = [max(map(len, c.head.split("\n"))) for c in table.columns]
    return sum(map(max, widths, heads)) + len(heads) + 1


def expected(part: Part) -> Iterator[str]:
    """What a part says, in the order of reading."""
    if isinstance(part, Prose):
        yield part.text
    elif isinstance(part, Answer):
        yield f"{part.label.upper()} {part.verdict.upper()} {part.rest}"
    elif isinstance(part, Heading):
        yield f"{part.text} {'-' * len(part.text)}"
    elif isinstance(part, Facts):
        yield from (f"{name} {text}" for name, text in part.rows)
    elif isinstance(part, Command):
        yield f"{part.label} {part.text}"
    elif isinstance(part, Table):
        yield from words_of(part, spare=least_width(part) <= 80)
    elif isinstance(part, Figure):
        for one in part.numbers if part.in_terminal else ():
            yield from expected(one)
    else:
        assert isinstance(part, Tiles)


def all_words(report: Report) -> str:
    found: list[str] = []
    for section in (report.short, *report.sections):
        found += [section.title.upper(), section.about, "-" * 70]
        found += [text for part in section.parts for text in expected(part)]
    return " ".join(" ".join([*found, report.footer]).split())


def read_back(text: str) -> str:
    """The words of what was printed, broken commands joined again."""
    return " ".join(text.replace(" \\\n", "\n").split())


@pytest.mark.parametrize(
    "options",
    [(), ("--capacity-gib", 0.7, "--skip", "splits"), ("--sample", 0.95), *ENGINES],
    ids=["plain", "capacity", "sample", "sglang", "vllm"],
)
def test_what_is_printed_is_the_model(options: tuple[object, ...]) -> None:
    """Every word, every cell, in order, and nothing else."""
    found = made(SAMPLE, *options)
    assert read_back(found.text) == all_words(found.report)
    assert_layout(found)


def assert_layout(found: Made) -> None:
    lines = found.text.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert lines[0] == ""
    assert found.text.endswith("\n")
    assert "\n\n\n" not in found.text


@pytest.mark.traces
@pytest.mark.parametrize("options", [(), ("--sample", 0.5)])
def test_what_is_printed_is_the_model_on_a_trace(traces: Path, options: tuple[object, ...]) -> None:
    found = made(traces / "conversation_trace.jsonl", *options)
    assert read_back(found.text) == all_words(found.report)
    assert_layout(found)


@pytest.mark.parametrize("where", ["cell", "fact", "sentence", "order"])
def test_the_reading_bites(where: str) -> None:
    found = made(SAMPLE, "--block-size", 512, "--chars-per-token", 4)
    text = {
        "cell": found.text.replace("1.4973", "1.4974"),
        "fact": found.text.replace("records          123", "records          124"),
        "sentence": found.text.replace("stay with", "leave"),
        "order": found.text.replace("  WORTH ", "  HTROW "),
    }[where]
    assert text != found.text
    assert read_back(text) != all_words(found.report)


LETTERS = "abcdefgh"


def of(columns: Sequence[str | Column], *rows: Sequence[str | Cell]) -> Table:
    return table("t", "", columns=columns, rows=rows)


def test_a_table_by_hand() -> None:
    """Names to the left, numbers to the right, heads at the foot of theirs, columns two apart."""
    lines = table_lines(
        of(
            ("policy", "cost\nGiB", "share", Column("remark", words=True)),
            ("lru", "1.5", "10.0%", "a"),
            ("landlord", "*12.25", "5.0%", ""),
        )
    )
    assert lines == [
        "              cost",
        "  policy       GiB  share  remark",
        "  lru          1.5  10.0%  a",
        "  landlord  *12.25   5.0%",
    ]


def test_rows_named_by_numbers_are_set_to_the_right() -> None:
    assert table_lines(of(("capacity", "size"), ("2.8%", "1"), ("100.0%", "2"))) == [
        "  capacity  size",
        "      2.8%     1",
        "    100.0%     2",
    ]


def test_an_empty_table_is_its_heads() -> None:
    assert table_lines(of(("name", "a number"))) == ["  name  a number"]
    assert render_parts([table("t", "Nothing", columns=("name", "b"), rows=())]) == (
        "  Nothing\n  name  b\n"
    )


def wide(width: int, *, spare: bool) -> list[str]:
    """Three columns that fill ``width`` columns with two spaces between them."""
    first = "x" * (width - 2 - 4 - 20)
    columns = ("name", Column("b" * 10), Column("c" * 10, words=True, spare=spare))
    return table_lines(of(columns, (first, "1" * 10, "text")))


def test_a_table_as_wide_as_a_terminal_and_wider() -> None:
    """80 columns stay; of 81 and 82 the spaces go; only then spare columns, at last words wrap."""
    fits, one, two, three = (wide(n, spare=True) for n in (80, 81, 82, 83))
    assert fits == [
        f"  {'name':<54}  bbbbbbbbbb  cccccccccc",
        f"  {'x' * 54}  1111111111  text",
    ]
    assert len(fits[0]) == 80
    for lines in (one, two):
        assert lines[1].endswith("x 1111111111 text")
        assert lines[0].endswith("bbbbbbbbbb cccccccccc")
        assert len(lines[0]) <= 80
    assert [line.split() for line in three] == [["name", "b" * 10], ["x" * 57, "1" * 10]]
    kept = wide(100, spare=False)
    assert max(map(len, kept)) <= 80
    assert "".join(line.split()[0] for line in kept[1:]) == "x" * 74
    assert kept[1].endswith(" 1111111111 text")


def test_spare_columns_that_fit_stay() -> None:
    lines = table_lines(of(("name", Column("policy", words=True, spare=True)), ("2.8%", "gdsf")))
    assert lines == ["  name  policy", "  2.8%  gdsf"]


def test_the_last_column_of_words_wraps_first() -> None:
    long = (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    )
    lines = table_lines(
        of(
            ("name", Column("kind", words=True), Column("remark", words=True), "n"),
            ("a policy of one", "a policy", long, "12"),
            ("b", "c", "d", "1"),
        )
    )
    assert lines == [
        f"  name            kind     {'remark':<48}  n",
        f"  a policy of one a policy {long[:48]} 12",
        f"                           {long[49:]}",
        f"  b               c        {'d':<48}  1",
    ]


def test_a_long_name_of_a_row_is_broken_behind_its_module() -> None:
    """Numbers never break, so the names of the rows do; no letter is lost."""
    name = "a_module_of_mine.policies:TheLongestNameOfAPolicyThatAnybodyEverWrote [!]"
    lines = table_lines(
        of(("policy", *LETTERS[:6]), ("lru", *["1.0000"] * 6), (name, *["1.0000"] * 6))
    )
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[:3]] == [
        "policy",
        "lru",
        "a_module_of_mine.policies:",
    ]
    assert lines[2].split()[1:] == ["1.0000"] * 6
    assert "".join(line.strip() for line in lines[3:]).replace(" ", "") == (
        "TheLongestNameOfAPolicyThatAnybodyEverWrote[!]"
    )
    assert lines[1].index("1.0000") == lines[2].index("1.0000")


def test_facts_are_aligned() -> None:
    rows = (("2.8% (floor)", "a"), ("10.5% (recommended)", "b " * 40), ("x", "c"))
    lines = render_parts([Facts("f", rows)]).splitlines()
    assert lines == [
        "  2.8% (floor)         a",
        "  10.5% (recommended)  " + " ".join("b" * 29),
        "                       " + " ".join("b" * 11),
        "  x                    c",
    ]
    assert render_parts([Facts("f", (("model", "m"),))]) == "  model            m\n"
    assert render_parts([Facts("f", ())]) == "\n"


def test_a_name_that_is_too_long_stands_above_its_value() -> None:
    lines = render_parts([Facts("f", (("n" * 40, "value"), ("short", "other")))]).splitlines()
    assert lines == ["  " + "n" * 40, " " * 30 + "value", "  short".ljust(30) + "other"]


def test_parts_and_the_lines_between_them() -> None:
    """A blank line stands around tables and notes, and before answers and headings."""
    small = table("t", "A table", columns=("name", "n"), rows=[("a", "1")])
    other = replace(small, key="u", caption="")
    figure = Figure("F", "d", draw=None, numbers=(small, other), caption="c")  # type: ignore[arg-type]
    parts: list[Part] = [
        Tiles((Tile("a", "b", "c"),)),
        Answer("Question 1", "Worth caching", "1.00 GiB"),
        Prose("It pays."),
        Prose("Always."),
        Prose("Or not.", note=True),
        Facts("f", (("model", "m"),)),
        figure,
        replace(figure, in_terminal=False),
        Command("type", "--a b"),
        Heading("Memory"),
        Facts("g", (("weights", "w"),)),
        Prose("Enough."),
    ]
    assert render_parts(parts).splitlines() == [
        "  QUESTION 1       WORTH CACHING 1.00 GiB",
        "    It pays.",
        "    Always.",
        "",
        "    Or not.",
        "",
        "  model            m",
        "",
        "  A table",
        "  name  n",
        "  a     1",
        "",
        "  name  n",
        "  a     1",
        "",
        "    type           --a b",
        "",
        "  Memory",
        "  ------",
        "  weights          w",
        "    Enough.",
    ]


def test_a_report_by_hand() -> None:
    short = Section("short", "In short", parts=(Prose("It pays."),))
    worth = Section("worth", "Worth", about="is it?", parts=(Answer("Question 1", "yes"),))
    report = Report("t", "s", "a", short, (worth,), "No bound.", "{}")
    rule = "  " + "-" * 70
    both = [
        *("", "  IN SHORT", rule, "    It pays."),
        *("", "  WORTH   is it?", rule, "  QUESTION 1       YES"),
    ]
    assert render_sections((short, worth)).splitlines() == both
    assert render(report).splitlines() == [*both, "", "  No bound."]
    long = replace(worth, about="is it? " * 20)
    heads = render_sections([long]).splitlines()[1:4]
    assert heads[0].startswith("  WORTH   is it? is it?")
    assert heads[1].startswith("    is it?")
    assert heads[2] == rule


def test_no_part_is_forgotten() -> None:
    with pytest.raises(TypeError, match="str is no part of a report"):
        render_parts(["text"])  # type: ignore[list-item]


def test_prose_is_wrapped_and_long_words_with_it() -> None:
    text = render_parts([Prose("word " * 30), Prose("w" * 100)])
    assert max(map(len, text.splitlines())) <= 72
    assert text.count("w") == 130
    assert all(line.startswith("    ") for line in text.splitlines())


def test_commands_break_between_two_options() -> None:
    """No option leaves its value, and what is typed is what was said."""
    flag = "--radix-eviction-policy tlru --radix-eviction-policy-config '{\"threshold\": 1024}'"
    lines = command_lines(Command("type", flag))
    assert lines == [
        "    type           --radix-eviction-policy tlru \\",
        "                   --radix-eviction-policy-config '{\"threshold\": 1024}'",
    ]
    unnamed = command_lines(Command("", flag))
    assert unnamed[0].startswith("      --radix")
    assert read_back("\n".join(unnamed)) == flag
    assert command_lines(Command("or", "--a 1 --b 2")) == ["    or             --a 1 --b 2"]
    for length in range(1, 56):  # the mark of a broken line stands within the 80 columns
        text = f"--a {'x' * length} --b {'y' * 12} --c 1"
        broken = command_lines(Command("type", text))
        assert max(map(len, broken)) <= 80
        assert read_back("\n".join(broken)) == f"type {text}"


def test_text_of_others_does_not_act() -> None:
    """Escape sequences, in any part, are written out."""
    evil = "m\x1b[31m\u202e"
    parts: list[Part] = [
        Prose(evil),
        Answer("q", evil, evil),
        Heading(evil),
        Facts("f", ((evil, evil),)),
        table("t", evil, columns=(evil, "b"), rows=[(evil, evil)]),
        Command(evil, evil),
    ]
    text = render_parts(parts)
    assert text.replace("\n", "").isprintable()
    assert text.lower().count("m\\x1b[31m\\u202e") == 12
    short = Section("short", evil, about=evil, parts=tuple(parts))
    printed = render(Report(evil, evil, evil, short, (), evil, "{}"))
    assert printed.replace("\n", "").isprintable()
    assert plain("a\tb") == "a\\tb"


def test_a_hostile_model_name_in_a_run(run: Run, write: Write, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    fields = ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff")
    shape = {"name": "m\x1b[31m\u202e", **dict.fromkeys(fields, 1)}
    model.write_text(json.dumps(shape), encoding="utf-8")
    code, text, err = run("analyze", write(*[{"hash_ids": [1, 2]}] * 4), "--model", model)
    assert code == 0, err
    assert "m\\x1b[31m\\u202e" in text
    assert text.replace("\n", "").isprintable()


def test_a_log_whose_floor_is_its_working_set(write: Write) -> None:
    found = made(write(*[{"hash_ids": [1, 2, 3]}] * 30), "--skip", "bound,splits,tails,band")
    assert_layout(found)
    assert "floor, recommended, working" in found.text
    assert "It is the whole working set: more memory saves nothing." in read_back(found.text)
    assert "remaining 0.00" not in found.text
    assert "%100" not in found.text  # columns of the cold start stay apart


def test_long_names_of_your_own_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "AVeryLongNameOfAPolicyThatNoColumnOfATableCanEverHold"
    (tmp_path / "module_with_a_policy.py").write_text(
        "from cache_worthy.sim.radix.policies.lru import LRU\n\n\n"
        f"class {name}(LRU):\n    '''Own.'''\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = made(SAMPLE, "--policy", f"module_with_a_policy:{name}", "--skip", "splits")
    assert_layout(found)
    joined = "".join(found.text.split())
    assert name in joined
