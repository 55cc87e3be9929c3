"""Real outputs: the example that comes with multeval, against what multeval and sacrebleu say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.metrics.length import Length
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines
from replitune.significance.base import Comparison
from replitune.significance.draws import SegmentDraws
from replitune.significance.one_system import s_sel
from replitune.statistics.systems import SystemStatistics
from significance.calls import clark, graham, riezler

pytestmark = pytest.mark.realdata
RUNS = ("run-001", "run-002", "run-003")


@pytest.fixture(scope="module")
def texts(request: pytest.FixtureRequest) -> tuple[dict[str, list[list[str]]], list[str]]:
    import os

    folder = Path(os.environ.get("REPLITUNE_DATA") or "nowhere") / "multeval-example"
    if not folder.is_dir():
        pytest.skip("real data is not here: REPLITUNE_DATA names no folder with multeval-example")
    systems = {
        name: [read_lines(folder / f"hyps.lc.tok.en.{name}.opt{r}.gz") for r in range(3)]
        for name in ("baseline", "sys1", "sys2")
    }
    return systems, read_lines(folder / "refs.test2010.lc.tok.en.0.gz")


def scored(metric: Metric, texts) -> dict[str, SystemStatistics]:
    systems, ref = texts
    return {
        name: SystemStatistics(
            name, RUNS, (None,) * 3, np.stack([metric.statistics(hyps, [ref]) for hyps in runs])
        )
        for name, runs in systems.items()
    }


def compare(metric: Metric, a: SystemStatistics, b: SystemStatistics) -> Comparison:
    return Comparison(metric, a, b, np.arange(a.segments, dtype=np.int32))


def spread(metric: Metric, system: SystemStatistics) -> tuple[float, ...]:
    """Average, s_sel and s_test, rounded as multeval prints them."""
    scores = metric.score(system.sums)
    selection = s_sel(metric, system, np.arange(2489, dtype=np.int32), SegmentDraws(1))
    return tuple(round(float(x), 1) for x in (scores.mean(), selection, np.std(scores, ddof=1)))


def test_the_table_is_multevals(texts) -> None:
    """`BLEU (s_sel/s_opt)` and `TER (s_sel/s_opt)`, as printed."""
    metric: Metric = Bleu(tokenize="none")
    printed = {"baseline": (18.5, 0.3, 0.1), "sys1": (18.8, 0.3, 0.3), "sys2": (18.5, 0.3, 0.1)}
    for name, system in scored(metric, texts).items():
        assert spread(metric, system) == printed[name]
    metric = get_metric("ter")
    printed = {"baseline": (65.7, 0.4, 0.2), "sys1": (64.8, 0.4, 0.6), "sys2": (65.7, 0.4, 0.2)}
    for name, system in scored(metric, texts).items():
        assert spread(metric, system) == printed[name]


def test_length_is_multevals(texts) -> None:
    """`Length (s_sel/s_opt)`: 107.5 (0.4/0.1), 107.7 (0.3/0.7)."""
    metric = Length(tokenize="none")
    printed = {"baseline": (107.5, 0.4, 0.1), "sys1": (107.7, 0.3, 0.7)}
    systems = scored(metric, texts)
    for name, (average, selection, optimizer) in printed.items():
        found = spread(metric, systems[name])
        assert (found[0], found[2]) == (average, optimizer)
        # 0.347 for sys1: a few of 1,000 bootstrap test sets decide its last digit.
        assert found[1] == pytest.approx(selection, abs=0.1001)


def test_riezler_agrees_with_sacrebleus_paired_ar(texts) -> None:
    oracle, ours = sacrebleu_p("ar", texts), compare_first(texts)
    found = riezler(ours, rng=np.random.default_rng(1), replica="run-001")
    assert found.delta == pytest.approx(oracle[0], abs=1e-9)
    error = 4 * np.sqrt(oracle[1] / 10_000 * 2)
    assert found.p == pytest.approx(oracle[1], abs=error)
    alone = clark(one_run(ours), rng=np.random.default_rng(1))
    assert alone.p == found.p


def test_folded_graham_agrees_with_sacrebleus_paired_bs(texts) -> None:
    oracle, ours = sacrebleu_p("bs", texts), compare_first(texts)
    found = graham(ours, rng=np.random.default_rng(1), replica="run-001", compat="folded")
    error = 4 * np.sqrt(oracle[1] / 10_000 * 2)
    assert found.p == pytest.approx(oracle[1], abs=error)


def test_the_copy_of_the_baseline_is_not_better(texts) -> None:
    """multeval prints p = 0.00 for it."""
    metric = Bleu(tokenize="none")
    systems = scored(metric, texts)
    found = clark(compare(metric, systems["baseline"], systems["sys2"]), rng=np.random.default_rng(1))
    assert found.delta == 0
    assert found.p == 1


def test_compat_multeval_gives_its_p(texts) -> None:
    """.0003 for BLEU and .0896 for Length, and .0001 for a copy of the baseline."""
    for metric, printed in ((Bleu(tokenize="none"), 0.0003), (Length(tokenize="none"), 0.0896)):
        systems = scored(metric, texts)
        for name, p in (("sys1", printed), ("sys2", 0.0001)):
            found = clark(
                compare(metric, systems["baseline"], systems[name]),
                rng=np.random.default_rng(1),
                compat="multeval",
            )
            assert found.p == pytest.approx(p, abs=4 * np.sqrt(2 * p / 10_000))
            assert "not a permutation test" in found.note


def compare_first(texts) -> Comparison:
    metric = Bleu(tokenize="none")
    systems = scored(metric, texts)
    return compare(metric, systems["baseline"], systems["sys1"])


def one_run(c: Comparison) -> Comparison:
    first = [SystemStatistics(s.name, s.replicas[:1], (None,), s.statistics[:1]) for s in (c.a, c.b)]
    return compare(c.metric, *first)


def sacrebleu_p(kind: str, texts) -> tuple[float, float]:
    """Difference and p of the first runs, from sacrebleu's own resampling."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    systems, ref = texts
    test = PairedTest(
        [("baseline", systems["baseline"][0]), ("sys1", systems["sys1"][0])],
        {"BLEU": BLEU(tokenize="none", force=True)},
        references=[ref],
        test_type=kind,
        n_samples=10_000,
    )
    _, scores = test()
    first, second = scores["BLEU"]
    return second.score - first.score, second.p_value
