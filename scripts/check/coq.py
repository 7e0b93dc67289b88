"""Check the formal proofs of proofs/coq: kernel, axioms, wrong constants, and the code's own runs.

Compiles every file of ``proofs/coq/_CoqProject`` in a temporary folder, on one core, and then

* asks the kernel what each theorem rests on (``Print Assumptions``: closed under the global
  context), and refuses the commands by which a gap could be left;
* compiles one changed copy per mutant of ``proofs/coq/mutants.toml`` (a wrong constant, a dropped
  hypothesis): each must fail, inside the lemma named for it;
* exports runs of the cosigned transcriptions of ``theory/`` and has the checker of ``Log.v``, which
  is proved to accept runs of the relation only, accept them; runs with a forgiven debt are rejected;
* has ``Execute.v`` play Landlord on random forests, with the costs of the transcription exactly, and
  against the phase construction, close to the ratio that ``landlord_bound`` allows.

Exit codes: 0 all checks passed; 1 one failed; 2 not run, because coqc is not installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from coq_kernel import (
    INSTALL,
    CheckFailed,
    Found,
    check_assumptions,
    check_mutants,
    compile_all,
    read_mutants,
    recheck,
)
from coq_runs import check_landlord, check_limit, check_runs, check_touch


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
            ("mutants", lambda: check_mutants(folder, read_mutants())),
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
