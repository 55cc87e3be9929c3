"""The gate of `crossed` at and beyond the limits of its model, in cells written down in advance.

    PYTHONPATH=src nice python benchmarks/calibration/outside.py outside.csv

Written down before it was run (after runs of 4,000 trials of some twenty of these cells with
`scope=segments`, by which skewness was chosen over kurtosis for counting units):

- **Cells**, all with equally good systems over new segments and new runs:
  *segments*: B - A of a segment is normal; normal with a deviation of its own (log sd .7); t with 3
  df; exponential; lognormal; rare (+u with probability p, -1 with u p, else 0); N = 50, 200, 500 (rare:
  500, 1,000). *outputs*: those of A three times as noisy on single segments as those of B. *binary*:
  right or wrong, with accuracy .5, .9 and .99, N = 50 and 200. *documents*: sizes are lognormal (log sd
  .8 or 1.3), B - A grows by 0, .2 or .4 per log unit of size. *seeds*: the effects of run r of A and of
  B correlate by .5 or 1; tested as pairs and not. *failures*: one run in ten, or in twenty, is worse by
  5 or 20 deviations of the others, in A only or in both.
- **Tests**: `scope=segments` of one output each; `crossed` at 3 v 3 with V_rep/V_seg = .1 and 1, at 5 v 5
  with 1 (1,500 documents with `scope=segments` alone; seeds and failures: n = 3, 5, 10 and V_rep/V_seg = 1
  and 10), V_int/V_seg .4 at any n. One-sided at .05 and .01, both ways, of exponential and lognormal
  segments.
- **Counted**: rejections at .05 and .01; those without a note about the data (`few-contributing`,
  `few-documents`; for failures also `unstable-run`); comparisons that get no p, and those with a note.
  For comparison with `crossed`: *plain*, which counts no units, and *kurtosis*, which counts them as
  K = (sum d^2)^2 / sum d^4 if that is less than an eighth of N (2 / (1/K - 1/N) degrees of freedom, no p
  below 6, a note below 30).
- **Trials**: 4,000 per cell of single outputs, 2,000 of runs (10,000 in the first plan, which was given
  up, with no results seen, because the processors were busy), 99% intervals (Wilson). A rate fails if
  its interval lies above the limit. Finished cells are kept beside the table (.cells.jsonl), so that an
  interrupted run can continue.
- **Limits.** (1) Cells inside the model (symmetric segments and documents, outputs, binary, seeds): .055
  and .0155. (2) All cells of segments and documents: rejections *without a note*: .055 and .0155.
  (3) Cells where nothing is wrong (normal; t3 and exponential with N of 200 or more; rare +1 and -1 with
  20 expected or more; 100 documents or more with log sd .8 that do not depend on size; outputs; accuracy
  .5): no p in at most .05, a note in at most .30.
- **Reported**, not judged: skewed segments, documents that depend on size, failures, one-sided. The
  level among comparisons that get a p is given beside that among all.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from closed import Summary, critical_values, crossed_parts, unstable_run
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from replitune.significance.studies.calibrate import wilson
from replitune.significance.system_parts import (
    FEW_CONTRIBUTING,
    FEW_UNITS,
    FEWEST_UNITS,
    SMALLEST_CONTRIBUTING,
    contributing,
    contributing_df,
)
from replitune.streams import stream

Array = NDArray[np.float64]

SEED, TRIALS, TRIALS_OF_RUNS, CONFIDENCE = 2011, 4_000, 2_000, 0.99
ALPHAS, LIMITS = (0.05, 0.01), (0.055, 0.0155)
MOST_REFUSED, MOST_NOTED = 0.05, 0.30
INTERACTION = 0.4
AT_ONCE = 2_000_000
"""How many values of segments are in memory at a time."""
ROUNDING = 1e-20
"""A smaller variance comes from rounding: nothing varies, so nothing is rejected."""


@dataclass(frozen=True)
class Cell:
    kind: str
    """segments, outputs, binary, documents, seeds or failures."""
    what: str
    n: int
    """Runs of each system; with 1, `scope=segments` of single outputs."""
    ratio: float
    """V_rep / V_seg."""
    N: int
    """Number of segments, or of documents."""
    judged: bool
    """Whether the cell is inside the model, so that the level has a limit."""
    clean: bool = False
    """Whether nothing is wrong, so that notes and refusals have limits."""
    one_sided: int = 0
    """Sign of the difference that a one-sided test asks about; 0 for a two-sided test."""
    paired: bool = False


def of_segments(what: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Differences B - A of segments, with mean 0 and variance 1."""
    if what == "normal":
        return rng.standard_normal(shape)
    if what == "own deviations":
        return rng.standard_normal(shape) * np.exp(0.7 * rng.standard_normal(shape) - 0.7**2)
    if what == "t3":
        return rng.standard_t(3, shape) / np.sqrt(3)
    if what == "exponential":
        return rng.exponential(1.0, shape) - 1
    if what == "lognormal":
        return (rng.lognormal(0, 1, shape) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    up, p = rare(what)
    u = rng.random(shape)
    d = np.where(u < p, up, np.where(u < p * (1 + up), -1.0, 0.0))
    return d / np.sqrt(p * up * (up + 1))


def rare(what: str) -> tuple[float, float]:
    """`+19 .001`: +19 with probability .001, -1 with .019."""
    up, p = what.split()
    return float(up), float(p)


RARE = {
    500: ("+1 .02", "+1 .1", "+9 .002", "+9 .01"),
    1000: ("+1 .005", "+1 .02", "+3 .01", "+9 .005", "+19 .001", "+19 .005"),
}
SYMMETRIC = ("normal", "own deviations", "t3")


def cells() -> Iterator[Cell]:
    tests = [(1, 0.0), (3, 0.1), (3, 1.0), (5, 1.0)]
    for n, ratio in tests:
        for N in (50, 200, 500):
            for what in (*SYMMETRIC, "exponential", "lognormal"):
                clean = what == "normal" or (N >= 200 and what in ("t3", "exponential"))
                yield Cell("segments", what, n, ratio, N, what in SYMMETRIC, clean)
        for N, names in RARE.items():
            for what in names:
                up, p = rare(what)
                yield Cell("segments", what, n, ratio, N, up == 1, up == 1 and 2 * p * N >= 20)
        for sd, slope, G in (
            *((0.8, slope, G) for slope in (0, 0.2, 0.4) for G in (40, 100, 400)),
            *((1.3, slope, G) for slope in (0, 0.2, 0.4) for G in (150, 400, 1500)),
        ):
            if G == 1500 and n > 1:
                continue
            inside = slope == 0
            clean = inside and sd == 0.8 and G >= 100
            yield Cell("documents", f"{sd} {slope}", n, ratio, G, inside, clean)
    for n, ratio in tests[1:]:
        for N in (50, 200):
            yield Cell("outputs", "A thrice as noisy", n, ratio, N, True, True)
    for n, ratio in tests:
        for N in (50, 200):
            for accuracy in ("0.5", "0.9", "0.99"):
                yield Cell("binary", accuracy, n, ratio, N, True, accuracy == "0.5")
    for n in (3, 5, 10):
        for ratio in (1.0, 10.0):
            for rho in ("0.5", "1"):
                for paired in (False, True):
                    yield Cell("seeds", rho, n, ratio, 200, True, False, 0, paired)
            for share in (10, 20):
                for by in (5, 20):
                    for of in ("A", "both"):
                        yield Cell("failures", f"1 in {share}, {by} sd, {of}", n, ratio, 200, False)
    for n, ratio in ((1, 0.0), (5, 1.0)):
        for what in ("exponential", "lognormal"):
            for N in (50, 200, 500):
                for sign in (1, -1):
                    yield Cell("segments", what, n, ratio, N, False, False, sign)


@dataclass(frozen=True)
class Drawn:
    summary: Summary
    d: Array
    """(T, U) what each unit adds to the difference."""
    documents: Array | float
    """(T,) effective numbers of documents."""


def summed(a: Array, b: Array, sizes: Array | None = None) -> Drawn:
    """The summary of scores (T, n, U) of segments, or of sums over documents with `sizes` (T, U)."""
    T, n, U = a.shape
    m = np.ones((T, U)) if sizes is None else sizes
    N = m.sum(axis=1)[:, None, None]
    scores, means, both = [], [], []
    for x in (a, b):
        score = x.sum(axis=2, keepdims=True) / N
        L = (x - score * m[:, None, :]) / (N - m[:, None, :])
        L -= L.mean(axis=2, keepdims=True)
        L *= np.sqrt((U - 1) / U)
        mean = L.mean(axis=1)
        means.append(mean)
        E = L - mean[:, None, :]
        both.append(np.einsum("tnu,tnu->t", E, E) / max((n - 1) * n, 1))
        scores.append(score[:, :, 0])
    d = means[1] - means[0]
    effective = N[:, 0, 0] ** 2 / (m**2).sum(axis=1)
    nu = effective - 1 if sizes is not None else np.full(T, U - 1.0)
    summary = Summary(*scores, (d**2).sum(axis=1), nu, np.stack(both, axis=-1), U)
    return Drawn(summary, d, effective if sizes is not None else np.inf)


def draw(cell: Cell, T: int, rng: np.random.Generator) -> Drawn:
    n, N = cell.n, cell.N
    shape = (T, n, N)
    noise = np.sqrt(INTERACTION * n / 2 / (1 - INTERACTION)) if n > 1 else 0.0
    V_seg = (1 + 2 * noise**2 / n) / N
    if cell.kind == "binary":
        return binary(cell, T, rng)
    if cell.kind == "documents":
        return documents(cell, T, rng, noise)
    shares = (1.8, 0.2) if cell.kind == "outputs" else (1.0, 1.0)
    what = cell.what if cell.kind == "segments" else "normal"
    d = of_segments(what, (T, 1, N), rng)
    runs = run_effects(cell, T, rng) * np.sqrt(cell.ratio * V_seg * n / 2)
    systems = [
        sign * d / 2 + run[:, :, None] + np.sqrt(share) * noise * rng.standard_normal(shape)
        for sign, share, run in zip((-1, 1), shares, runs, strict=True)
    ]
    return summed(*systems)


def run_effects(cell: Cell, T: int, rng: np.random.Generator) -> Array:
    """(2, T, n) run effects of A and of B."""
    z = rng.standard_normal((2, T, cell.n))
    if cell.kind == "seeds":
        rho = float(cell.what)
        z[1] = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
    if cell.kind == "failures":
        share, by, of = cell.what.replace("1 in ", "").replace(" sd", "").split(", ")
        p, far = 1 / float(share), float(by)
        z -= far * ((rng.random(z.shape) < p) - p)  # the mean is 0, and so is the true difference
        z /= np.sqrt(1 + far**2 * p * (1 - p))
        if of == "A":
            z[1] = 0.0
            z[0] *= np.sqrt(2)
    return z


def binary(cell: Cell, T: int, rng: np.random.Generator) -> Drawn:
    """Right or wrong, by a probit model of item, preference and run. The ratio of variances, equal for
    both systems, is that of runs to preferences on the latent scale."""
    item, prefer = rng.standard_normal((T, 1, cell.N)), 0.7 * rng.standard_normal((T, 1, cell.N))
    run_sd = 0.7 * np.sqrt(cell.ratio * cell.n / 2 / cell.N)
    centre = ndtri(float(cell.what)) * np.sqrt(2 + 0.7**2 / 4 + run_sd**2)
    out = []
    for sign in (-0.5, 0.5):
        run = run_sd * rng.standard_normal((T, cell.n, 1))
        right = ndtr(centre + item + sign * prefer + run) > rng.random((T, cell.n, cell.N))
        out.append(right.astype(np.float64))
    return summed(*out)


def documents(cell: Cell, T: int, rng: np.random.Generator, noise: float) -> Drawn:
    sd, slope = map(float, cell.what.split())
    G, n = cell.N, cell.n
    size = np.maximum(np.round(np.exp(rng.normal(2, sd, (T, G)))), 1.0)
    # weighted by size, the mean of log size is 2 + sd^2, except for rounding
    own = slope * (np.log(size) - weighted_mean(sd)) + rng.normal(0, 0.3, (T, G))
    total = own * size + rng.standard_normal((T, G)) * np.sqrt(size)
    usual = np.exp(2 * 2 + 2 * sd**2) * (0.09 + slope**2 * sd**2) + np.exp(2 + sd**2 / 2)
    per_unit = usual / np.exp(2 * 2 + sd**2)  # G Var(delta) of documents
    run_sd = np.sqrt(cell.ratio * per_unit / G * n / 2)
    systems = []
    for sign in (-0.5, 0.5):
        x = sign * total[:, None, :] + noise * rng.standard_normal((T, n, G)) * np.sqrt(size)[:, None, :]
        systems.append(x + run_sd * rng.standard_normal((T, n, 1)) * size[:, None, :])
    return summed(*systems, size)


def weighted_mean(sd: float) -> float:
    """The mean logarithm of rounded sizes, weighted by size; subtracting it makes the true difference 0."""
    if sd not in MEANS:
        size = np.maximum(np.round(np.exp(2 + sd * ndtri((np.arange(10**7) + 0.5) / 10**7))), 1.0)
        MEANS[sd] = float((size * np.log(size)).sum() / size.sum())
    return MEANS[sd]


MEANS: dict[float, float] = {}


def by_kurtosis(d: Array, nu: Array) -> tuple[Array, Array]:
    """The number of contributing units, counted by kurtosis, and degrees of freedom."""
    squares = (d**2).sum(axis=1)
    quads = np.maximum((d**4).sum(axis=1), np.finfo(float).tiny)
    K = np.where(squares > 0, squares**2 / quads, np.inf)
    K = np.where(nu + 1 > K * 8, K, np.inf)
    rest = 1 / K - 1 / (nu + 1)
    return K, np.where(np.isinf(K), nu, np.minimum(nu, 2 / np.where(rest > 0, rest, 1.0)))


COUNTS = ("p", "note", "at 0.05", "at 0.01", "quiet 0.05", "quiet 0.01")


def count(cell: Cell, drawn: Drawn) -> dict[str, Array]:
    """For each method, how many comparisons have a p, a note, are rejected, are rejected without a note."""
    nu = np.asarray(drawn.summary.nu_seg)
    kurtosis = by_kurtosis(drawn.d, nu)
    methods = {
        "crossed": (contributing(drawn.d), contributing_df(drawn.d, nu)),
        "kurtosis": kurtosis,
        "plain": (np.full(len(nu), np.inf), nu),
    }
    found = {}
    for method, (units, df) in methods.items():
        s = Summary(
            drawn.summary.a, drawn.summary.b, drawn.summary.seg, df, drawn.summary.both, drawn.summary.units
        )
        if cell.paired:
            s = paired(s)
        if cell.n == 1:
            values, nus, variance = s.seg[:, None], df[:, None], s.seg
        else:
            parts = paired_parts(s) if cell.paired else crossed_parts(s)
            values, nus, variance = parts.values, parts.nus, parts.variance
        units = np.where(10 * s.seg > variance, units, np.inf)
        U = drawn.d.shape[1]
        has_p = (units >= min(SMALLEST_CONTRIBUTING, U / 4)) & (drawn.documents >= FEWEST_UNITS)
        note = (units < min(FEW_CONTRIBUTING, U)) | (drawn.documents < FEW_UNITS)
        if cell.kind == "failures":
            note |= unstable_run(drawn.summary)
        delta = s.delta
        known = variance > ROUNDING
        se = np.sqrt(np.where(known, variance, 1.0))
        row = [has_p.sum(), note.sum()]
        quiet = []
        safe = np.where(known[:, None], values, 1.0)
        for alpha in ALPHAS:
            q = alpha if cell.one_sided else alpha / 2
            t = cell.one_sided * delta / se if cell.one_sided else np.abs(delta) / se
            yes = known & has_p & (t > critical_values(safe, nus, q))
            row.append(yes.sum())
            quiet.append((yes & ~note).sum())
        found[method] = np.array([*row, *quiet])
    return found


def paired(s: Summary) -> Summary:
    """A summary with the differences of pairs of runs as B, and zeros as A."""
    return Summary(np.zeros_like(s.a), s.b - s.a, s.seg, s.nu_seg, s.both, s.units)


def paired_parts(s: Summary) -> Any:
    """Parts with one side only. V_int is that of differences: here the sum of both systems', because
    outputs are independent."""
    from replitune.significance.critical import net_parts

    n = s.b.shape[1]
    rep = s.b.var(axis=1, ddof=1)[:, None] / n
    both = s.both.sum(axis=1, keepdims=True)
    nu = np.full((len(rep), 1), n - 1.0)
    return net_parts(rep, nu, s.seg[:, None], np.reshape(s.nu_seg, (-1, 1)), both)


def rows_of(cell: Cell) -> Iterator[dict[str, Any]]:
    rng = stream(SEED, "outside", *map(str, asdict(cell).values()))
    trials = TRIALS if cell.n == 1 else TRIALS_OF_RUNS
    chunk = min(trials, max(100, AT_ONCE // (2 * cell.n * cell.N)))
    totals: dict[str, Array] = {}
    for start in range(0, trials, chunk):
        for method, counts in count(cell, draw(cell, min(chunk, trials - start), rng)).items():
            totals[method] = totals.get(method, 0) + counts
    for method, counts in totals.items():
        row = asdict(cell) | {"method": method, "trials": trials}
        yield row | dict(zip(COUNTS, map(int, counts), strict=True))


Test = Callable[[dict[str, Any]], bool]


def above(row: dict[str, Any], column: str, limit: float) -> bool:
    return bool(wilson(row[column], row["trials"], CONFIDENCE)[0] > limit)


def judge(rows: list[dict[str, Any]]) -> Iterator[str]:
    shapes: Test = lambda r: r["kind"] in ("segments", "documents") and not r["one_sided"]  # noqa: E731
    limits: list[tuple[str, Test, list[tuple[str, float]]]] = [
        ("inside", lambda r: r["judged"], [("at 0.05", 0.055), ("at 0.01", 0.0155)]),
        ("without a note", shapes, [("quiet 0.05", 0.055), ("quiet 0.01", 0.0155)]),
        ("nothing wrong", lambda r: r["clean"], [("no p", MOST_REFUSED), ("note", MOST_NOTED)]),
    ]
    for method in ("crossed", "kurtosis", "plain"):
        for title, applies, columns in limits:
            some = [
                r | {"no p": r["trials"] - r["p"]} for r in rows if r["method"] == method and applies(r)
            ]
            for column, limit in columns:
                worst = max(some, key=lambda r: r[column] / r["trials"])
                failed = [r for r in some if above(r, column, limit)]
                yield (
                    f"{method}, {title}, {column} at most {limit:g}: worst "
                    f"{worst[column] / worst['trials']:.4f} ({named(worst)}); {len(failed)} of {len(some)} "
                    "cells fail"
                )
                if method == "crossed":
                    yield from (f"  fails: {r[column] / r['trials']:.4f} ({named(r)})" for r in failed)


def named(row: dict[str, Any]) -> str:
    test = "scope=segments" if row["n"] == 1 else f"{row['n']} v {row['n']}, V_rep/V_seg {row['ratio']:g}"
    sides = {0: "", 1: ", one-sided up", -1: ", one-sided down"}[row["one_sided"]]
    return f"{row['kind']} {row['what']}, {row['N']}, {test}{', paired' if row['paired'] else ''}{sides}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--single", action="store_true", help="only cells of single outputs")
    options = parser.parse_args()
    out = options.out
    started = time.process_time()
    kept = out.with_suffix(".cells.jsonl")
    done = {}
    if kept.exists():
        done = {json.dumps(one[0]): one[1] for one in map(json.loads, kept.read_text().splitlines())}
    rows = []
    for cell in sorted(cells(), key=lambda cell: (cell.n > 1, cell.kind in ("segments", "documents"))):
        if options.single and cell.n > 1:
            continue
        key = json.dumps(asdict(cell))
        if key not in done:
            done[key] = list(rows_of(cell))
            with kept.open("a") as file:
                file.write(json.dumps([asdict(cell), done[key]]) + "\n")
        rows += done[key]
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print("\n".join(judge(rows)))
    print(f"{len(rows) // 3} cells, {time.process_time() - started:.0f} CPU-seconds")


if __name__ == "__main__":
    main()
