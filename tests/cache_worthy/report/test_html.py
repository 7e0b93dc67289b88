"""The HTML page: its tables, parsed, equal the JSON cell by cell (rank 5); nothing a log says runs.

What only a browser can say (errors, requests, overflow, contrast) is in test_report_in_browser.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cache_worthy.advise.recoverable import Recoverable, Recovery
from cache_worthy.report.charts import log_ticks, lower_steps, nice_step

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Document = dict[str, Any]


@dataclass
class Page(HTMLParser):
    """Tables by id (head and rows of cell texts), definition lists by id, text, scripts, pictures."""

    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    lists: dict[str, list[list[str]]] = field(default_factory=dict)
    scripts: list[tuple[dict[str, str | None], str]] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    _open: str = ""
    _cell: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "table":
            self._open = found["id"] or ""
            assert self._open not in self.tables
            self.tables[self._open] = []
        elif tag == "tr":
            self.tables[self._open].append([])
        elif tag in ("th", "td"):
            self.tables[self._open][-1].append("")
            self._cell = True
        elif tag == "dl":
            self._open = found.get("id") or ""
            self.lists.setdefault(self._open, [])
        elif tag in ("dt", "dd"):
            if tag == "dt":
                self.lists[self._open].append([])
            self.lists[self._open][-1].append("")
            self._cell = True
        elif tag == "script":
            self.scripts.append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td", "dt", "dd"):
            self._cell = False
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        inside = self.tags[-1][0] if self.tags else ""
        if inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif inside != "style":
            self.text += data
        if self._cell:
            where = self.tables if self._open in self.tables else self.lists
            where[self._open][-1][-1] += data


def parse(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


def gib(size: int) -> str:
    value = size / 2**30
    return f"{value:.2f} GiB" if value >= 0.1 or value == 0 else f"{value:.4f} GiB"


def percent(value: float | None, digits: int = 1) -> str:
    return "--" if value is None else f"{100 * value:.{digits}f}%"


def ratio(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def compare(page: Page, document: Document) -> None:
    """Every cell of every table of the analysis, by position."""
    (embedded,) = page.scripts
    assert embedded[0]["type"] == "application/json"
    assert json.loads(embedded[1]) == document

    bins = document["workload"]["reuse_histogram"]
    total = sum(b["references"] for b in bins)
    assert (
        total == document["workload"]["block_references"] - document["workload"]["distinct_blocks"]
    )
    assert page.tables["reuse-table"][1:] == [
        [
            str(b["up_to"]) if b["least"] == b["up_to"] else f"{b['least']} to {b['up_to']}",
            str(b["references"]),
            percent(b["references"] / total),
        ]
        for b in bins
    ]

    curve = document["capacity"]
    last = len(curve["points"]) - 1
    head, *rows = page.tables["capacity-table"]
    assert head[:5] == ["capacity", "size", "cost", "block hit rate", "elasticity"]
    assert [row[:5] for row in rows] == [
        [
            percent(p["fraction"], 2),
            gib(p["bytes"]),
            ratio(p["cost_ratio"]),
            percent(p["block_hit_rate"]),
            "--" if p["elasticity"] is None else f"{p['elasticity']:z.3f}",
        ]
        for p in curve["points"]
    ]
    for n, row in enumerate(rows):
        assert ("recommended" in row[-1]) == (n == curve["recommended_index"])
        least = "floor" if document["sample"] is None else "least answered"
        assert (least in row[-1], "working set" in row[-1]) == (n == 0, n == last)
        if document["sample"] is not None:
            assert row[5] == f"{document['sample']['curve'][n]['error']:.4f}"

    table = document["policy"]
    bound = document["bound"]
    if bound is None:
        assert "split-table" not in page.tables
    else:
        head, *rows = page.tables["split-table"]
        assert head == [
            "capacity", "size", "over compulsory", "only memory", "undecided", "foresight",
            "best shipped", "policy",
        ]  # fmt: skip
        assert rows == [
            [
                percent(r["fraction"]),
                gib(r["bytes"]),
                percent(r["lru_cost"] / bound["compulsory_cost"] - 1),
                *(percent(r[k]) for k in ("only_memory", "undecided", "foresight", "best_shipped")),
                r["best_policy"],
            ]
            for r in bound["rows"]
        ]
        assert page.tables["bound-table"][1:] == [
            [
                percent(r["fraction"]),
                gib(r["bytes"]),
                r["best_policy"],
                ratio(r["best_cost"] / bound["compulsory_cost"]),
                ratio(r["lower_bound_ratio"]),
            ]
            for r in bound["rows"]
        ]
        assert page.lists["recoverable-verdicts"] == [
            [f"{percent(r['fraction'])}  {r['word']}", r["verdict"]] for r in bound["rows"]
        ]

    head, *rows = page.tables["policy-table"]
    own = table["outside_oracle_coverage"]
    assert [row[0] for row in rows] == [f"{n} [!]" if n in own else n for n in table["policies"]]
    for n, row in enumerate(table["rows"], 1):
        fraction, size = head[n].split("\n")
        assert fraction == percent(row["fraction"])
        assert float(size.removesuffix(" GiB")) == pytest.approx(row["bytes"] / 2**30, rel=0.01)
        assert [cells[n] for cells in rows] == [
            ("*" if c["cheapest"] else "") + ratio(c["cost_ratio"]) for c in row["cells"]
        ]
    assert all(len(row) == 1 + len(table["rows"]) for row in rows)
    advice = document["engine"]
    if advice is None:
        assert page.lists["policy-verdicts"] == [
            [
                percent(r["fraction"]) + (f" ({r['label']})" if r["label"] else ""),
                banded(r["verdict"], document["band"], n) + sampled(document["sample"], n),
            ]
            for n, r in enumerate(table["rows"])
        ]
    else:
        assert page.tables["engine-table"][1:] == [
            [o["label"], *row]
            for o, row in zip(advice["options"], starred(advice["options"]), strict=True)
        ]
        assert page.lists["engine-notes"] == [
            [o["label"], o["note"]] for o in advice["options"] if o["note"]
        ]
        assert advice["verdict"] in page.text
        assert all(flag in page.text for flag in advice["memory"]["flags"])

    pins = document["pin"]
    assert page.tables["pins-table"][1:] == [
        [
            f"#{n}",
            *(str(p[k]) for k in ("references", "depth", "blocks", "subtree_blocks")),
            gib(p["pin_bytes"]),
            percent(p["protected_fraction"]),
            str(p["first_request"]),
        ]
        for n, p in enumerate(pins["pins"])
    ]

    cold = document["coldstart"]
    if cold is not None:
        assert page.tables["coldstart-table"][1:] == [
            [
                r["label"],
                gib(r["bytes"]),
                *(
                    "never" if r[k] is None else str(r[k])
                    for k in ("reached_after", "settled_after")
                ),
                *(
                    percent(r[a][b])
                    for a in ("cold", "warm")
                    for b in ("block", "token", "request")
                ),
            ]
            for r in cold["rows"]
        ]
    compare_sections(page, document)
    tails = document["tails"]
    for n, at in enumerate([] if tails is None else tails["capacities"]):
        assert page.tables[f"tails-table-{n}"][1:] == [
            [
                r["policy"],
                *(f"{r[k]:.2e}" for k in ("p50", "p95", "p99", "max")),
                "--" if r["own_p99"] is None else f"{r['own_p99']:.3g}",
                *(str(r[k]["requests"]) for k in ("deep", "cold", "first")),
            ]
            for r in at["rows"]
        ]


def compare_sections(page: Page, document: Document) -> None:
    """The tables of the sections that can be skipped."""
    band, splits, sim, causes = (document[k] for k in ("band", "splits", "pinsim", "causes"))
    if causes is not None:
        cells = [
            [
                *(str(c[k]) if c["known"] else "--" for k in ("requests", "blocks")),
                percent(c["fraction"]) if c["known"] else "--",
                *("" if c[k] is None else str(c[k]) for k in ("example_record", "example_token")),
            ]
            for c in (*causes["new"], causes["evicted"])
        ]
        shares = [percent(causes[f"missing_{k}"]) for k in ("fraction", "there_fraction")]
        cells[5:5] = [["", "", shares[0], "", ""]]
        cells.append(["", "", shares[1], "", ""])
        assert [row[1:] for row in page.tables["causes-table"][1:]] == cells
    if band is not None:
        assert page.tables["band-table"][1:] == [
            [
                percent(r["fraction"]),
                gib(r["bytes"]),
                percent(r["saving_low"], 2),
                percent(r["saving_high"], 2),
                r["worth_changing"],
                r["best"] or f"tie: {', '.join(r['tied'])}",
            ]
            for r in band["policy"]
        ]
        assert page.tables["members-table"][1:] == [
            [
                shown(m["name"]),
                percent(m["ceiling"]),
                gib(m["recommended_bytes"]),
                percent(m["recommended_fraction"], 2),
                ratio(m["recommended_cost_ratio"]),
            ]
            for m in band["members"]
        ]
    if splits is not None:
        assert page.tables["splits-table"][0][-1] == f"cost at {gib(splits['whole_bytes'])}"
        assert page.tables["splits-table"][1:] == [
            [
                p["name"],
                str(p["requests"]),
                percent(p["ceiling"]),
                gib(p["floor_bytes"]),
                "--" if p["recommended_bytes"] is None else gib(p["recommended_bytes"]),
                p["best_policy"] or "not worth caching",
                percent(p["saving_fraction"], 2),
                ratio(p["whole_cost_ratio"]),
            ]
            for p in splits["parts"]
        ]
    if sim is not None and sim["gain"] is not None:
        changes = [sim["gain"][key] for key in ("pinned", "rest", "outside", "total")]
        assert [row[1:] for row in page.tables["pinsim-table"][1:]] == [
            [f"{c['before']:.3e}", f"{c['after']:.3e}", f"{c['before'] - c['after']:.2e}"]
            for c in changes
        ]


def banded(verdict: str, band: Document | None, n: int) -> str:
    """What question 5 says at one capacity: no winner where the band has none."""
    if band is None:
        return verdict
    r = band["policy"][n]
    if r["best"] is None:
        saved = sorted({percent(r[key], 2) for key in ("saving_low", "saving_high")}, key=float_of)
        named = f"; {r['candidate']} would save {' to '.join(saved)}" if r["candidate"] else ""
        verdict = f"tie within the band: {', '.join(r['tied'])}{named}."
    flips = f"flips under {', '.join(r['flips'])}" if r["flips"] else "holds across the band"
    return f"{verdict} {'Changing' if r['candidate'] else 'Staying'} {flips}."


def sampled(sample: Document | None, n: int) -> str:
    if sample is None:
        return ""
    s = sample["savings"][n]
    none = ", so it may be none" if s["saving_fraction"] <= s["error"] else ""
    error = f": +/- {percent(s['error'], 2)}{none}" if s["saving_fraction"] else ""
    return f" (from a sample{error})"


def shown(name: str) -> str:
    """A user's own name as the page shows it: what cannot be printed, escaped."""
    return name.replace("\x00", "\\x00").replace("\ud800", "\\ud800").replace("\u2028", "\\u2028")


def float_of(text: str) -> float:
    return float(text.removesuffix("%"))


def starred(options: list[Document]) -> list[list[str]]:
    choice = any(o["flag"] is not None for o in options)
    least = [min(costs) for costs in zip(*(o["total_cost"] for o in options), strict=True)]
    return [
        [
            ("*" if choice and cost == low else "") + ratio(value)
            for cost, low, value in zip(o["total_cost"], least, o["cost_ratio"], strict=True)
        ]
        for o in options
    ]


def report(run: Run, folder: Path, *argv: object) -> tuple[Page, Document]:
    target = folder / "report.html"
    code, out, err = run("analyze", *argv, "--json", "--html", target, "--force")
    assert code == 0, err
    return parse(target.read_text(encoding="utf-8")), json.loads(out)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--model", "Llama-3.1-70B", "--skip", "bound,splits", "--pins", 9),
        ("--capacity-gib", "0.7", "--skip", "bound,tails,coldstart,band,splits,pinsim,causes"),
        ("--sample", 0.95),
        ("--engine", "sglang", "--gpu-gib", 40, "--skip", "bound,splits,band"),
        ("--engine", "vllm", "--gpu-gib", 18, "--skip", "bound,splits,band"),
    ],
)
def test_tables_equal_json(
    run: Run, sample: Path, tmp_path: Path, options: tuple[object, ...]
) -> None:
    page, document = report(run, tmp_path, sample, *options)
    compare(page, document)


@pytest.mark.parametrize("place", ["split-table", "policy-table", "pins-table", "capacity-table"])
def test_the_comparison_bites(run: Run, sample: Path, tmp_path: Path, place: str) -> None:
    page, document = report(run, tmp_path, sample)
    compare(page, document)
    page.tables[place][-1][-2] += "1"
    with pytest.raises(AssertionError):
        compare(page, document)


@pytest.mark.traces
def test_tables_equal_json_on_a_trace(run: Run, traces: Path, tmp_path: Path) -> None:
    page, document = report(run, tmp_path, traces / "conversation_trace.jsonl")
    compare(page, document)


def test_it_is_what_the_other_renderings_say(run: Run, sample: Path, tmp_path: Path) -> None:
    """The page has every sentence of the terminal's summary and footer."""
    code, text, _ = run("analyze", sample, "--html", tmp_path / "r.html")
    assert code == 0
    page = parse((tmp_path / "r.html").read_text(encoding="utf-8"))
    flat = " ".join(page.text.split())
    short = text.partition("WORKLOAD")[0].partition("-\n")[2]
    assert len(short.split()) > 20
    assert " ".join(short.split()).split(". ")[0] in flat
    for sentence in " ".join(short.split()).split(". "):
        assert sentence in flat


EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\ud800\u2028"


def test_names_from_a_log_cannot_act(run: Run, write: Write, tmp_path: Path) -> None:
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
    page, document = report(run, tmp_path, log, *options)
    compare(page, document)
    assert document["parameters"]["model"]["name"].startswith("</script>")
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == names.count("/script") == 1
    assert "img" not in names
    assert "b" not in names
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
    assert "alert(1)" in page.text
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "\x00" not in text


def test_it_needs_nothing_else(run: Run, sample: Path, tmp_path: Path) -> None:
    page, _ = report(run, tmp_path, sample)
    for tag, attrs in page.tags:
        for key in ("src", "href", "xlink:href", "action", "poster", "data"):
            target = attrs.get(key)
            assert target is None or target.startswith(("#", "data:,")), (tag, attrs)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(|https?://", text.partition("<script")[0])
    anchors = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    links = {(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"}
    assert len(links) >= 7
    assert links <= anchors
    assert len(text.encode()) < 200_000


def test_every_figure_has_a_text_alternative_and_a_table(
    run: Run, sample: Path, tmp_path: Path
) -> None:
    page, document = report(run, tmp_path, sample)
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(pictures) == 10
    for attrs in pictures:
        assert len(attrs["aria-label"] or "") > 80
    others = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") != "img"]
    assert all(attrs["aria-hidden"] == "true" for attrs in others)
    best = document["capacity"]["recommended_bytes"]
    assert any(gib(best) in (attrs["aria-label"] or "") for attrs in pictures)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("figure") == tags.count("figcaption") == tags.count("details") == 5


def test_question_1_ends_the_page(run: Run, write: Write, tmp_path: Path) -> None:
    logs: list[list[Document]] = [
        [{"hash_ids": [n]} for n in range(150)],
        [{"hash_ids": [], "input_length": 0}],
    ]
    for n, records in enumerate(logs):
        target = tmp_path / f"{n}.html"
        code, _, err = run("analyze", write(*records), "--html", target)
        assert code == 0, err
        page = parse(target.read_text(encoding="utf-8"))
        assert "Not worth caching" in page.text
        assert "capacity-table" not in page.tables


@pytest.mark.parametrize(
    "records",
    [
        [{"hash_ids": [1, 2]}, {"hash_ids": [1, 2]}],  # floor and working set are the same
        [{"hash_ids": [1]}] * 3,
        [{"hash_ids": [1, n]} for n in range(2, 40)] * 3,
    ],
)
def test_small_logs_are_drawn(
    run: Run, write: Write, tmp_path: Path, records: list[Document]
) -> None:
    page, document = report(run, tmp_path, write(*records))
    compare(page, document)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "nan" not in re.sub(r"<script.*", "", text, flags=re.DOTALL).lower().replace("tenan", "")


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


def test_the_same_log_gives_the_same_bytes(run: Run, sample: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        few = ("--skip", "band,splits,bound")
        assert run("analyze", sample, *few, "--html", tmp_path / f"{name}.html", "-q")[0] == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def row(size: int, lower: float) -> Recoverable:
    values = dict.fromkeys(Recoverable.__dataclass_fields__, 0)
    return Recoverable(**{**values, "bytes": size, "lower_bound_ratio": lower})  # type: ignore[arg-type]


def test_the_bound_between_capacities_is_that_of_the_larger() -> None:
    """By hand: a bound holds at every smaller capacity, never at a larger one."""
    bound = Recovery("", 0, (row(10, 1.5), row(20, 1.2), row(40, 1.0)))
    assert lower_steps(10, 100, bound) == [
        (10, 1.5), (10, 1.5), (10, 1.2), (20, 1.2), (20, 1.0), (40, 1.0), (40, 1.0), (100, 1.0),
    ]  # fmt: skip


def test_scales() -> None:
    for low, high in ((0.001, 0.0011), (0.3, 4000), (5, 5.1), (0.51, 0.93), (1e-6, 1e6)):
        ticks = log_ticks(low, high, 6)
        assert 2 <= len(ticks) <= 7
        assert ticks == sorted(ticks)
        assert all(low <= t <= high for t in ticks)
    for span in (1e-9, 0.37, 1, 12, 9.99e5):
        step = nice_step(span, 5)
        assert span / step <= 5 * (1 + 1e-9)
        assert f"{step:e}"[0] in "125"
