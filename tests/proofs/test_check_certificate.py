"""The stand-alone checker: an independent evaluation, and every way to cheat is refused."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cases import block_cases, instance_of_trace

from cache_worthy.oracles.bound import lp as lp_module
from cache_worthy.oracles.bound.certificate import (
    Certified,
    Prices,
    certify,
    evaluate,
    to_json,
)
from cache_worthy.oracles.bound.groups import BlockTrace, group_references, trace_of_requests
from cache_worthy.oracles.bound.lp import Link
from cache_worthy.oracles.bound.offline import offline_bound
from cache_worthy.oracles.optimum.optimal import optimal_cost

CHECKER = Path(__file__).resolve().parents[2] / "proofs" / "check_certificate.py"

REQUESTS = [(1, 2, 3), (4, 5), (1, 2, 3), (4, 5), (6,), (1, 2, 3), (4, 5), (1, 7)]
COST = [0, 2, 5, 9]


def load() -> Any:
    spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = load()


def as_trace(requests: list[tuple[int, ...]]) -> str:
    return "".join(json.dumps({"hash_ids": r}) + "\n" for r in requests)


def check(trace: BlockTrace, document: dict[str, Any]) -> str:
    depth = [n - 1 for n in trace.size_upto]
    sentence: str = checker.check(document, trace.terminal, trace.parent, depth)
    return sentence


@settings(max_examples=150, deadline=None)
@given(block_cases(), st.randoms(use_true_random=False))
def test_agrees_with_the_oracle_on_any_prices(
    case: tuple[list[tuple[int, ...]], list[int], int], random: Random
) -> None:
    requests, cost, capacity = case
    trace = trace_of_requests(requests, cost)
    grouped = group_references(trace)
    rows = lp_module._dependency_rows(trace, grouped, every=True)
    prices = Prices(
        denominator=random.choice([1, 3, 10]),
        room=tuple(random.choice([0, 0, 1, 2, 5, 40]) for _ in trace.terminal),
        links=tuple((row.link, random.choice([1, 3, 20])) for row in rows if random.random() < 0.7),
    )
    bound = evaluate(trace, grouped, capacity, prices)
    certified = Certified(prices=prices, bound=bound, rows="A3")
    document = json.loads(to_json(trace, capacity, certified))
    sentence = check(trace, document)
    assert sentence.startswith(f"certified lower bound {trace.in_cost(certified.bound)}\n")
    assert trace.in_cost(certified.bound) <= optimal_cost(instance_of_trace(trace), capacity) * int(
        trace.unit
    )


def run(trace: Path, certificate: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code: int = checker.main([str(trace), str(certificate)])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path, int]:
    trace = trace_of_requests(REQUESTS, COST)
    bound = offline_bound(trace, 4)
    (tmp_path / "trace.jsonl").write_text(as_trace(REQUESTS), encoding="utf-8")
    (tmp_path / "certificate.json").write_text(to_json(trace, 4, bound.certified), encoding="utf-8")
    return tmp_path / "trace.jsonl", tmp_path / "certificate.json", bound.lower


Edit = Callable[[dict[str, Any]], object]


def edit(file: Path, change: Edit) -> None:
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document), encoding="utf-8")


def test_certifies_a_trace_under_any_labels(pair: tuple[Path, Path, int]) -> None:
    trace, certificate, lower = pair
    done = subprocess.run(  # as a user runs it, isolated from the project
        [sys.executable, "-I", "-S", str(CHECKER), str(trace), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    code, out, err = run(trace, certificate)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)
    assert (code, err) == (0, "")
    assert f"certified lower bound {lower}\n" in out
    renamed = [tuple(f"id-{b}" for b in r) for r in REQUESTS]
    trace.write_text("\n".join(json.dumps({"hash_ids": r, "x": 1}) for r in renamed))
    assert run(trace, certificate) == (code, out, err)


def test_a_price_changed_by_hand_is_another_bound_and_never_a_better_one(
    pair: tuple[Path, Path, int],
) -> None:
    trace, certificate, lower = pair
    original = certificate.read_text(encoding="utf-8")
    document = json.loads(original)
    optimum = int(optimal_cost(instance_of_trace(trace_of_requests(REQUESTS, COST)), 4))
    weaker = 0
    for t in range(len(REQUESTS)):
        for price in (0, document["prices"][t] + 1, 50):
            changed = json.loads(original)
            changed["prices"][t] = price
            changed["lower_bound"] = None
            sentence = check(trace_of_requests(REQUESTS, COST), changed)
            value = int(sentence.split("\n")[0].rsplit(" ", 1)[1])
            assert value <= lower <= optimum
            weaker += value < lower
            if value < lower:  # and the old claim no longer holds
                changed["lower_bound"] = lower
                certificate.write_text(json.dumps(changed), encoding="utf-8")
                code, out, err = run(trace, certificate)
                assert (code, out) == (1, "")
                assert "claims" in err
    assert weaker > 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(lower_bound=d["lower_bound"] + 1), "its prices give"),
        (lambda d: d["trace"].update(sha256="0" * 64), "the certificate is for trace 0000"),
        (lambda d: d["prices"].__setitem__(3, -1), "a price is negative"),
        (lambda d: d["prices"].append(0), "9 prices for 8 requests"),
        (lambda d: d.update(capacity_blocks=2), "below the longest path, 3"),
        (lambda d: d.update(capacity_blocks=5), "claims"),
        (lambda d: d.update(denominator=0), "must be positive"),
        (lambda d: d["cost"].update(cumulative=[0, 5, 4, 9]), "not fall"),
        (lambda d: d["cost"].update(cumulative=[0, 5, 6]), "reach the longest path"),
        (lambda d: d["cost"].update(cumulative=[3, 5, 6, 9]), "start at 0"),
        (lambda d: d["links"].append([2, 1, 2, -1]), "out of range"),
        (lambda d: d["links"].append([2, 0, 2, 1]), "out of range"),
        (lambda d: d["links"].append([2, 1, 99, 1]), "out of range"),
        (lambda d: d["links"].append([2, 9, 2, 1]), "names no child and parent"),
        (lambda d: d["links"].append([5, 1, 3, 1]), "names no child and parent"),
        (lambda d: d["links"].append([0, 1, 0, 1]), "names no interval"),
        (lambda d: d["links"].append([5, 1, 2, 1]), "names no interval"),
    ],
)
def test_refuses(change: Edit, message: str, pair: tuple[Path, Path, int]) -> None:
    trace, certificate, _ = pair
    edit(certificate, change)
    code, out, err = run(trace, certificate)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_refuses_another_trace(pair: tuple[Path, Path, int]) -> None:
    trace, certificate, _ = pair
    trace.write_text(as_trace([*REQUESTS[:-1], (1, 8, 9)]), encoding="utf-8")
    code, out, err = run(trace, certificate)
    assert (code, out) == (1, "")
    assert "this one is" in err


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "cache-worthy certificate 1"}', '{"format": "something else"}'],
)
def test_cannot_run_on_no_certificate(text: str, pair: tuple[Path, Path, int]) -> None:
    trace, certificate, _ = pair
    certificate.write_text(text, encoding="utf-8")
    code, out, err = run(trace, certificate)
    assert (code, out) == (2, "")
    assert err.startswith("cannot check: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(prices=[0.5] * 8),
        lambda d: d.update(prices=[True] * 8),
        lambda d: d.update(capacity_blocks="4"),
        lambda d: d.update(lower_bound=1.5),
        lambda d: d["cost"].update(cumulative=[0, 2.0, 5, 9]),
        lambda d: d.update(links=[[1, 2, 3]]),
        lambda d: d.pop("cost"),
        lambda d: d.update(trace=[]),
    ],
)
def test_cannot_run_on_inexact_or_missing_fields(
    change: Edit, pair: tuple[Path, Path, int]
) -> None:
    trace, certificate, _ = pair
    edit(certificate, change)
    assert run(trace, certificate)[0] == 2


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"hash_ids": 3}', '{"hash_ids": [1.5]}'])
def test_cannot_run_on_no_trace(line: str, pair: tuple[Path, Path, int]) -> None:
    trace, certificate, _ = pair
    trace.write_text(line + "\n", encoding="utf-8")
    code, _, err = run(trace, certificate)
    assert code == 2
    assert "line 1" in err


def test_usage_and_missing_files(tmp_path: Path) -> None:
    assert run(tmp_path / "none", tmp_path / "nothing")[0] == 2
    assert checker.main(["one"]) == 2


def test_a_link_where_it_needs_closure_is_said(pair: tuple[Path, Path, int]) -> None:
    """A price on a parent's interval that ends earlier is for ancestor-closed caches only."""
    requests = [(1, 2), (3,), (1,), (3,), (1, 2)]
    trace = trace_of_requests(requests, [0, 1, 2])
    grouped = group_references(trace)
    for link, whom in ((Link(4, 1, 4), False), (Link(4, 1, 2), True)):
        prices = Prices(1, (0,) * 5, ((link, 1),))
        certified = Certified(prices, evaluate(trace, grouped, 2, prices), "A3")
        sentence = check(trace, json.loads(to_json(trace, 2, certified)))
        assert ("ancestor-closed" in sentence) == whom


def test_imports_the_standard_library_only() -> None:
    tree = ast.parse(CHECKER.read_text(encoding="utf-8"))
    roots = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert roots
    assert roots <= sys.stdlib_module_names


@cache
def certificates() -> list[tuple[BlockTrace, dict[str, Any], int]]:
    """Seeded traces, certificates with the solver's links and with random ones, the optimum."""
    out = []
    rng = Random(2)
    for _ in range(60):
        requests = [tuple(rng.randrange(2) for _ in range(rng.randint(1, 4))) for _ in range(12)]
        trace = trace_of_requests(requests, sorted([0, *(rng.randrange(30) for _ in range(4))]))
        capacity = max(4, len(trace.parent) // 2)
        grouped = group_references(trace)
        answer = lp_module.relax(trace, grouped, capacity, rows="A3")
        optimum = optimal_cost(instance_of_trace(trace), capacity) * int(trace.unit)
        rows = lp_module._dependency_rows(trace, grouped, every=True)
        some = [(row.link, float(rng.randrange(30))) for row in rows if rng.random() < 0.4]
        for links in (answer.links, some):
            certified = certify(trace, grouped, capacity, answer.prices, links)
            document = json.loads(to_json(trace, capacity, certified))
            document["lower_bound"] = None
            out.append((trace, document, int(optimum)))
    return out


def above_the_optimum(module: Any) -> int:
    """How many of the certificates a checker takes for more than the optimum."""
    count = 0
    for trace, document, optimum in certificates():
        depth = [n - 1 for n in trace.size_upto]
        sentence = module.check(document, trace.terminal, trace.parent, depth)
        count += int(sentence.split("\n")[0].rsplit(" ", 1)[1]) > optimum
    return count


def test_the_checker_is_never_above_the_optimum_here() -> None:
    assert above_the_optimum(checker) == 0
    assert sum(bool(document["links"]) for _, document, _ in certificates()) > 3


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("before[s + 1]", "before[s]"),
        ("(capacity - len(path))", "(capacity - len(path) - 1)"),
        ("best = max(best, running)", "best = running"),
        ("+ extra.get((t, d), 0)", "- extra.get((t, d), 0)"),
        ("bound += scale * cost\n                running", "bound += scale * cost + 1; running"),
    ],
)
def test_a_broken_checker_is_caught(line: str, broken: str) -> None:
    source = CHECKER.read_text(encoding="utf-8")
    assert source.count(line) == 1
    module = types.ModuleType("broken")
    exec(compile(source.replace(line, broken), "broken", "exec"), module.__dict__)  # noqa: S102
    assert above_the_optimum(module) > 0
