"""Real documents of every command meet their published schema, by an independent validator (rank 5).

``jsonschema`` judges; the mutations show that it can refuse: every field that stands in a document
is removed, renamed and mistyped in turn.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cache_worthy import documents as published
from cache_worthy.commands.parser import build_parser
from cache_worthy.documents import jsonable

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]
Document = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "formats"
INSTANCE = {
    "parent": [None, 0, None, 2],
    "size": [1, 1, 1, 1],
    "cost": [0, 5, 0, "7/2"],
    "requests": [1, 3, 1, 3],
    "k": 3,
    "h": 2,
}
STUDY = ("--prefix-lens", "0,32", "--requests", 4, "--repeats", 1)


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = published.schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(name: str, document: Document) -> None:
    validator(name).validate(document)


FEW = ("--skip", "band,splits,pinsim,tails,coldstart")
ANALYZE: list[tuple[object, ...]] = [
    (),
    ("--no-bound", "--pins", 1, *FEW),
    ("--model", "Llama-3.1-70B", "--capacity-gib", 2, "--block-size", 128, *FEW),
    ("--engine", "sglang", "--gpu-gib", 40, "--no-bound", *FEW),
    ("--engine", "sglang", "--sglang-version", "0.5.5", "--no-bound", *FEW),
    ("--engine", "vllm", "--gpu-gib", 17, "--no-bound", "--capacity-fraction", 0.2, *FEW),
]


@pytest.mark.parametrize("options", ANALYZE)
def test_analyze(run: Run, sample: Path, options: tuple[object, ...]) -> None:
    code, out, _ = run("analyze", sample, "--json", *options)
    assert code == 0
    document = json.loads(out)
    check("analyze", document)
    assert list(document)[:4] == ["tool", "version", "command", "schema"]
    assert document["schema"] == published.schema_id("analyze")


def test_analyze_of_odd_logs(run: Run, write: Write) -> None:
    for records in (
        [{"hash_ids": [], "input_length": 0}],
        [{"hash_ids": [n]} for n in range(150)],
        [{"hash_ids": [1, 2], "timestamp": 2}, {"hash_ids": [1, 3], "timestamp": 1}] * 3,
        [{"prompt": "</script> \ud800 é" * 400, "model": "</a>"}] * 3,
    ):
        code, out, err = run("analyze", write(*records), "--json", "--allow-partial")
        assert code == 0, err
        check("analyze", json.loads(out))


def test_analyze_of_every_format(run: Run) -> None:
    logs = [p for p in sorted(FOLDER.iterdir()) if p.is_file() and p.name.startswith("o")]
    assert len(logs) >= 3
    for log in logs:
        code, out, err = run("analyze", log, "--json", "--no-bound", "-q", "--block-size", 16, *FEW)
        assert code == 0, err
        check("analyze", json.loads(out))


@pytest.mark.parametrize(
    "options",
    [
        ("lru",),
        ("cosigned", "--per-request"),
        ("s3fifo", "--small-ratio", 0.3, "--max-freq", 2),
        ("vllm_lru", "--partial-blocks", "drop", "--per-request"),
        ("sglang_slru", "--policy-config", '{"protected_threshold": 3}', "--page-size", 64),
    ],
)
def test_replay(coarse: Run, sample: Path, options: tuple[object, ...]) -> None:
    argv = ("replay", sample, "--json", "--capacity-blocks", 40, "--policy", *options)
    code, out, err = coarse(*argv)
    assert code == 0, err
    document = json.loads(out)
    check("replay", document)
    assert ("per_request" in document) == ("--per-request" in options)


def test_bound(coarse: Run, sample: Path, tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    costs.write_text(json.dumps([n * n for n in range(40)]), encoding="utf-8")
    for options in ((), ("--costs", costs)):
        code, out, err = coarse("bound", sample, "--capacity-blocks", 40, "--json", *options)
        assert code == 0, err
        check("bound", json.loads(out))


def test_registries(run: Run) -> None:
    for name in ("policies", "formats"):
        code, out, _ = run(name, "--json")
        assert code == 0
        check(name, json.loads(out))


def test_study(run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = write(*[{"prompt": "word " * n} for n in (40, 40, 60, 80)])
    for options in ((*STUDY, "--repeat-probe"), ("--log", log, "--block-size", 16)):
        code, out, err = run("study", *options, "--json", "--results", "r.csv", "--force")
        assert code == 0, err
        check("study", json.loads(out))


def test_adversary(run: Run, tmp_path: Path) -> None:
    instance = tmp_path / "instance.json"
    instance.write_text(json.dumps(INSTANCE), encoding="utf-8")
    small = ("--policy", "landlord", "--max-nodes", 4, "--k", 3, "--h", 2, "--max-requests")
    play = ("--policy", "gdsf", "--k", 9, "--h", 5, "--path", 5, "--phases", 2)
    for action, code, options in (
        ("check", 0, (instance,)),
        ("find", 1, (*small, 6)),
        ("find", 0, (*small, 3, "--ratio", "4/3")),
        ("play", 0, play),
    ):
        got, out, err = run("adversary", action, *options, "--json")
        assert got == code, err
        check(f"adversary-{action}", json.loads(out))


def test_every_command_with_json_has_a_schema() -> None:
    (sub,) = (a for a in build_parser()._actions if getattr(a, "choices", None))
    found = set()
    for command, parser in dict(sub.choices or {}).items():
        actions = [a for a in parser._actions if isinstance(getattr(a, "choices", None), dict)]
        children = dict(actions[0].choices) if actions else {"": parser}
        found |= {
            f"{command}-{child}".strip("-")
            for child, options in children.items()
            if "--json" in options.format_usage()
        }
    assert found == set(published.DOCUMENTS)


def first_elements(value: Any) -> Any:
    """The same document with lists of one element."""
    if isinstance(value, dict):
        return {key: first_elements(part) for key, part in value.items()}
    return [first_elements(part) for part in value[:1]] if isinstance(value, list) else value


def mutations(value: Any, schema: Document, defs: Document, where: str) -> Iterator[str]:
    """Change one place of ``value``, say which, and put it back.

    Of a list its first element, of a dataclass that stands in several places the first.
    """
    if "$ref" in schema:
        schema = defs.pop(schema["$ref"].rpartition("/")[2], {})
    if "anyOf" in schema:
        for part in schema["anyOf"]:
            if isinstance(value, dict | list) and part.get("type") not in ("null", "string"):
                yield from mutations(value, part, defs, where)
    elif isinstance(value, list) and value and isinstance(schema.get("items"), dict):
        yield from mutations(value[0], schema["items"], defs, f"{where}[0]")
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for key in list(value)[:1]:
            kept = value[key]
            value[key] = [{}]
            yield f"{where}.{key} mistyped"
            value[key] = kept
    elif isinstance(value, dict) and "properties" in schema:
        for key in list(value):
            kept, before = value[key], dict(value)
            if key in schema["required"]:
                del value[key]
                yield f"{where}.{key} removed"
            value[f"{key}_"] = kept
            yield f"{where}.{key} renamed"
            del value[f"{key}_"]
            value[key] = "text" if isinstance(kept, list) else [{}]
            yield f"{where}.{key} mistyped"
            value.clear()
            value.update(before)
            yield from mutations(kept, schema["properties"][key], defs, f"{where}.{key}")


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("analyze", ("analyze", "LOG", "--engine", "sglang", "--gpu-gib", "40")),
        (
            "replay",
            ("replay", "LOG", "--policy", "lru", "--capacity-blocks", "40", "--per-request"),
        ),
        ("bound", ("bound", "LOG", "--capacity-blocks", "40")),
        ("policies", ("policies",)),
        ("formats", ("formats",)),
    ],
)
def test_the_schema_bites(
    run: Run, coarse: Run, sample: Path, name: str, argv: tuple[str, ...]
) -> None:
    call = coarse if "LOG" in argv else run
    _, out, _ = call(*(str(sample) if a == "LOG" else a for a in argv), "--json")
    # Of every list the first element stands for the others; a whole document takes half a minute.
    document, schema = first_elements(json.loads(out)), published.schema(name)
    judge = validator(name)
    before, count = copy.deepcopy(document), 0
    for change in mutations(document, schema, copy.copy(schema["$defs"]), name):  # type: ignore[arg-type]
        assert not judge.is_valid(document), change
        count += 1
    assert document == before
    judge.validate(document)
    assert count > 3 * len(document)


@dataclass(frozen=True, slots=True)
class Part:
    """A part.

    Attributes
    ----------
    share : float or None
        Of all.
    """

    share: float | None
    exact: int | Fraction
    """An exact number,
    in two lines."""
    names: tuple[str, ...]
    pair: tuple[int, str]
    counts: dict[int, int]


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole."""

    part: Part | None
    hidden: object = field(metadata={"json": False})
    more: int | None = field(metadata={"optional": True})


def test_the_rules_of_jsonable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule by hand: what is written validates, and its neighbour does not."""
    monkeypatch.setattr(published, "DOCUMENTS", {"whole": f"{__name__}:Whole"})
    judge = validator("whole")
    part = Part(float("nan"), Fraction(1, 3), ("a",), (1, "b"), {-1: 2})
    written = published.document("whole", Whole(part, object(), None))
    assert written == {
        "tool": "cache-worthy",
        "version": written["version"],
        "command": "whole",
        "schema": "urn:cache-worthy:whole:1",
        "part": {
            "share": None,
            "exact": "1/3",
            "names": ["a"],
            "pair": [1, "b"],
            "counts": {"-1": 2},
        },
    }
    for good in (written, published.document("whole", Whole(None, 0, 3))):
        judge.validate(good)
    inner = written["part"]
    assert isinstance(inner, dict)
    for change in (
        {"share": "0.5"},
        {"exact": 0.5},
        {"exact": "1/x"},
        {"names": [1]},
        {"pair": [1]},
        {"pair": [1, "b", 2]},
        {"counts": {"x": 1}},
        {"counts": {"1": "x"}},
        {"another": 1},
    ):
        assert not judge.is_valid({**written, "part": {**inner, **change}}), change
    for other in ({"more": None}, {"hidden": 1}, {"schema": "urn:cache-worthy:whole:2"}):
        assert not judge.is_valid({**written, **other}), other
    assert jsonable(part) == inner
    properties = published.schema("whole")["$defs"]["Part"]["properties"]  # type: ignore[index]
    assert properties["share"] == {"type": ["number", "null"], "description": "Of all."}
    assert properties["exact"]["description"] == "An exact number, in two lines."
    assert "description" not in properties["names"]


def test_a_field_without_a_json_form_is_refused() -> None:
    @dataclass
    class Bad:
        what: object

    with pytest.raises(TypeError, match=r"Bad\.what"):
        published._Definitions().fields(Bad)


def test_the_command(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("schema")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(published.DOCUMENTS)
    for name in published.DOCUMENTS:
        code, out, _ = run("schema", name)
        assert code == 0
        assert json.loads(out) == published.schema(name)
    assert run("schema", "replay", "-o", tmp_path / "s.json")[0] == 0
    code, _, err = run("schema", "nothing")
    assert code == 2
    assert "expected one of analyze" in err
