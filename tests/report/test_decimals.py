"""As many decimals as the metric's scale and its spread need, the same everywhere."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from replitune.metrics.base import MeanMetric
from replitune.report import contents
from replitune.report.terminal import print_comparison
from replitune.results.comparing import Results, compare
from replitune.results.numbers import interval
from replitune.significance.settings import TestSettings
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics
from report.result_models import RESULT, material, result_of
from significance.crossed_models import mean_statistics


def compared(scale: float, segments: int = 400) -> Results:
    """COMET-like scores of two systems, times `scale`."""
    rng = np.random.default_rng(7)
    effect = rng.normal(0.74, 0.05, segments)

    def system(name: str, shift: float) -> SystemStatistics:
        run = rng.normal(shift, 0.002, (3, 1))
        values = scale * (run + effect + rng.normal(0, 0.02, (3, segments)))
        return SystemStatistics(
            name, ("run-001", "run-002", "run-003"), (None,) * 3, mean_statistics(values)
        )

    systems = {"a": system("a", 0.0), "b": system("b", 0.006)}
    documents = np.arange(segments, dtype=np.int32)
    stores = [SegmentStatistics("t", MeanMetric("comet"), "sig", systems, documents, None)]
    return compare(stores, TestSettings(samples=99), testset="t", seed=1)


def test_scores_up_to_one_are_printed_as_finely_as_a_hundred_times_them(capsys: pytest.CaptureFixture[str]):
    fine, coarse = compared(1.0), compared(100.0)
    (of_one,), (of_hundred,) = (r.metrics.values() for r in (fine, coarse))
    assert of_one.decimals == 4
    assert of_hundred.decimals == 2
    print_comparison(fine)
    printed = capsys.readouterr().out
    summary = of_one.systems["a"]
    assert f"{summary.avg:.4f}" in printed
    assert f"{summary.s_sel:.4f}" in printed
    (answer,) = of_one.answers
    (test,) = [row for row in of_one.tests if row.method == "crossed"]
    assert f"scored {abs(test.delta):.4f} comet above" in answer.text
    assert answer.interval_text == f"{test.ci_low:.4f} to {test.ci_high:.4f}"
    for name in ("overview", "systems", "pairs", "intervals"):
        table = contents.TABLES[name](material(of_one))
        assert table is not None
        for text in (table.latex(), table.html(), table.markdown()):
            assert re.search(r"\d\.\d{4}", text)
            assert not re.search(r"(?<![\d.])0\.\d\d(?!\d)", text.replace("0.05", ""))


@pytest.mark.parametrize(
    ("mean", "s_sel", "se", "decimals"),
    [
        (30.0, 0.26, 0.2, 2),  # BLEU
        (30.0, 5.0, 4.0, 2),
        (30.0, 0.03, 0.02, 3),
        (0.74, 0.0024, 0.0006, 4),
        (0.5, 0.05, 0.05, 3),
        (0.5, 0.0, 0.0, 3),
        (1e-3, 1e-5, 1e-5, 6),
        (5.0, 1e-15, 1e-15, 2),  # what arithmetic leaves of no spread
    ],
)
def test_decimals_follow_scale_and_spread(mean: float, s_sel: float, se: float, decimals: int):
    result = result_of(dataclasses.replace(RESULT, se=se), means={"a": mean, "b": mean})
    systems = {name: dataclasses.replace(s, s_sel=s_sel) for name, s in result.systems.items()}
    assert dataclasses.replace(result, systems=systems).decimals == decimals


def test_a_spread_over_runs_is_never_printed_as_nothing():
    result = result_of(RESULT, means={"a": 30.0, "b": 30.0})
    systems = {n: dataclasses.replace(s, s_test=0.0004) for n, s in result.systems.items()}
    table = contents.TABLES["overview"](material(dataclasses.replace(result, systems=systems)))
    assert table is not None
    assert "30.0000 ± 0.0004" in table.markdown()


def test_the_ends_of_an_interval_differ_in_print():
    tiny = dataclasses.replace(RESULT, delta=0.003, ci_low=0.0011, ci_high=0.0049, p_adjusted=0.01)
    (answer,) = result_of(tiny).answers
    assert "0.001 to 0.005" in answer.sentence
    assert interval(0.001, 0.004) == "[0.001, 0.004]"
    assert interval(1.0, 1.0) == "[1.00, 1.00]"
