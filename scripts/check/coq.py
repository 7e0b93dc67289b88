"""Check the formal proofs of proofs/coq: kernel, axioms, wrong constants, and the code's own runs.

Compiles every file of ``proofs/coq/_CoqProject`` in a temporary folder, on one core, and then

* asks the kernel what each theorem rests on (``Print Assumptions``: closed under the global
  context), and refuses the commands by which a gap could be left;
* compiles one changed copy a mutant of :data:`MUTANTS` (a wrong constant, a dropped hypothesis):
  each must fail, inside the lemma named for it;
* exports runs of the cosigned transcriptions of ``theory/`` and has the checker of ``Log.v``, which
  is proved to accept runs of the relation only, accept them; runs with a forgiven debt are rejected;
* has ``Execute.v`` play Landlord on random forests, with the costs of the transcription exactly, and
  against the phase construction, close to the ratio that ``landlord_bound`` allows.

Exit codes: 0 all checks passed; 1 one failed; 2 not run, because coqc is not installed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random

from cache_worthy.theory.algorithms.landlord_keys import LandlordKeys
from cache_worthy.theory.coq_log import (
    LoggedRun,
    TouchRun,
    forest_terms,
    forgive,
    forgive_settlement,
    listed,
    logged_term,
    number,
    record,
    record_touch,
    sample,
    touch_term,
)
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.search.adversary import Play
from cache_worthy.theory.search.adversary import play as play_phases
from cache_worthy.theory.steps import Hit, drive

COQ = Path(__file__).resolve().parents[1] / "proofs" / "coq"

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

#: Policies of theory/ whose runs are exported as runs of Cosigned.v. The touch form keeps signed
#: credits and has its own relation, Touch.v.
EXPORTED = ("cosigned", "cosigned_eager")


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` (which occurs once in ``file``) becomes ``new``; the proof of ``lemma`` must fail."""

    file: str
    lemma: str
    old: str
    new: str


MUTANTS = (
    # The rows, with a wrong constant.
    Mutant(
        "Cosigned.v",
        "row_opt_load",
        "potential s O' <= potential s O + k * cost_of I (minus O' O).\nProof.\n  intros s O O' R Hsub",
        "potential s O' <= potential s O + (k - 1)%Z * cost_of I (minus O' O).\n"
        "Proof.\n  intros s O O' R Hsub",
    ),
    Mutant(
        "Cosigned.v",
        "row_rent",
        "potential s O - ((volume I (path I v) - 1) * (k - h + 1))%Z * d.",
        "potential s O - (volume I (path I v) * (k - h + 1))%Z * d.",
    ),
    Mutant(
        "Cosigned.v",
        "row_load",
        "potential s O - (k - h + 1)%Z * cost_of I (missing I v s).",
        "potential s O - (k - h + 2)%Z * cost_of I (missing I v s).",
    ),
    Mutant(
        "Cosigned.v",
        "unpinned_volume",
        "(k + 1 - volume I (path I v) <= volume I (unpinned I v s))%Z.",
        "(k + 2 - volume I (path I v) <= volume I (unpinned I v s))%Z.",
    ),
    Mutant(
        "Cosigned.v",
        "unpinned_offline_volume",
        "(volume I (inter (unpinned I v s) O) <= h - volume I (path I v))%Z.",
        "(volume I (inter (unpinned I v s) O) <= h - 1 - volume I (path I v))%Z.",
    ),
    Mutant(
        "Cosigned.v",
        "cosigned_bound",
        "(k - h + 1)%Z * paid <= k * offline_cost I schedule.",
        "(k - h + 1)%Z * paid <= (k - 1)%Z * offline_cost I schedule.",
    ),
    # The relation, with a rule dropped.
    Mutant(
        "Cosigned.v",
        "row_hit",
        "credit s u <= credit s' u <= cost I u;",
        "0 <= credit s' u <= cost I u;",
    ),
    Mutant(
        "Cosigned.v",
        "paid_in_all",
        "sum I (fun w => pay w u) == d * size I u;",
        "sum I (fun w => pay w u) <= d * size I u;",
    ),
    Mutant(
        "Cosigned.v",
        "paid_by_offline",
        "resident s w /\\ unpinned v s u /\\ needs I w u;",
        "resident s w /\\ unpinned v s u /\\ needs I u w;",
    ),
    Mutant(
        "Cosigned.v",
        "rent_sound",
        "rent_solvent : forall w, (w < count I)%nat -> resident s w -> 0 <= credit s' w",
        "rent_solvent : forall w, (w < count I)%nat -> resident s w -> 0 <= credit s w",
    ),
    Mutant(
        "Cosigned.v",
        "row_rent",
        "rent_short : short v s;",
        "rent_short : short v s \\/ (0 <= k)%Z;",
    ),
    Mutant(
        "Cosigned.v",
        "row_evict",
        "evict_credit : forall u, (u < count I)%nat -> gone u -> credit s u == 0;",
        "evict_credit : forall u, (u < count I)%nat -> gone u -> 0 <= credit s u;",
    ),
    Mutant(
        "Cosigned.v",
        "evict_sound",
        "evict_closed : closed I (minus (resident s) gone);",
        "evict_closed : closed I (resident s);",
    ),
    # Landlord.
    Mutant(
        "Landlord.v",
        "lacking_outside",
        "(k - h + 1 <= volume I (minus (cached s) O))%Z.",
        "(k - h + 2 <= volume I (minus (cached s) O))%Z.",
    ),
    Mutant(
        "Landlord.v",
        "lacking_inside",
        "(volume I (inter (cached s) O) <= h - 1)%Z.",
        "(volume I (inter (cached s) O) <= h - 2)%Z.",
    ),
    Mutant(
        "Landlord.v",
        "landlord_row_rent",
        "Hypothesis m_small : ((m - 1) * H < k - h + 1)%Z.",
        "Hypothesis m_small : ((m - 2) * H < k - h + 1)%Z.",
    ),
    Mutant(
        "Landlord.v",
        "landlord_row_load",
        "charge s' O <= charge s1 O - m * cost_of I (absent I v s).",
        "charge s' O <= charge s1 O - (m + 1)%Z * cost_of I (absent I v s).",
    ),
    Mutant(
        "Landlord.v",
        "landlord_bound",
        "paid <= (1 + (h - 1)%Z / m) * offline_cost I schedule.",
        "paid <= (1 + (h - 2)%Z / m) * offline_cost I schedule.",
    ),
    Mutant(
        "Landlord.v",
        "landlord_row_rent",
        "(u < count I)%nat /\\ leaf I (cached s) u /\\ path I v u = false.",
        "(u < count I)%nat /\\ (cached s u /\\ True) /\\ path I v u = false.",
    ),
    Mutant(
        "Landlord.v",
        "serve_simulates",
        "Hypothesis density_falls : forall w u, (w < count I)%nat -> (u < count I)%nat ->\n"
        "  needs I w u -> density I w <= density I u.",
        "Hypothesis density_falls : forall w u, (w < count I)%nat -> (u < count I)%nat ->\n"
        "  needs I w u -> density I u <= density I w.",
    ),
    Mutant(
        "Lower.v",
        "landlord_ratio_is_exact",
        "0 <= r -> r < 1 + (h - 1)%Z / m ->",
        "0 <= r -> r <= 1 + (h - 1)%Z / m ->",
    ),
    Mutant(
        "Lower.v",
        "construction",
        "last ((Z.of_nat m + Z.of_nat h - 1) * M)%Z /\\",
        "last ((Z.of_nat m + Z.of_nat h) * M)%Z /\\",
    ),
    Mutant(
        "Touch.v",
        "touch_row_rent",
        "- ((volume I (path I v) - 1) * (k - h + 1))%Z * d.",
        "- (volume I (path I v) * (k - h + 1))%Z * d.",
    ),
    Mutant(
        "Touch.v",
        "touch_row_opt",
        "(forall u, (u < count I)%nat -> path I v u -> resident s u -> 0 <= credit s u) ->\n"
        "  subset I (minus O' O) (path I v) ->",
        "(forall u, (u < count I)%nat -> path I v u -> resident s u -> True) ->\n"
        "  subset I (minus O' O) (path I v) ->",
    ),
    Mutant(
        "Touch.v",
        "charged_fair",
        "charged_covered : covered s'",
        "charged_covered : covered s",
    ),
    # The witnesses, and the checker of logs without its central test.
    Mutant(
        "Witness.v",
        "six_landlord",
        "landlord_run (of_forest four) 3 cv blank six_requests last 11.",
        "landlord_run (of_forest four) 3 cv blank six_requests last 12.",
    ),
    Mutant("Witness.v", "six_offline", "six_states == 7.", "six_states == 6."),
    Mutant("Witness.v", "landlord_cycles", "last (40 * Z.of_nat", "last (41 * Z.of_nat"),
    Mutant(
        "Log.v",
        "check_pay_rent",
        "Qeq_bool (sum I (fun w => pay w u)) (d * size I u)) &&",
        "Qle_bool (sum I (fun w => pay w u)) (d * size I u)) &&",
    ),
)


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


def check_mutants(folder: Path, mutants: Iterable[Mutant] = MUTANTS) -> Found:
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


def exported(rng: Random, count: int) -> list[LoggedRun]:
    """``count`` runs in which something leaves, of the exported policies in turn."""
    runs: list[LoggedRun] = []
    while len(runs) < count:
        algorithm = sample(rng, EXPORTED[len(runs) % len(EXPORTED)])
        if algorithm is not None:
            run = record(algorithm)
            if run.evictions:
                runs.append(run)
    return runs


def forged(rng: Random, runs: Iterable[LoggedRun], count: int) -> list[LoggedRun]:
    """Logs that are not runs, of three kinds in equal parts.

    A debt forgiven in the log of an honest run; the honest log of the near miss whose hits forgive
    debts; a cost misreported.
    """
    source = iter([run for run in runs if run.cosigned])
    bad: list[LoggedRun] = []
    while len(bad) < count:
        kind = len(bad) % 3
        if kind == 1:
            near_miss = sample(rng, "density_forgiving")
            if near_miss is None:
                continue
            events = drive(near_miss.fork(), keep_events=True).events
            if any(isinstance(e, Hit) and e.before < 0 for served in events for e in served):
                bad.append(record(near_miss))
        else:
            run = next(source)
            bad.append(forgive(run) if kind == 0 else replace(run, cost=run.cost + 1))
    return bad


def evaluate(folder: Path, name: str, modules: str, terms: Iterable[str], test: str) -> list[bool]:
    """What ``test`` gives for each of ``terms``, computed by the kernel's virtual machine."""
    items = ";\n  ".join(terms)
    (folder / f"{name}.v").write_text(
        "From Coq Require Import List ZArith QArith.\n"
        f"From CacheWorthy Require Import {modules}.\n"
        "Import ListNotations.\nOpen Scope Q_scope.\n"
        f"Definition cases := [{items}].\n"
        f"Eval vm_compute in (map ({test}) cases).\n",
        encoding="utf-8",
    )
    done = coqc(folder, f"{name}.v")
    if done.returncode:
        raise CheckFailed(f"the exported cases do not type-check:\n{done.stderr[:2000]}")
    return [word == "true" for word in re.findall(r"\b(true|false)\b", done.stdout)]


def check_runs(folder: Path, count: int, seed: int) -> Found:
    """The code's runs are accepted, forged ones are not."""
    rng = Random(seed)
    runs = exported(rng, count)
    bad = forged(rng, runs, max(3, count // 8))
    verdicts = evaluate(
        folder,
        "Runs",
        "Model Cosigned Progress Landlord Execute Log",
        map(logged_term, [*runs, *bad]),
        "accepted",
    )
    if len(verdicts) != len(runs) + len(bad):
        raise CheckFailed(f"{len(verdicts)} verdicts for {len(runs) + len(bad)} logs")
    for i, (run, verdict) in enumerate(zip([*runs, *bad], verdicts, strict=True)):
        if verdict != (i < len(runs)):
            raise CheckFailed(f"log {i} {'accepted' if verdict else 'rejected'}: {run}")
    evictions = sum(run.evictions for run in runs)
    requests = sum(len(run.requests) for run in runs)
    return Found(
        f"{len(runs)} runs of {' and '.join(EXPORTED)} accepted ({requests} requests, {evictions} "
        f"evictions, {sum(run.cosigned for run in runs)} payments for another node); "
        f"{len(bad)} forged logs rejected",
        {"runs_accepted": len(runs), "runs_rejected": 0, "forged_rejected": len(bad)},
    )


def check_touch(folder: Path, count: int, seed: int) -> Found:
    """Runs of the touch form are accepted as runs of ``Touch.v``, forged ones are not."""
    rng = Random(seed + 2)
    runs: list[TouchRun] = []
    while len(runs) < count:
        algorithm = sample(rng, "cosigned_touch")
        if algorithm is not None:
            run = record_touch(algorithm)
            if run.evictions:
                runs.append(run)
    bad: list[TouchRun] = []
    for run in (run for run in runs if run.settlements):
        if len(bad) < max(2, count // 8):
            forged_run = replace(run, cost=run.cost + 1)
            bad.append(forged_run if len(bad) % 2 else forgive_settlement(run))
    while len(bad) < max(3, count // 6):
        near_miss = sample(rng, "density_forgiving")
        if near_miss is not None:
            # A node in debt is touched, and the debt is gone.
            events = drive(near_miss.fork(), keep_events=True).events
            if any(isinstance(e, Hit) and e.before < 0 for served in events for e in served):
                bad.append(record_touch(near_miss))
    verdicts = evaluate(
        folder,
        "Touched",
        "Model Cosigned Progress Landlord Execute Log Touch TouchLog",
        map(touch_term, [*runs, *bad]),
        "touch_accepted",
    )
    wanted = [True] * len(runs) + [False] * len(bad)
    if verdicts != wanted:
        wrong = [i for i, pair in enumerate(zip(verdicts, wanted, strict=True)) if len({*pair}) > 1]
        raise CheckFailed(f"touch form: logs {wrong} of {len(runs)} honest and {len(bad)} forged")
    return Found(
        f"{len(runs)} runs of cosigned_touch accepted ({sum(run.evictions for run in runs)} "
        f"evictions, {sum(run.settlements for run in runs)} settlements); {len(bad)} forged logs "
        "rejected",
        {"touch_accepted": len(runs), "touch_rejected": 0, "touch_forged_rejected": len(bad)},
    )


def _played(instance: Instance, k: int, hits: str, cost: str) -> str:
    requests = listed(f"{v}%nat" for v in instance.requests)
    return f"(forest_of {forest_terms(instance)}, {k}%Z, {hits}, {requests}, {cost})"


def check_landlord(folder: Path, count: int, seed: int) -> Found:
    """Landlord as computed by ``Execute.v`` costs what the transcription costs."""
    rng = Random(seed + 1)
    terms: list[str] = []
    evictions = 0
    while len(terms) < count:
        drawn = sample(rng, "landlord_keys")
        if drawn is None:
            continue
        early = len(terms) % 2 == 0
        algorithm = LandlordKeys(
            drawn.instance, drawn.k, tie="node", hits="before" if early else "after"
        )
        for v in drawn.instance.requests:
            algorithm.step(v)
        if algorithm.evictions:
            evictions += algorithm.evictions
            hits = "Before" if early else "After"
            terms.append(_played(drawn.instance, drawn.k, hits, number(algorithm.cost)))
    verdicts = evaluate(
        folder,
        "Played",
        "Model Cosigned Progress Landlord Execute",
        terms,
        "fun c => match c with (f, k, cv, requests, paid) =>"
        " is_valid_forest f && Qeq_bool (snd (play (of_forest f) k cv blank requests)) paid end",
    )
    if verdicts != [True] * len(terms):
        raise CheckFailed(f"Landlord's costs differ: {verdicts.count(False)} of {len(terms)}")
    return Found(
        f"{len(terms)} runs of Landlord cost the same in both ({evictions} evictions)",
        {"landlord_runs": len(terms)},
    )


def phase_schedule(game: Play) -> list[list[int]]:
    """The offline schedule of the phase construction, one state a request.

    The dear nodes one path at a time, then all the cheap ones at once, kept to the phase's end.
    """
    units = list(game.stage.units)
    return [units if v in units else list(game.instance.path(v)) for v in game.instance.requests]


def check_limit(folder: Path, most: int) -> Found:
    """Landlord against its exact ratio at every ``k``, ``h`` and path size up to ``most``.

    The phase construction is played against the transcription; the kernel plays the same requests,
    checks the schedule and its cost, and that Landlord is within a tenth of ``1 + (h-1)/m`` and,
    where ``k > h >= 2`` and paths may have size 2, above Young's bound.
    """
    terms: list[str] = []
    above = 0
    for k in range(2, most + 1):
        for h in range(2, k + 1):
            for path in range(1, h + 1):
                game = play_phases("landlord_keys", k, h, path, 2, cost=100, tie="node")
                exceeds = k > h and path >= 2
                above += exceeds
                states = listed(listed(f"{u}%nat" for u in s) for s in phase_schedule(game))
                limit = number(Fraction(9, 10) * game.stage.exact_ratio)
                young = number(game.young) if exceeds else number(0)
                terms.append(
                    f"({_played(game.instance, k, 'After', number(game.cost))}, {h}%Z, "
                    f"{states}, {number(game.offline)}, {limit}, {young})"
                )
    verdicts = evaluate(
        folder,
        "Limit",
        "Model Cosigned Progress Landlord Execute",
        terms,
        "fun c => match c with (f, k, cv, requests, paid, h, states, off, limit, young) =>"
        " let I := of_forest f in let schedule := map of_list states in"
        " is_valid_forest f && is_fits I k requests && is_feasible I h requests schedule &&"
        " Qeq_bool (offline_cost I schedule) off &&"
        " Qeq_bool (snd (play I k cv blank requests)) paid &&"
        " Qle_bool (limit * off) paid && negb (Qle_bool paid (young * off)) end",
    )
    if verdicts != [True] * len(terms):
        raise CheckFailed(f"the limit is missed in {verdicts.count(False)} of {len(terms)} cases")
    return Found(
        f"Landlord within a tenth of 1 + (h-1)/m at {len(terms)} (k, h, H) with k <= {most}, above "
        f"Young's bound at the {above} with k > h and H >= 2",
        {"limit_cases": len(terms), "above_young": above},
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


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    out.add_argument("--runs", type=int, default=240, help="exported runs (default: 240)")
    out.add_argument("--seed", type=int, default=10, help="seed of the random instances")
    out.add_argument(
        "--full", action="store_true", help="also run coqchk over everything (about a minute)"
    )
    out.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    return out


def main(argv: list[str] | None = None) -> int:
    """Run the checks, one line each."""
    args = parser().parse_args(argv)
    if shutil.which("coqc") is None:
        print(
            f"NOT RUN: the formal proofs were not checked, coqc is not installed; {INSTALL}",
            file=sys.stderr,
        )
        return 2
    counts: dict[str, int] = {}
    failed: str | None = None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        checks: list[tuple[str, Callable[[], Found]]] = [
            ("kernel", lambda: compile_all(folder)),
            ("assumptions", lambda: check_assumptions(folder)),
            ("mutants", lambda: check_mutants(folder)),
            ("runs", lambda: check_runs(folder, args.runs, args.seed)),
            ("touch", lambda: check_touch(folder, args.runs // 2, args.seed)),
            ("landlord", lambda: check_landlord(folder, args.runs, args.seed)),
            ("limit", lambda: check_limit(folder, 5)),
        ]
        if args.full:
            checks.append(("coqchk", lambda: recheck(folder)))
        for name, check in checks:
            start = time.monotonic()
            try:
                found = check()
            except CheckFailed as error:
                failed = name
                print(f"FAILED {name}: {error}", file=sys.stderr)
                break
            counts |= found.counts
            if not args.json:
                seconds = time.monotonic() - start
                print(f"ok {name} ({seconds:.0f} s): {found.detail}", flush=True)
    if args.json:
        print(json.dumps({"ok": failed is None, "failed": failed, **counts}))
    return 0 if failed is None else 1


if __name__ == "__main__":
    sys.exit(main())
