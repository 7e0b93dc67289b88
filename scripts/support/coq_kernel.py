"""The formal proofs of ``proofs/coq`` before the kernel: sources, axioms, and wrong constants.

``coq_runs.py`` has the runs of the code that the proofs are held against.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from published import ROOT

COQ = ROOT / "proofs" / "coq"

#: How to get the prover, said whenever it is missing.
INSTALL = "install it with: apt-get install coq (8.16 or newer; nothing beyond its own library)"

#: Commands that leave a gap or add an assumption; none may occur, not even in a comment.
FORBIDDEN = (
    "Admitted",
    "admit",
    "give_up",
    "Axiom",
    "Axioms",
    "Parameter",
    "Parameters",
    "Conjecture",
    "Declare",
    "Unset",
    "bypass_check",
    "type_in_type",
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` (which occurs once in ``file``) becomes ``new``; the proof of ``lemma`` must fail."""

    file: str
    lemma: str
    old: str
    new: str


def read_mutants() -> list[Mutant]:
    """The mutants of ``mutants.toml``."""
    text = (COQ / "mutants.toml").read_text(encoding="utf-8")
    return [Mutant(**entry) for entry in tomllib.loads(text)["mutant"]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a check that passed has seen: a sentence, and the figures in it by name."""

    detail: str
    counts: dict[str, int]


class CheckFailed(Exception):
    """A check did not come out as it must; the message says which and how."""


def coqc(folder: Path, file: str) -> subprocess.CompletedProcess[str]:
    """Compile ``file`` inside ``folder``."""
    return subprocess.run(
        ["coqc", "-Q", ".", "CacheWorthy", file],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def sources() -> list[str]:
    """The files of ``_CoqProject``, in the order in which they compile."""
    lines = (COQ / "_CoqProject").read_text(encoding="utf-8").split()
    named = [line for line in lines if line.endswith(".v")]
    if sorted(named) != sorted(p.name for p in COQ.glob("*.v")):
        raise CheckFailed(f"_CoqProject lists {named}, which is not what {COQ} holds")
    return named


def theorems(text: str) -> list[str]:
    """Names of the theorems and corollaries stated in ``text``.

    Examples
    --------
    >>> theorems("Lemma a : b.\\nTheorem c : d.\\nCorollary e : f. (* Theorem 4. *)")
    ['c', 'e']
    """
    return re.findall(r"^(?:Theorem|Corollary) (\w+) :", text, re.MULTILINE)


def forbidden(text: str) -> list[str]:
    """The forbidden commands that occur in ``text``.

    Examples
    --------
    >>> forbidden("Proof. admit. Admitted."), forbidden("admits no Axiomatic")
    (['Admitted', 'admit'], [])
    """
    return [word for word in FORBIDDEN if re.search(rf"\b{word}\b", text)]


def failing_lemma(text: str, message: str) -> str | None:
    """The statement in whose text or proof the compiler's first error lies."""
    found = re.search(r'^File "[^"]*", line (\d+)', message, re.MULTILINE)
    if not found:
        return None
    before = "\n".join(text.split("\n")[: int(found[1])])
    names = re.findall(r"^(?:Lemma|Theorem|Corollary) (\w+) :", before, re.MULTILINE)
    return names[-1] if names else None


def compile_all(folder: Path) -> Found:
    """Copy the sources to ``folder`` and compile them."""
    files = sources()
    for file in files:
        text = (COQ / file).read_text(encoding="utf-8")
        gaps = forbidden(text)
        if gaps:
            raise CheckFailed(f"{file} contains {', '.join(gaps)}")
        (folder / file).write_text(text, encoding="utf-8")
    for file in files:
        done = coqc(folder, file)
        if done.returncode:
            raise CheckFailed(f"{file} does not compile:\n{done.stderr}")
    return Found(
        f"{len(files)} files compiled, none with a forbidden command", {"files": len(files)}
    )


def check_assumptions(folder: Path) -> Found:
    """Every theorem is closed under the global context."""
    files = sources()
    modules = " ".join(file.removesuffix(".v") for file in files)
    names = [n for f in files for n in theorems((COQ / f).read_text(encoding="utf-8"))]
    # One term that mentions them all: the kernel walks what they share once, not once a theorem.
    together = ", ".join(f"@{name}" for name in names)
    (folder / "Assumptions.v").write_text(
        f"From CacheWorthy Require Import {modules}.\n"
        f"Definition theorems := ({together}).\nPrint Assumptions theorems.\n",
        encoding="utf-8",
    )
    done = coqc(folder, "Assumptions.v")
    if done.returncode or done.stdout != "Closed under the global context\n":
        raise CheckFailed(f"Print Assumptions of {together}:\n{done.stdout}{done.stderr}")
    return Found(
        f"{len(names)} theorems, closed under the global context: {', '.join(names)}",
        {"theorems": len(names), "open": 0},
    )


def check_mutants(folder: Path, mutants: Iterable[Mutant]) -> Found:
    """Every mutant fails to compile, in the lemma named for it."""
    count = 0
    for mutant in mutants:
        text = (COQ / mutant.file).read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            raise CheckFailed(f"{mutant.file} does not hold {mutant.old!r} exactly once")
        changed = text.replace(mutant.old, mutant.new)
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for compiled in folder.glob("*.vo"):
                if compiled.stem != Path(mutant.file).stem:
                    shutil.copy(compiled, copy)
            (copy / mutant.file).write_text(changed, encoding="utf-8")
            done = coqc(copy, mutant.file)
        where = failing_lemma(changed, done.stderr)
        if done.returncode == 0 or where != mutant.lemma:
            raise CheckFailed(
                f"{mutant.file} with {mutant.new!r}: expected to fail in {mutant.lemma}, "
                f"but {'it compiles' if done.returncode == 0 else f'it fails in {where}'}\n"
                f"{done.stderr}"
            )
        count += 1
    return Found(
        f"{count} wrong constants and dropped hypotheses, each fails in the lemma named for it",
        {"mutants_failing": count},
    )


def recheck(folder: Path) -> Found:
    """Have the stand-alone checker go through the compiled files and the library they use."""
    modules = [f"CacheWorthy.{file.removesuffix('.v')}" for file in sources()]
    done = subprocess.run(
        ["coqchk", "-silent", "-o", "-Q", ".", "CacheWorthy", *modules],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    report = done.stdout + done.stderr
    if done.returncode or "* Axioms: <none>" not in report:
        raise CheckFailed(f"coqchk:\n{report}")
    return Found("coqchk accepts every file; axioms: none", {})
