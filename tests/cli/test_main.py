from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune.cli.main import COMMANDS
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from support import ROOT, Ran


def test_help_names_every_command(replitune: Callable[..., Ran]):
    ran = replitune("--help")
    assert ran.code == 0
    for name in COMMANDS:
        assert f"  {name} " in ran.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(replitune: Callable[..., Ran], name: str):
    ran = replitune(name, "--help")
    assert ran.code == 0
    assert f"replitune {name}" in ran.out


def test_an_unknown_command_names_the_nearest(replitune: Callable[..., Ran]):
    ran = replitune("comapre")
    assert ran.code == 2
    assert "did you mean `replitune compare`" in ran.err


def test_the_command_line_imports_nothing_heavy():
    heavy = "numpy numba pandas scipy pyarrow matplotlib sacrebleu jinja2 jsonschema yaml"
    code = (
        "import sys; import replitune.cli.main as c; c.main(['--help']);"
        f"loaded = [m for m in {heavy.split()} if m in sys.modules];"
        "sys.exit(', '.join(loaded) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_check_prints_what_an_experiment_would_do(
    replitune: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)  # whose experiment is the default
    ran = replitune("check", "--scale", "small")
    assert ran.code == 0
    assert "quickstart-small" in ran.out
    assert "lexro (1 run)" in ran.out


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "experiments").glob("*.yaml")), ids=str)
def test_every_experiment_of_the_repository_is_valid(replitune: Callable[..., Ran], path: Path):
    ran = replitune("check", path)
    assert ran.code == 0, ran.err


def test_check_refuses_unknown_metrics_and_tests(replitune: Callable[..., Ran], tmp_path: Path):
    text = (ROOT / "config" / "config.yaml").read_text()
    path = tmp_path / "x.yaml"
    path.write_text(text.replace("metrics: [bleu,", "metrics: [blue,"))
    ran = replitune("check", path)
    assert (ran.code, "bleu" in ran.err, "Traceback" in ran.err) == (2, True, False)
    path.write_text(text.replace("[crossed, clark, ", "[crosed, clark, "))
    ran = replitune("check", path)
    assert (ran.code, "crossed" in ran.err) == (2, True)


def test_a_log_holds_the_message(replitune: Callable[..., Ran], tmp_path: Path):
    log = tmp_path / "a.log"
    ran = replitune("check", tmp_path / "missing.yaml", "--log", log)
    assert ran.code == 2
    assert "no such file" in ran.err
    assert "no such file" in log.read_text()
    assert replitune("check", ROOT / "config" / "config.yaml", "--log", log).code == 0
    assert "quickstart" in log.read_text()


def test_a_job_leaves_a_record_of_what_ran(
    replitune: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    experiment = Experiment(load(ROOT / "config" / "config.yaml"))
    told = experiment.stage("corpus", part="test1").json
    record = tmp_path / "results" / "quickstart" / "logs" / "corpus" / "test1.json"
    ran = replitune("job", "corpus", "--settings", told, "--record", record)
    assert ran.code == 0, ran.err
    written = json.loads(record.read_text())
    assert written["outputs"].keys() == {"corpus/test1.jsonl", "corpus/test1.inputs.json"}
    assert written["cpu_seconds"] > 0


def test_a_job_that_is_told_nonsense_is_one_message(replitune: Callable[..., Ran]):
    ran = replitune("job", "corpus", "--settings", '{"part": 3}')
    assert ran.code == 2
    assert "stage corpus" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("log", ["file/a.log", "file/logs/a.log", "folder"])
def test_a_log_that_cannot_be_written_is_one_message(
    replitune: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    ran = replitune("check", "x.yaml", "--log", log)
    assert ran.code == 2
    assert ran.err.startswith(f"replitune: {log}: the log cannot be written")


def test_a_log_in_a_new_folder_is_written(
    replitune: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert replitune("check", "x.yaml", "--log", "new/logs/a.log").code == 2
    assert "x.yaml: no such file" in (tmp_path / "new/logs/a.log").read_text()


def test_an_output_that_knows_ascii_alone_is_no_failure(tmp_path: Path):
    (tmp_path / "r").write_text("ä b c d\n")
    command = [sys.executable, "-m", "replitune", "check", "x.yaml"]
    (tmp_path / "x.yaml").write_text("experiment: \u00e4\n")
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
    )
    assert ran.returncode == 2
    assert b"UnicodeEncodeError" not in ran.stderr
    assert b"\\xe4" in ran.stderr


def test_a_full_disk_under_standard_output_is_one_message():
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "replitune", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ran.returncode == 1
    assert ran.stderr.startswith("replitune: the disk is full\n")
    assert ran.stderr.count("\n") == 2
