from __future__ import annotations

from pathlib import Path

import pytest

from replitune.backends.outputs import expand, natural
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment, argument
from replitune.experiment.reading import resolve
from replitune.replicas import replica_ids


def outputs_experiment(folder: Path, files: object) -> Experiment:
    return Experiment(
        resolve(
            {
                "experiment": "x",
                "corpora": str(folder),
                "corpus": {
                    "kind": "files",
                    "tests": {"t": {"references": "r"}, "u": {"references": "r"}},
                },
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
        "run1", "run2", "run10", "Run3",
    ] or sorted(["run10", "run2"], key=natural) == ["run2", "run10"]  # fmt: skip


def test_given_outputs_are_numbered_in_natural_order(tmp_path: Path):
    touch(tmp_path, "t.10", "t.2", "t.1", "u.1", "u.2", "u.10")
    experiment = outputs_experiment(tmp_path, {"t": "t.*", "u": "u.{1,2,10}"})
    assert [r.id for r in experiment.replicas("a")] == ["run-001", "run-002", "run-003"]
    assert [p.name for p in experiment.outputs["a"]["t"].values()] == ["t.1", "t.2", "t.10"]


def test_given_outputs_may_belong_to_tuners(tmp_path: Path):
    files = {"mert": "{t,v}.1", "mira": ["w.1"]}
    experiment = outputs_experiment(tmp_path, {"t": files, "u": files})
    assert [(r.id, r.group) for r in experiment.replicas("a")] == [
        ("mert-001", "mert"), ("mert-002", "mert"), ("mira-001", "mira"),
    ]  # fmt: skip
    assert experiment.replica_counts("a") == {"mert": 2, "mira": 1}


def test_braces_do_not_look_on_the_disk(tmp_path: Path):
    assert [p.name for p in expand("x{08..11}{a,b}", tmp_path)][:3] == ["x08a", "x08b", "x09a"]


def test_a_pattern_without_a_match_is_an_error(tmp_path: Path):
    with pytest.raises(ReplituneError, match="no match for nothing"):
        _ = outputs_experiment(tmp_path, {"t": "nothing.*", "u": "nothing.*"}).outputs


def test_different_replicas_on_different_test_sets_are_an_error(tmp_path: Path):
    touch(tmp_path, "t.1", "t.2", "u.1")
    with pytest.raises(ReplituneError, match="different replicas") as error:
        _ = outputs_experiment(tmp_path, {"t": "t.*", "u": "u.*"}).outputs
    assert "1 files for u" in str(error.value)


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        ("bleu", "bleu"),
        ({"name": "bleu"}, "bleu"),
        ({"name": "ter", "id": "ter-norm", "normalized": True}, "ter:id=ter-norm,normalized=true"),
        ({"name": "bleu", "options": {"tokenize": "none"}}, "bleu:tokenize=none"),
    ],
)
def test_metrics_and_methods_as_command_line_words(entry: object, word: str):
    assert argument(entry) == word


def test_a_word_from_an_experiment_file_reaches_the_metric():
    from replitune.metrics.registry import get_metric

    metric = get_metric(argument({"name": "bleu", "id": "b2", "options": {"max_ngram_order": 2}}))
    assert metric.id == "b2"
    assert metric.statistic_names == get_metric("bleu:max_ngram_order=2").statistic_names
