"""The workflow as a module of another one, in an empty folder and without a clone: what snakedeploy
makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import matplotlib
import pytest
import yaml

from support import ROOT, run_file

from .conftest import Snakemake, same_bytes

pytestmark = pytest.mark.workflow

DEPLOYED = """from snakemake.utils import min_version


min_version("6.10.0")


configfile: "config/config.yaml"


# declare https://github.com/replitune/replitune as a module
module replitune:
    snakefile:
        github("replitune/replitune", path="workflow/Snakefile", tag="v0.1.0")
    config:
        config


# use all rules from https://github.com/replitune/replitune
use rule * from replitune
"""
HANDLERS = """
onstart:
    {name}.onstart()


onsuccess:
    {name}.onsuccess()


onerror:
    {name}.onerror()
"""
MODULE = """
module {name}:
    snakefile:
        {snakefile!r}
    config:
        {config}


use rule * from {name} as {name}_*
"""
HERE = str(ROOT / "workflow" / "Snakefile")
GIVEN = yaml.safe_load((ROOT / ".test" / "config" / "config.yaml").read_text("utf-8"))


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def hosted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workflow as a tag of a repository; the address of its host is a folder here."""
    repository = tmp_path / "host" / "replitune" / "replitune"
    for name in ("workflow", "config", "envs"):
        shutil.copytree(ROOT / name, repository / name)
    git(repository, "init")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "all of it")
    git(repository, "tag", "v0.1.0")
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[url "file://{tmp_path}/host/"]\n  insteadOf = https://github.com/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MPLCONFIGDIR", matplotlib.get_cachedir())  # its fonts stay known
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


def smallest(folder: Path) -> Path:
    """The smallest experiment and its data, without what it may have made there."""
    for name in ("config", "data"):
        shutil.copytree(ROOT / ".test" / name, folder / name)
    return folder


@pytest.fixture
def outer(tmp_path: Path) -> Snakemake:
    """A folder with the data of the smallest experiment, for a workflow that uses ours."""
    folder = smallest(tmp_path / "outer")
    (folder / "workflow").mkdir()
    return Snakemake(folder, folder / "workflow" / "Snakefile")


def test_a_deployed_workflow_makes_the_same_bytes(hosted: None, outer: Snakemake, tmp_path: Path):
    outer.snakefile.write_text(DEPLOYED)
    outer.run(configfile=None)
    results = outer.folder / "results" / "given"
    made = same_bytes(results)
    assert len(made) > 20
    plain = smallest(tmp_path / "plain")
    run_file(plain / "config" / "config.yaml", folder=plain)
    assert made == same_bytes(plain / "results" / "given")
    assert (results / "report.html").is_file()
    assert (results / "manifest.json").is_file()
    assert outer.planned(configfile=None) == {}


def test_two_experiments_in_one_workflow_and_one_file(outer: Snakemake):
    """Rules have other names, the file is not ours alone, and each experiment has its lines."""
    second = {**GIVEN, "experiment": "second"}
    outer.write({"mail": "nobody", "one": {"first": GIVEN}, "second": second})
    text = 'configfile: "x.yaml"\n'
    text += MODULE.format(name="first", snakefile=HERE, config='config["one"]["first"]')
    text += MODULE.format(name="second", snakefile=HERE, config='config["second"]')
    text += "rule all:\n    default_target: True\n    input:\n"
    text += "        rules.first_all.input,\n        rules.second_all.input,\n"
    outer.snakefile.write_text(text)
    jobs = outer.planned(configfile=None)
    assert {n: c for n, c in jobs.items() if n.endswith("_score")} == {"first_score": 2, "second_score": 2}

    second["metrics"] = ["bleuu"]
    path = outer.write({"mail": "nobody", "one": {"first": GIVEN}, "second": second})
    line = path.read_text().splitlines().index("  - bleuu") + 1
    ran = outer("--dry-run", configfile=None)
    assert ran.returncode == 1
    assert f"x.yaml:{line}: unknown metric 'bleuu'" in ran.stderr


def test_the_handlers_of_a_module_can_be_called(outer: Snakemake):
    """A missing program is found before the first job, whatever the rules are called."""
    system = {"backend": "command", "decode": "cat {source}", "programs": ["no-such-program"]}
    corpus = {"kind": "synthetic", "tests": {"t": 5}}
    outer.write({"experiment": "e", "corpus": corpus, "systems": {"b": system}})
    text = 'configfile: "x.yaml"\n' + MODULE.format(name="ours", snakefile=HERE, config="config")
    outer.snakefile.write_text(text + HANDLERS.format(name="ours"))
    ran = outer(configfile=None)
    assert ran.returncode == 1
    assert "replitune: the program no-such-program is not on the PATH" in ran.stderr
    assert not list((outer.folder / "results").rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ('config: config\n    prefix: "sub"', "a module with `prefix`"),
        ("# no config", "key `experiment` is missing"),
    ],
)
def test_a_module_that_cannot_work_is_one_message(outer: Snakemake, declared: str, said: str):
    outer.snakefile.write_text(
        'configfile: "config/config.yaml"\n'
        f"module replitune:\n    snakefile: {HERE!r}\n    {declared}\n"
        "use rule * from replitune\n"
    )
    ran = outer("--dry-run", configfile=None)
    assert ran.returncode == 1
    assert f"replitune: {said}" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_library_of_another_version_is_refused(outer: Snakemake, tmp_path: Path):
    shutil.copytree(ROOT / "workflow", tmp_path / "other" / "workflow")
    copy = tmp_path / "other" / "workflow" / "Snakefile"
    copy.write_text(copy.read_text().replace('VERSION = "', 'VERSION = "9.'))
    ran = Snakemake(outer.folder, copy)("--dry-run", configfile="config/config.yaml")
    assert ran.returncode == 1
    assert "are of different versions" in ran.stderr
