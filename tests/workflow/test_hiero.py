"""A hierarchical system beside a phrase-based one, through the workflow, on a very small pair."""

from __future__ import annotations

import json

import pytest

from support import run_again

from .conftest import Snakemake

HIERO = {
    "experiment": "hiero",
    "corpus": {"kind": "synthetic", "train": 300, "dev": 25, "tests": {"t": 20}},
    "systems": {
        "phrase": {"backend": "phrase", "training": {"lm_order": 3}},
        "hiero": {
            "backend": "hiero",
            "training": {"lm_order": 3, "extraction": "tight"},
            "search": {"pop_limit": 20},
        },
    },
    "replicas": {"mert": 2, "mira": 1},
    "tuning": {"nbest": 20, "iterations": 2, "mert": {"restarts": 2}},
    "tests": {"samples": 99, "methods": ["crossed"]},
}


@pytest.fixture(scope="module")
def hiero(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The experiment's results. Not to be changed by a test."""
    return Snakemake.made_once(tmp_path_factory, "hiero", lambda made: made.in_process(HIERO))


def test_both_systems_are_trained_tuned_decoded_and_compared(hiero: Snakemake):
    results = hiero.folder / "results" / "hiero"
    for name in (
        "options/hiero/t/grammar.json",
        "options/phrase/dev/table.json",
        "tuning/hiero/mert-002/weights.json",
        "tuning/hiero/mira-001/history.parquet",
        "decodes/t/hiero/mert-001.txt",
        "decodes/t/phrase/mert-001.txt",
        "derivations/t/hiero.json",
        "report.html",
    ):
        assert (results / name).is_file(), name
    page = (results / "report.html").read_text("utf-8")
    shown = json.loads(page.split('id="segment-data">')[1].split("</script>")[0])[0]
    derivations = json.loads((results / "derivations/t/hiero.json").read_text("utf-8"))
    place = [name for name, _ in shown["systems"]].index("hiero")
    assert shown["systems"][place][1] == derivations["replica"]
    assert shown["details"]["3"][place][1] == derivations["derivations"][3]
    weights = [
        (results / "tuning" / "hiero" / f"mert-{n:03d}" / "weights.json").read_text() for n in (1, 2)
    ]
    assert weights[0] != weights[1]


def test_other_search_settings_tune_again_and_train_nothing():
    system = {**HIERO["systems"]["hiero"], "search": {"pop_limit": 30}}
    again = run_again(HIERO, {**HIERO, "systems": {**HIERO["systems"], "hiero": system}})
    assert not {"train", "table"} & {*again}
    assert again["tune"] == 3
    assert again["decode"] == 3
