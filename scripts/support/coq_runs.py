"""Runs of the transcriptions of ``theory/`` judged by the checkers that ``proofs/coq`` proves right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

from coq_kernel import CheckFailed, Found, coqc
from coq_log import (
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

from cache_worthy.theory.algorithms.keyed import LandlordKeys
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.search.adversary import Play
from cache_worthy.theory.search.adversary import play as play_phases
from cache_worthy.theory.steps import Hit, drive

#: Policies of theory/ whose runs are exported as runs of Cosigned.v. The touch form keeps signed
#: credits and has its own relation, Touch.v.
EXPORTED = ("cosigned", "cosigned_eager")


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
    """The offline schedule of the phase construction, one state per request.

    The costly nodes one path at a time, then all the cheap ones at once, kept to the phase's end.
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
