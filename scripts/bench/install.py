"""What a plain install takes, and how fast what it gives is.

    python scripts/bench/install.py --traces data/raw [--against COMMIT --extras fast]

Installs the last commit into a new environment as a user would (``pip install .``) and runs ``analyze
--no-bound`` on the conversation trace with it: the first run, which compiles the kernels, and the
median of the later ones. ``--against`` does the same with another commit, in turn, as the yardstick. The
clock of an installation is that of the package index at hand.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import time
import venv
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from measuring import Results, arguments, commands_in_turn, conversation, measured, positive
from published import ROOT

MEGABYTE = 1 << 20


def installed(commit: str, extras: str, folder: Path) -> tuple[Path, float, float]:
    """The command of a commit in an environment of its own, seconds of the installation, megabytes."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as files:
        files.extractall(folder / "source", filter="data")
    venv.create(folder / "env", with_pip=True)
    scripts = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    begun = time.perf_counter()
    pip = [
        str(scripts / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    done = subprocess.run(
        [*pip, f"{folder / 'source'}{extras}"], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{commit}: the installation failed: {done.stderr.strip()[-300:]}")
    return scripts / "cache-worthy", seconds, _megabytes(folder / "env")


def _megabytes(*folders: Path) -> float:
    files = (f for folder in folders for f in folder.rglob("*"))
    return sum(f.stat().st_size for f in files if f.is_file()) / MEGABYTE


def main(argv: list[str] | None = None) -> int:
    """Print the figures."""
    parser = arguments(__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="a commit to compare with")
    parser.add_argument("--extras", default="", help="extras of that commit, as in: fast")
    parser.add_argument("--rounds", type=positive, default=5)
    args = parser.parse_args(argv)
    file = conversation(args.traces)
    results = Results("install", "a plain install: its size, and the advisor's time with it")
    wanted = {"plain": ("HEAD", "")}
    if args.against:
        wanted["against"] = (args.against, f"[{args.extras}]" if args.extras else "")
    commands, figures = {}, {}
    with TemporaryDirectory() as where:
        for name, (commit, extras) in wanted.items():
            (folder := Path(where) / name).mkdir()
            command, seconds, size = installed(commit, extras, folder)
            commands[name] = [str(command), "analyze", str(file), "--no-bound", "--json", "-q"]
            figures[name] = {
                ("pip install, clock", "s"): seconds,
                ("environment", "MB"): size,
                ("of it numba and llvmlite", "MB"): _megabytes(
                    *folder.rglob("site-packages/numba"), *folder.rglob("site-packages/llvmlite")
                ),
                ("first analyze --no-bound, compiles", "s CPU"): measured(commands[name]).cpu,
            }
        for name, used in commands_in_turn(commands, args.rounds).items():
            figures[name]["later analyze --no-bound, median", "s CPU"] = used.cpu
    for (what, unit), value in figures["plain"].items():
        results.figure(
            what,
            value,
            unit,
            yardstick=f"{args.against}{wanted['against'][1]}" if args.against else "",
            yardstick_value=figures["against"][what, unit] if args.against else None,
        )
    results.write(args.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
