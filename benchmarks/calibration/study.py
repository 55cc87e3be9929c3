"""The gate: how often does each test reject when there is nothing to find?

    PYTHONPATH=src python benchmarks/calibration/study.py OUT.csv [--only PART] [--part PART]

Cells, seeds, trials, limits and the rule are fixed here, before the run. A cell is one design;
V_rep/V_seg is the ratio of what tuner runs and segments add to Var(delta).

**Trials.** Closed forms: 20,000 comparisons per cell on complete data; 200,000 if the model is normal
and the metric a mean over 500 segments, because then `closed.drawn` draws only what the tests need.
Tests that resample: 2,000 (1,000 for BLEU with more than ten replicas in all), with 199 resamples (999
for whole test sets), which makes .05 and .01 attainable levels. `evalstats` (only if that package is
installed; the project does not need it): 600, with 500 resamples.

**The gate.** Limits: .055 at level .05, .0155 at level .01, plus Monte Carlo error. A test fails a
cell at a level if Wilson's two-sided 99% interval of its rate lies wholly above the limit. At 200,000
trials that is a rate above .0563 or .0162, at 20,000 above .0592 or .0177.

**Gated cells**: the null hypothesis of the test holds, effects are normal (for BLEU, on the logit of
n-gram precision), each stratum has three runs or more, and documents, if they are the unit, are worth
at least 20 of equal size. Other cells are only reported: two runs in a stratum, runs that are not
normal, binary scores, fewer documents, documents treated as segments. So are tests of a different null
hypothesis: scope=runs under *next*, scope=segments if there is a run effect.

Finished parts of cells are kept beside OUT (OUT.cells.jsonl), so that an interrupted study can continue.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path

import numpy as np
from batch import RESAMPLING, Batch
from bleu_model import bleu_counts
from closed import (
    CRITICAL,
    Summary,
    Yes,
    crossed_parts,
    crossed_rejections,
    drawn,
    mixed_rejections,
    run_effect,
    summarise,
    unstable_run,
)
from numpy.typing import NDArray
from other_models import binary_scores, binary_units, run_effects

from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.running.files import atomic_open
from replitune.significance.studies.calibrate import wilson
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.significance.system_parts import FEW_UNITS
from replitune.streams import stream

SEED = 2011
SEGMENTS = {"mean": 500, "tuners": 500, "bleu": 300}
ALPHAS = (0.05, 0.01)
LIMITS = {0.05: 0.055, 0.01: 0.0155}
CONFIDENCE = 0.99
RATIOS = (0.1, 1.0, 3.0, 10.0)
DRAWN_TRIALS, TRIALS, RESAMPLED_TRIALS, EVALSTATS_TRIALS = 200_000, 20_000, 2_000, 600
SAMPLES = {"fu-ar": 999, "fu-bootstrap": 999, "replica-permutation": 999, "evalstats": 500}
TUNERS = 3
BLEU_SCALE = {"difference": 0.7, "segment": 0.8, "noise": 0.5}
NOISE_SHARE = 0.4
"""The share of single outputs in Var(d_i) within documents, as for `mean` at n = 3."""

Counts = dict[str, list[int]]
"""For each method: trials, rejections at .05 and at .01."""


@dataclass(frozen=True)
class Cell:
    metric: str
    """mean; documents (a mean, with documents of unequal size); equal documents (of 15 segments); tuners
    (a mean, with three tuners); bleu; binary."""
    null: str
    n_a: int
    n_b: int
    noise: str
    """equal: runs of both systems vary equally; A, B: only those of that system vary; one: only those of
    A's first tuner; thrice: A's have three times the standard deviation of all other systems'."""
    ratio: float
    """V_rep / V_seg. 0: replicas are samples without a run effect."""
    shift: float = 0.0
    """The true difference, in standard deviations of delta; 0 under the null hypothesis."""
    resampled: bool = False
    interaction: float | None = None
    """V_int / V_seg. None: noise of single outputs with the same sd as how segments suit a system."""
    runs: str = "normal"
    """exponential; t3; bad: one run in five is worse by five standard deviations of the others."""
    segments: int = 0
    """Number of segments. 0: the usual number for the metric."""
    icc: float | None = None
    """Correlation, within documents, of segment differences B - A. None: see `Maker`."""
    effective: int = 0
    """Number of documents of equal size that would be worth as much."""
    accuracy: float | None = None
    systems: int = 2
    """Number of systems in the experiment; two are compared."""
    spread: float = 0.0
    """Standard deviation, over systems, of the logarithm of the standard deviation of runs."""

    @property
    def name(self) -> str:
        """The name of the cell, and of its random stream."""
        short = [str(v) for k, v in asdict(self).items() if k in SHORT]
        more = [f"{f.name}={v}" for f in MORE if (v := getattr(self, f.name)) != f.default]
        return "/".join(short + more)

    @property
    def whole(self) -> bool:
        """Whether complete data are drawn, and not only what closed forms need."""
        return self.metric not in ("mean", "tuners") or self.segments > 0

    @property
    def gated(self) -> bool:
        fewest = min(self.n_a, self.n_b) // (TUNERS if self.metric == "tuners" else 1)
        normal = self.runs == "normal" and self.metric != "binary"
        few = 0 < self.effective < FEW_UNITS
        return self.shift == 0 and fewest > 2 and normal and not few


SHORT = ("metric", "null", "n_a", "n_b", "noise", "ratio", "shift")
MORE = [f for f in fields(Cell) if f.name not in (*SHORT, "resampled")]


def speaks(method: str, cell: Cell) -> bool:
    """Whether the cell fits a test's null hypothesis; other results are only reported."""
    if any(word in method for word in ("note", "ahead", "unit=segment")):
        return False
    if method == "crossed:scope=runs":
        return cell.null == "this"
    if method == "crossed:scope=segments":
        return cell.ratio == 0
    return True


def cells() -> Iterator[Cell]:
    sizes = [(2, 2), (3, 3), (5, 5), (10, 10), (20, 20), (3, 20), (5, 10)]
    for n_a, n_b in sizes:
        for ratio in RATIOS:
            for noise in ("equal", "A"):
                for null in ("next", "this"):
                    yield Cell("mean", null, n_a, n_b, noise, ratio, resampled=True)
                if n_a > 2:
                    yield Cell("documents", "next", n_a, n_b, noise, ratio, resampled=True)
                    yield Cell("bleu", "next", n_a, n_b, noise, ratio, resampled=True)
            if n_a > 2:
                yield Cell("bleu", "this", n_a, n_b, "equal", ratio, resampled=True)
    for n in (9, 15):
        for ratio in RATIOS:
            for noise in ("equal", "A", "one"):
                yield Cell("tuners", "next", n, n, noise, ratio)
    for metric in ("mean", "bleu"):
        for n in (3, 5, 10, 20):
            for ratio in (0.1, 1.0, 10.0):
                yield Cell(metric, "next", n, n, "equal", ratio, shift=3.0, resampled=True)
    yield from unequal_cells()
    yield from other_run_cells()
    yield from binary_cells()
    yield from document_cells()
    yield from sample_cells()
    yield from unequal_noise_cells()
    yield from figure_cells()
    for n in (3, 5, 10, 20):
        yield Cell("mean", "this", n, n, "equal", 1.0, shift=3.0, resampled=True)


def unequal_cells() -> Iterator[Cell]:
    """Cells with much tuner noise, much interaction, or few runs against many."""
    for ratio in RATIOS:
        for noise in ("equal", "A", "B"):
            for null in ("next", "this"):
                yield Cell("mean", null, 3, 30, noise, ratio)
    for n_a, n_b in [(3, 3), (3, 5), (5, 5), (3, 20), (3, 30)]:
        for ratio in (1.0, 15.0, 30.0):
            for interaction in (0.4, 0.7, 1.0):
                for noise in ("equal", "A") if n_a == n_b else ("equal", "A", "B"):
                    yield Cell("mean", "next", n_a, n_b, noise, ratio, interaction=interaction)
    for n in (6, 9):
        for ratio in (1.0, 15.0, 30.0):
            for interaction in (0.4, 1.0):
                for noise in ("equal", "A", "one"):
                    yield Cell("tuners", "next", n, n, noise, ratio, interaction=interaction)


def other_run_cells() -> Iterator[Cell]:
    """Cells with runs that are not normal."""
    for runs in ("exponential", "t3", "bad"):
        for n_a, n_b in [(3, 3), (5, 5), (10, 10), (3, 30)]:
            for ratio in (1.0, 10.0):
                for noise in ("equal", "A"):
                    yield Cell("mean", "next", n_a, n_b, noise, ratio, runs=runs, segments=100)


def binary_cells() -> Iterator[Cell]:
    for segments in (50, 100, 200, 400):
        for accuracy in (0.7, 0.95):
            for n in (3, 5):
                for noise, ratio in (("equal", 0.0), ("equal", 1.0), ("A", 1.0)):
                    of = Cell("binary", "next", n, n, noise, ratio)
                    yield replace(of, segments=segments, accuracy=accuracy)


def document_cells() -> Iterator[Cell]:
    for effective in (6, 10, 20, 40):
        for icc in (0.05, 0.2, 0.5):
            for n in (3, 5, 20):
                for ratio in (0.1, 1.0):
                    of = Cell("documents", "next", n, n, "equal", ratio)
                    yield replace(of, icc=icc, effective=effective)
    for icc in (0.02, 0.05, 0.1):
        yield Cell("equal documents", "next", 3, 3, "equal", 0.0, icc=icc, effective=40)


def sample_cells() -> Iterator[Cell]:
    """Cells in which outputs are sampled for each segment, without a run effect."""
    for n in (2, 3, 5, 10):
        for interaction in (None, 0.7, 1.0):
            for shift in (0.0, 3.0):
                yield Cell("mean", "next", n, n, "equal", 0.0, shift, interaction=interaction)


def unequal_noise_cells() -> Iterator[Cell]:
    for systems in (5, 10):
        for n in (3, 5):
            for ratio in (1.0, 10.0):
                for spread in (0.0, 0.15, 0.3):
                    for shift in (0.0, 3.0):
                        of = Cell("mean", "next", n, n, "equal", ratio, shift)
                        yield replace(of, systems=systems, spread=spread)
                yield Cell("mean", "next", n, n, "thrice", ratio, systems=systems)


def figure_cells() -> Iterator[Cell]:
    """Cells of 100 segments, on which every method is run."""
    for n in (3, 5):
        for ratio in (0.0, 0.1, 1.0, 10.0):
            of = Cell("mean", "next", n, n, "equal", ratio, resampled=True, segments=100)
            yield of
            yield replace(of, shift=3.0)
            if ratio > 0:
                yield replace(of, noise="A")


def document_sizes(documents: int = 40) -> NDArray[np.int64]:
    """Sizes of documents, from 2 to 28 segments; 40 such documents are worth 26 of equal size."""
    of = np.arange(documents) / (documents - 1)
    return np.round(2 + 26 * of**3).astype(np.int64)


def as_good_as(effective: int) -> NDArray[np.int64]:
    """The sizes of the fewest such documents that are worth so many of equal size."""
    for documents in range(effective, 4 * effective):
        sizes = document_sizes(documents)
        if sizes.sum() ** 2 / (sizes**2).sum() >= effective:
            return sizes
    raise AssertionError(effective)


def replica_sd(cell: Cell, V_seg: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard deviations (n, 1) of tuner runs of A and B, for the cell's V_rep / V_seg."""
    V_rep = cell.ratio * V_seg
    sd_a, sd_b = np.zeros((cell.n_a, 1)), np.zeros((cell.n_b, 1))
    if cell.noise == "equal":
        sd_a[:] = sd_b[:] = np.sqrt(V_rep / (1 / cell.n_a + 1 / cell.n_b))
    elif cell.noise == "thrice":
        sd_b[:] = np.sqrt(V_rep / (9 / cell.n_a + 1 / cell.n_b))
        sd_a[:] = 3 * sd_b[0]
    elif cell.noise == "A":
        sd_a[:] = np.sqrt(V_rep * cell.n_a)
    elif cell.noise == "B":
        sd_b[:] = np.sqrt(V_rep * cell.n_b)
    else:
        first = cell.n_a // TUNERS
        sd_a[:first] = np.sqrt(V_rep * cell.n_a**2 / first)
    return sd_a, sd_b


@cache
def bleu_units() -> tuple[float, float]:
    """V_seg of the BLEU model without tuner noise, and dBLEU / dlogit, estimated by a pilot."""
    rng = stream(SEED, "calibration", "pilot")
    s = BLEU_SCALE
    flat = Design(2, 2, SEGMENTS["bleu"], 0, 0, s["difference"], s["segment"], s["noise"], s["noise"])
    a, b = bleu_counts(flat, 400, rng)
    delta = Batch(Bleu(), a, b).delta
    # The noise of single outputs, estimated from two replicas on the same segments, is subtracted.
    scores = Batch(Bleu(), a, b).scores
    noise = sum(x.var(axis=1, ddof=1).mean() / 2 for x in scores)
    up, down = (bleu_counts(replace(flat, delta=d), 400, rng) for d in (0.2, -0.2))
    slope = (Batch(Bleu(), *up).delta.mean() - Batch(Bleu(), *down).delta.mean()) / 0.4
    return float(delta.var() - noise), float(slope)


class Maker:
    """Draws comparisons of a cell."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.sizes: NDArray[np.int64] | None = None
        if cell.metric == "documents":
            self.sizes = as_good_as(cell.effective) if cell.effective else document_sizes()
        elif cell.metric == "equal documents":
            self.sizes = np.full(cell.effective, 15)
        self.design = self.bleu() if cell.metric == "bleu" else self.mean()

    def bleu(self) -> Design:
        cell, s = self.cell, BLEU_SCALE
        V_seg, slope = bleu_units()
        sd_a, sd_b = (sd / slope for sd in replica_sd(cell, V_seg))
        return Design(
            cell.n_a,
            cell.n_b,
            SEGMENTS["bleu"],
            sd_a,
            sd_b,
            s["difference"],
            s["segment"],
            s["noise"],
            s["noise"],
            null=cell.null,
            # Approximate: the noise of single outputs, which is small, is left out.
            delta=cell.shift * float(np.sqrt((1 + cell.ratio) * V_seg)) / slope,
        )

    def mean(self) -> Design:
        """The design for means, and for binary scores, whose effects are on the probit of being right."""
        cell = self.cell
        outputs = 1 / cell.n_a + 1 / cell.n_b
        difference, noise, document, slope = 1.0, 1.0, 0.0, 1.0
        N = cell.segments or (int(self.sizes.sum()) if self.sizes is not None else 500)
        V_seg = 1.0 / N
        if cell.interaction is not None:
            difference = np.sqrt(1 - cell.interaction)
            noise = np.sqrt(cell.interaction / outputs)
        elif self.sizes is not None:
            squares = float((self.sizes**2).sum()) / N**2
            if cell.icc is None:
                document = np.sqrt(0.5)
                V_seg += 0.5 * squares
            else:
                document = np.sqrt(cell.icc)
                difference = np.sqrt((1 - NOISE_SHARE) * (1 - cell.icc))
                noise = np.sqrt(NOISE_SHARE * (1 - cell.icc) / outputs)
                V_seg = cell.icc * squares + (1 - cell.icc) / N
        elif cell.accuracy is not None:
            variance, slope = binary_units(cell.accuracy, outputs)
            V_seg = variance / N
        sd_a, sd_b = (sd / slope for sd in replica_sd(cell, V_seg))
        V = cell.ratio * V_seg
        if cell.null == "next":
            V += V_seg
        if cell.interaction is None:
            V += outputs * noise**2 / N
        return Design(
            cell.n_a,
            cell.n_b,
            N,
            sd_a,
            sd_b,
            difference=difference,
            noise_a=noise,
            noise_b=noise,
            document=document,
            null=cell.null,
            delta=cell.shift * float(np.sqrt(V)),
        )

    def summary(self, trials: int, rng: np.random.Generator) -> Summary:
        cell = self.cell
        if cell.whole:
            return summarise(self(trials, rng))
        tuners = TUNERS if cell.metric == "tuners" else 1
        return drawn(self.design, trials, rng, tuners, cell.spread)

    def scores(self, trials: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
        """Segment scores (T, n, N) of A and of B."""
        cell, design = self.cell, self.design
        documents = None
        if self.sizes is not None:
            documents = np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)
        if cell.accuracy is not None:
            return list(binary_scores(design, cell.accuracy, trials, rng))
        if cell.runs == "normal":
            return list(mean_scores(design, trials, rng, documents))
        steady = replace(design, replica_a=0.0, replica_b=0.0)
        found = list(mean_scores(steady, trials, rng))
        for x, sd in zip(found, (design.replica_a, design.replica_b), strict=True):
            x += run_effects(cell.runs, sd, (trials, x.shape[1], 1), rng)
        return found

    def __call__(self, trials: int, rng: np.random.Generator) -> Batch:
        if self.cell.metric == "bleu":
            return Batch(Bleu(), *bleu_counts(self.design, trials, rng))
        scores = self.scores(trials, rng)
        if self.sizes is None:
            one = [np.stack([x, np.ones_like(x)], axis=-1) for x in scores]
            return Batch(MeanMetric(), *one, tuners=TUNERS if self.cell.metric == "tuners" else 1)
        starts = np.r_[0, np.cumsum(self.sizes)[:-1]]
        sums = [
            np.stack([x, np.broadcast_to(self.sizes, x.shape)], axis=-1)
            for x in (np.add.reduceat(y, starts, axis=2) for y in scores)
        ]
        return Batch(MeanMetric(), *sums, sizes=self.sizes)


# -- parts of the study -------------------------------------------------------------------


def closed_rejections(cell: Cell, summary: Summary, alpha: float) -> dict[str, Yes]:
    """(T,) rejections by every test that applies; for a note, whether the result has it."""
    parts = crossed_parts(summary)
    found = {name: crossed_rejections(summary, parts, alpha, value) for name, value in CRITICAL.items()}
    if cell.null == "this":
        runs = crossed_parts(summary, "runs")
        found["crossed:scope=runs"] = crossed_rejections(summary, runs, alpha)
    alike = cell.noise == "equal" and cell.runs == "normal" and cell.systems == 2
    scored = cell.metric in ("mean", "binary", "equal documents")
    if alike and scored and cell.null == "next" and cell.ratio <= 1:
        segments = crossed_parts(summary, "segments")
        found["crossed:scope=segments"] = crossed_rejections(summary, segments, alpha)
        found["note run-effect"] = run_effect(summary)
    if cell.metric in ("mean", "binary") and cell.systems == 2:
        found["mixed model"] = mixed_rejections(summary, False, alpha)
        found["mixed model, runs"] = mixed_rejections(summary, True, alpha)
    usual = alike and cell.metric == "mean" and cell.null == "next" and cell.ratio == 10
    if usual or cell.runs != "normal":
        note, wrong = unstable_run(summary), found["crossed"]
        found |= {"note unstable-run": note, "crossed, note unstable-run": wrong & note}
        found["crossed, A ahead"] = wrong & (summary.delta < 0)
    return found


def count(found: Counts, method: str, rejected: dict[float, Yes]) -> None:
    own = found.setdefault(method, [0, 0, 0])
    own[0] += len(rejected[ALPHAS[0]])
    for place, alpha in enumerate(ALPHAS, start=1):
        own[place] += int(rejected[alpha].sum())


def closed(cell: Cell) -> Counts:
    make, found = Maker(cell), Counts()
    trials = TRIALS if cell.whole else DRAWN_TRIALS
    chunk = max(20, 2000 // (cell.n_a + cell.n_b)) if cell.whole else 20_000
    rng = stream(SEED, "calibration", cell.name, "crossed")
    for start in range(0, trials, chunk):
        size = min(chunk, trials - start)
        if cell.icc is None:
            summaries = {"": make.summary(size, rng)}
        else:  # the same data twice: by document, and as if there were no documents
            scores = make.scores(size, rng)
            batch = [np.stack([x, np.ones_like(x)], axis=-1) for x in scores]
            assert make.sizes is not None
            starts = np.r_[0, np.cumsum(make.sizes)[:-1]]
            sums = [np.add.reduceat(x, starts, axis=2) for x in batch]
            summaries = {
                "": summarise(Batch(MeanMetric(), *sums, sizes=make.sizes)),
                ":unit=segment": summarise(Batch(MeanMetric(), *batch)),
            }
        for unit, summary in summaries.items():
            by_alpha = {alpha: closed_rejections(cell, summary, alpha) for alpha in ALPHAS}
            for method in by_alpha[ALPHAS[0]]:
                if unit and method not in ("crossed", "crossed:scope=segments"):
                    continue
                count(found, method + unit, {alpha: by_alpha[alpha][method] for alpha in ALPHAS})
    return found


def resampled(cell: Cell) -> Counts:
    make, found = Maker(cell), Counts()
    trials = RESAMPLED_TRIALS
    if cell.metric == "bleu" and cell.n_a + cell.n_b > 10:
        trials //= 2
    chunk = min(100, max(20, 2000 // (cell.n_a + cell.n_b)))
    rng = stream(SEED, "calibration", cell.name, "resampled")
    for start in range(0, trials, chunk):
        batch = make(min(chunk, trials - start), rng)
        for method, function in RESAMPLING.items():
            own = stream(SEED, "calibration", cell.name, method, start)
            with np.errstate(invalid="ignore"):
                p = function(batch, own, SAMPLES.get(method, 199))
            if not np.isnan(p).all():
                count(found, method, {alpha: p <= alpha for alpha in ALPHAS})
    return found


def evalstats(cell: Cell) -> Counts:
    """The nested bootstrap of another package."""
    from peers import nested_bootstrap

    make, found = Maker(cell), Counts()
    rng = stream(SEED, "calibration", cell.name, "evalstats")
    batch = make(EVALSTATS_TRIALS, rng)
    p = nested_bootstrap(batch, rng, SAMPLES["evalstats"])
    count(found, "evalstats", {alpha: p <= alpha for alpha in ALPHAS})
    return found


PARTS: dict[str, tuple[Callable[[Cell], Counts], Callable[[Cell], bool]]] = {
    "closed": (closed, lambda cell: True),
    "resampled": (resampled, lambda cell: cell.resampled),
    "evalstats": (evalstats, lambda cell: cell.resampled and cell.segments == 100),
}


def verdict(rejected: int, trials: int, alpha: float) -> str:
    return "fail" if wilson(rejected, trials, CONFIDENCE)[0] > LIMITS[alpha] else "pass"


def rows(cell: Cell, counts: Counts) -> Iterator[dict[str, object]]:
    for method, (trials, *rejected) in counts.items():
        row: dict[str, object] = {name: getattr(cell, name) for name in SHORT}
        for field in MORE:
            value = getattr(cell, field.name)
            row[field.name] = "" if value == field.default else value
        row |= {"method": method, "trials": trials}
        row |= {f"at {alpha:g}": k for alpha, k in zip(ALPHAS, rejected, strict=True)}
        for alpha, k in zip(ALPHAS, rejected, strict=True):
            judged = cell.gated and speaks(method, cell)
            row[f"gate {alpha:g}"] = verdict(k, trials, alpha) if judged else ""
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="cells whose name has this")
    parser.add_argument("--part", choices=PARTS, help="one part only")
    options = parser.parse_args()
    kept = options.out.with_suffix(".cells.jsonl")
    done: dict[tuple[str, str], Counts] = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            record = json.loads(line)
            done[record["cell"], record["part"]] = record["counts"]
    todo = [cell for cell in cells() if options.only in cell.name]
    for part, (run, applies) in PARTS.items():
        if options.part not in (None, part):
            continue
        for cell in todo:
            key = (cell.name, part)
            if key in done or not applies(cell):
                continue
            start = time.process_time()
            done[key] = run(cell)
            with kept.open("a") as handle:
                record = {"cell": cell.name, "part": part, "counts": done[key]}
                handle.write(json.dumps(record) + "\n")
            rates = {method: round(k / n, 4) for method, (n, k, _) in done[key].items()}
            print(f"{cell.name} {part} {time.process_time() - start:.1f}s {rates}", flush=True)
    found = []
    for cell in todo:
        for part in PARTS:
            found += rows(cell, done.get((cell.name, part), {}))
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    failed = [r for r in found if r["method"] == "crossed" and "fail" in (r["gate 0.05"], r["gate 0.01"])]
    print(f"crossed fails {len(failed)} cells")


if __name__ == "__main__":
    main()
