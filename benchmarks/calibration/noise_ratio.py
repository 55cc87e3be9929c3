"""The gate of `crossed:noise_ratio=3`, and what it finds.

    PYTHONPATH=src python benchmarks/calibration/noise_ratio.py noise_ratio.csv

Written down before it was run:

- **Model.** delta of two systems is normal: run means with variance sd^2 / n, and an effect of the test
  set, independent for each system, whose variance is known with 499 degrees of freedom. V_rep/V_seg of
  two systems with the mean run variance is .1, 1, 3, 10, or infinite (`scope=runs`).
- **Cells.** Families of 2, 3, 5, 10 and 20 systems with n = 3, 5, 10, or mixed (3, 5 and 10 in turn).
  Standard deviations of runs, with a smallest of 1: all equal; one, two, half or all but one at 3; the
  first at 2 or at 3, and the last at 3 (with mixed n, a different case); evenly spaced in their
  logarithm from 1 to 3, rising or falling.
- **Trials.** 20,000 per cell; all systems equal. *pair*: the first two by themselves; *family*: any
  pair, adjusted.
- **Limits.** .055 at .05 and .0155 at .01; a cell fails if the 99% interval (Wilson) of its rate lies
  wholly above the limit.
- **Power.** One system is better than the rest by three standard errors (of its difference from
  another), all equally noisy. Five systems, n = 3, V_rep/V_seg 1: at least .35 of its pairs are found at
  .05, adjusted. One pair, n = 3, V_rep/V_seg 10: at least .50.
- **Outside the bound**, reported: one system at 5 and at 10, and all but one.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from closed import critical_values
from scipy.special import stdtrit

from replitune.significance.noise_ratio import Worst, bound_of, shrunk
from replitune.streams import stream

SEED, TRIALS, RATIO, NU_SEG = 2011, 20_000, 3.0, 499.0
ALPHAS, LIMITS = (0.05, 0.01), (0.055, 0.0155)
SYSTEMS = (2, 3, 5, 10, 20)
RUNS: tuple[int | str, ...] = (3, 5, 10, "mixed")
RATIOS = (0.1, 1.0, 3.0, 10.0, np.inf)
BLOCK = 2_000


def runs_of(systems: int, n: int | str) -> np.ndarray:
    return np.resize([3, 5, 10], systems) if n == "mixed" else np.full(systems, n)


def inside(S: int) -> dict[str, np.ndarray]:
    """Patterns of standard deviations inside the bound, by name."""
    noisy = {"one": 1, "two": 2, "half": S // 2, "all but one": S - 1}
    found = {"equal": np.ones(S)}
    found |= {f"{name} at 3": np.repeat([3.0, 1.0], (k, S - k)) for name, k in noisy.items() if k < S}
    found["first at 2"] = np.repeat([2.0, 1.0], (1, S - 1))
    found["last at 3"] = np.repeat([1.0, 3.0], (S - 1, 1))
    found["rising"] = np.geomspace(1, 3, S)
    found["falling"] = np.geomspace(3, 1, S)
    return found


def outside(S: int) -> dict[str, np.ndarray]:
    return {
        f"{name} at {r:g}": np.repeat([r, 1.0], (k, S - k))
        for r in (5.0, 10.0)
        for name, k in (("one", 1), ("all but one", S - 1))
    }


def value(worst: Worst, tail: float) -> float:
    return float(np.interp(-np.log(tail), -np.log(worst.tails), worst.values))


def rates(
    ns: np.ndarray, sd: np.ndarray, ratio: float, rng: np.random.Generator, shift: float = 0.0
) -> dict[str, Any]:
    """Rates of rejection of a pair and of a family, and how often the bound is contradicted."""
    S, d = len(ns), ns - 1.0
    a, b = np.triu_indices(S, 1)
    m = len(a)
    usual = bound_of(RATIO, [np.arange(k, dtype=float) for k in ns], SEED)
    order = np.argsort(ns, kind="stable")
    place = np.argsort(order, kind="stable")
    pairs = tuple(
        sorted((min(place[i], place[j]), max(place[i], place[j])) for i, j in zip(a, b, strict=True))
    )
    family = usual.worst(ns[order].tolist(), tuple((int(i), int(j)) for i, j in pairs))
    alone = {
        key: usual.worst(list(key), ((0, 1),))
        for key in {tuple(sorted((ns[i], ns[j]))) for i, j in zip(a, b, strict=True)}
    }
    key = [tuple(sorted((ns[i], ns[j]))) for i, j in zip(a, b, strict=True)]
    W = 0.0 if np.isinf(ratio) else 2 * np.mean(sd**2 / ns) / ratio
    found = np.zeros((len(ALPHAS), 3))
    contradicted = 0
    for _ in range(TRIALS // BLOCK):
        s2 = sd**2 * rng.chisquare(d, (BLOCK, S)) / d
        effect = rng.standard_normal((BLOCK, S)) * np.sqrt(sd**2 / ns + W / 2)
        effect[:, 0] += shift * np.sqrt(sd[0] ** 2 / ns[0] + sd[1] ** 2 / ns[1] + W)
        own = W * rng.chisquare(NU_SEG, (BLOCK, m)) / NU_SEG
        against = s2.max(axis=1) > family.ratio * s2.min(axis=1)
        contradicted += int(against.sum())
        tilde = shrunk(s2, d, (s2 * d).sum(axis=1, keepdims=True) / d.sum()) / ns
        gain = np.abs(effect[:, a] - effect[:, b])
        runs = tilde[:, a] + tilde[:, b]
        t, share = gain / np.sqrt(runs + own), runs / (runs + own)
        plain = s2 / ns
        parts = np.stack([plain[:, a], plain[:, b], own], axis=-1)
        nus = np.stack(np.broadcast_arrays(d[a], d[b], NU_SEG), axis=-1)
        t_plain = gain / np.sqrt(parts.sum(axis=-1))
        rows = np.flatnonzero(against)
        for k, alpha in enumerate(ALPHAS):
            by_pair = np.array([value(alone[one], alpha) for one in key])
            strict = np.array([value(alone[one], alpha / m) for one in key])
            T, T_m = -stdtrit(NU_SEG, alpha / 2), -stdtrit(NU_SEG, alpha / m / 2)
            single = share * by_pair + (1 - share) * T
            joint = np.clip(
                share * value(family, alpha) + (1 - share) * T_m, single, share * strict + (1 - share) * T_m
            )
            yes, together = t > single, t > joint
            # `crossed` without the bound, with Bonferroni for the family
            yes[rows] = t_plain[rows] > critical_values(parts[rows], nus, alpha / 2)
            together[rows] = t_plain[rows] > critical_values(parts[rows], nus, alpha / m / 2)
            first = a == 0
            found[k] += yes[:, 0].sum(), together.any(axis=1).sum(), together[:, first].mean(axis=1).sum()
    return {
        f"{what} {alpha}": found[k, j] / TRIALS
        for k, alpha in enumerate(ALPHAS)
        for j, what in enumerate(("pair", "family", "found"))
    } | {"contradicted": contradicted / TRIALS}


def cells() -> Iterator[dict[str, Any]]:
    for S, n in product(SYSTEMS, RUNS):
        for kind, patterns in (("inside", inside(S)), ("outside", outside(S))):
            for name, ratio in product(patterns, RATIOS):
                yield {"kind": kind, "systems": S, "n": n, "sd": name, "ratio": ratio}
        for ratio in RATIOS:
            yield {"kind": "power", "systems": S, "n": n, "sd": "equal", "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    started = time.process_time()
    rows = []
    for cell in cells():
        S, n, name, ratio = (cell[key] for key in ("systems", "n", "sd", "ratio"))
        sd = (inside(S) | outside(S))[name]
        rng = stream(SEED, "gate", *map(str, cell.values()))
        shift = 3.0 if cell["kind"] == "power" else 0.0
        rows.append(cell | {k: f"{v:.5f}" for k, v in rates(runs_of(S, n), sd, ratio, rng, shift).items()})
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    report(rows)
    print(f"{len(rows)} cells, {time.process_time() - started:.0f} CPU-seconds")


def wilson_low(rate: float, trials: int, z: float = 2.5758) -> float:
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    return float(centre - half)


def report(rows: list[dict[str, Any]]) -> None:
    where = lambda row: f"{row['systems']} systems, n {row['n']}, {row['sd']}, ratio {row['ratio']}"  # noqa: E731
    for what, alpha, limit in (
        (w, a, x) for w in ("pair", "family") for a, x in zip(ALPHAS, LIMITS, strict=True)
    ):
        column = f"{what} {alpha}"
        for kind in ("inside", "outside"):
            some = [row for row in rows if row["kind"] == kind]
            worst = max(some, key=lambda row: float(row[column]))
            fails = [row for row in some if wilson_low(float(row[column]), TRIALS) > limit]
            print(
                f"{kind}, {column}: worst {worst[column]} ({where(worst)}); "
                f"{len(fails)} of {len(some)} fail"
            )
            if kind == "inside":
                for row in fails:
                    print(f"  fails: {row[column]} ({where(row)})")
    for row in rows:
        if row["kind"] == "power" and row["ratio"] in (1.0, 10.0):
            print(f"power, {where(row)}: pair {row['pair 0.05']}, family {row['found 0.05']}")


if __name__ == "__main__":
    main()
