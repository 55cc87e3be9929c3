"""Accuracies by Kocmi et al. (2024) beside differences, by a stand-in with the interface of
mt-thresholds, and by itself where it is installed."""

from __future__ import annotations

import importlib.util
import math
from types import SimpleNamespace

import pytest

import replitune as r
from replitune.report import noticing

REFS = [f"the {word} house stands by the old sea and waits" for word in "abcdefghij"]
SYSTEMS = {
    "base": [[line.replace("old", "x").replace("by", "y") for line in REFS]],
    "new": [[line.replace("old", "x") for line in REFS]],
}
FAST = {"intervals": [], "threads": 1, "methods": ["crossed:scope=segments"]}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """An accuracy that says which metric and difference it was asked about."""
    fake = SimpleNamespace(
        METRICS={"bleu", "chrf", "comet22"},
        accuracy=lambda delta, metric: {"bleu": 60, "chrf": 40, "comet22": 50 + delta}[metric],
    )
    monkeypatch.setattr(noticing, "_package", lambda: fake)


def test_accuracies_stand_beside_deltas_of_published_metrics(package: None):
    report = r.compare(REFS, SYSTEMS, ["bleu", "chrf", "ter", "bleu:id=none,tokenize=none"], **FAST)
    shares = [noticing.accuracy(result, ("base", "new")) for result in report.results]
    assert shares == [0.6, 0.5, None, None]
    assert "60%" in str(report)
    assert "no test" in " ".join(str(report).split())
    assert "people" in report.table("pairs").header
    ter = r.compare(REFS, SYSTEMS, ["ter"], **FAST)
    assert "people" not in str(ter)


def test_scores_up_to_one_count_in_hundredths(package: None):
    arrays = {"a": [[0.80, 0.81]], "b": [[0.83, 0.84]]}
    report = r.test(arrays, metric="COMET-22", **FAST)
    assert noticing.accuracy(report.results[0], ("a", "b")) == pytest.approx(0.53)


def test_without_the_package_there_is_no_column(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(noticing, "_package", lambda: None)
    assert "people" not in str(r.compare(REFS, SYSTEMS, ["bleu"], **FAST))


@pytest.mark.skipif(importlib.util.find_spec("mt_thresholds") is None, reason="extra notice")
def test_one_point_of_bleu_is_64_percent():
    package = noticing._package()
    assert package.accuracy(1.0, "bleu") == pytest.approx(63.989, abs=1e-3)
    assert math.isclose(package.accuracy(1.0, "bleu") / 100, 0.64, abs_tol=1e-3)
