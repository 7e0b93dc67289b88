"""Make .venv with this interpreter and install the project into it; reuse it when nothing changed.

``make demo`` installs what a user gets; every other target adds the development tools (``--tools``).
The environment is rebuilt when the interpreter's version changes and reinstalled when pyproject.toml
does.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Make or reuse the environment. Exit code 0, or 2 when it cannot."""
    if sys.version_info < (3, 11):  # noqa: UP036 (an old PYTHON= must get one clear line)
        print(
            f"cache-worthy needs Python 3.11 or newer, this is {sys.version.split()[0]}; "
            "choose one with make PYTHON=...",
            file=sys.stderr,
        )
        return 2
    folder = ROOT / ".venv"
    stamp = folder / "installed"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    plain, full = (f"{version} {ROOT} {digest} {kind}\n" for kind in ("plain", "tools"))
    have = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
    tools = "--tools" in sys.argv[1:] or have.endswith(" tools\n")
    if have == full or (have == plain and not tools):
        return 0
    if folder.exists() and not have.startswith(f"{version} {ROOT} "):
        shutil.rmtree(folder)
    if not folder.exists():
        print(f"making .venv with Python {version}", file=sys.stderr)
        venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    what = "cache-worthy and its development tools" if tools else "cache-worthy"
    print(f"installing {what} into .venv", file=sys.stderr)
    done = subprocess.run(
        [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--quiet",
            "--disable-pip-version-check",
            "-e",
            ".[dev]" if tools else ".",
        ],
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        print("the installation failed; the lines above say why", file=sys.stderr)
        return 2
    stamp.write_text(full if tools else plain, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
