"""The formal proofs: checked by the kernel where coqc is installed, skipped loudly where it is not.

Rank: a proof kernel for the statements; mutations for the checks around it; hand-computed payments
for the export.
"""

from __future__ import annotations

import json
import re
import shutil
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import coq_kernel
import coq_runs
import pytest
from commands import ROOT, script
from coq_kernel import CheckFailed, Mutant, read_mutants
from coq_log import (
    Leave,
    LoggedRequest,
    Pay,
    forgive,
    forgive_settlement,
    logged_term,
    record,
    record_touch,
    touch_term,
)

from cache_worthy.theory.algorithms import make
from cache_worthy.theory.instance import Instance
from cache_worthy.theory.steps import ModelError, Settle

COQ = ROOT / "proofs" / "coq"
MUTANTS = read_mutants()
SMALLEST = Instance((None, 0, None, None), (1, 1, 1, 1), (0, 5, 2, 0), (1, 2, 3, 2, 3, 2))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file compiled."""
    if shutil.which("coqc") is None:
        message = f"NOT RUN: the formal proofs were not checked; {coq_kernel.INSTALL}"
        warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("coq")
    coq_kernel.compile_all(folder)
    return folder


def test_theorems_rest_on_no_axiom(compiled: Path) -> None:
    report = coq_kernel.check_assumptions(compiled).detail
    for name in ("cosigned_bound", "landlord_bound", "landlord_safe", "landlord_exceeds_young"):
        assert name in report


def test_a_wrong_constant_fails_where_it_should(compiled: Path) -> None:
    wrong = next(m for m in MUTANTS if m.lemma == "row_load")
    assert coq_kernel.check_mutants(compiled, [wrong]).counts == {"mutants_failing": 1}
    with pytest.raises(CheckFailed, match="expected to fail in row_rent"):
        coq_kernel.check_mutants(compiled, [replace(wrong, lemma="row_rent")])
    harmless = Mutant("Log.v", "accept", "An accepted log is a run.", "An accepted log is one.")
    with pytest.raises(CheckFailed, match="it compiles"):
        coq_kernel.check_mutants(compiled, [harmless])


def test_runs_of_the_code_are_runs_of_the_relation(compiled: Path) -> None:
    found = coq_runs.check_runs(compiled, 24, seed=3)
    assert found.counts == {"runs_accepted": 24, "runs_rejected": 0, "forged_rejected": 3}


def test_runs_of_the_touch_form_are_runs_of_its_relation(compiled: Path) -> None:
    found = coq_runs.check_touch(compiled, 24, seed=3)
    assert found.counts == {"touch_accepted": 24, "touch_rejected": 0, "touch_forged_rejected": 4}


def test_landlord_costs_what_the_kernel_computes(compiled: Path) -> None:
    assert coq_runs.check_landlord(compiled, 24, seed=3).counts == {"landlord_runs": 24}


def test_landlord_comes_close_to_its_ratio(compiled: Path) -> None:
    assert coq_runs.check_limit(compiled, 3).counts == {"limit_cases": 7, "above_young": 1}


def test_an_assumption_of_our_own_is_found(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del compiled  # asked for only to be skipped with the others
    # A Hypothesis outside a section is an axiom, and no forbidden word.
    text = (
        "Hypothesis wish : forall n : nat, n = 0.\n"
        "Theorem granted : 1 = 0.\nProof. apply wish. Qed.\n"
    )
    (tmp_path / "Model.v").write_text(text, encoding="utf-8")
    (tmp_path / "_CoqProject").write_text("Model.v\n", encoding="utf-8")
    monkeypatch.setattr(coq_kernel, "COQ", tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    coq_kernel.compile_all(scratch)
    with pytest.raises(CheckFailed, match="wish"):
        coq_kernel.check_assumptions(scratch)


@pytest.mark.slow
def test_the_whole_check() -> None:
    done = script("check/coq.py")
    assert done.returncode == (0 if shutil.which("coqc") else 2), done.stderr


# -- what needs no coqc -------------------------------------------------------------------------


def test_no_gap_is_left_in_the_sources() -> None:
    for file in coq_kernel.sources():
        assert coq_kernel.forbidden((COQ / file).read_text(encoding="utf-8")) == []
    assert coq_kernel.forbidden("Lemma x : y.\nProof. Admitted.") == ["Admitted"]


def test_every_mutant_changes_one_place() -> None:
    assert len(MUTANTS) >= 20
    for mutant in MUTANTS:
        text = (COQ / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1
        assert re.search(rf"^(?:Lemma|Theorem|Corollary) {mutant.lemma} :", text, re.MULTILINE)


def test_readme_names_what_is_proved() -> None:
    readme = (COQ / "README.md").read_text(encoding="utf-8")
    stated = {
        name
        for file in coq_kernel.sources()
        for name in coq_kernel.theorems((COQ / file).read_text(encoding="utf-8"))
    }
    assert len(stated) >= 40
    named = set(re.findall(r"`(\w+)`", readme))
    # The two on flat instances are steps towards landlord_flat.
    assert stated - named == {"flat_valid", "flat_acyclic"}


def test_missing_coqc_is_said_and_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = script("check/coq.py")
    assert done.returncode == 2
    assert "NOT RUN" in done.stderr


def test_failure_exits_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "coqc"
    fake.write_text("#!/bin/sh\necho 'File \"x\", line 1'; exit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = script("check/coq.py", "--json")
    assert done.returncode == 1
    assert "FAILED kernel" in done.stderr
    assert json.loads(done.stdout) == {"ok": False, "failed": "kernel"}


def test_who_pays_by_hand() -> None:
    # k = 3, third request (node 3). By hand, eager form: 0 (credit 0), 1 (5) and 2 (2) are
    # unpinned, one unit must go. The tree of 0 has 5 for two units, 1 has 5 for one, 2 has 2 for
    # one: d = 2. Node 1 pays 2 for itself and 2 for node 0 above it, node 2 pays 2 and leaves.
    run = record(make("cosigned_eager", SMALLEST, 3))
    assert run.requests[2] == LoggedRequest(
        request=3,
        steps=(Pay(2, ((1, 1, 2), (1, 0, 2), (2, 2, 2))), Leave(2)),
        after=((0, 0), (1, 1), (3, 0)),
    )
    assert run.cosigned >= 1
    assert forgive(run).requests[2].steps[0] == Pay(2, ((1, 1, 2), (2, 2, 2)))


def test_forgiving_needs_a_debt() -> None:
    flat = Instance((None, None, None), (1, 1, 1), (1, 2, 3), (0, 1, 2, 0))
    with pytest.raises(ValueError, match="no node pays"):
        forgive(record(make("cosigned", flat, 2)))


def test_settlements_are_not_exported() -> None:
    # Touching 1 settles: node 1 pays the rent of 0, which its own reset would hide.
    again = replace(SMALLEST, requests=(1, 2, 3, 1))
    with pytest.raises(ModelError, match="Settle"):
        record(make("cosigned_touch", again, 3))


def test_settlements_by_hand() -> None:
    # The third request raises the level by 2 and drops node 2; node 0 then owes 2. Before the
    # fourth touches 0 and 1, node 1 (credit 3) pays that debt.
    again = replace(SMALLEST, requests=(1, 2, 3, 1))
    run = record_touch(make("cosigned_touch", again, 3))
    assert run.requests[2].after == ((0, -2), (1, 3), (3, 0))
    assert run.requests[3].before == (Settle(1, 0, 2),)
    assert run.settlements == 1
    assert forgive_settlement(run).requests[3].before == ()
    assert "TouchEntry 1 [(1%nat, 0%nat, (2#1))] []" in touch_term(run)
    with pytest.raises(ValueError, match="nothing is settled"):
        forgive_settlement(record_touch(make("cosigned_touch", replace(again, requests=(1,)), 3)))


def test_notation() -> None:
    instance = Instance((None, 0), (1, 2), (Fraction(1, 2), 3), (1,))
    assert logged_term(record(make("cosigned", instance, 3))) == (
        "Logged [None; Some 0%nat] [1%Z; 2%Z] [(1#2); (3#1)] 3%Z\n"
        "   [Entry 1%nat [] [(0%nat, (1#2)); (1%nat, (3#1))]]\n   (7#2)"
    )
