"""Rewrite what README.md and docs/ quote from commands and code: output, options, modules, lists.

    python scripts/make/pages.py [--traces DIR] [--check]

A quoted block is between ``<!-- generated: NAME -->`` and ``<!-- end -->``; NAME says what it shows.
Output is shortened by the rules below, never by hand. Blocks of the Mooncake traces are rewritten with
``--traces`` only. ``--check`` writes nothing and exits with 1 when a block is not current.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ("analyze", "examples/sample_log.jsonl")
BLOCK = re.compile(r"(?ms)^<!-- generated: ([^\n]+) -->\n(.*?)^<!-- end -->$")

#: What README shows: sections of the report, and of each the lines to keep (all of them without a
#: pattern). ``(pattern, n)`` keeps n lines on either side as well.
README: Sequence[tuple[str, Sequence[tuple[str, int]]]] = (
    ("IN SHORT", ()),
    ("CAPACITY", ((r"hit rate", 1), (r"% .*(floor|lower limit)$", 0), (r"recommended$", 1))),
)


#: What to do about each cause of a miss.
ADVICE = {
    "common_start": "use smaller blocks, if your server has them: 16 tokens where yours are larger",
    "shorter_than_a_block": "use smaller blocks, if your server has them",
    "tool_order": "sort the tools before sending them",
    "near_identical_start": "move timestamps and ids from the start of the prompt to its end",
    "new_start": "nothing: a new prompt",
    "new_below": "nothing: new text after a known beginning",
    "evicted": "more memory; the only cause that depends on capacity",
}


class Stale(Exception):
    """A rule that the output no longer fits."""


@functools.cache
def printed(*words: str) -> str:
    """Stdout of one command, run in this process."""
    from cache_worthy.cli import main as cache_worthy

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = cache_worthy([*words, "--quiet"])
    if code:
        raise Stale(f"cache-worthy {' '.join(words)}: exit code {code}")
    return out.getvalue()


def sections(report: str) -> dict[str, list[str]]:
    """The sections of a terminal report by the first words of their titles; each with its title."""
    lines = report.splitlines()
    starts = [i - 1 for i, line in enumerate(lines) if re.fullmatch(r"  -{60,}", line)]
    found = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name = lines[start].strip().split("   ")[0]
        found[name] = "\n".join(lines[start:end]).rstrip().splitlines()
    return found


def section(report: str, name: str) -> list[str]:
    """One section of a report."""
    found = sections(report)
    if name not in found:
        raise Stale(f"the report has no section {name}: {', '.join(found)}")
    return found[name]


def shortened(lines: Sequence[str], rules: Sequence[tuple[str, int]]) -> list[str]:
    """The title, and the lines that a rule keeps; ``[...]`` stands for what is left out between.

    Examples
    --------
    >>> shortened(["T", "--", "a 1", "b 2", "c 3"], [("b", 0)])
    ['T', '--', '    [...]', 'b 2']
    """
    if not rules:
        return list(lines)
    kept = {0, 1}
    for pattern, around in rules:
        hits = [i for i, line in enumerate(lines) if i > 1 and re.search(pattern, line)]
        if not hits:
            raise Stale(f"{lines[0].strip()}: no line with {pattern}")
        for hit in hits:
            kept.update(range(max(2, hit - around), min(len(lines), hit + around + 1)))
    short: list[str] = []
    for i, line in enumerate(lines):
        if i in kept:
            short.append(line)
        elif line.strip() and short[-1] != "    [...]":
            short.append("    [...]")
    return short if short[-1] != "    [...]" else short[:-1]


def fenced(lines: Sequence[str]) -> str:
    """Lines as a text block of Markdown."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"```text\n{text}\n```"


def readme_run() -> str:
    """The sample run, as README shows it."""
    report = printed(*SAMPLE)
    parts = [shortened(section(report, name), rules) for name, rules in README]
    return fenced("\n\n".join("\n".join(part) for part in parts).splitlines())


def sample_section(name: str) -> str:
    """One section of the sample run, whole."""
    return fenced(section(printed(*SAMPLE), name))


def server_section(engine: str) -> str:
    """What the sample run says about one server."""
    report = printed(*SAMPLE, "--engine", engine, "--gpu-gib", "80", "--no-bound")
    return fenced(section(report, "SERVER"))


def command_output(words: str) -> str:
    """All that one quick command prints."""
    return fenced(printed(*words.split()).splitlines())


def command_line() -> str:
    """Every command with its arguments and options, from the parser itself."""
    from cache_worthy.commands.parser import build_parser

    parts: list[str] = []
    for name, parser in leaves(build_parser()):
        words = [w for a in parser._get_positional_actions() for w in (a.metavar or a.dest,)]
        head = " ".join(["cache-worthy", name, "[options]", *map(str, words)])
        about = (parser.description or "").strip()
        parts.append(f"## {name}\n\n```text\n{head}\n\n{about}\n```")
        for group in parser._action_groups:
            actions = [a for a in group._group_actions if a.dest != "help"]
            if actions:
                parts.append(f"{(group.title or '').capitalize()}:")
                parts.append("\n".join(option(parser, action) for action in actions))
    return "\n\n".join(parts)


def leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be run, by its name after ``cache-worthy``."""
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not below:
        yield parser.prog.removeprefix("cache-worthy "), parser
    for action in below:
        seen = set()
        for child in action.choices.values():  # an alias names the same parser again
            if child.prog not in seen:
                seen.add(child.prog)
                yield from leaves(child)


def option(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """One argument or option, with its help, as an item of a list."""
    value = ""
    if action.metavar is not None:
        value = str(action.metavar)
    elif action.choices:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    elif action.nargs != 0:
        value = action.dest.upper() if action.option_strings else action.dest
    names = ", ".join(action.option_strings)
    said = parser._get_formatter()._expand_help(action) if action.help else ""
    said = re.sub(r"([*_|\[\]])", r"\\\1", " ".join(said.split())).replace("<", "&lt;")
    return f"- `{' '.join(filter(None, (names, value)))}`: {said}"


def causes() -> str:
    """The causes of a miss by their names in the report, and what to do."""
    from cache_worthy.advise.causes import NAMES

    if NAMES.keys() != ADVICE.keys():
        raise Stale(f"what to do about {', '.join(NAMES.keys() ^ ADVICE.keys())}? (ADVICE)")
    rows = [f"| {NAMES[cause]} | {what} |" for cause, what in ADVICE.items()]
    return "\n".join(["| cause | what to do |", "|---|---|", *rows])


def modules() -> str:
    """The first line of every module, package by package."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        table = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    folders = list(table.values())
    scripts = sorted({p.parent for p in (ROOT / "scripts").rglob("*.py")})
    folders += [p.relative_to(ROOT).as_posix() for p in scripts]
    parts = []
    for folder in folders:
        files = sorted((ROOT / folder).glob("*.py"))
        about = [first_line(p) for p in files if p.name == "__init__.py"]
        rows = [f"| `{p.name}` | {first_line(p)} |" for p in files if p.name != "__init__.py"]
        head = f"## {folder}/\n\n" + "".join(f"{text}\n\n" for text in about)
        parts.append(head + "\n".join(["| module | |", "|---|---|", *rows]) if rows else head)
    return "\n\n".join(part.strip() for part in parts)


def first_line(path: Path) -> str:
    """The first paragraph of a module's text, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    line = " ".join(text.split("\n\n")[0].split())
    line = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", line).replace("``", "`")
    return line.replace("|", r"\|")


def trace_section(folder: Path, name: str) -> str:
    """One section of an analysis of conversation, without its bound."""
    return fenced(section(printed(*conversation(folder), "--no-bound"), name))


def conversation(folder: Path) -> tuple[str, str]:
    """The command line that analyses the trace of the tutorial."""
    return "analyze", str(folder / "conversation_trace.jsonl")


def trace_costs(folder: Path) -> str:
    """Cost over compulsory of the policies on both traces, at four capacities."""
    import cache_worthy

    names = ("lru", "landlord", "freq_landlord", "gdsf", "cost_only", "size_only", "cosigned")
    rows = [f"| trace, capacity | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for trace in ("conversation", "synthetic"):
        log = cache_worthy.read_log(str(folder / f"{trace}_trace.jsonl"))
        for share in (0.02, 0.05, 0.10, 0.25):
            costs = []
            for name in names:
                ratio = cache_worthy.replay(log, name, capacity_fraction=share).cost_ratio
                assert ratio is not None
                costs.append(ratio)
            cells = [f"**{c:.4f}**" if c == min(costs) else f"{c:.4f}" for c in costs]
            rows.append(f"| {trace} {share:.0%} | {' | '.join(cells)} |")
    return "\n".join(rows)


#: Every kind of block: the first word of its name; what follows is its argument.
PLAIN: Mapping[str, Callable[..., str]] = {
    "readme-run": readme_run,
    "section": sample_section,
    "server": server_section,
    "output": command_output,
    "causes": causes,
    "command-line": command_line,
    "modules": modules,
}
OF_TRACES: Mapping[str, Callable[..., str]] = {
    "trace-section": trace_section,
    "trace-costs": trace_costs,
}


def rewritten(text: str, traces: Path | None) -> str:
    """A page with its blocks made anew."""

    def block(found: re.Match[str]) -> str:
        kind, _, rest = found[1].partition(" ")
        words = [rest] if rest else []
        if kind in OF_TRACES:
            if traces is None:
                return found[0]
            made = OF_TRACES[kind](traces, *words)
        elif kind in PLAIN:
            made = PLAIN[kind](*words)
        else:
            raise Stale(f"no such block: {found[1]}")
        return f"<!-- generated: {found[1]} -->\n{made}\n<!-- end -->"

    return BLOCK.sub(block, text)


def main(argv: list[str] | None = None) -> int:
    """Rewrite the pages, or say which are not current; 2 when a rule no longer fits."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--traces", type=Path, metavar="DIR", help="folder with the traces")
    parser.add_argument("--check", action="store_true", help="write nothing")
    args = parser.parse_args(argv)
    stale = 0
    with contextlib.chdir(ROOT):  # commands print the name of the log as it was given
        traces = args.traces
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
            old = page.read_text(encoding="utf-8")
            try:
                new = rewritten(old, traces)
            except Stale as error:
                print(f"{page.relative_to(ROOT)}: {error}", file=sys.stderr)
                return 2
            if new != old:
                stale += 1
                print(f"{page.relative_to(ROOT)}: {'not current' if args.check else 'rewritten'}")
                if not args.check:
                    page.write_text(new, encoding="utf-8")
    if args.check and stale:
        print("run python scripts/make/pages.py", file=sys.stderr)
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
