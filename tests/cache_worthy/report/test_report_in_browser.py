"""The HTML report in headless Chromium: what only a browser can say.

Skipped loudly where there is no Chromium (``pytest -rs`` shows it); ``.ci/run`` installs one.
Contrast is computed as WCAG 2.2 defines it (sections 1.4.3 and 1.4.11).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import find_chromium, open_chromium
from playwright.sync_api import Browser, Dialog, Page

from cache_worthy.cli import main

SAMPLE = Path(__file__).resolve().parents[3] / "examples" / "sample_log.jsonl"
CHROMIUM = find_chromium()

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="NO CHROMIUM: the HTML report was not opened in a browser (apt-get install chromium)",
    ),
]

FIGURES = 5

TEXT, MARKS = 4.5, 3.0
"""Least contrast of text, and of what a figure is read by."""

#: Every visible text with its colour and the colour behind it; of SVG text, the fill.
TEXTS = """() => {
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!c.endsWith(', 0)')) return c;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest('script, title')) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
    if (svg && e.classList.contains('on-mark')) continue;
    found.push([e.textContent.trim().slice(0, 40), svg ? style.fill : style.color, behind(e)]);
  }
  return found;
}"""

#: The marks of the figures, each colour once, with the colour behind the picture.
MARK_COLOURS = """() => {
  const found = {}, page = getComputedStyle(document.body).backgroundColor;
  const marks = ['.lru', '.best', '.bound', '.memory', '.undecided', '.foresight', '.plain', '.tick',
                 '.lru-line', '.bound-line', '.axis', '.span'];
  for (const mark of marks) {
    const e = document.querySelector('svg.wide ' + mark + ', svg.swatch ' + mark);
    if (!e) continue;
    const style = getComputedStyle(e);
    found[mark] = style.fill === 'none' || e.tagName === 'line' ? style.stroke : style.fill;
  }
  return [found, page];
}"""

#: Text inside of bars, and the colour of the bar before it.
ON_MARKS = """() => [...document.querySelectorAll('svg .on-mark')].filter(e => e.checkVisibility()).map(
  e => [e.textContent, getComputedStyle(e).fill, getComputedStyle(e.previousElementSibling).fill])"""

#: Texts of a picture that overlap one another or leave it.
CROWDED = """() => {
  const bad = [];
  for (const svg of document.querySelectorAll('svg[role=img]')) {
    if (!svg.checkVisibility()) continue;
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]);
    for (const [name, box] of texts)
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1) bad.push(name + ' leaves the picture');
    for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
      const [a, p] = texts[i], [b, q] = texts[j];
      if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)
        bad.push(a + ' over ' + b);
    }
  }
  return bad;
}"""


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(r, g, b)``, WCAG 2.2."""
    channels = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_by_hand() -> None:
    """Black on white is 21 by definition; #767676 is the lightest grey that white takes for text."""
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(118, 118, 118)", "rgb(255, 255, 255)") == pytest.approx(4.54, abs=0.01)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") < TEXT


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with open_chromium(CHROMIUM) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The page of the sample log, and the document of the same run."""
    folder = tmp_path_factory.mktemp("report")
    page, document = folder / "r.html", folder / "r.json"
    argv = ["analyze", str(SAMPLE), "--capacity-gib", "0.9", "--json", "-o", str(document)]
    argv += ["--block-size", "512", "--chars-per-token", "4"]
    assert main([*argv, "--html", str(page), "-q"]) == 0
    return page, json.loads(document.read_text(encoding="utf-8"))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., tuple[Page, list[str]]]]:
    """Open a page; what it asked for and complained of is listed."""
    pages = []

    def open_page(path: Path, width: int = 1280, scheme: Any = "light") -> tuple[Page, list[str]]:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        heard: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            heard.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", lambda m: heard.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: heard.append(f"error: {e}"))
        page.on("dialog", dismiss)
        page.on("request", lambda r: heard.append(f"request: {r.url}"))
        page.goto(path.as_uri())
        return page, heard

    yield open_page
    for page in pages:
        page.close()


def complaints(path: Path, heard: list[str]) -> list[str]:
    """What was heard beside the page itself and the empty icon that stands in it."""
    return [h for h in heard if h not in (f"request: {path.as_uri()}", "request: data:,")]


def test_it_renders_quietly_and_carries_the_document(
    opened: Callable[..., tuple[Page, list[str]]], report: tuple[Path, dict[str, Any]]
) -> None:
    path, document = report
    page, heard = opened(path)
    assert complaints(path, heard) == []
    # Parsed here: a script's numbers are floats, and block ids are larger than those count.
    embedded = page.locator("#cache-worthy-document").text_content() or ""
    assert json.loads(embedded) == document
    assert page.evaluate("text => JSON.parse(text).command", embedded) == "analyze"
    assert page.title() == f"Prefix cache report: {document['input']['source']}"
    sections = page.locator("h2").all_inner_texts()
    assert sections[0] == "In short"
    assert len(sections) >= 8
    # Every picture that is to be seen has a name, as assistive technology computes it.
    images = page.get_by_role("img")
    assert images.count() == FIGURES
    for n in range(FIGURES):
        assert len(images.nth(n).get_attribute("aria-label") or "") > 80
    page.locator("summary").first.click()
    assert page.locator("#reuse-table").is_visible()


def test_a_complaint_would_be_heard(
    opened: Callable[..., tuple[Page, list[str]]],
    report: tuple[Path, dict[str, Any]],
    tmp_path: Path,
) -> None:
    """The same page with a foreign image, and one whose policy lets a script run."""
    text = report[0].read_text(encoding="utf-8")
    foreign = tmp_path / "foreign.html"
    foreign.write_text(text.replace("<main>", '<main><img src="http://127.0.0.1:9/x">'))
    assert complaints(foreign, opened(foreign)[1])
    loose = tmp_path / "loose.html"
    loose.write_text(
        text.replace("default-src &#39;none&#39;", "default-src 'unsafe-inline'").replace(
            "<main>", "<main><script>alert(1)</script>"
        )
    )
    assert "dialog: 1" in complaints(loose, opened(loose)[1])


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_page_is_wider_than_its_window(
    opened: Callable[..., tuple[Page, list[str]]],
    report: tuple[Path, dict[str, Any]],
    width: int,
) -> None:
    page, _ = opened(report[0], width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CROWDED) == []
    shown = page.locator("figure > svg:visible").evaluate_all("e => e.map(x => x.classList[0])")
    assert shown == ["wide" if width > 640 else "narrow"] * FIGURES
    # Text in a drawing is as large as it was drawn, not scaled down with it.
    assert page.evaluate(
        "[...document.querySelectorAll('figure > svg')].filter(e => e.checkVisibility())"
        ".every(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width > 0.8)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(
    opened: Callable[..., tuple[Page, list[str]]],
    report: tuple[Path, dict[str, Any]],
    scheme: str,
) -> None:
    page, _ = opened(report[0], 1280, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(background) > 0.5) == (scheme == "light")
    texts = page.evaluate(TEXTS)
    assert len(texts) > 300
    assert [t for t in texts if contrast(t[1], t[2]) < TEXT] == []
    marks, behind = page.evaluate(MARK_COLOURS)
    assert len(marks) == 12
    assert {m: c for m, c in marks.items() if contrast(c, behind) < MARKS} == {}
    inside = page.evaluate(ON_MARKS)
    assert inside
    assert [t for t in inside if contrast(t[1], t[2]) < TEXT] == []


def test_print_is_light_and_shows_the_numbers(
    opened: Callable[..., tuple[Page, list[str]]], report: tuple[Path, dict[str, Any]]
) -> None:
    page, _ = opened(report[0], 1280, "dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert not page.locator("nav").is_visible()
    assert page.locator("#capacity-table").is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_hostile_names_do_not_act(
    opened: Callable[..., tuple[Page, list[str]]], tmp_path: Path
) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    records = [
        {
            "messages": [{"role": "user", "content": "x" * 4000}],
            "model": evil,
            "tenant": f"{evil}{n}",
        }
        for n in (0, 1, 0, 1)
    ]
    log, path = tmp_path / "log.jsonl", tmp_path / "r.html"
    log.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    options = ["--salt-field", "tenant", "--no-bound", "-q", "-o", str(tmp_path / "r.txt")]
    assert main(["analyze", str(log), *options, "--html", str(path)]) == 0
    page, heard = opened(path)
    assert complaints(path, heard) == []
    assert "alert(1)" in page.locator("main").inner_text()
    assert page.locator("img[src=x]").count() == 0
