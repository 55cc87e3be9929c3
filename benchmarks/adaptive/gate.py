"""The gate of adaptive replication: does the rule hold its level, and what does it save?

    PYTHONPATH=src python benchmarks/adaptive/gate.py gate.csv [--share X] [--only PART]

writes one row per cell and level, and says which limits hold; tables.py makes the table and the figure
of docs/evidence.md from the rows. Cells, seeds, trials, limits and the rule are fixed here, before the
run.

**The rule**: the library's defaults, looks at 3, 5, 8, 12 and 20, doubt .1, futility .05, skip .1,
Holm over pairs. Level .05 and level .01 are two experiments on the same draws.

**Trials**: 20,000 per cell, but 5,000 with seven systems, which cost thirty times as much: 20
CPU-minutes in all. `--share` runs only the first part of them; with `--only`, the rows of one part
replace those in gate.csv.

**Cells**: as in `simulate.Cell`, with 500 segments and a `base` of 3 runs, so that V_rep / V_seg is the
ratio at the first look. Cells with documents have 20 effective ones.

**Limits**, at levels .05 and .01:

1. net: the ordinary test at a fixed n of 3, 5 and 20: .055 / .0155. It fails if Wilson's 99% interval
   of the rate lies wholly above the limit, as in benchmarks/calibration, because the expected rates
   are near it. For all other limits, the rate itself is compared.
2. level: the rule: .065 / .015; one-sided, for the side that the test asks about: the same.
3. saving of runs compared with always 20, at H0 / 3 sd / 5 sd: mean of the cells with h = .4 at least
   .45 / .27 / .55; each cell with h up to .7 at least .20 / .10 / .33.
4. power: at most .045 below always 20, in each cell with h up to .7, at 3 and 5 sd.
5. family: seven systems, family-wise rate at most .06; in a packed family (0 0 0 3 3 6 10 sd) it is
   the rate of the true hypotheses.
6. control: the ordinary test at every look must exceed .14 in some cell of part 2; otherwise the gate
   could not have failed.

*Reported* without limits: exponential runs in A alone; .05 and .01 as in part 2.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
from simulate import RULE, SCHEDULE, SEED, Cell, Drawn, draw, experiment, ordinary_p, pairs_of

from replitune.running.files import atomic_open
from replitune.significance.looks.rule import step_down
from replitune.significance.studies.calibrate import wilson
from replitune.streams import stream

TRIALS = 20_000
FAMILY = 4
"""A cell of seven systems has so many times fewer trials."""
AT_ONCE = 2_000
BASE = 3.0
DOCUMENTS = 19.0
"""Degrees of freedom of 20 effective documents."""
HS = (0.0, 0.4, 0.7, 1.0)
RATIOS = (0.1, 1.0, 10.0)
ALPHAS = (0.05, 0.01)
SHIFTS = (0.0, 3.0, 5.0)
LIMITS = {
    "net": (0.055, 0.0155),
    "level": (0.065, 0.015),
    "one-sided": (0.065, 0.015),
    "family": (0.06, None),
}
SAVING_MEAN = {0.0: 0.45, 3.0: 0.27, 5.0: 0.55}
SAVING_EACH = {0.0: 0.20, 3.0: 0.10, 5.0: 0.33}
POWER_LOSS = 0.045
CONTROL = 0.14
PACKED = (0.0, 0.0, 0.0, 3.0, 3.0, 6.0, 10.0)


def cells() -> Iterator[Cell]:
    for n in (3, 5, 20):
        for ratio in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0):
            for h in HS:
                yield Cell("net", h, ratio, schedule=(n,))
                yield Cell("net", h, ratio, "A", schedule=(n,))
            yield Cell("net", 0.4, ratio, "B", schedule=(n,))
            yield Cell("net", 0.4, ratio, "A", nu_seg=DOCUMENTS, schedule=(n,))
            yield Cell("net", 0.4, ratio, "one", tuners=3, schedule=(n,))
    yield from level_cells()
    for ratio in (*RATIOS, 30.0):
        for noise in ("equal", "A", "B"):
            yield Cell("one-sided", 0.4, ratio, noise)
    for h in HS[:3]:
        for ratio in RATIOS:
            for noise in ("equal", "9:1", "A"):
                for shift in SHIFTS:
                    yield Cell("power", h, ratio, noise, shifts=(0.0, shift))
    for ratio in RATIOS:
        yield Cell("family", 0.4, ratio, systems=7, shifts=(0.0,) * 7)
    yield Cell("family", 0.4, 1.0, "first", systems=7, shifts=(0.0,) * 7)
    yield Cell("family", 0.4, 1.0, systems=7, shifts=PACKED)
    for ratio in (1.0, 10.0, 30.0):
        yield Cell("reported", 0.4, ratio, "A", runs="exponential")


def level_cells() -> Iterator[Cell]:
    for h in HS:
        for ratio in RATIOS:
            for noise in ("equal", "9:1", "A"):
                yield Cell("level", h, ratio, noise)
        for noise in ("9:1", "A"):
            yield Cell("level", h, 30.0, noise)
    for ratio in RATIOS:
        for noise in ("equal", "A"):
            yield Cell("level", 0.4, ratio, noise, nu_seg=DOCUMENTS)
        for noise in ("equal", "one"):
            yield Cell("level", 0.4, ratio, noise, tuners=3)


@dataclass(frozen=True)
class Row:
    """The outcome of one cell at one level."""

    part: str
    h: float
    ratio: float
    noise: str
    tuners: int
    nu_seg: float
    systems: int
    shift: str
    n: str
    runs: str
    alpha: float
    trials: int
    rule: float
    """Share of experiments in which the rule rejects; for a family, a true hypothesis."""
    runs_used: float
    """Mean number of runs of a system (and tuner)."""
    always: float
    """As `rule`, for the ordinary test of all runs."""
    every: float
    """As `rule`, for the ordinary test at every look; in part `level` only."""
    verdict: str
    """holds, fails, or empty if there is no limit."""


def run(cell: Cell, trials: int, seconds: list[float]) -> Iterator[Row]:
    """The rows of a cell: both levels on the same draws."""
    start = time.process_time()
    sums = {alpha: np.zeros(4) for alpha in ALPHAS}
    rng = stream(SEED, "adaptive", cell.name)
    for begin in range(0, trials, AT_ONCE):
        size = min(AT_ONCE, trials - begin)
        drawn = draw(cell, size, rng, BASE)
        looks = range(len(cell.schedule)) if cell.part == "level" else [len(cell.schedule) - 1]
        ordinary = [ordinary_p(cell, drawn, look) for look in looks]
        for alpha in ALPHAS:
            sums[alpha] += counted(cell, drawn, alpha, ordinary)
    shift = " ".join(f"{value:g}" for value in cell.shifts if cell.systems > 2 or value)
    for alpha, (rule, n, always, every) in sums.items():
        row = Row(
            cell.part,
            cell.h,
            cell.ratio,
            cell.noise,
            cell.tuners,
            cell.nu_seg,
            cell.systems,
            shift or "0",
            " ".join(map(str, cell.schedule)),
            cell.runs,
            alpha,
            trials,
            round(rule / trials, 5),
            round(n / trials, 3),
            round(always / trials, 5),
            round(every / trials, 5),
            "",
        )
        yield replace(row, verdict=verdict(row))
    seconds.append(time.process_time() - start)


def counted(cell: Cell, drawn: Drawn, alpha: float, ordinary: Sequence[np.ndarray]) -> np.ndarray:
    """Rejections by the rule; runs; rejections by the ordinary test of all runs, and at any look."""
    pairs = pairs_of(cell.systems)
    truth = np.array(cell.shifts)
    counts = truth[pairs[:, 0]] == truth[pairs[:, 1]] if cell.part != "power" else [True]

    def rate(rejected: np.ndarray) -> int:
        return int(rejected[:, counts].any(axis=1).sum())

    always, every = (rate(step_down(p, alpha, "holm")[0]) for p in (ordinary[-1], np.min(ordinary, axis=0)))
    if len(cell.schedule) == 1:
        return np.array([always, len(drawn.score) * cell.schedule[0], always, always])
    found = experiment(cell, drawn, alpha)
    return np.array([rate(found.rejected), found.n.mean(axis=1).sum(), always, every])


def verdict(row: Row) -> str:
    """The verdict on one row: on its level, or for power cells on saving and power."""
    if row.part in LIMITS:
        limit = LIMITS[row.part][ALPHAS.index(row.alpha)]
        if limit is None:
            return ""
        rate = row.rule
        if row.part == "net":
            rate = wilson(round(row.rule * row.trials), row.trials, 0.99)[0]
        return "holds" if rate <= limit else "fails"
    if row.part == "power" and row.alpha == ALPHAS[0]:
        shift = float(row.shift)
        weak = shift > 0 and row.always - row.rule > POWER_LOSS
        return "fails" if weak or saving(row) < SAVING_EACH[shift] else "holds"
    return ""


def saving(row: Row) -> float:
    return 1 - row.runs_used / SCHEDULE[-1]


def limits(rows: Iterable[Row]) -> Iterator[tuple[str, str, bool]]:
    """Every limit: what it limits, what was found, whether it holds."""
    rows = list(rows)
    for part in LIMITS:
        for alpha in ALPHAS:
            of = [r for r in rows if r.part == part and r.alpha == alpha]
            limit = LIMITS[part][ALPHAS.index(alpha)]
            if not of or limit is None:
                continue
            worst = max(of, key=lambda r: r.rule)
            failed = sum(r.verdict == "fails" for r in of)
            text = f"worst of {len(of)} cells {worst.rule:.4f} ({place(worst)}); {failed} fail"
            yield f"{part} at {alpha:g}: at most {limit:g}", text, failed == 0
    powers = [r for r in rows if r.part == "power" and r.alpha == ALPHAS[0]]
    for shift in SHIFTS if powers else ():
        of = [r for r in powers if float(r.shift) == shift]
        name = f"{shift:g} sd" if shift else "H0"
        mean = float(np.mean([saving(r) for r in of if r.h == 0.4]))
        text = f"{mean:.3f}"
        yield (
            f"saving, {name}, mean of h = .4: at least {SAVING_MEAN[shift]:g}",
            text,
            (mean >= SAVING_MEAN[shift]),
        )
        least = min(of, key=saving)
        yield (
            f"saving, {name}, each: at least {SAVING_EACH[shift]:g}",
            (f"{saving(least):.3f} ({place(least)})"),
            saving(least) >= SAVING_EACH[shift],
        )
        if shift:
            worst = max(of, key=lambda r: r.always - r.rule)
            loss = worst.always - worst.rule
            yield (
                f"power lost at {name}: at most {POWER_LOSS:g}",
                (
                    f"{loss:.4f} ({place(worst)}: {worst.rule:.3f}, always {SCHEDULE[-1]} "
                    f"{worst.always:.3f})"
                ),
                loss <= POWER_LOSS,
            )
    controls = [r for r in rows if r.part == "level" and r.alpha == ALPHAS[0]]
    if controls:
        most = max(controls, key=lambda r: r.every)
        yield (
            f"control, testing at every look: above {CONTROL:g}",
            (f"{most.every:.4f} ({place(most)})"),
            most.every > CONTROL,
        )


def read(path: Path) -> list[Row]:
    kinds = get_type_hints(Row)
    with open(path, newline="") as handle:
        return [
            Row(**{name: kinds[name](text) for name, text in row.items()}) for row in csv.DictReader(handle)
        ]


def place(row: Row) -> str:
    words = [f"h {row.h:g}", f"ratio {row.ratio:g}", row.noise]
    if row.part == "net":
        words.append(f"n {row.n}")
    if row.nu_seg == DOCUMENTS:
        words.append("documents")
    if row.tuners > 1:
        words.append(f"{row.tuners} tuners")
    if row.systems > 2:
        words.append(f"scores {row.shift}")
    return ", ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the trials (default all)")
    parser.add_argument("--only", default="", help="one part: net, level, one-sided, power, family...")
    options = parser.parse_args()
    rows: list[Row] = []
    seconds: list[float] = []
    for cell in cells():
        if options.only in ("", cell.part):
            trials = TRIALS // (FAMILY if cell.part == "family" else 1)
            rows += run(cell, round(options.share * trials), seconds)
            print(
                f"{place(rows[-2])}: {rows[-2].rule:.4f} / {rows[-1].rule:.4f} {seconds[-1]:.1f} s",
                flush=True,
            )
    if options.only and options.out.exists():
        rows = [r for r in read(options.out) if r.part != options.only] + rows
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=list(vars(rows[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(vars, rows))
    drawn = sum(row.trials for row in rows) // len(ALPHAS)
    print(f"{RULE}; {len(seconds)} cells, {drawn:,} trials, {sum(seconds):.0f} CPU-s")
    for what, found, holds in limits(rows):
        print(f"{'holds' if holds else 'FAILS'}  {what}: {found}")


if __name__ == "__main__":
    main()
