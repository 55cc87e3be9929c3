from __future__ import annotations

import contextlib
import gzip
import re
import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest

import replitune
from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.experiment.stage import STAGES, paths_of
from support import ROOT, changed, run_again

from .conftest import TINY, Snakemake, count_jobs, manifest, same_bytes

pytestmark = pytest.mark.workflow


def copied(finished: Snakemake, folder: Path) -> Snakemake:
    """A finished run that a test may change."""
    shutil.copytree(finished.folder, folder / "copy")
    return Snakemake(folder / "copy")


def test_every_promised_file_is_there(finished: Snakemake):
    results = finished.folder / "results" / "tiny"
    for name in (
        "report.html",
        "manifest.json",
        "corpus/inputs.json",
        "corpus/t1.jsonl",
        "decodes/dev/a/seed-001.txt",
        "stats/t1/bleu/a.parquet",
        "tests/t1/bleu.json",
        "tests/t1/bleu.null.parquet",
        "tests/both/bleu.json",
        "tables/systems.csv",
        "tables/pairs.tex",
        "figures/t1.bleu.replicas.svg",
        "benchmarks/score/t1/bleu/a.tsv",
        "logs/test/t1/bleu.log",
    ):
        assert (results / name).is_file(), name
    assert not (results / "tests" / "dev").exists(), "dev is scored and never tested"
    assert not list(results.rglob("*.tmp")), "nothing half-written is left"


def test_python_reads_what_the_workflow_found(finished: Snakemake):
    results = finished.folder / "results" / "tiny"
    report = replitune.read(results)
    for name in ("overview", "pairs", "systems"):
        assert report.table(name).csv() == (results / "tables" / f"{name}.csv").read_text("utf-8")
    assert len(report.to_frame()) == sum(len(result.tests) for result in report.results)
    assert "bleu on t1" in str(report)


def test_a_second_run_has_nothing_to_do(finished: Snakemake):
    assert "Nothing to be done" in finished.run().stderr


def test_the_manifest_accounts_for_every_file(finished: Snakemake):
    results = finished.folder / "results" / "tiny"
    said = manifest(results)
    assert {k: v for k, v in said["files"].items() if k != "report.html"} == same_bytes(results)
    assert said["seed"] == 2011
    assert said["settings"]["tests"]["samples"] == 99
    job = said["jobs"]["score/t1/bleu/a"]
    assert job["command"][:3] == ["replitune", "job", "score"]
    assert job["versions"]["sacrebleu"]


@pytest.mark.parametrize(
    ("change", "jobs"),
    [
        ({}, {}),
        ({"tests__samples": 100}, {"test": 3}),
        ({"tests__correction": "bh"}, {"test": 3}),
        ({"tests__suites": {"both": "all"}}, {"test": 1}),
        ({"tests__family": "all"}, {"test": 3}),
        ({"systems__b__errors": 0.25}, {"decode": 2, "score": 3, "test": 3}),
        ({"systems__b__replicas": {"seeds": 3}}, {"decode": 1, "score": 3, "test": 3}),
        ({"systems__c": {"backend": "corruption"}}, {"decode": 2, "score": 3, "test": 3}),
        (
            {"metrics": ["bleu", {"name": "bleu", "id": "b2", "max_ngram_order": 2}]},
            {"score": 6, "test": 3},
        ),
        # the jobs of t1 and dev find that nothing has changed
        (
            {"corpus__tests": {"t1": 40, "t2": 31}},
            {"corpus": 1, "account": 1, "decode": 4, "score": 6, "test": 3},
        ),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else None,
)
def test_a_change_runs_again_exactly_what_depends_on_it(change: dict, jobs: dict[str, int]):
    last = {"report": 1, "manifest": 1} if change else {}
    assert run_again(TINY, changed(TINY, **change)) == {**jobs, **last}


@pytest.mark.parametrize(
    "change",
    [
        {"tests__suites": {"both": "all"}},
        {"systems__b__replicas": {"seeds": 3}},
        {"corpus__tests": {"t1": 40, "t2": 31}},
    ],
    ids=["settings", "replicas", "texts"],
)
def test_snakemake_plans_what_a_change_runs_again(finished: Snakemake, tmp_path: Path, change: dict):
    experiment = changed(TINY, **change)
    file = Snakemake(tmp_path).write(experiment)
    rules = {"corpus": "corpus_testset", "account": "corpus_inputs"}
    again = run_again(TINY, experiment)
    assert again
    assert finished.planned(configfile=file) == {rules.get(k, k): n for k, n in again.items()}


def test_what_has_not_changed_is_taken_over_and_nothing_else(finished: Snakemake, tmp_path: Path):
    """In one run: another test set, a replica more of b, two translations of a that somebody
    changed or removed."""
    runner = copied(finished, tmp_path)
    results = runner.folder / "results" / "tiny"
    before = same_bytes(results)
    experiment = changed(
        TINY, corpus__tests={"t1": 40, "t2": 30, "t3": 10}, systems__b__replicas={"seeds": 3}
    )
    (results / "decodes" / "t1" / "a" / "seed-002.txt").write_text("other\n")
    (results / "decodes" / "t2" / "a" / "seed-002.txt").unlink()
    runner.write(experiment)
    runner.run()
    kept = "nothing it depends on has changed; the earlier output is kept"

    def log(name: str) -> str:
        return (results / "logs" / f"{name}.log").read_text()

    assert log("decode/a/seed-001").splitlines() == [f"{name}: {kept}" for name in ("dev", "t1", "t2")]
    assert [line.partition(":")[0] for line in log("decode/a/seed-002").splitlines()] == ["dev"]
    for name in ("score/t1/bleu/a", "score/t2/bleu/a", "score/dev/bleu/a"):
        assert kept in log(name), name
    for name in ("score/t1/bleu/b", "score/t3/bleu/a", "test/t1/bleu", "test/t3/bleu", "test/both/bleu"):
        assert kept not in log(name), name
    assert "rows of 2 runs taken over" in log("score/t1/bleu/b")
    after = same_bytes(results)
    differ = {name for name in before if before[name] != after.get(name)}
    assert not {name for name in differ if name.startswith("decodes/")}
    assert {name for name in differ if name.startswith("stats/")} == {
        f"stats/{testset}/bleu/b.parquet" for testset in ("dev", "t1", "t2")
    }
    parts = manifest(results)["jobs"]["decode/a/seed-001"]["parts"]
    assert list(parts) == ["dev", "t1", "t2", "t3"]
    assert min(parts.values()) > 0, "what was taken over costs what it did"
    assert runner.planned() == {}
    alone = Snakemake(tmp_path / "alone")
    alone.folder.mkdir()
    alone.in_process(experiment)
    assert same_bytes(alone.folder / "results" / "tiny") == after


def test_another_test_set_leaves_the_tests_of_others_as_they_are(finished: Snakemake, tmp_path: Path):
    runner = copied(finished, tmp_path)
    before = same_bytes(runner.folder / "results" / "tiny")
    after = Experiment(resolve(changed(TINY, corpus__tests={"t1": 40, "t2": 30, "t3": 10})))
    for stage, *names in (("score", "t1", "bleu", "a"), ("test", "t1", "bleu"), ("test", "both", "bleu")):
        told = after.stage(stage, **dict(zip(("testset", "metric", "system"), names, strict=False))).json
        where = "/".join((stage, *names))
        with contextlib.chdir(runner.folder):
            log, record = after.at.log(where), after.at.record(where)
            assert main(["job", stage, "--settings", told, "--log", log, "--record", record]) == 0
            assert "has changed; the earlier output is kept" in Path(log).read_text()
    assert same_bytes(runner.folder / "results" / "tiny") == before


EVERY_STAGE = {
    "experiment": "every",
    "corpus": {"kind": "synthetic", "train": 9, "dev": 9, "tests": {"t": 9, "u": 9}},
    "systems": {
        "trained": {"backend": "hiero", "replicas": {"mert": 2}},
        "seeded": {"backend": "command", "train": "x", "tune": "x", "decode": "x", "resources": {"gpu": 1}},
        "made": {"backend": "corruption"},
        "given": {"backend": "outputs", "files": {"t": "{a,b}.txt", "u": "{a,b}.txt"}},
    },
    "replicas": {"seeds": 3},
    "metrics": ["bleu", "chrf"],
    "tests": {"methods": ["crossed"], "suites": {"both": "all"}},
    "studies": {
        "power": {"replicas": [3]},
        "replication": {"sizes": [1], "repeats": 2},
        "calibrate": {"sizes": [1], "trials": 2},
        "meta": {"human": {"t": "people.tsv"}},
    },
}


def test_rules_know_the_files_of_their_stages(snakemake: Snakemake):
    """Every job that Snakemake plans is told, makes, and has from other jobs what its stage says, and
    there are no other jobs. So what is made without Snakemake is what Snakemake has made."""
    for name in ("a.txt", "b.txt", "people.tsv"):
        (snakemake.folder / name).write_text("x\n")
    snakemake.write(EVERY_STAGE)
    ran = snakemake.run("--dry-run", "--printshellcmds")
    printed = re.findall(
        r"^Reason: Missing output files: (.*?)(?:; Input files updated by another job: (.*))?\n"
        r"Shell command: (.*?) *$",
        ran.stdout + ran.stderr,
        re.MULTILINE,
    )
    planned = {command: (made.split(", "), read.split(", ")) for made, read, command in printed}
    with contextlib.chdir(snakemake.folder):
        experiment = Experiment(resolve(EVERY_STAGE))
    at, stages = experiment.at, set()
    for job in jobs_of(experiment):
        stage = experiment.stage(job.stage, **job.names)
        stages.add(job.stage)
        told = f"replitune job {job.stage} --settings {shlex.quote(stage.json)} "
        (command,) = (command for command in planned if command.startswith(told))
        assert command.endswith(f" --log {at.log(job.name)} --record {at.record(job.name)}")
        made, read = planned.pop(command)
        assert {*made} == {str(path) for path in paths_of(stage.outputs)}, job
        others = {str(path) for path in paths_of(stage.inputs) if path.is_relative_to(at.folder)}
        if job.stage == "manifest":
            others |= {at.tables, at.figures}
        assert {*read} - {"", at.kernels} == others, job
    assert not planned
    elsewhere = {"look", "batch", "ask", "human"}  # in tests of looks, endpoints, judgements
    assert stages == {*STAGES.names} - elsewhere


def test_an_experiment_is_run_alone(finished: Snakemake):
    """Snakemake merges config files: the default one must not add its systems."""
    printed = (finished.folder / "printed.txt").read_text()
    assert "lexro" not in printed
    assert count_jobs(printed)["decode"] == 2 * 2


def test_the_default_experiment_needs_no_file(snakemake: Snakemake):
    plan = snakemake.run("--dry-run", configfile=None)
    assert "results/quickstart/report.html" in plan.stdout + plan.stderr


def test_several_experiments_live_side_by_side(finished: Snakemake, tmp_path: Path):
    other = {**TINY, "experiment": "other", "scales": {"s": {"replicas": {"seeds": 1}}}}
    file = Snakemake(tmp_path).write(other)
    plan = finished.run("--dry-run", "--config", "scale=s", configfile=file)
    assert "results/other-s/report.html" in plan.stdout + plan.stderr
    assert "results/tiny" not in plan.stdout + plan.stderr
    assert count_jobs(plan.stdout + plan.stderr)["decode"] == 2


def test_mistakes_are_one_message_and_exit_one(snakemake: Snakemake):
    snakemake.write({**TINY, "sede": 1, "experiment": "a b", "metrics": ["bleuu"]})
    ran = snakemake("--dry-run")
    assert ran.returncode == 1
    for message in ("did you mean `seed`", "did you mean `bleu`", "letters, digits"):
        assert message in ran.stderr
    assert "x.yaml:" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (snakemake.folder / "results").exists()


def outputs(folder: Path, **files: str) -> dict:
    """An experiment on given outputs: two lines of reference."""
    (folder / "ref.txt").write_text("the cat <b>sat</b> & slept\nthe dog ran away\n")
    systems = {name: {"backend": "outputs", "files": {"t": pattern}} for name, pattern in files.items()}
    return {
        "experiment": "given",
        "corpora": str(folder),
        "corpus": {"kind": "files", "tests": {"t": {"references": "ref.txt"}}},
        "systems": systems,
        "tests": {"samples": 99},
    }


def test_given_outputs_with_any_file_name_beside_bad_ones(snakemake: Snakemake):
    """A bad output stops its own system, with a message; without it, all goes well."""
    folder = snakemake.folder
    bad = {
        "short": (b"one line\n", "1 line"),
        "empty": (b"", "0 lines"),
        "coded": (b"one\ntw\xff\n", "invalid UTF-8"),
        "lost": (None, "no such file"),
    }
    files = {"one": "one ' ; echo $HOME \" {1..2}.txt", "two": "two *.gz"}
    text = "the cat <b>sat</b> & slept\nthe dog <script>alert(1)</script>\n"
    for number in (1, 2):
        (folder / f"one ' ; echo $HOME \" {number}.txt").write_text(text)
        (folder / f"two {number}.gz").write_bytes(gzip.compress(text.encode()))
    for name, (content, _) in bad.items():
        if content is not None:
            (folder / f"{name}.txt").write_bytes(content)
    # the first of the two is good
    given = {name: f"{{one ' ; echo $HOME \" 1,{name}}}.txt" for name in bad}
    experiment = outputs(folder, **files, **given)
    (folder / "ref.txt").rename(folder / "later.txt")
    snakemake.write(experiment)
    assert snakemake.planned()["collect_1"] == 1, "a dry run needs no data"
    (folder / "later.txt").rename(folder / "ref.txt")
    ran = snakemake("--keep-going")
    assert ran.returncode == 1
    decodes = folder / "results" / "given" / "decodes" / "t"
    for name, (_, message) in bad.items():
        said = (folder / f"results/given/logs/decode/t/{name}.log").read_text()
        assert message in said
        assert f"{name}.txt" in said
        assert f"logs/decode/t/{name}.log" in ran.stderr
        assert not list(decodes.glob(f"{name}/*")), "nothing half-written"
    assert (decodes / "two" / "run-002.txt").read_text() == text, "the others go on"
    assert len(list(decodes.glob("*/*.txt"))) == 4
    snakemake.write(outputs(folder, **files))
    snakemake.run()
    given_files = manifest(folder / "results" / "given")["outputs_given"]["one"]["t"]
    assert len(given_files["run-001"]["sha256"]) == 64
    assert "<script>alert" not in (folder / "results" / "given" / "report.html").read_text()


def test_a_missing_reference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    experiment = outputs(tmp_path, one="{a,b}.txt", two="{a,b}.txt")
    (tmp_path / "ref.txt").unlink()
    stage = Experiment(resolve(experiment)).stage("corpus", part="t")
    assert not stage.planned["files"]
    with contextlib.chdir(tmp_path):
        assert main(["job", "corpus", "--settings", stage.json]) == 2
    assert "ref.txt: no such file" in capsys.readouterr().err


def test_one_core_and_a_kill_9_give_the_same_bytes(finished: Snakemake, snakemake: Snakemake):
    """As on two cores without an interruption."""
    snakemake.write(TINY)
    killed = snakemake.start(cores=1)
    decodes = snakemake.folder / "results" / "tiny" / "decodes"
    while killed.poll() is None and not list(decodes.rglob("*.txt")):
        time.sleep(0.05)
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert snakemake().returncode != 0, "the lock is respected"
    snakemake.run("--unlock")
    snakemake.run("--rerun-incomplete", cores=1)
    expected = same_bytes(finished.folder / "results" / "tiny")
    assert len(expected) > 40
    assert same_bytes(snakemake.folder / "results" / "tiny") == expected


def test_every_rule_logs_is_benchmarked_and_asks_for_resources():
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = re.split(r"\n\s*rule [^\n]*:\n", path.read_text())[1:]
        for body in rules:
            for key in (
                "**logs(",  # messages, record and benchmark
                "**amounts(",  # memory and time
                "threads:",
                "message:",
                "shell:",
                "job=",  # what it is told, so that a change runs it again
            ):
                assert key in body, f"{path.name}: {key}"
            assert "run:" not in body.replace("dry-run:", "")
            assert "script:" not in body
