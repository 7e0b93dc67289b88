"""Style sheet of the HTML report: light and dark by the reader's system, narrow pages, print."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --panel: #f5f5f2; --ink: #1c1c1a; --soft: #5b5a55; --rule: #d9d8d2;
  --lru: #2259b8; --best: #a94a06; --bound: #0b6e62; --undecided: #6c6a64;
  --foresight: #6a3fa8; --plain: #52617c; --on-mark: #ffffff;
  --never: #0b6e621f; --link: #2259b8;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #161615; --panel: #21211f; --ink: #ededea; --soft: #b1b0a9; --rule: #3d3c39;
    --lru: #7fb0ff; --best: #f5a85c; --bound: #45c8b5; --undecided: #a3a199;
    --foresight: #bda3f7; --plain: #9fb1d0; --on-mark: #131312;
    --never: #45c8b526; --link: #8fb9ff;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
main, header, footer { max-width: 52rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
footer { padding-bottom: 3rem; color: var(--soft); font-size: .875rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.75rem 0 .5rem; padding-top: .75rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p { margin: .5rem 0; }
a { color: var(--link); }
code { font-family: ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; font-size: .9em;
  overflow-wrap: anywhere; }
.source { color: var(--soft); overflow-wrap: anywhere; }
.answer { font-weight: 600; }
.note { color: var(--soft); font-size: .9rem; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; }
.tiles { display: grid; grid-template-columns: repeat(3, 1fr); gap: .75rem;
  margin: 1.25rem 0; padding: 0; }
.tiles div { background: var(--panel); border-radius: .5rem; padding: .75rem .9rem; }
.tiles dt { color: var(--soft); font-size: .8rem; }
.tiles dd { margin: 0; font-size: 1.35rem; font-weight: 600; line-height: 1.3;
  overflow-wrap: anywhere; }
.tiles dd small { display: block; font-size: .8rem; font-weight: 400; color: var(--soft); }
dl.facts { display: grid; grid-template-columns: minmax(7rem, 11rem) 1fr; gap: .2rem 1rem; margin: .5rem 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
.typed { background: var(--panel); border-radius: .5rem; padding: .6rem .9rem; margin: .5rem 0; }
figure { margin: 1.25rem 0 .25rem; }
figcaption { font-size: .9rem; color: var(--soft); margin-top: .5rem; }
figure > svg { display: block; width: 100%; height: auto; }
svg.narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0; margin: 0 0 .6rem;
  list-style: none; font-size: .875rem; }
.legend li { display: flex; align-items: center; gap: .4rem; }
.swatch { width: 1rem; height: 1rem; flex: none; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  fill: var(--soft); }
svg text.strong { fill: var(--ink); font-weight: 600; paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
svg text.on-mark { fill: var(--on-mark); font-weight: 600; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .rule { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }
svg .lru { fill: var(--lru); }
svg .best { fill: var(--best); stroke: var(--page); stroke-width: 1.5; }
svg .bound, svg .memory { fill: var(--bound); }
svg .undecided { fill: var(--undecided); }
svg .foresight { fill: var(--foresight); }
svg .plain { fill: var(--plain); }
svg .lru-line { fill: none; stroke: var(--lru); stroke-width: 2; stroke-linejoin: round; }
svg .bound-line { fill: none; stroke: var(--bound); stroke-width: 2; stroke-dasharray: 6 3; }
svg .never { fill: var(--never); }
svg .empty { fill: none; stroke: var(--rule); }
svg .error { stroke: var(--lru); stroke-width: 1; }
svg .span { stroke: var(--lru); stroke-width: 3; stroke-linecap: round; }
svg .tick { stroke: var(--ink); stroke-width: 3; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); font-size: .9rem; padding: .3rem 0; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
.caption { color: var(--soft); font-size: .875rem; margin: 1rem 0 .25rem; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: pre; }
tbody th { font-weight: 400; position: sticky; left: 0; background: var(--page); }
th:first-child, td:first-child { text-align: left; padding-left: .2rem; }
td.words { text-align: left; white-space: normal; min-width: 14rem; }
td.word, thead th.word { text-align: left; }
td.cheapest { font-weight: 700; color: var(--best); }
tr.chosen > *, tr.chosen > th[scope=row] { background: var(--panel); }
.bar { display: block; height: .3rem; background: var(--plain); border-radius: 1px; min-width: 1px; }
@media screen and (max-width: 40rem) {
  svg.wide { display: none; }
  svg.narrow { display: block; }
  main, header, footer { padding-left: 1rem; padding-right: 1rem; }
  .tiles { grid-template-columns: repeat(2, 1fr); }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin-bottom: .5rem; }
}
@page { margin: 14mm; }
@media print {
  body { font-size: 10pt; }
  main, header, footer { max-width: none; padding: 0; }
  nav, summary { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  figure, .tiles, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; }
  .tiles div, .typed, tr.chosen > * { border: 1px solid var(--rule); }
  th, td { padding: .15rem .35rem; font-size: 8pt; }
  svg * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
