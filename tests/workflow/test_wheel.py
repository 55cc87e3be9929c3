"""What is installed by pip runs experiments without a clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from support import ROOT

pytestmark = pytest.mark.workflow

SOURCES = (
    "pyproject.toml",
    "setup.py",
    "README.md",
    "LICENSE",
    "Snakefile",
    "workflow",
    "config",
    "envs",
    "scripts",
    "src/replitune",
)


def build(folder: Path, what: str) -> Path:
    """A distribution made from the sources in a folder, without a network."""
    code = f"from setuptools import build_meta as b; print(b.build_{what}('dist'))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return folder / "dist" / ran.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from a source distribution, as a package index would."""
    copy, folder = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("sdist")
    for name in SOURCES:
        path, to = ROOT / name, copy / name
        if path.is_dir():
            shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(path, to)
    with tarfile.open(build(copy, "sdist")) as archive:
        archive.extractall(folder, filter="data")
    return build(next(folder.iterdir()), "wheel")


def test_a_wheel_holds_the_whole_workflow_once(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    within = "replitune/workflow/files/"
    held = {name.removeprefix(within) for name in names if name.startswith(within)}
    expected = {
        path.relative_to(ROOT).as_posix()
        for top in ("workflow", "config", "envs")
        for path in (ROOT / top).rglob("*")
        if path.is_file()
    }
    scripts = {f"scripts/{name}_transformers.py" for name in ("train", "translate")}
    assert held == {*expected, "Snakefile", "scripts/fetch_multi30k.py", *scripts}
    assert not [name for name in names if name.startswith(("tests", "results"))]


def test_the_same_files_are_the_same_wheel(wheel: Path):
    before, sources = wheel.read_bytes(), wheel.parents[1]
    for path in sources.rglob("*"):
        os.utime(path, (2e9, 2e9))
    shutil.rmtree(sources / "build", ignore_errors=True)
    assert build(sources, "wheel").read_bytes() == before


def test_new_and_a_dry_run_work_from_the_unpacked_wheel(wheel: Path, tmp_path: Path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    new, planned = (
        subprocess.run(
            [sys.executable, "-m", "replitune", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        for words in (["new", ".", "--from", "quickstart"], ["run", "--cores", "2", "--", "--dry-run"])
    )
    assert new.returncode == 0, new.stderr
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert re.search(r"^tune +18$", planned.stdout, re.MULTILINE)
    assert not (tmp_path / "results").exists()
