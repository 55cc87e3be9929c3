"""Independent checks of the tests, row by row: the truth in plain numpy, compared with the library.

    PYTHONPATH=src python benchmarks/calibration/independent.py ROW ...

Each row prints what the library says, and the truth by a simulation or an enumeration that shares no
code with it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product

import msgspec
import numpy as np
from scipy import stats

from replitune.metrics.base import MeanMetric
from replitune.registry import Entry
from replitune.results.in_hand import plan_of
from replitune.results.looking import all_looks
from replitune.significance.base import Comparison
from replitune.significance.critical import layers, tails
from replitune.significance.interface import Context
from replitune.significance.looks.settings import LookSettings
from replitune.significance.run import TestSetScores, run_tests
from replitune.significance.settings import TestSettings
from replitune.significance.tests.bootstraps import FuBootstrap, Graham
from replitune.significance.tests.crossed import Crossed
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics

SEGMENTS = 500


def system(name: str, scores: np.ndarray) -> SystemStatistics:
    """A system from scores (n, N) of segments, with statistics of `MeanMetric`: (score, count)."""
    n = len(scores)
    statistics = np.stack([scores, np.ones_like(scores)], axis=-1)
    runs = tuple(f"run-{r:03d}" for r in range(1, n + 1))
    return SystemStatistics(name, runs, (None,) * n, statistics)


def family(seed: int = 7, systems: int = 7, n: int = 3, shift: float = 4.7) -> dict[str, np.ndarray]:
    """Systems (n, N) in which runs add as much variance as segments; the last one is better by `shift`
    standard errors."""
    rng = np.random.default_rng(seed)
    segments = rng.normal(0, 1, SEGMENTS)
    scores = {}
    for s in range(systems):
        own = rng.normal(0, 0.5, SEGMENTS) + rng.normal(0, 0.5 / np.sqrt(SEGMENTS / n), (n, 1))
        scores[f"s{s}"] = 20 + segments + own + rng.normal(0, 0.3, (n, SEGMENTS))
    scores[f"s{systems - 1}"] += shift * np.sqrt(4 * 0.25 / SEGMENTS)
    return scores


def joint_tail(scores: dict[str, np.ndarray], z: float, draws: int, rng: np.random.Generator) -> float:
    """P(some pair has a normal quantile of z or more) if all systems are equal, by definition: the
    estimated components are taken as true, mean squares of runs are drawn, those of segments are known,
    and each |t| becomes the normal quantile with the same tail, by Satterthwaite's degrees of freedom."""
    x = np.array(list(scores.values()))
    S, n, N = x.shape
    rep = x.mean(axis=2).var(axis=1, ddof=1) / n
    L = (x - x.mean(axis=2, keepdims=True)) / np.sqrt(N * (N - 1))
    both = ((L - L.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2)) / (n * (n - 1))
    K = L.mean(axis=1) @ L.mean(axis=1).T
    exceed = 0
    for _ in range(draws // 10_000):
        V = rep * rng.chisquare(n - 1, (10_000, S)) / (n - 1)
        effect = rng.multivariate_normal(np.zeros(S), np.diag(rep) + K - np.diag(both), 10_000)
        hit = np.zeros(10_000, bool)
        for a in range(S):
            for b in range(a + 1, S):
                seg = K[a, a] + K[b, b] - 2 * K[a, b]
                own = max(seg - both[a] - both[b], 0)
                runs = V[:, a] + V[:, b]
                whole = np.maximum(runs + seg - both[a] - both[b], np.maximum(runs, seg))
                below = V[:, a] ** 2 / (n - 1) + V[:, b] ** 2 / (n - 1)
                below += own * min(seg / (N - 1), own)
                t = np.abs(effect[:, b] - effect[:, a]) / np.sqrt(whole)
                hit |= t >= stats.t.isf(stats.norm.sf(z), whole**2 / below)
        exceed += hit.sum()
    return exceed / (draws // 10_000 * 10_000)


def t1() -> None:
    """How much max-t's p depends on the name of the test set, and on the seed."""
    scores = family()
    systems = {name: system(name, x) for name, x in scores.items()}

    def adjusted(testset: str, seed: int) -> tuple[float, float]:
        started = time.process_time()
        rows = run_tests(
            [TestSetScores({"mean": (MeanMetric(), systems)}, np.arange(SEGMENTS, dtype=np.int32))],
            testset=testset,
            seed=seed,
            methods=["crossed"],
        )["mean"]
        row = min(rows, key=lambda row: row.p)
        seconds.append(time.process_time() - started)
        alone.append(row.p)
        return row.p_adjusted, row.details.get("p_adjusted_error", np.nan)

    seconds: list[float] = []
    alone: list[float] = []
    by_name = np.array([adjusted(f"set-{k}", 1) for k in range(60)])
    by_seed = np.array([adjusted("set", k) for k in range(60)])
    z = stats.norm.isf(alone[0] / 2)
    truth = joint_tail(scores, z, 1_000_000, np.random.default_rng(1))
    for what, p in (("60 names", by_name), ("60 seeds", by_seed)):
        print(
            f"{what}: p {p[:, 0].min():.4f} to {p[:, 0].max():.4f}, sd {p[:, 0].std(ddof=1):.5f}, "
            f"{(p[:, 0] <= 0.05).mean():.0%} at .05; error said {p[:, 1].max():.5f}"
        )
    print(f"by 1,000,000 draws in numpy: {truth:.4f} (error .0002)")
    print(f"CPU seconds of 21 pairs: {np.mean(seconds):.3f}")


def t9() -> None:
    """Shifted bootstraps in which many draws tie with the observed difference; all draws enumerated."""
    documents = np.arange(6, dtype=np.int32)
    a, b = np.array([0.0, 2.0]), np.array([1.0, 3.0])
    delta = b.mean() - a.mean()
    drawn = [np.array(list(product(x, repeat=2))).mean(axis=1) for x in (a, b)]
    exact = (np.abs(drawn[1][:, None] - drawn[0] - delta) >= abs(delta)).mean()
    pair = Comparison(
        MeanMetric(), system("a", a[:, None]), system("b", b[:, None]), np.zeros(1, dtype=np.int32)
    )
    p = [FuBootstrap().run(Context([pair], stream=partial(np.random.default_rng, k))).p for k in range(20)]
    print(f"fu-bootstrap, (0, 2) against (1, 3): exact {exact:.4f}, p {min(p):.4f} to {max(p):.4f}")
    sets = np.array(list(product(range(6), repeat=6)))
    for x, y in (((1, 0, 0, 1, 0, 0), (0, 1, 1, 0, 0, 1)), ((0, 0, 0, 0, 1, 0), (1, 1, 1, 0, 0, 1))):
        d = np.array(y, float) - np.array(x, float)
        exact = (np.abs(d[sets].sum(axis=1) - d.sum()) >= abs(d.sum())).mean()
        pair = Comparison(
            MeanMetric(), system("a", np.array([x], float)), system("b", np.array([y], float)), documents
        )
        p = [Graham().run(Context([pair], stream=partial(np.random.default_rng, k))).p for k in range(20)]
        print(f"graham, {x} against {y}: exact {exact:.4f}, p {min(p):.4f} to {max(p):.4f}")


def rates(draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray | None]]) -> str:
    """How often `crossed:scope=segments` gives equal systems a p of .05 or less, in 1,000 trials."""
    rng = np.random.default_rng(1)
    rejected = noted = refused = 0
    for _ in range(1_000):
        d, documents = draw(rng)
        numbers = np.arange(len(d), dtype=np.int32) if documents is None else documents
        pair = Comparison(MeanMetric(), system("a", np.zeros((1, len(d)))), system("b", d[None]), numbers)
        unit = "segment" if documents is None else "document"
        row = Crossed(scope="segments", unit=unit).run(Context([pair]))
        yes = row.p is not None and row.p <= 0.05
        rejected += yes
        refused += row.p is None
        noted += yes and any(note.code in ("few-contributing", "few-documents") for note in row.notes)
    share = noted / max(rejected, 1)
    return f"rejects {rejected / 1000:.3f}, {share:.0%} of these with a note; no p {refused / 1000:.3f}"


def t4() -> None:
    """Sparse and skewed differences of segments with expected value 0."""

    def sparse(N: int, up: float, p: float) -> Callable[[np.random.Generator], tuple[np.ndarray, None]]:
        return lambda rng: (rng.choice([up, -1.0, 0.0], N, p=[p, p * up, 1 - p - p * up]), None)

    def lognormal(N: int) -> Callable[[np.random.Generator], tuple[np.ndarray, None]]:
        return lambda rng: (rng.lognormal(0, 1, N) - np.exp(0.5), None)

    print("N = 1000, +19 with .001, -1 with .019:", rates(sparse(1000, 19.0, 0.001)))
    print("N = 500, +9 with .002, -1 with .018:", rates(sparse(500, 9.0, 0.002)))
    for N in (50, 200, 500):
        print(f"lognormal, N = {N}:", rates(lognormal(N)))
    for N in (30, 500):
        print(f"normal, N = {N}:", rates(lambda rng, N=N: (rng.normal(size=N), None)))


def t6() -> None:
    """Documents whose difference grows with the logarithm of their size, but is 0 over all text."""

    def documents(G: int, slope: float) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
        def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            size = np.maximum(np.round(np.exp(rng.normal(2, 1.3, G))), 1).astype(int)
            # weighted by size, the mean of log size is 2 + 1.3^2
            own = slope * (np.log(size) - 3.69) + rng.normal(0, 0.3, G)
            return np.repeat(own, size) + rng.normal(0, 1, size.sum()), np.repeat(
                np.arange(G, dtype=np.int32), size
            )

        return draw

    for G, slope in ((150, 0.0), (150, 0.4), (400, 0.4), (1500, 0.4)):
        print(f"{G} documents, {slope} a log unit:", rates(documents(G, slope)))


def t3() -> None:
    """Predictions of the next run, and the truth: five systems whose true differences are as large as
    the standard error of one, n = 3; on this test set, and on a new one that adds as much as the runs."""
    rng = np.random.default_rng(3)
    n, N = 3, 100
    said: dict[str, list[tuple[float, float, float, float]]] = {"superior": [], "superior_new": []}
    for _ in range(300):
        segments = rng.normal(0, 1, N)
        se2 = 1 / n + 1 / n  # of one system: from runs, and from the test set
        true = rng.normal(0, np.sqrt(se2), 5)
        own = rng.normal(0, np.sqrt(N / n), (5, N))  # how a segment suits a system
        here = true + own.mean(axis=1)
        x = 20 + segments + own[:, None] + true[:, None, None] + rng.normal(0, 1, (5, n, 1))
        x = x + rng.normal(0, 0.1, x.shape)
        systems = {f"s{s}": system(f"s{s}", x[s]) for s in range(5)}
        given = TestSetScores({"mean": (MeanMetric(), systems)}, np.arange(N, dtype=np.int32))
        for row in run_tests([given], testset="t", seed=1, methods=["crossed"], correction="none")["mean"]:
            a, b = int(row.a[1:]), int(row.b[1:])
            truth = {
                "superior": stats.norm.cdf((here[b] - here[a]) / np.sqrt(2)),
                "superior_new": stats.norm.cdf((true[b] - true[a]) / np.sqrt(2 + 2 / n)),
            }
            for name, found in said.items():
                p, low, high = (row.details.get(f"{name}{end}", np.nan) for end in ("", "_low", "_high"))
                found.append((p, low, high, float(truth[name])))
    for name, found in said.items():
        p, low, high, truth = np.array(found).T
        ahead, right = np.maximum(p, 1 - p), np.where(p > 0.5, truth, 1 - truth)
        classes = []
        for start, end in ((0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01)):
            own = (ahead >= start) & (ahead < end)
            classes.append(f"{start:.2f}+: {right[own].mean():.2f} ({own.mean():.0%})" if own.any() else "")
        print(
            f"{name}: {', '.join(classes)}; interval covers {((low <= truth) & (truth <= high)).mean():.3f}"
        )


def t5() -> None:
    """Runs after the fifth are shifted by half a run sd in both systems; only A is noisy, or both are."""
    for drift, noise, together in product((0.0, 0.5), (0.02, 1.0), (False, True)):
        rng = np.random.default_rng(5)
        rejected = told = runs = 0
        for _ in range(300):
            x = {"A": rng.normal(0, 1, (20, 1)), "B": rng.normal(0, noise, (20, 1))}
            late = drift * (np.arange(20) >= 5)[:, None]
            systems = {
                name: system(name, 20 + y + late + rng.normal(0, 0.5, (20, 60))) for name, y in x.items()
            }
            store = SegmentStatistics("t", MeanMetric(), "", systems, np.arange(60, dtype=np.int32), None)
            plan = plan_of([store], TestSettings(methods=(Entry("crossed"),)), LookSettings())
            record = all_looks(msgspec.structs.replace(plan, together=together or msgspec.UNSET), [store])
            (pair,) = record.looks[-1].pairs
            rejected += pair.p_adjusted is not None and pair.p_adjusted <= 0.05
            told += record.drift is not None
            runs += record.runs[0]
        print(
            f"drift {drift} run sd, sd of B {noise}, {'together' if together else 'each by itself'}: "
            f"rejects {rejected / 300:.3f}, batches told {told / 300:.3f}, {runs / 300:.1f} runs"
        )


def t7() -> None:
    """A's runs sometimes go wrong, B's never, with equal means; only runs vary."""
    T = 20_000
    print("| one bad run in | by sd | " + " | ".join(f"{n} v {n}" for n in (3, 5, 10, 20)) + " |")
    print("|---|---|---|---|---|---|")
    for every, size in product((10, 5), (2.0, 5.0, 10.0, 20.0)):
        cells = []
        for n in (3, 5, 10, 20):
            rng = np.random.default_rng(7)
            bad = rng.random((T, n)) < 1 / every
            a = rng.normal(size=(T, n)) - size * (bad - 1 / every)
            b = rng.normal(size=(T, n))
            V = np.stack([a.var(axis=1, ddof=1), b.var(axis=1, ddof=1)], axis=-1) / n
            t = (a.mean(axis=1) - b.mean(axis=1)) / np.sqrt(V.sum(axis=1))
            weight, df = layers(V, np.full(2, n - 1.0))
            wrong = 2 * tails(weight, df, np.abs(t)) <= 0.05
            cells.append(f"{wrong.mean():.3f} ({(t[wrong] > 0).mean():.2f})")
        print(f"| {every} | {size:g} | " + " | ".join(cells) + " |")
    rng = np.random.default_rng(8)
    for n in (5, 10, 20):
        refused = {}
        for name, size in (("normal", 0.0), ("one bad run, 20 sd", 20.0)):
            odd = []
            for _ in range(300):
                a, b = (20 + rng.normal(size=(n, 1)) + rng.normal(0, 0.01, (n, 30)) for _ in "ab")
                a[0] -= size
                pair = Comparison(
                    MeanMetric(), system("a", a), system("b", b), np.arange(30, dtype=np.int32)
                )
                odd.append(Crossed(scope="runs").run(Context([pair])).details.get("p_odd_run", 1.0) <= 0.01)
            refused[name] = f"{name} {np.mean(odd):.3f}"
        print(f"{n} v {n}, --fail-unless refuses: {', '.join(refused.values())}")


def t10() -> None:
    """Runs that share a seed with the run of the same number, and runs that do not."""
    rng = np.random.default_rng(10)
    for n, rho in product((3, 5, 10), (0.0, 0.5, 0.9, 1.0)):
        alone = paired = hint = 0
        for _ in range(300):
            z = rng.normal(size=(3, n, 1))
            a, b = (np.sqrt(rho) * z[2] + np.sqrt(1 - rho) * own for own in z[:2])
            a, b = (20 + y + rng.normal(0, 0.05, (n, 30)) for y in (a, b + 0.5))
            pair = Comparison(MeanMetric(), system("a", a), system("b", b), np.arange(30, dtype=np.int32))
            row = Crossed(scope="runs").run(Context([pair]))
            alone += row.p <= 0.05
            paired += Crossed(scope="runs", paired=True).run(Context([pair])).p <= 0.05
            hint += any(note.code == "shared-seeds" for note in row.notes)
        print(
            f"{n} v {n}, correlation {rho}: hint {hint / 300:.3f}; B better by .5 run sd is found in "
            f"{alone / 300:.2f}, paired {paired / 300:.2f}"
        )


def t11() -> None:
    """The share of the test set in Var(delta), which is truly .43, its interval, and the sum of shares."""
    rng = np.random.default_rng(11)
    N, truth = 200, 0.43
    for n in (3, 5, 10):
        shares, widths, hit, sums = [], [], 0, []
        for _ in range(300):
            # Var(delta) = 1: each system's runs add .57 / 2, its segments .43 / 2
            runs = rng.normal(0, np.sqrt(n * (1 - truth) / 2), (2, n, 1))
            own = rng.normal(0, np.sqrt(N * truth / 2), (2, 1, N))
            a, b = 20 + runs + own + rng.normal(0, 0.1, (2, n, N))
            pair = Comparison(MeanMetric(), system("a", a), system("b", b), np.arange(N, dtype=np.int32))
            rows = Crossed().run(Context([pair])).variances
            (of_set,) = [row for row in rows if row.source.startswith("system x")]
            low, high = getattr(of_set, "share_low", np.nan), getattr(of_set, "share_high", np.nan)
            shares.append(of_set.share)
            widths.append(high - low)
            hit += low <= truth <= high
            sums.append(sum(row.share for row in rows if row.share is not None))
        print(
            f"n = {n}: share of the test set {min(shares):.2f} to {max(shares):.2f}, mean width of its 95% "
            f"interval {np.mean(widths):.2f}, covers {hit / 300:.3f}; shares add up to "
            f"{min(sums):.6f} to {max(sums):.6f}"
        )


ROWS: dict[str, Callable[[], None]] = {
    "t1": t1,
    "t3": t3,
    "t4": t4,
    "t5": t5,
    "t6": t6,
    "t7": t7,
    "t9": t9,
    "t10": t10,
    "t11": t11,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ROWS:
        print(f"--- {name}")
        ROWS[name]()
