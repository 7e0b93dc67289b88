"""Run a script the way a user does, in a process of its own; where asked, with a mistake planted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]

Done = subprocess.CompletedProcess[str]


def script(name: str, *words: object, planted: str = "") -> Done:
    """Run ``scripts/NAME`` with these words.

    Parameters
    ----------
    planted : str
        Python that runs in that process before the script: a mistake in the code that the script
        judges, or a small thing in the place of a large one. The script is not changed.
    """
    path = str(ROOT / "scripts" / name)
    command = [sys.executable, path]
    if planted:
        run = f"import runpy\nrunpy.run_path({path!r}, run_name='__main__')"
        command = [sys.executable, "-c", f"{dedent(planted)}\n{run}"]
    paths = [str(ROOT / "scripts" / "support"), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [*command, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
