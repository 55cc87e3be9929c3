"""The gate: how often does each test reject when there is nothing to find?

    PYTHONPATH=src python benchmarks/calibration/study.py OUT.csv [--only PART] [--trials N]

Cells, seeds, trials and limits are fixed here, before the run. A cell is one design of
`replitune.significance.studies.simulate`; V_rep/V_seg is the ratio of what tuner runs and segments
add to Var(delta). `crossed` is tested on 10,000 comparisons a cell; tests that resample on 2,000
(1,000 for BLEU with more than ten replicas in all), with 199 resamples (999 of whole test
sets), which makes .05 and .01 attainable levels. Finished cells are kept beside OUT
(OUT.cells.jsonl), so that an interrupted study goes on.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from batch import RESAMPLING, Batch, crossed_parts, crossed_rejections
from bleu_model import bleu_counts
from numpy.typing import NDArray

from replitune.metrics.base import MeanMetric
from replitune.metrics.bleu import Bleu
from replitune.running.files import atomic_open
from replitune.significance.studies.calibrate import wilson
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.streams import stream

SEED = 2011
SEGMENTS = {"mean": 500, "tuners": 500, "bleu": 300}
ALPHAS = (0.05, 0.01)
LIMITS = {0.05: 0.065, 0.01: 0.015}
RATIOS = (0.1, 1.0, 3.0, 10.0)
TRIALS, RESAMPLED_TRIALS = 10_000, 2_000
SAMPLES = {"fu-ar": 999, "fu-bootstrap": 999, "replica-permutation": 999}
TUNERS = 3
BLEU_SCALE = {"difference": 0.7, "segment": 0.8, "noise": 0.5}


@dataclass(frozen=True)
class Cell:
    metric: str
    """mean; documents (a mean over unequal documents); tuners (a mean; three tuners); bleu."""
    null: str
    n_a: int
    n_b: int
    noise: str
    """equal: both systems' tuner runs vary alike; A: only A's do; one: only A's first tuner."""
    ratio: float
    """V_rep / V_seg."""
    shift: float = 0.0
    """True difference in standard deviations of delta; 0 under the null hypothesis."""
    resampled: bool = True

    @property
    def name(self) -> str:
        return "/".join(str(v) for k, v in asdict(self).items() if k != "resampled")

    @property
    def gated(self) -> bool:
        return self.shift == 0 and min(self.n_a, self.n_b) > 2


def cells() -> Iterator[Cell]:
    sizes = [(2, 2), (3, 3), (5, 5), (10, 10), (20, 20), (3, 20), (5, 10)]
    for n_a, n_b in sizes:
        for ratio in RATIOS:
            for noise in ("equal", "A"):
                for null in ("next", "this"):
                    yield Cell("mean", null, n_a, n_b, noise, ratio)
                if n_a > 2:
                    yield Cell("documents", "next", n_a, n_b, noise, ratio)
                    yield Cell("bleu", "next", n_a, n_b, noise, ratio)
            if n_a > 2:
                yield Cell("bleu", "this", n_a, n_b, "equal", ratio)
    for n in (9, 15):
        for ratio in RATIOS:
            for noise in ("equal", "A", "one"):
                yield Cell("tuners", "next", n, n, noise, ratio, resampled=False)
    for metric in ("mean", "bleu"):
        for n in (3, 5, 10, 20):
            for ratio in (0.1, 1.0, 10.0):
                yield Cell(metric, "next", n, n, "equal", ratio, shift=3.0)


def document_sizes() -> NDArray[np.int64]:
    """40 documents of 2 to 28 segments: as many as 26 of equal size."""
    return np.round(2 + 26 * (np.arange(40) / 39) ** 3).astype(np.int64)


def replica_sd(cell: Cell, V_seg: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard deviations (n, 1) of tuner runs of A and B, for the cell's V_rep / V_seg."""
    V_rep = cell.ratio * V_seg
    sd_a, sd_b = np.zeros((cell.n_a, 1)), np.zeros((cell.n_b, 1))
    if cell.noise == "equal":
        sd_a[:] = sd_b[:] = np.sqrt(V_rep / (1 / cell.n_a + 1 / cell.n_b))
    elif cell.noise == "A":
        sd_a[:] = np.sqrt(V_rep * cell.n_a)
    else:
        first = cell.n_a // TUNERS
        sd_a[:first] = np.sqrt(V_rep * cell.n_a**2 / first)
    return sd_a, sd_b


def bleu_units() -> tuple[float, float]:
    """V_seg of the BLEU model without tuner noise, and dBLEU / dlogit, from a pilot."""
    rng = stream(SEED, "calibration", "pilot")
    s = BLEU_SCALE
    flat = Design(
        2, 2, SEGMENTS["bleu"], 0, 0, s["difference"], s["segment"], s["noise"], s["noise"]
    )
    a, b = bleu_counts(flat, 400, rng)
    delta = Batch(Bleu(), a, b).delta
    # Two replicas share the segments: what remains of their noise is taken off.
    scores = Batch(Bleu(), a, b).scores
    noise = sum(x.var(axis=1, ddof=1).mean() / 2 for x in scores)
    up, down = (bleu_counts(replace(flat, delta=d), 400, rng) for d in (0.2, -0.2))
    slope = (Batch(Bleu(), *up).delta.mean() - Batch(Bleu(), *down).delta.mean()) / 0.4
    return float(delta.var() - noise), float(slope)


class Maker:
    """Draws comparisons of a cell."""

    def __init__(self, cell: Cell, bleu: tuple[float, float]) -> None:
        self.cell = cell
        self.sizes = document_sizes() if cell.metric == "documents" else None
        if cell.metric == "bleu":
            V_seg, slope = bleu
            sd_a, sd_b = (sd / slope for sd in replica_sd(cell, V_seg))
            s = BLEU_SCALE
            self.design = Design(
                cell.n_a,
                cell.n_b,
                SEGMENTS[cell.metric],
                sd_a,
                sd_b,
                s["difference"],
                s["segment"],
                s["noise"],
                s["noise"],
                null=cell.null,
                # Noise of single outputs is small beside the rest; the shift is a round figure.
                delta=cell.shift * float(np.sqrt((1 + cell.ratio) * V_seg)) / slope,
            )
            return
        segments = int(self.sizes.sum()) if self.sizes is not None else SEGMENTS[cell.metric]
        V_seg = 1.0 / segments
        if self.sizes is not None:
            V_seg += 0.5 * float((self.sizes**2).sum()) / segments**2
        sd_a, sd_b = replica_sd(cell, V_seg)
        noise = (1 / cell.n_a + 1 / cell.n_b) / segments
        V = (1 + cell.ratio) * V_seg + noise
        self.design = Design(
            cell.n_a,
            cell.n_b,
            segments,
            sd_a,
            sd_b,
            document=np.sqrt(0.5) if self.sizes is not None else 0.0,
            null=cell.null,
            delta=cell.shift * float(np.sqrt(V)),
        )

    def __call__(self, trials: int, rng: np.random.Generator) -> Batch:
        if self.cell.metric == "bleu":
            return Batch(Bleu(), *bleu_counts(self.design, trials, rng))
        if self.sizes is None:
            a, b = mean_scores(self.design, trials, rng)
            one = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
            return Batch(MeanMetric(), *one, tuners=TUNERS if self.cell.metric == "tuners" else 1)
        documents = np.repeat(np.arange(len(self.sizes), dtype=np.int32), self.sizes)
        starts = np.r_[0, np.cumsum(self.sizes)[:-1]]
        sums = [
            np.stack([x, np.broadcast_to(self.sizes, x.shape)], axis=-1)
            for x in (
                np.add.reduceat(y, starts, axis=2)
                for y in mean_scores(self.design, trials, rng, documents)
            )
        ]
        return Batch(MeanMetric(), *sums, sizes=self.sizes)


def study(cell: Cell, bleu: tuple[float, float], trials: int) -> list[dict[str, object]]:
    """Rows (method, alpha, trials, rejections) of one cell."""
    make = Maker(cell, bleu)
    found: dict[tuple[str, float], list[int]] = {}
    chunk = max(20, 2000 // (cell.n_a + cell.n_b))
    rng = stream(SEED, "calibration", cell.name, "crossed")
    for start in range(0, trials, chunk):
        batch = make(min(chunk, trials - start), rng)
        parts = crossed_parts(batch)
        for alpha in ALPHAS:
            for method, yes in crossed_rejections(batch, alpha, parts).items():
                count = found.setdefault((method, alpha), [0, 0])
                count[0] += int(yes.sum())
                count[1] += len(yes)
    resampled = trials * RESAMPLED_TRIALS // TRIALS if cell.resampled else 0
    if cell.metric == "bleu" and cell.n_a + cell.n_b > 10:
        resampled //= 2
    chunk = min(100, chunk)
    rng = stream(SEED, "calibration", cell.name, "resampled")
    for start in range(0, resampled, chunk):
        batch = make(min(chunk, resampled - start), rng)
        for method, function in RESAMPLING.items():
            own = stream(SEED, "calibration", cell.name, method, start)
            with np.errstate(invalid="ignore"):
                p = function(batch, own, SAMPLES.get(method, 199))
            for alpha in ALPHAS:
                if np.isnan(p).all():
                    continue
                count = found.setdefault((method, alpha), [0, 0])
                count[0] += int((p <= alpha).sum())
                count[1] += len(p)
    rows = []
    for (method, alpha), (rejected, total) in found.items():
        low, high = wilson(rejected, total)
        row = asdict(cell) | {"method": method, "alpha": alpha, "trials": total}
        del row["resampled"]
        row |= {"rejected": rejected, "rate": round(rejected / total, 5)}
        row |= {"low": round(low, 5), "high": round(high, 5)}
        row["gate"] = (
            ("pass" if rejected / total <= LIMITS[alpha] else "fail") if cell.gated else ""
        )
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="cells whose name starts with this")
    parser.add_argument("--trials", type=int, default=TRIALS)
    options = parser.parse_args()
    kept = options.out.with_suffix(".cells.jsonl")
    done = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            record = json.loads(line)
            done[record["cell"]] = record["rows"]
    todo = [cell for cell in cells() if cell.name.startswith(options.only)]
    bleu = bleu_units()
    print(f"BLEU model: V_seg {bleu[0]:.3f}, slope {bleu[1]:.2f}", flush=True)
    for cell in todo:
        if cell.name in done:
            continue
        start = time.process_time()
        done[cell.name] = study(cell, bleu, options.trials)
        with kept.open("a") as handle:
            handle.write(json.dumps({"cell": cell.name, "rows": done[cell.name]}) + "\n")
        rates = {r["method"]: r["rate"] for r in done[cell.name] if r["alpha"] == 0.05}
        print(f"{cell.name} {time.process_time() - start:.1f}s {rates}", flush=True)
    rows = [row for cell in todo for row in done[cell.name]]
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{sum(1 for r in rows if r['gate'] == 'fail' and r['method'] == 'crossed')} failures")


if __name__ == "__main__":
    main()
