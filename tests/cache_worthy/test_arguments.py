"""Every argument of the public functions against values of every kind: right, or one error.

The error is ``InputError`` and names the argument; no value is taken for another one, and none raises
anything else.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_policies import Shallow, Untouched

import cache_worthy
from cache_worthy.logs.log import Log
from cache_worthy.logs.options import ReadOptions
from cache_worthy.measure.policies import PARAMETERS
from cache_worthy.sim.cost import DEFAULT_MODEL
from cache_worthy.sim.radix.policies import POLICIES

api: Any = cache_worthy  # for arguments of no right type

ROOT = Path(__file__).resolve().parents[2]


class Unshowable:
    """Nothing can be asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


class Broken(Untouched):
    """Cannot be made."""

    name = "broken"

    def __init__(self) -> None:
        raise ZeroDivisionError("of\nits\nown")


class Late(Untouched):
    """Fails in the replay."""

    name = "late"

    def on_hit(self, node: Any, clock: int) -> None:
        raise ZeroDivisionError("of\nits\nown")

    on_insert = on_hit


def named(name: object) -> type[Untouched]:
    return type("Named", (Untouched,), {"name": name})


VALUES = """
None; True; False; np.True_; 0; 1; 3; -1; 10**30; 10**400; 0.5; 1.0; 1.5; 1e300; math.nan; math.inf
1j; Fraction(1, 2); Fraction(10**400); Decimal("0.5"); -math.inf; np.float64(math.nan)
np.int64(3); np.uint8(1); np.float32(0.5); np.array(3); np.arange(9); np.arange(9.0); np.eye(2)
np.array(["bound"]); np.array([], dtype=np.int64); np.datetime64("2020-01-01")
""; "x"; "no"; "3"; "0.5"; "lru"; "bound"; "\\0"; "a\\nb"; "\\ud800"; "x" * 5000; b"x"; bytearray(b"x")
"--model"; "{}"; "[" * 100000; "{" * 5000; '{"protected_threshold": 3}'; '{"a": 1}'; '{"a": true}'
(); []; [1]; [None]; ["bound"]; ["bound", 3]; [[]]; {}; {"a": 1}; {1: 1}; {"a": None}; set(); {"bound"}
{"protected_threshold": np.int64(3)}; {"protected_threshold": True}; {"protected_threshold": 3.0}
range(9); iter(()); object(); object; Unshowable(); Unshowable; [Unshowable()]; print; lambda: 3
Path("nowhere"); Path(); Path("a\\0b"); ROOT; Exception("x"); Ellipsis; NotImplemented
DEFAULT_MODEL; ReadOptions(); Untouched; [Untouched, Shallow]; Broken; Late; POLICIES["lru"]
POLICIES["lru"](); Untouched(); [Untouched, Untouched]; [Untouched, named("toy_fifo")]; named("x")
named("lru"); named("vllm_lru"); named("sglang_lru"); named(7); named(""); named(" "); named("a\\nb")
named(None); named("\\ud800")
"""
NAMES = {
    one.__name__: one
    for one in (Decimal, Fraction, Path, ReadOptions, Untouched, Shallow, Unshowable, Broken, Late)
} | {
    "named": named,
    "math": math,
    "np": np,
    "ROOT": ROOT,
    "DEFAULT_MODEL": DEFAULT_MODEL,
    "POLICIES": POLICIES,
}
EXPRESSIONS = [text.strip() for line in VALUES.strip().splitlines() for text in line.split("; ")]

TEXTS = """
""; "x"; "no"; "3"; "0.5"; "lru"; "bound"; "\\0"; "a\\nb"; "\\ud800"; "x" * 5000; "--model"; "{}"
"[" * 100000; "{" * 5000; '{"protected_threshold": 3}'; '{"a": 1}'; '{"a": true}'
""".strip().replace("\n", "; ")
FLAGS = "True; False; np.True_"
INTEGERS = "1; 3; np.int64(3); np.uint8(1)"
SHARES = "1; 0.5; 1.0; Fraction(1, 2); np.uint8(1); np.float32(0.5)"
NUMBERS = f"{SHARES}; 3; 1.5; np.int64(3)"
NOTHING = "(); []; set(); iter(()); np.array([], dtype=np.int64)"
ONE_POLICY = '"lru"; POLICIES["lru"]; Untouched; named("x")'

READ: dict[str, str] = {
    "source": "",
    "options": "None; ReadOptions()",
    "chars_per_token": f"None; {NUMBERS}",
    "format": "",
    "block_size": f"None; {INTEGERS}",
    "order": "",
    "template": "",
    "tokenizer": "",
    "model_field": f"None; {TEXTS}",
    "model": "None",
    "salt_field": f"None; {TEXTS}",
    "concurrency": "None",  # these requests are of no session
    "allow_partial": FLAGS,
}
ANALYZE = {
    "log": "",
    "capacity_fraction": f"None; {SHARES}",
    "capacity_gib": f"None; {NUMBERS}",
    "model": "DEFAULT_MODEL",
    "kv_dtype": "None",
    "weight_dtype": "None",
    "indexer_dtype": "None",
    "policy": f"{NOTHING}; {ONE_POLICY}; [Untouched, Shallow]; [Untouched, Untouched]",
    "policies": "",
    "pins": f"{INTEGERS}; 10**30; 10**400",
    "skip": f'{NOTHING}; np.array(["bound"]); "bound"; ["bound"]; {{"bound"}}',
    "cost_curve": "None",
    "sample": "None",  # the log is too small for any
    "show_text": FLAGS,
    "engine": "",
    "gpu_gib": f"None; {NUMBERS}",
    "sglang_version": "None",
}
REPLAY = {
    "log": "",
    "policy": ONE_POLICY,
    "capacity_fraction": SHARES,
    "capacity_gib": NUMBERS,
    "capacity_blocks": "3; np.int64(3)",
    "model": "DEFAULT_MODEL",
    "kv_dtype": "None",
    "weight_dtype": "None",
    "indexer_dtype": "None",
    "per_request": FLAGS,
    "small_ratio": "0.5; Fraction(1, 2); np.float32(0.5)",
    "max_freq": INTEGERS,
    "ghost_hit_freq": f"0; {INTEGERS}",
    "partial_blocks": "",
    "policy_config": """"{}"; '{"protected_threshold": 3}'; {}; {"protected_threshold": np.int64(3)}""",
    "page_size": "1; np.uint8(1)",  # 3 does not divide 512
    "generated": "",
    "sglang_version": "",
    "nothing_of_ours": "",
}
BOUND = {
    "log": "",
    "capacity_fraction": SHARES,
    "capacity_gib": NUMBERS,
    "capacity_blocks": "3; np.int64(3)",
    "model": "DEFAULT_MODEL",
    "kv_dtype": "None",
    "weight_dtype": "None",
    "indexer_dtype": "None",
    "costs": "None; np.arange(9); range(9)",
    "rows": "",
    "solver": "None",
}
RIGHT = {"read_log": READ, "analyze": ANALYZE, "replay": REPLAY, "bound": BOUND}
"""By function and argument, which of the values are right."""

BESIDE: dict[str, dict[str, Any]] = {
    "small_ratio": {"policy": "s3fifo"},
    "max_freq": {"policy": "s3fifo"},
    "ghost_hit_freq": {"policy": "s3fifo"},
    "partial_blocks": {"policy": "vllm_lru"},
    "policy_config": {"policy": "sglang_slru"},
    "page_size": {"policy": "sglang_lru"},
    "generated": {"policy": "sglang_lru"},
    "sglang_version": {"policy": "sglang_lru"},
    "gpu_gib": {"engine": "vllm"},
    "cost_curve": {"skip": ()},
}
"""What an argument needs beside it."""

SKIP = "bound,band,splits,tails,coldstart,causes,pinsim"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "log.jsonl"
    path.write_text(
        "".join(f'{{"hash_ids": [{n % 4}, {n % 4 + 10}, {n % 4 + 20}]}}\n' for n in range(12))
    )
    return path


@pytest.fixture(scope="module")
def log(file: Path) -> Log:
    return cache_worthy.read_log(file)


@pytest.mark.parametrize(
    ("function", "argument"),
    [(function, argument) for function, arguments in RIGHT.items() for argument in arguments],
)
def test_every_value(function: str, argument: str, file: Path, log: Log) -> None:
    bases: dict[str, dict[str, Any]] = {
        "read_log": {"source": file},
        "analyze": {"log": log, "skip": SKIP},
        "replay": {"log": log, "policy": "lru"},
        "bound": {"log": log},
    }
    base = bases[function]
    if function in ("replay", "bound") and not argument.startswith("capacity"):
        base["capacity_fraction"] = 1
    beside = BESIDE.get(argument, {}) if function in ("analyze", "replay") else {}
    if function == "analyze" and argument == "sglang_version":
        beside = {"engine": "sglang"}
    taken, said = set(), []
    for expression in EXPRESSIONS:
        value = eval(expression, NAMES)
        try:
            getattr(api, function)(**{**base, **beside, argument: value})
        except cache_worthy.InputError as error:
            if not isinstance(value, str | Path):  # whose own text may be anything
                said.append(str(error))
        else:
            taken.add(expression)
    assert not [text for text in said if len(text.splitlines()) > 2 or "--" in text]
    assert taken == {text for text in RIGHT[function][argument].split("; ") if text}


def test_every_argument_is_in_the_table() -> None:
    for function, arguments in RIGHT.items():
        found = set(inspect.signature(getattr(api, function)).parameters) - {
            "choices",
            "parameters",
        }
        assert found <= set(arguments), function
    assert set(PARAMETERS) <= set(REPLAY)
    assert {field.name for field in dataclasses.fields(ReadOptions)} <= set(READ)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: api.analyze("log.jsonl"), "log: expected what cache_worthy.read_log returns"),
        (
            lambda log: api.replay(log, "sglang_lru", capacity_blocks=9, page_size="16"),
            "page_size: exp",
        ),
        (
            lambda log: api.replay(log, "sglang_lru", capacity_blocks=9, generated="zz"),
            "generated: exp",
        ),
        (
            lambda log: api.replay(log, "s3fifo", capacity_blocks=9, max_freq=2.5),
            "max_freq: expected",
        ),
        (
            lambda log: api.analyze(log, show_text="no"),
            "show_text: expected True or False, got 'no'",
        ),
        (lambda log: api.analyze(log, policy="zzz"), "policy zzz: unknown"),
        (
            lambda log: api.analyze(log, policy=Late),
            "policy late: raised in replay: ZeroDivisionError",
        ),
        (
            lambda log: api.analyze(log, policy=[Untouched, named("toy_fifo")]),
            "policy toy_fifo: two classes have this name",
        ),
        (
            lambda log: api.replay(log, named("lru"), capacity_blocks=9),
            "policy lru: is the name of",
        ),
        (
            lambda log: api.replay(log, named(7), capacity_blocks=9),
            "policy Named: name: expected a st",
        ),
        (lambda log: api.analyze(log, model=Path("nowhere")), "model nowhere: expected one of"),
        (lambda log: api.analyze(log, gpu_gib=80), "gpu_gib 80.0: only with engine sglang or"),
        (
            lambda log: api.read_log(b"x"),
            "source: expected the name of a file, or several, got b'x'",
        ),
        (lambda log: api.read_log(5), "source: expected"),
    ],
)
def test_what_is_said(call: Callable[[Log], object], message: str, log: Log) -> None:
    with pytest.raises(cache_worthy.InputError) as refused:
        call(log)
    assert str(refused.value).startswith(message)


def test_numbers_of_numpy_give_the_same(log: Log, file: Path) -> None:
    plain = cache_worthy.replay(log, "s3fifo", capacity_fraction=0.5, small_ratio=0.25, max_freq=2)
    given = {"small_ratio": np.float32(0.25), "max_freq": np.int8(2)}
    found = api.replay(log, "s3fifo", capacity_fraction=np.float64(0.5), **given)
    assert json.dumps(found.to_dict()) == json.dumps(plain.to_dict())
    found = api.analyze(
        log, capacity_gib=np.int64(1), pins=np.uint8(2), skip=np.array(SKIP.split(","))
    )
    plain_analysis = cache_worthy.analyze(log, capacity_gib=1, pins=2, skip=SKIP)
    assert json.dumps(found.to_dict()) == json.dumps(plain_analysis.to_dict())
    assert api.read_log(file, block_size=np.int64(512)) == log


def test_the_model_of_several_is_chosen_by_two_arguments(write: Callable[..., Path]) -> None:
    rows = [{"model": name, "hash_ids": [1, 2], "input_length": 1000} for name in "ab"]
    with pytest.raises(cache_worthy.InputError, match=r"model_field='model', model='NAME'"):
        cache_worthy.read_log(write(*rows))


def test_a_model_in_a_path(log: Log, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    fields = {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "d_ff": 128}
    file.write_text(json.dumps({"name": "small", **fields}))
    found = cache_worthy.bound(log, capacity_fraction=1, model=file)
    assert (
        found.to_dict() == cache_worthy.bound(log, capacity_fraction=1, model=str(file)).to_dict()
    )
