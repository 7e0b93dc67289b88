"""The layout installs as documented: lists, links, guards, and the wheel in a clean environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Folders at the top level that install inside cache_worthy because their names are generic.
GENERIC = ("sim", "theory", "oracles")


def setuptools_table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = tomllib.loads(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    )["tool"]["setuptools"]
    return table


def packages_in_tree() -> dict[str, str]:
    """Package name to folder, for every folder with an __init__.py."""
    found = {}
    for top in ("cache_worthy", *GENERIC):
        for init in sorted((ROOT / top).rglob("__init__.py")):
            folder = init.parent.relative_to(ROOT)
            if top == "cache_worthy" and len(folder.parts) > 1 and folder.parts[1] in GENERIC:
                continue  # behind a link: the package's real folder is the top-level one
            name = ".".join(folder.parts)
            found[name if top == "cache_worthy" else f"cache_worthy.{name}"] = folder.as_posix()
    return found


def test_package_lists_are_the_tree() -> None:
    table = setuptools_table()
    tree = packages_in_tree()
    assert sorted(table["packages"]) == sorted(tree)
    assert table["package-dir"] == tree


def test_every_folder_with_modules_is_a_package() -> None:
    for top in ("cache_worthy", *GENERIC):
        for module in (ROOT / top).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


@pytest.mark.parametrize("name", GENERIC)
def test_links_point_to_the_top_level_folders(name: str) -> None:
    link = ROOT / "cache_worthy" / name
    if link.is_symlink():
        assert Path(os.readlink(link)) == Path("..") / name
    else:  # a clone without symlink support holds a small text file with the target
        assert link.read_text(encoding="utf-8").strip() == f"../{name}"


@pytest.mark.parametrize("name", GENERIC)
def test_bare_import_from_the_root_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"ImportError: import cache_worthy.{name}" in done.stderr


def copy_sources(target: Path, *, links: bool) -> Path:
    """What a build reads, in a folder of its own, so that the tree keeps no build products."""
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in GENERIC:
        shutil.copytree(ROOT / folder, target / folder, ignore=ignore)
    shutil.copytree(ROOT / "cache_worthy", target / "cache_worthy", symlinks=True, ignore=ignore)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, target / file)
    if not links:
        for name in GENERIC:
            (target / "cache_worthy" / name).unlink()
            (target / "cache_worthy" / name).write_text(f"../{name}", encoding="utf-8")
    return target


def build_wheel(source: Path, out: Path) -> Path:
    # No isolation: setuptools is a development dependency, so no network is needed here.
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    options = ["--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", str(out)]
    subprocess.run([*command, *options, str(source)], check=True, timeout=120)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    return build_wheel(copy_sources(folder / "source", links=True), folder / "out")


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_module_and_no_generic_name(wheel: Path) -> None:
    names = members(wheel)
    for package, folder in packages_in_tree().items():
        for module in (ROOT / folder).glob("*.py"):
            assert f"{package.replace('.', '/')}/{module.name}" in names
    for template in (ROOT / "cache_worthy").glob("*/templates/*"):
        assert template.relative_to(ROOT).as_posix() in names
    assert "cache_worthy/py.typed" in names
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"cache_worthy"}


def test_a_clone_without_links_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    plain = build_wheel(copy_sources(tmp_path / "source", links=False), tmp_path / "out")
    # Where the links are text files they stand in the way of nothing and are not packaged.
    assert members(plain) == members(wheel)


def test_wheel_runs_from_a_clean_environment_in_another_folder(wheel: Path, tmp_path: Path) -> None:
    env = tmp_path / "env"
    venv.create(env, with_pip=False)
    scripts = env / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / Path(sys.executable).name
    if not python.exists():
        python = scripts / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([*command, *options], check=True, timeout=120)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(env), "platbase": str(env)}))
    assert (site / "cache_worthy" / "sim" / "radix" / "replay.py").is_file()
    assert not [name for name in GENERIC if (site / name).exists()]
    # The dependencies come from this environment instead of the network. A .pth line adds the
    # folder alone, not the editable install that its own .pth files would set up.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(ROOT / "examples" / "sample_log.jsonl", elsewhere)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=elsewhere, env=clean, capture_output=True, text=True, check=False
        )

    where = run(str(python), "-c", "import cache_worthy.sim as s; print(s.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(env), where.stderr
    for name in GENERIC:
        assert "ModuleNotFoundError" in run(str(python), "-c", f"import {name}").stderr
    script = str(scripts / "cache-worthy")
    version = run(script, "--version")
    assert (version.returncode, version.stdout.split()[0]) == (0, "cache-worthy"), version.stderr
    analysis = run(script, "analyze", "sample_log.jsonl")
    assert analysis.returncode == 0, analysis.stderr
    assert "ALLOCATE" in analysis.stdout
    page = run(script, "analyze", "sample_log.jsonl", "--no-bound", "-q", "--html", "report.html")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("\n  IN SHORT\n")
    html = (elsewhere / "report.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "color-scheme" in html
