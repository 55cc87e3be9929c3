from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from replitune.cli import new
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from replitune.workflow.templates import TEMPLATES
from support import ROOT, Ran

Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_new_experiment_is_valid_and_has_what_it_speaks_of(
    replitune: Run, template: str, monkeypatch: pytest.MonkeyPatch
):
    ran = replitune("new", "x", "--from", template)
    assert ran.code == 0, ran.err
    assert "replitune run" in ran.out
    text = Path("x/experiment.yaml").read_text()
    assert Path("x", text.splitlines()[0].partition("$schema=")[2]).is_file()
    for name in (".gitignore", "profile/config.yaml"):
        assert Path("x", name).is_file()
    assert ("scripts/" in text) == Path("x/scripts").is_dir()
    assert "config/" not in text, "names of a clone"
    monkeypatch.chdir("x")
    assert replitune("check", "experiment.yaml").code == 0


def test_a_template_differs_from_its_file_in_names_of_files_only(replitune: Run):
    replitune("new", "x", "--from", "quickstart")
    assert load("x/experiment.yaml") == load(ROOT / "config" / "config.yaml")
    assert Path("x/experiment.yaml").read_text().count("#") > 10, "comments stay"


def test_without_outputs_of_ones_own_there_are_made_up_ones(
    replitune: Run, monkeypatch: pytest.MonkeyPatch
):
    replitune("new", "x", "--from", "own-outputs")
    monkeypatch.chdir("x")
    assert replitune("check", "experiment.yaml", "--data").code == 0
    experiment = Experiment(load("experiment.yaml"))
    assert {name: len(experiment.replicas(name)) for name in experiment.systems} == {
        "baseline": 3,
        "better": 3,
    }


@pytest.mark.parametrize(
    "path",
    [ROOT / "config/config.yaml", *sorted((ROOT / "config/experiments").glob("*.yaml"))],
    ids=lambda path: path.stem,
)
def test_texts_of_every_experiment_are_looked_at_or_missed(replitune: Run, path: Path):
    ran = replitune("check", str(path), "--data")
    assert ran.code == 0 or "no such file" in ran.err


def test_outputs_of_ones_own_are_named_from_the_new_folder(
    replitune: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("ref.txt", "a.1", "a.2", "b: one.1", "b: one.2"):
        Path(name).write_text(f"a line of {name}\n")
    own = ["--refs", "ref.txt", "--system", "old=a.1", "a.2"]
    own += ["--system", f"new={tmp_path / 'b: one.1'}", "b: one.2"]
    ran = replitune("new", "deep/x", *own)
    assert ran.code == 0, ran.err
    data = yaml.safe_load(Path("deep/x/experiment.yaml").read_text())
    assert data["corpus"]["tests"] == {"test": {"references": "../../ref.txt"}}
    assert data["systems"]["old"]["files"] == {"test": ["../../a.1", "../../a.2"]}
    assert data["systems"]["new"]["files"]["test"][0] == str(tmp_path / "b: one.1")
    assert data["tests"]["pairs"] == {"baseline": "old"}
    monkeypatch.chdir("deep/x")
    ran = replitune("check", "experiment.yaml", "--data")
    assert ran.code == 0, ran.err


def test_nothing_is_overwritten(replitune: Run):
    assert replitune("new", "x", "--from", "quickstart").code == 0
    Path("x/experiment.yaml").write_text("mine")
    for template in ("quickstart", "own-outputs"):
        ran = replitune("new", "x", "--from", template)
        assert (ran.code, "already exists" in ran.err) == (2, True)
    assert Path("x/experiment.yaml").read_text() == "mine"
    assert not Path("x/outputs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--from is missing"),
        (("--from", "multi30k", "--refs", "r"), "makes its own"),
        (("--refs", "r"), "too little is given to compare"),
        (("--refs", "r", "--system", "a=x", "--system", "b=y"), "r: no such file"),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing(replitune: Run, words: tuple, said: str):
    ran = replitune("new", "x", *words)
    assert ran.code == 2
    assert said in ran.err
    assert not Path("x").exists()


def test_on_a_terminal_what_is_missing_is_asked(replitune: Run, monkeypatch: pytest.MonkeyPatch):
    for name in ("my ref.txt", "a.1", "b.1"):
        Path(name).write_text("a line\n")
    answers = iter(["2", "'my ref.txt'", "a=a.*", "b=b.1", ""])
    monkeypatch.setattr(new, "_can_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert replitune("new", "x").code == 0
    assert list(Experiment(load("x/experiment.yaml")).systems) == ["a", "b"]
    assert next(answers, None) is None


def test_an_open_quote_in_an_answer_is_a_mistake(replitune: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(new, "_can_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: "'ref.txt")
    ran = replitune("new", "x", "--from", "own-outputs")
    assert (ran.code, "No closing quotation" in ran.err) == (2, True)


def test_options_that_answer_ask_nothing(replitune: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(new, "_can_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail(question))
    assert replitune("new", "x", "--from", "quickstart").code == 0


def test_new_and_run_load_nothing_heavy():
    code = (
        "import sys; from replitune.cli.main import main, parser_of;"
        "parser_of('new'), parser_of('run'), parser_of('doctor');"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'numba', 'yaml', 'snakemake')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
