"""The linear mixed-effects model: against the dense likelihood, textbook tests, and what Hagmann,
Meier and Riezler (2023) print."""

from __future__ import annotations

import csv
import gzip
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from significance.calls import crossed, lmem

sys.path.insert(0, str(Path(__file__).parent))
from crossed_models import bleu_counts, comparison, mean_statistics, two_way
from test_bad_input import ODD, WRONG, settled

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.settings import settings_of
from replitune.significance.critical import TINIEST
from replitune.significance.system_parts import Analyses
from replitune.significance.tests.lmem import likelihood_ratio, reml, sums_of_squares
from significance.exchange_models import Counts, compare


def table(*systems: np.ndarray):
    """Of segment scores (n, N) of each system."""
    scores = [x.mean(axis=1) for x in systems]
    return sums_of_squares(scores, [x - x.mean(axis=1, keepdims=True) for x in systems])


def small(seed: int, *n: int, N: int = 6, rep: float = 0.6, seg: float = 1.0, noise: float = 0.5):
    rng = np.random.default_rng(seed)
    effect = rng.normal(0, seg, N)
    return [two_way(rng, k, N, rep, effect, noise) + 0.3 * s for s, k in enumerate(n)]


class Dense:
    """The normal model written out: y (MN,), X (MN, S) or (MN, 1), and covariances (MN, MN)."""

    def __init__(self, systems: list[np.ndarray], intercept_only: bool = False) -> None:
        rows = np.concatenate(systems)
        M, N = rows.shape
        of = np.repeat(np.arange(len(systems)), [len(x) for x in systems])
        run, segment = np.repeat(np.arange(M), N), np.tile(np.arange(N), M)
        self.y = rows.ravel()
        self.X = np.eye(len(systems))[of][run]
        if intercept_only:
            self.X = np.ones((M * N, 1))
        self.parts = [
            np.eye(M * N),
            (segment[:, None] == segment).astype(float),
            (run[:, None] == run).astype(float),
        ]

    def deviance(self, variances: np.ndarray, restricted: bool) -> float:
        """-2 log (restricted) likelihood, but for a constant; the means maximise it."""
        V = sum(v * part for v, part in zip(variances, self.parts, strict=False))
        beta, cov = self.estimate(variances)
        r = self.y - self.X @ beta
        found = np.linalg.slogdet(V)[1] + r @ np.linalg.solve(V, r)
        return found - np.linalg.slogdet(cov)[1] if restricted else found

    def estimate(self, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V = sum(v * part for v, part in zip(variances, self.parts, strict=False))
        cov = np.linalg.inv(self.X.T @ np.linalg.solve(V, self.X))
        return cov @ self.X.T @ np.linalg.solve(V, self.y), cov

    def largest(self, runs: bool, restricted: bool = True) -> tuple[np.ndarray, float]:
        """Variances of noise, segments and, perhaps, runs; and -2 log likelihood there."""
        best = min(
            (
                optimize.minimize(
                    self.deviance,
                    start[: 2 + runs],
                    args=(restricted,),
                    method="L-BFGS-B",
                    bounds=[(1e-9, None), (0, None), (0, None)][: 2 + runs],
                    options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
                )
                for start in ([0.2, 1.0, 0.3], [0.5, 0.01, 0.01], [0.3, 0.5, 0.0])
            ),
            key=lambda found: found.fun,
        )
        return best.x, best.fun


CASES = {
    "3 v 3": small(1, 3, 3),
    "2 v 4": small(2, 2, 4),
    "three systems, one with one run": small(3, 1, 3, 2),
    "no variance of runs": small(4, 3, 3, rep=0.0),
    "none of segments": small(5, 2, 3, seg=0.0, noise=1.0),
    "none of either": [x - x.mean(axis=1, keepdims=True) * 0.99 for x in small(6, 3, 3, seg=0.0)],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("runs", [True, False])
def test_variances_maximise_the_restricted_likelihood(case, runs) -> None:
    systems = CASES[case]
    fit = reml(table(*systems), runs)
    dense = Dense(systems)
    found, least = dense.largest(runs)
    ours = np.array([fit.noise, fit.segments, fit.runs][: 2 + runs])
    np.testing.assert_allclose(ours, found, atol=2e-4)
    assert dense.deviance(ours, True) <= least + 1e-9
    beta, cov = dense.estimate(ours)
    np.testing.assert_allclose(fit.table.means, beta, rtol=1e-9)
    of_contrast = cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]
    assert fit.se(0, 1) == pytest.approx(math.sqrt(of_contrast), rel=1e-9)


def test_the_cases_are_inside_and_on_each_boundary() -> None:
    fits = {case: reml(table(*systems), True) for case, systems in CASES.items()}
    assert fits["3 v 3"].runs > 0 < fits["3 v 3"].segments
    assert fits["no variance of runs"].runs == 0 < fits["no variance of runs"].segments
    assert fits["none of segments"].segments == 0 < fits["none of segments"].runs
    assert fits["none of either"].segments == 0 == fits["none of either"].runs


@pytest.mark.parametrize("case", CASES)
def test_chi2_is_that_of_the_dense_likelihood(case) -> None:
    systems = CASES[case]
    _, null = Dense(systems, intercept_only=True).largest(runs=False, restricted=False)
    _, full = Dense(systems).largest(runs=False, restricted=False)
    chi2, p = likelihood_ratio(table(*systems))
    assert chi2 == pytest.approx(null - full, abs=1e-6)
    assert p == pytest.approx(stats.chi2.sf(chi2, len(systems) - 1))


# -- textbook tests -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [(3, 3), (2, 5)])
def test_with_runs_that_differ_it_is_the_t_test_of_their_scores(n) -> None:
    a, b = small(7, *n, N=40)
    found, said = lmem(comparison(a, b)), stats.ttest_ind(b.mean(axis=1), a.mean(axis=1))
    assert found.details["sd_runs"] > 0
    assert found.p == pytest.approx(said.pvalue, rel=1e-9)
    assert found.df == said.df == sum(n) - 2
    low, high = said.confidence_interval()
    assert (found.ci_low, found.ci_high) == pytest.approx((low, high), rel=1e-9)
    assert found.delta == pytest.approx(b.mean() - a.mean())


def test_without_run_effects_one_run_each_is_the_paired_t_test() -> None:
    a, b = small(8, 1, 1, N=50)
    found, said = lmem(comparison(a, b), runs=False), stats.ttest_rel(b[0], a[0])
    assert found.p == pytest.approx(said.pvalue, rel=1e-9)
    assert found.df == said.df == 49


@pytest.mark.parametrize("runs", [True, False])
def test_one_sided_p_are_halves_of_the_two_sided_and_know_what_is_better(runs) -> None:
    a, b = small(9, 3, 4, N=30)
    two = lmem(comparison(a, b), runs=runs)
    assert two.delta > 0
    greater = lmem(comparison(a, b), runs=runs, alternative="greater")
    less = lmem(comparison(a, b), runs=runs, alternative="less")
    assert greater.p == pytest.approx(two.p / 2)
    assert greater.p + less.p == pytest.approx(1)
    assert greater.ci_level == 0.9
    assert greater.ci_low > two.ci_low
    errors = MeanMetric(higher_is_better=False)
    turned = lmem(comparison(a, b, errors), runs=runs, alternative="less")
    assert turned.p == pytest.approx(greater.p)


@pytest.mark.parametrize("runs", [True, False])
def test_swapping_mirrors_the_row(runs) -> None:
    c = comparison(*small(10, 3, 5, N=30))
    found, turned = lmem(c, runs=runs), lmem(c.swapped(), runs=runs).swapped()
    for name in ("p", "delta", "se", "df", "ci_low", "ci_high"):
        assert getattr(found, name) == pytest.approx(getattr(turned, name), rel=1e-12)
    assert found.details == pytest.approx(turned.details, rel=1e-9)
    assert (found.a, found.n_a, found.notes) == (turned.a, turned.n_a, turned.notes)


# -- corpus metrics, and how much a p says ------------------------------------------------


def test_corpus_metrics_are_linearised_and_an_analysis_is_shared() -> None:
    rng = np.random.default_rng(11)
    c = comparison(bleu_counts(rng, 3, 80, 0.5), bleu_counts(rng, 4, 80, 0.6), Bleu())
    found = lmem(c)
    assert found.delta == pytest.approx(c.scores_b.mean() - c.scores_a.mean())
    assert found.se == pytest.approx(stats.ttest_ind(c.scores_b, c.scores_a)._standard_error, rel=1e-9)
    analyses = Analyses()
    crossed(c, analyses=analyses)
    assert lmem(c, analyses=analyses) == found


def level(found: list[float], alpha: float = 0.05) -> float:
    return float(np.mean(np.array(found) < alpha))


@pytest.mark.parametrize(("ratio", "without"), [(0, 0.05), (1, 0.166), (3, 0.327)])
def test_without_a_run_effect_it_is_too_eager_and_with_one_it_is_not(ratio, without) -> None:
    """The mean of a run varies 1 + ratio times as much as the noise of its segments: nominal .05 is
    2 Phi(-1.96 / sqrt(1 + ratio)). Where runs do not vary, few degrees of freedom and a variance
    that cannot be negative make the test with run effects careful."""
    rng = np.random.default_rng(12)
    trials, N = 2000, 60
    p: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(trials):
        rep = math.sqrt(ratio * 0.25 / N)
        effect = rng.normal(size=N)
        c = comparison(two_way(rng, 3, N, rep, effect), two_way(rng, 3, N, rep, effect))
        for runs in p:
            p[runs].append(lmem(c, runs=runs).p)
    error = 4 * math.sqrt(0.25 * 0.75 / trials)
    assert abs(level(p[False]) - without) < error
    assert level(p[True]) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / trials)


def test_what_a_small_p_speaks_of() -> None:
    c = comparison(*small(13, 3, 3, N=30))
    assert lmem(c).scope == "both"
    assert lmem(c).unit == "segment"
    assert lmem(c, runs=False).scope == "segments"
    samples = lmem(c, design="samples")
    assert (samples.scope, samples.run_kind) == ("samples", "sample")
    assert samples.p == lmem(c, runs=False).p


def codes(result) -> set[str]:
    return {note.code for note in result.notes}


def test_notes_say_where_the_data_are_not_what_the_model_takes_them_for() -> None:
    a, b = small(14, 3, 3, N=60)
    plain = comparison(a, b)
    assert codes(lmem(plain)) == set()
    assert codes(lmem(plain, runs=False)) == {"no-run-effect"}
    assert "here it varies" in lmem(plain, runs=False).note
    assert codes(lmem(comparison(a[:1], b[:1]), runs=False)) == set()
    assert codes(lmem(plain, design="samples")) == set()
    taste = np.random.default_rng(15).normal(size=60)
    assert codes(lmem(comparison(a, b + taste))) == {"no-interaction"}
    in_documents = comparison(a, b, documents=np.repeat(np.arange(20), 3))
    assert codes(lmem(in_documents)) == {"documents-ignored"}
    groups = ["mert", "mert", "pro"]
    assert codes(lmem(comparison(a, b, groups_a=groups, groups_b=groups))) == {"pooled-groups"}


# -- what has no answer -------------------------------------------------------------------


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.filterwarnings("error")
def test_odd_input_is_settled(case, alternative, runs) -> None:
    settled(lmem(compare(*ODD[case]), runs=runs, alternative=alternative))


def test_one_run_of_a_system_has_no_p_with_run_effects() -> None:
    a, b = small(16, 1, 3, N=20)
    found = lmem(comparison(a, b))
    assert (found.p, found.note) == (None, "one run of A: no p, as the noise of runs is unknown")
    assert lmem(comparison(a, b), runs=False).p is not None


@pytest.mark.parametrize("runs", [True, False])
def test_copies_have_p_one_and_a_constant_difference_none(runs) -> None:
    same = np.tile(np.arange(10.0), (3, 1))
    assert lmem(comparison(same, same), runs=runs).p == 1
    shifted = lmem(comparison(same, same + 1), runs=runs)
    assert (shifted.p, shifted.note) == (None, "zero variance")
    a = small(17, 3, N=20)[0]
    assert lmem(comparison(a, a), runs=runs).p == 1
    by_run = same + np.array([[0.0], [0.1], [0.3]])  # runs differ by the same on every segment
    found = lmem(comparison(by_run, by_run + 0.2), runs=runs)
    assert 0 < found.p < 1
    assert codes(found) == (set() if runs else {"no-run-effect"})


def test_p_is_never_0() -> None:
    a, b = small(18, 40, 40, N=200)
    found = lmem(comparison(a, b + 1e4), runs=False)
    assert (found.p, found.details["p_chi2"]) == (2 * TINIEST, TINIEST)


def test_its_options_are_held_to_their_declaration() -> None:
    c = compare(*ODD["unequal n"], Counts())
    assert settings_of(lmem.kind).keys() == {"alternative", "runs"}
    for name, value in {"runs": WRONG["paired"], "alternative": "two_sided"}.items():
        with pytest.raises(ReplituneError, match=f"{name} is not"):
            lmem(c, **{name: value})
    with pytest.raises(ReplituneError, match="`alpha` must be between 0 and 1"):
        lmem(c, alpha=1)


# -- published numbers --------------------------------------------------------------------


@pytest.fixture(scope="module")
def ter() -> dict[str, np.ndarray]:
    """(n, 1041) of each system."""
    path = Path(os.environ.get("REPLITUNE_DATA") or "nowhere") / "hagmann2023" / "ter.csv.gz"
    if not path.is_file():
        pytest.skip("real data is not here: REPLITUNE_DATA names no folder with hagmann2023")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    sentences = {name: i for i, name in enumerate(dict.fromkeys(r["sentence_id"] for r in rows))}
    found = {"Baseline": np.full((1, 1041), np.nan)}
    found |= {name: np.full((3, 1041), np.nan) for name in ("Marking", "PostEdit")}
    for row in rows:
        place = int(row["replication"]) - 1, sentences[row["sentence_id"]]
        found[row["system"]][place] = float(row["ter"])
    assert not any(np.isnan(x).any() for x in found.values())
    return found


@pytest.mark.realdata
def test_hagmann_2023_as_published(ter) -> None:
    """chi2 34.09 (p 3.96e-8); Marking - PostEdit -.003 [-.006, .001], p .163, which are Tukey's of
    three systems."""
    every = table(*ter.values())
    chi2, p = likelihood_ratio(every)
    assert chi2 == pytest.approx(34.09, abs=0.005)
    assert p == pytest.approx(3.96e-8, abs=0.005e-8)
    fit = reml(every, runs=False)
    delta, se = every.means[1] - every.means[2], fit.se(1, 2)
    p = stats.studentized_range.sf(math.sqrt(2) * abs(delta) / se, 3, fit.df)
    reach = stats.studentized_range.ppf(0.95, 3, fit.df) / math.sqrt(2) * se
    assert p == pytest.approx(0.163, abs=0.0005)
    assert (round(delta, 3), round(delta - reach, 3), round(delta + reach, 3)) == (-0.003, -0.006, 0.001)


@pytest.mark.realdata
def test_hagmann_2023_with_run_effects(ter) -> None:
    """Runs differ by less than their sentences do (mean squares .0022 and .0035), so that the
    variance of their effects is estimated 0: what changes is that they are 7 and not 7,287."""
    every = table(*ter.values())
    without, fit = reml(every, runs=False), reml(every, runs=True)
    assert fit.runs == 0
    assert fit.se(1, 2) == pytest.approx(without.se(1, 2), rel=1e-9)
    assert (without.df, fit.df) == (7 * 1041 - 1041 - 3 + 1, 4)
    F = every.between_systems / 2 / (fit.noise + 1041 * fit.runs)
    assert pytest.approx(17.09, abs=0.01) == F
    assert stats.f.sf(F, 2, fit.df) == pytest.approx(0.0110, abs=0.0001)
    t = abs(every.means[1] - every.means[2]) / fit.se(1, 2)
    assert 2 * stats.t.sf(t, fit.df) == pytest.approx(0.143, abs=0.0005)


@pytest.mark.realdata
def test_hagmann_2023_differs_by_sentence_which_only_crossed_knows(ter) -> None:
    c = comparison(ter["Marking"], ter["PostEdit"], MeanMetric(higher_is_better=False))
    assert mean_statistics(ter["Marking"]).shape == c.a.statistics.shape
    both = crossed(c)
    assert both.delta == pytest.approx(0.0027, abs=5e-5)
    assert both.se == pytest.approx(0.0025, abs=5e-5)
    assert both.p == pytest.approx(0.30, abs=0.005)
    for runs, p in ((True, 0.102), (False, 0.035)):
        found = lmem(c, runs=runs)
        assert found.p == pytest.approx(p, abs=0.0005)
        assert found.delta == pytest.approx(both.delta, rel=1e-9)
        assert found.se < 0.65 * both.se
        assert "no-interaction" in codes(found)
