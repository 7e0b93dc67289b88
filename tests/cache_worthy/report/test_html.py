"""The HTML writer: the page, parsed back, is the model; nothing that a log says runs or loads.

What only a browser can say (errors, requests, overflow, contrast) is in test_report_in_browser.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reports import Document, Made, made, tables_of
from words_of_band import shown

from cache_worthy.report.charts import HistogramChart
from cache_worthy.report.html import POLICY, render_html
from cache_worthy.report.model import (
    Answer,
    Command,
    Facts,
    Figure,
    Heading,
    Part,
    Prose,
    Report,
    Section,
    Tile,
    Tiles,
    table,
)

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

#: Elements whose text is one piece of the page, in the order of reading.
PIECES = ("h1", "h2", "h3", "p", "li", "figcaption", "summary", "dt", "dd", "th", "td", "title")


@dataclass
class Page(HTMLParser):
    """Pieces of text with their element; tables and lists by id; scripts and pictures."""

    pieces: list[tuple[str, str]] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    lists: dict[str, list[list[str]]] = field(default_factory=dict)
    scripts: list[tuple[dict[str, str | None], str]] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    _open: str = ""
    _inside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._inside.append(tag)
        if tag in ("meta", "link"):
            self._inside.pop()
        if tag == "table":
            self._open = found["id"] or ""
            assert self._open not in self.tables
            self.tables[self._open] = []
        elif tag == "tr":
            self.tables[self._open].append([])
        elif tag in ("th", "td"):
            self.tables[self._open][-1].append("")
        elif tag == "dl":
            self._open = found.get("id") or ""
            self.lists.setdefault(self._open, [])
        elif tag == "dt":
            self.lists[self._open].append([""])
        elif tag == "dd":
            self.lists[self._open][-1].append("")
        elif tag == "script":
            self.scripts.append((found, ""))
        if tag in PIECES and "svg" not in self._inside:
            self.pieces.append((tag, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._inside.pop() == tag, "elements are closed in their order"
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        if "script" in self._inside:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
            return
        if "svg" in self._inside or "style" in self._inside:
            return
        if any(tag in ("th", "td") for tag in self._inside):
            self.tables[self._open][-1][-1] += data
        elif any(tag in ("dt", "dd") for tag in self._inside):
            self.lists[self._open][-1][-1] += data
        if any(tag in PIECES for tag in self._inside):
            tag, before = self.pieces[-1]
            self.pieces[-1] = (tag, before + data)
        else:
            assert not data.strip(), f"{data!r} stands in no element"

    def of(self, *tags: str) -> list[str]:
        """The text of elements, white space as one space."""
        return [" ".join(text.split()) for tag, text in self.pieces if tag in tags]


def parse(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page._inside == []
    return page


def joined(text: str) -> str:
    return " ".join(shown(text.replace("\n", " ")).split())


def compare(page: Page, report: Report) -> None:
    """Every part of the model, in order, and nothing else."""
    sections = (report.short, *report.sections)
    parts: list[Part] = [part for section in sections for part in section.parts]
    figures = [part for part in parts if isinstance(part, Figure)]
    tables = [one for part in parts for one in tables_of(part)]
    assert page.of("title") == [joined(f"{report.title}: {report.source}")]
    assert page.of("h1") == [joined(report.title)]
    assert page.of("h2") == [joined(f"{s.title} {s.about}") for s in sections]
    assert page.of("h3") == [joined(p.text) for p in parts if isinstance(p, Heading)]
    text = [f"{report.source}: {report.about}"]
    for part in parts:
        if isinstance(part, Prose):
            text.append(part.text)
        elif isinstance(part, Answer):
            text.append(f"{part.label}: {part.text}")
        elif isinstance(part, Command):
            text.append(f"{part.label} {part.text}")
        text += [one.caption for one in tables_of(part) if one.caption]
    assert page.of("p") == [joined(t) for t in (*text, report.footer)]
    legends = [item.words for figure in figures for item in figure.legend]
    assert page.of("li") == [joined(t) for t in (*(s.title for s in report.sections), *legends)]
    assert page.of("figcaption") == [joined(figure.caption) for figure in figures]
    assert page.of("summary") == ["The numbers of this figure"] * len(figures)
    assert list(page.tables) == [one.key for one in tables]
    for one in tables:
        cells = [[c.head for c in one.columns], *([c.text for c in row] for row in one.rows)]
        assert page.tables[one.key] == [[escaped(cell) for cell in row] for row in cells]
    facts = {part.key: part.rows for part in parts if isinstance(part, Facts)}
    tiles = [tile for part in parts if isinstance(part, Tiles) for tile in part.tiles]
    assert page.lists == {
        **({"": [[t.name, escaped(t.value + t.unit)] for t in tiles]} if tiles else {}),
        **{key: [[escaped(cell) for cell in row] for row in rows] for key, rows in facts.items()},
    }


def escaped(text: str) -> str:
    """What cannot be printed, written out; line feeds stay."""
    return "\n".join(map(shown, text.split("\n")))


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--capacity-gib", 0.7, "--skip", "splits"),
        ("--sample", 0.95),
        ("--engine", "sglang", "--gpu-gib", 40, "--skip", "bound,splits,band"),
        ("--engine", "vllm", "--gpu-gib", 18, "--skip", "bound,splits,band"),
    ],
    ids=["plain", "capacity", "sample", "sglang", "vllm"],
)
def test_the_page_is_the_model(options: tuple[object, ...]) -> None:
    found = made(SAMPLE, *options)
    page = parse(found.page)
    compare(page, found.report)
    (embedded,) = page.scripts
    assert embedded[0] == {"type": "application/json", "id": "cache-worthy-document"}
    assert json.loads(embedded[1]) == found.document


@pytest.mark.traces
@pytest.mark.parametrize("options", [(), ("--sample", 0.5)])
def test_the_page_is_the_model_on_a_trace(traces: Path, options: tuple[object, ...]) -> None:
    found = made(traces / "conversation_trace.jsonl", *options)
    page = parse(found.page)
    compare(page, found.report)
    assert json.loads(page.scripts[0][1]) == found.document


@pytest.mark.parametrize("place", ["split-table", "policy-table", "pins-table", "capacity-table"])
def test_the_comparison_bites(place: str) -> None:
    found = made(SAMPLE)
    page = parse(found.page)
    page.tables[place][-1][-2] += "1"
    with pytest.raises(AssertionError):
        compare(page, found.report)


@pytest.mark.parametrize("change", [("At that size", "At this size"), ("<dt>order", "<dt>redro")])
def test_a_changed_word_is_seen(change: tuple[str, str]) -> None:
    found = made(SAMPLE)
    assert change[0] in found.page
    with pytest.raises(AssertionError):
        compare(parse(found.page.replace(*change)), found.report)


EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\ud800\u2028{{7*7}}"


def hostile() -> Report:
    """Every string that a report has is hostile."""
    small = table(f"t{EVIL}", EVIL, columns=(EVIL, f"{EVIL}\n"), rows=[(EVIL, EVIL)])
    figure = Figure(
        EVIL,
        EVIL,
        draw=HistogramChart(((EVIL, 1.0, EVIL),), EVIL),
        numbers=(small,),
        caption=EVIL,
    )
    parts: tuple[Part, ...] = (
        *(Prose(EVIL), Prose(EVIL, note=True), Answer(EVIL, EVIL, EVIL), Heading(EVIL)),
        *(Facts(f"f{EVIL}", ((EVIL, EVIL),)), Tiles((Tile(EVIL, EVIL, EVIL),)), figure),
        Command(EVIL, EVIL),
    )
    short = Section(f"s{EVIL}", EVIL, about=EVIL, parts=parts)
    return Report(EVIL, EVIL, EVIL, short, (), EVIL, json.dumps(EVIL))


def test_all_text_is_escaped() -> None:
    text = render_html(hostile())
    assert_harmless(text)
    assert "{{7*7}}" in text  # a template is no place for names: nothing in them is computed
    assert json.loads(parse(text).scripts[0][1]) == EVIL


def assert_harmless(text: str) -> None:
    """Nothing of :data:`EVIL` became an element, an attribute or a character that cannot be seen."""
    page = parse(text)
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == names.count("/script") == 1
    assert "img" not in names
    assert "b" not in names
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
    assert [c for c in set(text) if not c.isprintable() and c != "\n"] == []
    text.encode("utf-8")


def test_names_from_a_log_cannot_act(write: Write, tmp_path: Path) -> None:
    """A hostile file name, model, tenant and model name appear as text, and the JSON is whole."""
    records = [
        {"messages": [{"role": "user", "content": "x" * 3000}], "model": EVIL, "tenant": f"{EVIL}{n % 2}"}
        for n in range(6)
    ]  # fmt: skip
    log = write(*records, name="<b onclick=alert(3)>'&\".jsonl")
    model = tmp_path / "m.json"
    shape = {"layers": 2, "d_model": 8, "heads": 2, "kv_heads": 1, "head_dim": 4, "d_ff": 16}
    model.write_text(json.dumps({"name": EVIL, **shape}), encoding="utf-8")
    options = ("--salt-field", "tenant", "--model-field", "model=*", "--model", model)
    found = made(log, *options)
    page = parse(found.page)
    compare(page, found.report)
    assert json.loads(page.scripts[0][1]) == found.document
    assert found.document["parameters"]["model"]["name"].startswith("</script>")
    assert_harmless(found.page)
    assert "alert(1)" in dict(page.lists["facts"])["model"]
    assert "alert(3)" in page.of("title")[0]


def test_it_needs_nothing_else() -> None:
    text = made(SAMPLE).page
    page = parse(text)
    for tag, attrs in page.tags:
        for key in ("src", "href", "xlink:href", "action", "poster", "data"):
            target = attrs.get(key)
            assert target is None or target.startswith(("#", "data:,")), (tag, attrs)
    assert not re.search(r"@import|url\(|https?://", text.partition("<script")[0])
    policies = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    assert policies == [POLICY]
    assert POLICY.startswith("default-src 'none';")
    assert "script-src" not in POLICY
    assert len(text.encode()) < 200_000


def test_anchors_are_there_and_unique() -> None:
    page = parse(made(SAMPLE).page)
    anchors = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(anchors) == len(set(anchors))
    links = {(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"}
    assert len(links) >= 12
    assert links <= set(anchors)
    labels = {a["aria-labelledby"] for _, a in page.tags if "aria-labelledby" in a}
    assert labels <= set(anchors)


def test_every_figure_has_a_text_alternative_and_a_table() -> None:
    found = made(SAMPLE)
    page = parse(found.page)
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    figures = [p for s in found.report.sections for p in s.parts if isinstance(p, Figure)]
    assert len(figures) == 5
    assert [attrs["class"] for attrs in pictures] == ["wide", "narrow"] * 5
    assert [attrs["aria-label"] for attrs in pictures[::2]] == [
        f"{f.title}. {f.description}" for f in figures
    ]
    assert pictures[1::2] == [
        {**attrs, "class": "narrow", "viewbox": narrow["viewbox"]}
        for attrs, narrow in zip(pictures[::2], pictures[1::2], strict=True)
    ]
    for figure in figures:
        assert len(figure.description) > 70
        assert figure.numbers
    others = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") != "img"]
    assert all(attrs["aria-hidden"] == "true" for attrs in others)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("figure") == tags.count("figcaption") == tags.count("details") == 5


def test_marks_of_cells_and_rows() -> None:
    """The cheapest cells, the chosen row and the bars are those of the model."""
    found = made(SAMPLE)
    tables = [t for s in found.report.sections for p in s.parts for t in tables_of(p)]
    cells = [cell for t in tables for row in t.rows for cell in row]
    page = parse(found.page)
    classes = [attrs.get("class") for _, attrs in page.tags]
    assert classes.count("cheapest") == sum(cell.cheapest for cell in cells) > 5
    assert classes.count("chosen") == sum(t.chosen is not None for t in tables) == 1
    bars = [attrs["style"] for _, attrs in page.tags if attrs.get("class") == "bar"]
    assert bars == [f"width:{100 * c.share:.1f}%" for c in cells if c.share is not None]
    assert bars[0] == "width:100.0%"


def test_question_1_ends_the_page(write: Write) -> None:
    logs: list[list[Document]] = [
        [{"hash_ids": [n]} for n in range(150)],
        [{"hash_ids": [], "input_length": 0}],
    ]
    for n, records in enumerate(logs):
        page = parse(made(write(*records, name=f"{n}.jsonl")).page)
        assert "Question 1: Not worth caching" in page.of("p")
        assert "capacity-table" not in page.tables


@pytest.mark.parametrize(
    "records",
    [
        [{"hash_ids": [1, 2]}, {"hash_ids": [1, 2]}],  # floor and working set are the same
        [{"hash_ids": [1]}] * 3,
        [{"hash_ids": [1, n]} for n in range(2, 40)] * 3,
    ],
)
def test_small_logs_are_drawn(write: Write, records: list[Document]) -> None:
    found: Made = made(write(*records))
    compare(parse(found.page), found.report)
    text = re.sub(r"<script.*", "", found.page, flags=re.DOTALL).lower().replace("tenan", "")
    assert "nan" not in text


def test_files_are_refused_early(run: Run, sample: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken.html"
    taken.write_text("mine", encoding="utf-8")
    other = tmp_path / "other.html"
    log = tmp_path / "log.jsonl"
    log.write_bytes(sample.read_bytes())
    link = tmp_path / "link.html"
    link.symlink_to(log)
    refused: list[tuple[tuple[object, ...], str]] = [
        ((sample, "--html", taken), "exists; give --force"),
        ((sample, "--html", tmp_path), "is a folder"),
        ((sample, "--html", tmp_path / "no" / "r.html"), "no folder"),
        ((sample, "--html", "-"), "needs a file of its own"),
        ((sample, "--html", other, "-o", other), "-o names it too"),
        ((sample, "--html", other, "--plot", other), "--html names it too"),
        ((sample, "--plot", tmp_path / "r.pdf"), "ends in .png or .svg"),
        ((log, "--html", log, "--force"), "is the log itself"),
        ((log, "--html", link, "--force"), "is the log itself"),
        ((log, "--plot", log, "--force"), "ends in .png or .svg"),
    ]
    for argv, words in refused:
        code, out, err = run("analyze", *argv)
        assert (code, out) == (2, ""), argv
        assert words in err
        assert len(err.splitlines()) <= 2
    assert taken.read_text(encoding="utf-8") == "mine"
    assert log.read_bytes() == sample.read_bytes()
    assert not other.exists()
    assert run("analyze", sample, "--html", taken, "--force")[0] == 0
    assert taken.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_same_log_gives_the_same_bytes() -> None:
    few = ("--skip", "band,splits,bound")
    first = made(SAMPLE, *few).page
    made.cache_clear()
    assert made(SAMPLE, *few).page == first
