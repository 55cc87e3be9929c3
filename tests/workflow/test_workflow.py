from __future__ import annotations

import copy
import gzip
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

import replitune

from .conftest import ROOT, TINY, Snakemake, manifest, same_bytes

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
        "tests/t1/bleu.parquet",
        "tests/t1/bleu.systems.parquet",
        "tests/t1/bleu.null.parquet",
        "tests/t1/bleu.notes.parquet",
        "tests/both/bleu.parquet",
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


def test_one_core_and_two_give_the_same_bytes(finished: Snakemake, snakemake: Snakemake):
    snakemake.write(TINY)
    snakemake.run(cores=1)
    one = same_bytes(snakemake.folder / "results" / "tiny")
    assert one == same_bytes(finished.folder / "results" / "tiny")
    assert len(one) > 40


def test_the_manifest_accounts_for_every_file(finished: Snakemake):
    results = finished.folder / "results" / "tiny"
    said = manifest(results)
    hidden = ".snakemake_timestamp"
    there = {k: v for k, v in same_bytes(results).items() if not k.endswith(hidden)}
    assert {k: v for k, v in said["files"].items() if k != "report.html"} == there
    assert said["seed"] == 2011
    assert said["settings"]["tests"]["samples"] == 99
    job = said["jobs"]["score/t1/bleu/a"]
    assert job["command"][:3] == ["replitune", "job", "score"]
    assert job["versions"]["sacrebleu"]


def plan(runner: Snakemake, **changes: object) -> dict[str, int]:
    experiment = copy.deepcopy(TINY)
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = experiment
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    runner.write(experiment, "changed.yaml")
    return runner.planned(configfile="changed.yaml")


def test_a_change_runs_again_exactly_what_depends_on_it(finished: Snakemake):
    last = {"report": 1, "manifest": 1}
    assert plan(finished) == {}
    assert plan(finished, tests__samples=100) == {"test": 3, **last}
    assert plan(finished, tests__correction="bh") == {"test": 3, **last}
    assert plan(finished, tests__suites={"both": "all"}) == {"test": 1, **last}
    assert plan(finished, tests__family="all") == {"test": 3, **last}
    assert plan(finished, systems__b__errors=0.25) == {"decode": 2, "score": 3, "test": 3, **last}
    assert plan(finished, systems__b__replicas={"seeds": 3}) == {"decode": 1, "score": 3, "test": 3, **last}
    assert plan(finished, systems__c={"backend": "corruption"}) == {
        "decode": 2,
        "score": 3,
        "test": 3,
        **last,
    }
    assert plan(finished, metrics=["bleu", {"name": "bleu", "id": "b2", "max_ngram_order": 2}]) == {
        "score": 6,
        "test": 3,
        **last,
    }
    grown = plan(finished, corpus__tests={"t1": 40, "t2": 31})
    assert grown == {
        "corpus_testset": 1,
        "corpus_inputs": 1,
        # the jobs of t1 and dev find that nothing has changed: see the next test
        "decode": 4,
        "score": 6,
        "test": 3,
        **last,
    }


def test_another_test_set_leaves_the_others_as_they_are(finished: Snakemake, tmp_path: Path):
    runner = copied(finished, tmp_path)
    results = runner.folder / "results" / "tiny"
    before = same_bytes(results)
    more = {**TINY["corpus"], "tests": {"t1": 40, "t2": 30, "t3": 10}}
    runner.write({**TINY, "corpus": more})
    runner.run()
    kept = "nothing that it depends on has changed: taken over"
    log = (results / "logs" / "decode" / "a" / "seed-001.log").read_text()
    assert log.splitlines() == [f"{name}: {kept}" for name in ("dev", "t1", "t2")]
    for name in ("score/t1/bleu/a", "score/dev/bleu/b", "test/t1/bleu", "test/both/bleu"):
        assert kept in (results / "logs" / f"{name}.log").read_text(), name
    assert kept not in (results / "logs" / "test" / "t3" / "bleu.log").read_text()
    after = same_bytes(results)
    made = ("decodes/", "stats/", "tests/")
    assert {n: after[n] for n in before if n.startswith(made)} == {
        n: before[n] for n in before if n.startswith(made)
    }
    assert "Nothing to be done" in runner.run().stderr
    parts = manifest(results)["jobs"]["decode/a/seed-001"]["parts"]
    assert list(parts) == ["dev", "t1", "t2", "t3"]
    assert min(parts.values()) > 0, "what was taken over costs what it did"


def test_what_was_changed_by_hand_is_not_taken_over(finished: Snakemake, tmp_path: Path):
    runner = copied(finished, tmp_path)
    results = runner.folder / "results" / "tiny"
    before = same_bytes(results)
    (results / "decodes" / "t1" / "a" / "seed-001.txt").write_text("other\n")
    (results / "decodes" / "t2" / "a" / "seed-001.txt").unlink()
    runner.run()
    log = (results / "logs" / "decode" / "a" / "seed-001.log").read_text()
    assert [line.partition(":")[0] for line in log.splitlines()] == ["dev"]
    assert same_bytes(results) == before


def test_rows_of_unchanged_replicas_are_taken_over(finished: Snakemake, tmp_path: Path):
    runner = copied(finished, tmp_path)
    before = same_bytes(runner.folder / "results" / "tiny")
    experiment = copy.deepcopy(TINY)
    experiment["systems"]["b"]["replicas"] = {"seeds": 3}
    runner.write(experiment)
    runner.run()
    results = runner.folder / "results" / "tiny"
    log = (results / "logs" / "score" / "t1" / "bleu" / "b.log").read_text()
    assert "rows of 2 replicas taken over" in log
    after = same_bytes(results)
    changed = {name for name in before if before[name] != after[name]}
    assert not {name for name in changed if name.startswith(("decodes/", "corpus/"))}
    assert {name for name in changed if name.startswith("stats/")} == {
        f"stats/{testset}/bleu/b.parquet" for testset in ("dev", "t1", "t2")
    }


def test_an_experiment_is_run_alone(snakemake: Snakemake):
    """Snakemake merges config files: the default one must not add its systems."""
    snakemake.write(TINY)
    plan = snakemake.run("--dry-run")
    assert "lexro" not in plan.stdout + plan.stderr
    assert snakemake.planned()["decode"] == 2 * 2


def test_the_default_experiment_needs_no_file(snakemake: Snakemake):
    plan = snakemake.run("--dry-run", configfile=None)
    assert "results/quickstart/report.html" in plan.stdout + plan.stderr


def test_several_experiments_live_side_by_side(finished: Snakemake):
    finished.write({**TINY, "experiment": "other", "scales": {"s": {"replicas": {"seeds": 1}}}}, "o.yaml")
    plan = finished.run("--dry-run", "--config", "scale=s", configfile="o.yaml")
    assert "results/other-s/report.html" in plan.stdout + plan.stderr
    assert "results/tiny" not in plan.stdout + plan.stderr
    assert finished.planned("--config", "scale=s", configfile="o.yaml")["decode"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sede": 1}, "did you mean `seed`"),
        ({"tests": {"pairs": [["a", "nobody"]]}}, "unknown system 'nobody'"),
        ({"tests": {"samples": -1}}, "at least 1"),
        ({"experiment": "a b"}, "letters, digits"),
    ],
)
def test_a_mistake_is_one_message_and_exit_one(snakemake: Snakemake, change: dict, message: str):
    snakemake.write({**TINY, **change})
    ran = snakemake("--dry-run")
    assert ran.returncode == 1
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


def test_given_outputs_with_any_file_name(snakemake: Snakemake):
    folder = snakemake.folder
    experiment = outputs(folder, one="one ' ; echo $HOME \" {1..2}.txt", two="two *.gz")
    text = "the cat <b>sat</b> & slept\nthe dog <script>alert(1)</script>\n"
    for number in (1, 2):
        (folder / f"one ' ; echo $HOME \" {number}.txt").write_text(text)
        (folder / f"two {number}.gz").write_bytes(gzip.compress(text.encode()))
    snakemake.write(experiment)
    snakemake.run()
    decoded = folder / "results" / "given" / "decodes" / "t" / "two" / "run-002.txt"
    assert decoded.read_text() == text
    given = manifest(folder / "results" / "given")["outputs_given"]["one"]["t"]
    assert len(given["run-001"]["sha256"]) == 64
    assert "<script>alert" not in (folder / "results" / "given" / "report.html").read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one line\n", "1 line"),
        (b"", "0 lines"),
        (b"one\ntw\xff\n", "invalid UTF-8"),
        (None, "no such file"),
    ],
)
def test_a_bad_output_stops_its_system_with_a_message(
    snakemake: Snakemake, content: bytes | None, message: str
):
    folder = snakemake.folder
    (folder / "good.txt").write_text("the cat\nthe dog\n")
    if content is not None:
        (folder / "bad.txt").write_bytes(content)
    snakemake.write(outputs(folder, good="{good,good}.txt", bad="{good,bad}.txt"))
    ran = snakemake("--keep-going")
    assert ran.returncode == 1
    assert message in ran.stderr
    assert "bad.txt" in ran.stderr
    assert "logs/decode/t/bad.log" in ran.stderr
    decodes = folder / "results" / "given" / "decodes" / "t"
    assert not list(decodes.glob("bad/*")), "nothing half-written"
    assert len(list(decodes.glob("good/*.txt"))) == 2, "the other system goes on"


def test_a_missing_reference_is_named(snakemake: Snakemake):
    experiment = outputs(snakemake.folder, one="{a,b}.txt", two="{a,b}.txt")
    (snakemake.folder / "ref.txt").unlink()
    snakemake.write(experiment)
    snakemake.run("--dry-run")  # a dry run needs no data
    ran = snakemake()
    assert ran.returncode == 1
    assert "ref.txt: no such file" in ran.stderr


def test_resume_after_kill_9_gives_the_same_bytes(finished: Snakemake, snakemake: Snakemake):
    snakemake.write(TINY)
    killed = snakemake.start()
    decodes = snakemake.folder / "results" / "tiny" / "decodes"
    while killed.poll() is None and not list(decodes.rglob("*.txt")):
        time.sleep(0.05)
    killed.kill()
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert snakemake().returncode != 0, "the lock is respected"
    snakemake.run("--unlock")
    snakemake.run("--rerun-incomplete")
    expected = same_bytes(finished.folder / "results" / "tiny")
    assert same_bytes(snakemake.folder / "results" / "tiny") == expected


def test_every_rule_logs_is_benchmarked_and_asks_for_resources():
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        rules = re.split(r"\n\s*rule [^\n]*:\n", path.read_text())[1:]
        for body in rules:
            for key in (
                "**logs(",  # messages, record and benchmark
                "mem_mb",
                "runtime",
                "threads:",
                "message:",
                "shell:",
            ):
                assert key in body, f"{path.name}: {key}"
            assert "run:" not in body.replace("dry-run:", "")
            assert "script:" not in body
