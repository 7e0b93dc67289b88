"""The manifest of claims: what ``proofs/manifest.toml`` states, read, checked, run and judged."""

from __future__ import annotations

import contextlib
import json
import operator
import os
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from published import ROOT

KINDS = ("sat", "unsat", "ratio", "count", "ok")
RANKS = (
    "published ground truth",
    "invariant",
    "established theory",
    "hand-computed",
    "differential",
    "own test",
)
RELATIONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "=": operator.eq,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


class ManifestError(ValueError):
    """The manifest cannot be trusted: which claim, and why."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the manifest; ``proofs/manifest.toml`` explains every key."""

    id: str
    claim: str
    command: str
    expect: str
    covers: str
    budget: float
    rank: str
    pick: str = "result"
    full: bool = False
    universal: bool = False
    twin: str = ""
    needs: str = ""

    @property
    def kind(self) -> str:
        """First word of ``expect``."""
        return self.expect.split()[0]

    @property
    def wanted(self) -> tuple[str, Fraction]:
        """Relation and value of a ratio or a count."""
        words = self.expect.split()[1:]
        relation, value = words if len(words) == 2 else ("=", *words)
        return relation, Fraction(value)

    def judge(self, value: object) -> bool:
        """Whether the value that the command printed is the expected one."""
        if self.kind == "ok":
            return value is True
        if self.kind in ("sat", "unsat"):
            return value == self.kind
        if isinstance(value, bool) or not isinstance(value, int | str):
            return False
        relation, wanted = self.wanted
        try:
            return RELATIONS[relation](Fraction(value), wanted)
        except (ValueError, ZeroDivisionError):
            return False


def load(path: Path) -> list[Claim]:
    """Read and check a manifest.

    Raises
    ------
    ManifestError
        If a claim is malformed, or a universal claim lacks a twin of opposite expectation.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise ManifestError("claim: expected [[claim]] tables")
    claims: dict[str, Claim] = {}
    for entry in entries:
        claim = claim_of(entry)
        if claim.id in claims:
            raise ManifestError(f"{claim.id}: stated twice")
        claims[claim.id] = claim
    if not claims:
        raise ManifestError("no claim at all")
    for claim in claims.values():
        if claim.universal:
            check_twin(claim, claims.get(claim.twin))
    return list(claims.values())


def claim_of(entry: dict[str, Any]) -> Claim:
    """One table of the manifest as a claim; :class:`ManifestError` if it cannot be one."""
    name = entry.get("id", "?")
    if unknown := set(entry) - {f.name for f in fields(Claim)}:
        raise ManifestError(f"{name}: unknown key {', '.join(sorted(unknown))}")
    try:
        claim = Claim(**entry)
    except TypeError as error:
        raise ManifestError(f"{name}: {error}") from None
    check_types(claim)
    if claim.kind not in KINDS or claim.rank not in RANKS:
        raise ManifestError(f"{name}: expect {claim.expect!r}, rank {claim.rank!r}")
    if claim.kind in ("ratio", "count"):
        try:
            relation, _ = claim.wanted
        except (ValueError, TypeError, ZeroDivisionError):
            relation = ""
        if relation not in RELATIONS:
            raise ManifestError(f"{name}: expect {claim.expect!r}: no relation and value")
    return claim


def check_twin(claim: Claim, twin: Claim | None) -> None:
    """Raise :class:`ManifestError` unless the twin can only hold where the claim would be false."""
    if twin is None:
        raise ManifestError(f"{claim.id}: universal, but there is no twin {claim.twin!r}")
    if not opposite(claim, twin):
        raise ManifestError(
            f"{claim.id}: expects {claim.expect!r}, its twin {twin.expect!r}: not opposite"
        )
    if shlex.split(twin.command) == shlex.split(claim.command) and twin.pick == claim.pick:
        raise ManifestError(f"{claim.id}: its twin reads the same result")
    if twin.full and not claim.full:
        raise ManifestError(f"{claim.id}: is in the quick set without its twin")
    if twin.needs not in ("", claim.needs):
        raise ManifestError(f"{claim.id}: its twin needs {twin.needs}, so it may not run")


def check_types(claim: Claim) -> None:
    """Raise :class:`ManifestError` unless every field can be used as what it is."""
    for f in fields(Claim):
        value = getattr(claim, f.name)
        good = (
            type(value) in (int, float) and value > 0
            if f.name == "budget"
            else isinstance(value, bool if f.name in ("full", "universal") else str)
        )
        if not good:
            raise ManifestError(f"{claim.id}: {f.name} = {value!r}")
    words = claim.expect.split()
    if not words or (words[0] in ("sat", "unsat", "ok") and len(words) > 1):
        raise ManifestError(f"{claim.id}: expect {claim.expect!r}")
    if any(key.startswith("-") for key in claim.pick.split(".")):
        raise ManifestError(f"{claim.id}: pick {claim.pick!r}")
    try:
        if not shlex.split(claim.command):
            raise ValueError("empty")
    except ValueError as error:
        raise ManifestError(f"{claim.id}: command {claim.command!r}: {error}") from None


def opposite(one: Claim, two: Claim) -> bool:
    """Whether no value can satisfy both expectations."""
    if {one.kind, two.kind} == {"sat", "unsat"}:
        return True
    if one.kind != two.kind or one.kind not in ("ratio", "count"):
        return False
    (r1, v1), (r2, v2) = one.wanted, two.wanted
    if r1 == "=" or r2 == "=":
        exact, relation, value = (v1, r2, v2) if r1 == "=" else (v2, r1, v1)
        return not RELATIONS[relation](exact, value)
    low, high = ((r1, v1), (r2, v2)) if r1 in (">", ">=") else ((r2, v2), (r1, v1))
    if low[0] not in (">", ">=") or high[0] not in ("<", "<="):
        return False
    return low[1] > high[1] or (low[1] == high[1] and (low[0], high[0]) != (">=", "<="))


@dataclass(frozen=True, slots=True)
class Result:
    """How one claim came out."""

    claim: Claim
    good: bool
    got: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Output:
    """What a command left behind; ``trouble`` is empty if it ran to its end."""

    stdout: str
    trouble: str
    seconds: float


def execute(command: str, budget: float) -> Output:
    """Run a command within its budget."""
    words = shlex.split(command)
    if words[0] == "python":
        words[0] = sys.executable
    elif words[0] == "cache-worthy":
        words[:1] = [sys.executable, "-m", "cache_worthy.cli"]
    begun = time.monotonic()
    try:
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # so that what the command started ends with it
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
    except OSError as error:
        return Output("", f"cannot run: {error}", time.monotonic() - begun)
    try:
        stdout, stderr = process.communicate(timeout=budget)
    except subprocess.TimeoutExpired:
        end(process)
        return Output("", f"over its budget of {budget:g} s", budget)
    seconds = time.monotonic() - begun
    code = process.returncode
    if code not in (0, 1, 3):  # 1: found something, 3: out of time; the JSON says what
        last = (stderr.strip().splitlines() or ["nothing on stderr"])[-1]
        return Output("", f"exit code {code}: {last}", seconds)
    return Output(stdout, "", seconds)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a command and everything that it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()


def judge(claim: Claim, output: Output) -> Result:
    """Hold a claim against the JSON that its command printed."""
    if output.trouble:
        return Result(claim, False, output.trouble, output.seconds)
    try:
        value: object = json.loads(output.stdout)
        for key in claim.pick.split("."):
            if isinstance(value, list):
                value = len(value) if key == "length" else value[int(key)]
            elif isinstance(value, dict):
                value = value[key]
            else:
                raise KeyError(key)
    except (ValueError, KeyError, IndexError):
        return Result(claim, False, f"no {claim.pick!r} in the output", output.seconds)
    return Result(claim, claim.judge(value), str(value), output.seconds)
