from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from replitune.corpus.outputs import expand
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.plan import Cost, check_disk, check_memory, costs
from replitune.experiment.reading import load, resolve
from replitune.experiment.sizes import DIFFERENT, Sizes
from replitune.experiment.stage import STAGES
from replitune.experiment.yaml_file import read_yaml
from replitune.readers.names import natural
from replitune.replicas import replica_ids
from replitune.running.files import write_lines
from support import ROOT


def outputs_experiment(folder: Path, files: object) -> Experiment:
    return Experiment(
        resolve(
            {
                "experiment": "x",
                "corpora": str(folder),
                "corpus": {"kind": "files", "tests": {"t": {"references": "r"}, "u": {"references": "r"}}},
                "systems": {"a": {"backend": "outputs", "files": files}},
            }
        )
    )


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("x\n")


def test_replica_ids_have_three_digits_and_know_their_group():
    replicas = replica_ids({"mert": 2, "seeds": 1})
    assert [r.id for r in replicas] == ["mert-001", "mert-002", "seed-001"]
    assert [r.group for r in replicas] == ["mert", "mert", None]
    assert [r.index for r in replicas] == [1, 2, 1]


def test_natural_order():
    assert sorted(["run10", "run2", "run1", "Run3"], key=natural) == [
        "run1",
        "run2",
        "run10",
        "Run3",
    ] or sorted(["run10", "run2"], key=natural) == ["run2", "run10"]


def test_files_are_in_one_order_whatever_that_of_the_disk(tmp_path: Path, monkeypatch):
    touch(tmp_path, "run2", "run02", "run1")
    for reverse in (False, True):
        monkeypatch.setattr(
            "glob.glob", lambda *_, r=reverse, **__: sorted(map(str, tmp_path.iterdir()), reverse=r)
        )
        assert [path.name for path in expand("run*", tmp_path)] == ["run1", "run02", "run2"]


def test_given_outputs_are_numbered_in_natural_order(tmp_path: Path):
    touch(tmp_path, "t.10", "t.2", "t.1", "u.1", "u.2", "u.10")
    experiment = outputs_experiment(tmp_path, {"t": "t.*", "u": "u.{1,2,10}"})
    assert [r.id for r in experiment.replicas("a")] == ["run-001", "run-002", "run-003"]
    assert [p.name for p in experiment.outputs["a"]["t"].values()] == ["t.1", "t.2", "t.10"]


def test_given_outputs_may_belong_to_tuners(tmp_path: Path):
    files = {"mert": "{t,v}.1", "mira": ["w.1"]}
    experiment = outputs_experiment(tmp_path, {"t": files, "u": files})
    assert [(r.id, r.group) for r in experiment.replicas("a")] == [
        ("mert-001", "mert"),
        ("mert-002", "mert"),
        ("mira-001", "mira"),
    ]
    assert experiment.replica_counts("a") == {"mert": 2, "mira": 1}


def test_braces_do_not_look_on_the_disk(tmp_path: Path):
    assert [p.name for p in expand("x{08..11}{a,b}", tmp_path)][:3] == ["x08a", "x08b", "x09a"]


def test_a_pattern_without_a_match_is_an_error(tmp_path: Path):
    with pytest.raises(ReplituneError, match="no match for nothing"):
        _ = outputs_experiment(tmp_path, {"t": "nothing.*", "u": "nothing.*"}).outputs


def test_different_replicas_on_different_test_sets_are_an_error(tmp_path: Path):
    touch(tmp_path, "t.1", "t.2", "u.1")
    with pytest.raises(ReplituneError, match="different runs") as error:
        _ = outputs_experiment(tmp_path, {"t": "t.*", "u": "u.*"}).outputs
    assert "1 files for u" in str(error.value)


def test_what_a_job_is_told_reads_as_the_same_stage():
    experiment = Experiment(load(ROOT / "config" / "config.yaml"))
    told = {
        "corpus": {"part": "train"},
        "account": {},
        "kernels": {},
        "train": {"system": "lexro"},
        "table": {"system": "lexro", "testset": "test1"},
        "tune": {"system": "lexro", "replica": "mert-002"},
        "decode": {"system": "lexro", "replica": "pro-001"},
        "score": {"testset": "test1", "metric": "ter-norm", "system": "lexro"},
        "test": {"testset": "test1", "metric": "bleu"},
        "power": {"testset": "test1", "metric": "bleu"},
        "report": {},
        "manifest": {},
    }
    for name, names in told.items():
        stage = experiment.stage(name, **names)
        assert msgspec.json.decode(stage.json, type=STAGES[name]) == stage
        assert stage.outputs


def test_a_setting_reaches_the_stages_that_depend_on_it_and_no_others():
    def stages(**changes):
        data = {**read_yaml(ROOT / "config" / "config.yaml")[0], **changes}
        experiment = Experiment(resolve(data))
        return {
            "tune mert": experiment.stage("tune", system="lexro", replica="mert-001").json,
            "tune pro": experiment.stage("tune", system="lexro", replica="pro-001").json,
            "decode": experiment.stage("decode", system="lexro", replica="pro-001").json,
            "test": experiment.stage("test", testset="test1", metric="bleu").json,
        }

    def differ(**changes):
        before, after = stages(), stages(**changes)
        return [name for name in before if before[name] != after[name]]

    tuning = read_yaml(ROOT / "config" / "config.yaml")[0]["tuning"]
    assert differ(tuning={**tuning, "mert": {"restarts": 1}}) == ["tune mert"]
    assert differ(tuning={**tuning, "nbest": 50}) == ["tune mert", "tune pro"]
    assert differ(tests={"samples": 99}) == ["test"]
    assert differ(allow_missing_replicas=True) == []


def test_a_raised_version_runs_a_stage_again(monkeypatch: pytest.MonkeyPatch):
    experiment = Experiment(load(ROOT / "config" / "config.yaml"))
    for job in {job.stage: job for job in jobs_of(experiment)}.values():
        before = experiment.stage(job.stage, **job.names).json
        monkeypatch.setattr(STAGES[job.stage], "VERSION", 4711)
        assert experiment.stage(job.stage, **job.names).json != before, job.stage


def test_a_thousand_systems_fit_into_the_command_of_a_rule():
    systems = {f"system{n:04d}": {"backend": "corruption", "errors": 0.1} for n in range(1000)}
    experiment = Experiment(
        resolve({"experiment": "x", "corpus": {"kind": "synthetic"}, "systems": systems})
    )
    for name in ("report", "manifest"):
        assert len(experiment.stage(name).json) < 100_000
    assert len(experiment.stage("test", testset="test1", metric="bleu").json) < 100_000


@pytest.mark.parametrize(
    ("other", "together"),
    [
        ({"backend": "corruption", "errors": 0.2}, msgspec.UNSET),
        ({"backend": "command", "decode": "cat {source} > {output}"}, True),
    ],
)
def test_replicas_of_a_pair_come_together_unless_all_are_made_to_the_same_bytes(other, together):
    experiment = Experiment(
        resolve(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic", "tests": {"t": 40}},
                "systems": {"a": {"backend": "corruption", "errors": 0.3}, "b": other},
                "replicas": {"seeds": 7, "until": "settled"},
                "tests": {"methods": ["crossed"]},
            }
        )
    )
    assert experiment.plan.together is together
    assert (b"together" in msgspec.json.encode(experiment.plan)) == (together is True)


def test_memory_grows_with_the_texts_that_are_named(tmp_path: Path):
    """Files that are not here count as nothing; gzip says how much it unpacks to."""
    lines = "".join(f"{i} words of a line of text\n" for i in range(50_000))
    for name in ("s", "t"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "test.txt").write_text(lines)
    corpus = {
        "kind": "files",
        "train": {"source": "s.gz", "target": "t.gz"},
        "dev": {"source": "no.txt", "references": "no.txt"},
        "tests": {"t": {"source": "test.txt", "references": "test.txt"}},
    }
    experiment = Experiment(
        resolve(
            {
                "experiment": "x",
                "corpora": str(tmp_path),
                "corpus": corpus,
                "systems": {
                    "all": {"backend": "phrase"},
                    "half": {"backend": "phrase", "subset": "odd"},
                    "hiero": {"backend": "hiero", "resources": {"mem_mb": 7}},
                },
                "replicas": {"mert": 4},
            }
        )
    )
    sizes = Sizes(experiment)
    assert sizes.text_mb("train") == 2 * len(lines) / 1e6
    assert (sizes.segments("t"), sizes.segments("dev")) == (50_000, 0)
    assert sizes.cells("t", ["all", "half"]) == 0.4

    def memory(stage: str, **names: str) -> int:
        return experiment.stage(stage, **names).memory_mb(sizes)

    whole, half = memory("train", system="all"), memory("train", system="half")
    assert whole - 230 == pytest.approx(2 * (half - 230), abs=2)
    assert memory("score", testset="t", metric="bleu", system="all") > 300
    needs = {cost.stage: (cost.memory_mb, cost.largest) for cost in costs(experiment, tmp_path)}
    assert needs["train"] == (whole, "train/all"), "what the user says of hiero holds"
    assert sizes.scored("t", ["all"], 0) == pytest.approx(DIFFERENT * 0.2)
    text = sizes.text_mb("train")
    disk = {cost.stage: cost.disk_mb for cost in costs(experiment, tmp_path) if cost.disk_mb}
    assert disk == {"train": round(15 * text), "table": round(125 * text)}, "a grammar's rules wait there"


def test_outputs_that_are_the_same_in_many_replicas_take_less_memory(tmp_path: Path):
    for r, lines in enumerate((["a", "b"], ["a", "c"], ["a", "c"])):
        write_lines(tmp_path / f"o{r}", lines)
    experiment = outputs_experiment(tmp_path, {"t": "o*", "u": ["none", "there", "yet"]})
    write_lines(tmp_path / "r", ["x", "y"])
    sizes = Sizes(experiment)
    assert sizes.cells("t", ["a"]) == sizes.cells("u", ["a"]) == 6e-6
    assert sizes.scored("t", ["a"]) == pytest.approx(3e-6 + 5 * 2e-6)
    assert sizes.scored("u", ["a"]) == pytest.approx(6e-6 + 5 * 2e-6)


@pytest.mark.parametrize(
    ("stage", "segments", "different", "took"),
    [
        ("score", 300_000, 0.394, 1648),
        ("score", 100_000, 1.0, 1041),
        ("report", 300_000, 0.394, 2733),
        ("report", 100_000, 1.0, 2757),
    ],
)
def test_jobs_on_many_segments_take_no_more_than_is_asked_for_nor_less_than_half(
    monkeypatch: pytest.MonkeyPatch, stage: str, segments: int, different: float, took: int
):
    """By peaks in MB of jobs on 20 runs of two systems, with 12 words a segment."""
    many = {name: {"backend": "corruption", "errors": 0.3, "replicas": {"seeds": 20}} for name in "ab"}
    corpus = {"kind": "synthetic", "tests": {"t": segments}}
    experiment = Experiment(resolve({"experiment": "x", "corpus": corpus, "systems": many}))
    monkeypatch.setattr(Sizes, "_different", lambda self, system, testset: different)
    names = {"testset": "t", "metric": "bleu", "system": "a"} if stage == "score" else {}
    assert took <= experiment.stage(stage, **names).memory_mb(Sizes(experiment)) <= 2 * took


def test_what_does_not_fit_into_the_machine_is_said(monkeypatch: pytest.MonkeyPatch):
    stages = [Cost("train", 2, None, 9000, "train/b"), Cost("test", 1, None, 8000, "test/t/bleu")]
    monkeypatch.setattr("replitune.experiment.plan.memory", lambda: 8000 << 20)
    (error,) = check_memory(stages)
    assert "train/b would take more memory than there is" in str(error)
    assert "9,000 MB" in str(error)


def test_what_does_not_fit_onto_the_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=(9000 << 20) + 1))
    stages = [Cost("table", 2, None, 1, "table/t/a", 9001), Cost("train", 1, None, 1, "train/a", 9000)]
    (text,) = check_disk(stages, tmp_path / "results" / "x")
    assert "a job of table needs about 9,001 MB on the disk" in text
    assert text.endswith("x has 9,000 MB free")


@pytest.mark.parametrize(
    ("systems", "methods", "threads"),
    [(3, ["crossed", "clark"], 1), (7, ["clark"], 2), (40, ["clark"], 8), (40, ["crossed"], 1)],
)
def test_cores_share_the_pairs_of_many_systems(systems: int, methods: list[str], threads: int):
    many = {f"s{k}": {"backend": "corruption", "errors": 0.3} for k in range(systems)}
    experiment = Experiment(
        resolve(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic"},
                "systems": many,
                "tests": {"methods": methods},
            }
        )
    )
    assert STAGES["test"].threads(experiment) == threads
