"""Extras: what pyproject.toml offers is what messages name, and a missing one is one message."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune import extras
from replitune.backends.marian import program
from replitune.backends.registry import get_backend
from replitune.errors import ReplituneError
from replitune.extras import EXTRAS
from support import ROOT, Ran

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OFFERED = PROJECT["optional-dependencies"]
FOR_BUILDERS = {"docs", "build", "dev", "fuzz"}
NAMES = {"sil_thot": "thot", "fonttools": "fontTools"}
"""Packages that are imported by another name than they are installed by."""


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Some packages are not installed."""

    def hide(*names: str) -> None:
        usual = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *a: None if name in names else usual(name, *a)
        )

    return hide


def imported(requirement: str) -> str:
    name = re.split(r"[^A-Za-z0-9._-]", requirement)[0].replace("-", "_")
    return NAMES.get(name, name)


def test_messages_know_every_extra_and_all_has_them():
    assert set(EXTRAS) == set(OFFERED) - FOR_BUILDERS - {"all"}
    named = set()
    todo = ["all"]
    while todo:
        extra = todo.pop()
        named.add(extra)
        for requirement in OFFERED[extra]:
            if found := re.match(r"replitune\[(.*)\]", requirement):
                todo += found[1].split(",")
    # `notice` adds a column to reports, so it is there only where somebody wants it
    assert named == {*EXTRAS, "all"} - {"notice"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_packages_that_are_looked_for_are_those_that_are_installed(extra: str):
    offered = {imported(requirement) for requirement in OFFERED[extra]}
    assert offered - {"replitune", "pygments"} == set(EXTRAS[extra].packages)


def test_the_core_has_nothing_of_an_extra():
    core = {imported(requirement) for requirement in PROJECT["dependencies"]}
    for extra in EXTRAS.values():
        assert not core & set(extra.packages)


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_is_one_message_that_names_it(extra: str, without: Callable[..., None]):
    package = EXTRAS[extra].packages[0]
    without(package)
    with pytest.raises(ReplituneError) as caught:
        extras.needs(extra)
    assert caught.value.fix == extras.to_install(extra)
    assert f"[{extra}]'" in caught.value.fix
    assert f"no package {package}" in str(caught.value)


def test_the_page_of_a_comparison_needs_plots_before_anything_is_read(
    replitune: Callable[..., Ran], without: Callable[..., None], tmp_path: Path
):
    without("matplotlib")
    ran = replitune("compare", "--refs", "r", "--baseline", "b", "--system", "s=s", "--html", "x")
    assert ran.code == 2
    assert ran.err == (
        "replitune: --html: the extra `plots` is not installed\n"
        "  found:    no package matplotlib\n"
        f"  to do:    {extras.to_install('plots')}\n"
    )


def without_tables(*argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command where neither pyarrow nor pandas can be imported."""
    code = "import sys; sys.modules.update(pyarrow=None, pandas=None); from replitune.cli.main import main;"
    command = [sys.executable, "-c", f"{code} sys.exit(main())", *argv]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_texts_are_compared_without_the_libraries_of_tables(tmp_path: Path):
    for name, words in (("ref", "a b c d e"), ("x1", "a b c d f"), ("x2", "a b d e"), ("y", "a b c d e g")):
        (tmp_path / name).write_text(f"{words}\n" * 3 + "h i j k l\n")
    line = ["compare", "--refs", "ref", "--baseline", "x1", "x2", "--system", "y=y"]
    line += ["--metrics", "bleu", "ter", "chrf", "--samples", "19"]
    line += ["--json", "j", "--latex", "l", "--rank", "r", "--sentence-scores", "s"]
    ran = without_tables(*line, folder=tmp_path)
    assert (ran.returncode, ran.stderr.count("not installed")) == (0, 0), ran.stderr
    assert "y scored" in ran.stdout
    for option in (["--stats-dir", "d"], ["--metrics", "external:file=scores.csv"]):
        ran = without_tables(*line, *option, folder=tmp_path)
        assert ran.returncode == 2
        assert "the extra `tables` is not installed\n  found:    no package pyarrow, pandas\n" in ran.stderr


@pytest.mark.parametrize(
    "command", ["compare --scores s.csv", "test s", "power s", "score --refs r --system a=b --out o"]
)
def test_what_reads_tables_says_which_extra_it_needs(command: str, tmp_path: Path):
    (tmp_path / "s.csv").write_text("system,seed,score\na,1,2\n")
    ran = without_tables(*command.split(), folder=tmp_path)
    assert ran.returncode == 2
    assert "the extra `tables` is not installed" in ran.stderr
    assert extras.to_install("tables") in ran.stderr


def test_systems_say_what_they_lack_before_anything_runs(without: Callable[..., None]):
    without("thot", "pymarian", "sentencepiece")
    assert get_backend("a", {}, "phrase").missing() == [], "the default aligner is our own"
    (error,) = get_backend("a", {"training": {"alignment": "eflomal"}}, "phrase").missing()
    assert error.fix == extras.to_install("phrase")
    (error,) = program.missing("pymarian")
    assert "pymarian, sentencepiece" in str(error)
    (error,) = program.missing("sh")
    assert error.found == "no package sentencepiece"


# what pip writes (PEP 610)
WHEEL = "/a%20b/replitune-0.1.0-py3-none-any.whl"
INSTALLED = {
    None: "'replitune[nmt,slurm]'",
    '{"url": "file:///a%20b", "dir_info": {"editable": true}}': "-e '/a b[nmt,slurm]'",
    '{"url": "file:///a%20b", "dir_info": {}}': "'/a b[nmt,slurm]'",
    f'{{"url": "file://{WHEEL}", "archive_info": {{"hash": "sha256=2d"}}}}': (
        "'/a b/replitune-0.1.0-py3-none-any.whl[nmt,slurm]'"
    ),
    '{"url": "https://a.org/r.whl", "archive_info": {}}': "'replitune[nmt,slurm] @ https://a.org/r.whl'",
    '{"url": "https://a.org/r.git", "vcs_info": {"vcs": "git", "commit_id": "7921be1"}}': (
        "'replitune[nmt,slurm] @ git+https://a.org/r.git@7921be1'"
    ),
    '{"url": "file:///r", "vcs_info": {"vcs": "git", "commit_id": "7921be1"}}': (
        "'replitune[nmt,slurm] @ git+file:///r@7921be1'"
    ),
}


@pytest.mark.parametrize("written", INSTALLED)
def test_the_line_that_adds_extras_is_for_this_copy(
    written: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    about = tmp_path / "replitune-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: replitune\nVersion: 0.1.0\n")
    if written is not None:
        (about / "direct_url.json").write_text(written)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pip").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert extras.to_install("nmt", "slurm") == f"pip install {INSTALLED[written]}"


def test_the_pip_of_another_python_would_not_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert extras.to_install("nmt").startswith(f"{sys.executable} -m pip install ")
