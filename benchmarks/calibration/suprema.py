"""Find the largest level of `crossed` over all ratios of its variances, for several critical values.

    PYTHONPATH=src python benchmarks/calibration/suprema.py OUT.csv [--draws N]

The gate has cells; this looks for the worst one. In the normal model, the mean squares of A's runs, of
B's runs (by tuner), of segments and of the interaction are their expected values times independent
chi-squares, and delta is normal and independent of them all. So only mean squares are drawn: given
these, the probability that delta exceeds the critical value is known, without Monte Carlo error from
delta itself.

With E V_seg = 1, the expected parts are V_int = x, with equally noisy outputs in both systems, or (x = 1,
segments) only in A or only in B; V_rep = ratio, shared among systems and tuners as `noise` says, plus
V_int, because the noise of single outputs is in the scores of runs, too; and Var(delta) = ratio + 1. The
largest level is over ratio .1 to 100, x 0 to 1, and noise; all use the same draws.

Critical values:

- gross: layers of the V_rep and of V_seg including the interaction (used before they were net);
- net: layers of the V_rep and of W = V_seg - V_int, as in the library;
- Cochran-Cox and Satterthwaite: with the same net parts;
- runs: that of the library for scope=runs, layers of the V_rep only, Var(delta) = ratio + x.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from closed import Array, chi_square, cochran_cox, satterthwaite
from scipy.special import ndtr

from replitune.running.files import atomic_open
from replitune.significance.critical import Parts, critical_values, net_parts
from replitune.streams import stream

SEED = 2011
DRAWS = 60_000
ALPHAS = (0.05, 0.01)
RATIOS = (0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 30.0, 100.0)
INTERACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
NU_SEG = 499.0
"""Degrees of freedom of 500 segments."""


@dataclass(frozen=True)
class Plan:
    n_a: int
    n_b: int
    """Runs of each tuner."""
    tuners: int = 1
    nu_seg: float = NU_SEG
    """For documents, their effective number less 1."""

    @property
    def name(self) -> str:
        if self.tuners > 1:
            return f"{self.tuners} tuners x {self.n_a}"
        documents = f", documents, nu_seg {self.nu_seg:g}" if self.nu_seg != NU_SEG else ""
        return f"{self.n_a} v {self.n_b}{documents}"

    @property
    def runs(self) -> Array:
        """(2H,) numbers of runs of each stratum, A's first."""
        return np.repeat([self.n_a, self.n_b], self.tuners).astype(np.float64)


PLANS = [
    *(Plan(*n) for n in [(2, 2), (2, 10), (3, 3), (3, 5), (5, 5), (3, 20), (3, 30)]),
    Plan(2, 2, tuners=3),
    Plan(3, 3, tuners=3),
    *(Plan(n, n, nu_seg=nu) for n in (3, 5, 20) for nu in (6.0, 10.0, 20.0, 40.0)),
]


def noises(plan: Plan, only: bool = False) -> dict[str, Array]:
    """Shares (2H,) of V_rep, or with `only` of V_int: equal, or only in A, only in B, or in one tuner.

    For V_rep with equal n, noise only in B is left out, because it gives the same as only in A.
    """
    H = plan.tuners
    own = 1 / plan.runs
    of_a = np.r_[np.ones(H), np.zeros(H)]
    found = {"equal": own, "A": own * of_a}
    if only or plan.n_a != plan.n_b:
        found["B"] = own * (1 - of_a)
    if H > 1 and not only:
        found["one"] = np.r_[1.0, np.zeros(2 * H - 1)]
    return {name: share / share.sum() for name, share in found.items()}


def gross_parts(rep: Array, nu_rep: Array, seg: Array, nu_seg: float, both: Array) -> Parts:
    """Parts as they were before the test set's part was net; rep (T, R), seg and both (T,)."""
    runs = rep.sum(axis=1)
    variance = np.maximum(runs + seg - both, np.maximum(runs, seg))
    return Parts(variance, np.column_stack([rep, seg]), np.r_[nu_rep, nu_seg])


def levels(
    plan: Plan, draws: int, ratios: Sequence[float] = RATIOS, interactions: Sequence[float] = INTERACTIONS
) -> Iterator[tuple[str, float, float, float, str, str, float, float]]:
    """Rows (critical value, alpha, ratio, x, whose outputs are noisy, noise, level, standard error)."""
    rng = stream(SEED, "suprema", plan.name)
    nu_rep = plan.runs - 1
    of_rep = np.column_stack([chi_square(nu, draws, rng) for nu in nu_rep])
    of_seg = chi_square(plan.nu_seg, draws, rng)
    of_both = np.column_stack([chi_square(nu * plan.nu_seg, draws, rng) for nu in nu_rep])
    for x in interactions:
        for outputs, share in noises(plan, only=True).items():
            if outputs != "equal" and (x < 1 or plan.nu_seg != NU_SEG):
                continue
            both = (x * share * of_both).sum(axis=1)
            for (noise, shares), ratio in product(noises(plan).items(), ratios):
                rep = (ratio * shares + x * share) * of_rep
                one = (rep, nu_rep, of_seg[:, np.newaxis], np.array([plan.nu_seg]))
                net = net_parts(*one, both[:, np.newaxis])
                runs = net_parts(*one, both[:, np.newaxis], "runs")
                gross = gross_parts(rep, nu_rep, of_seg, plan.nu_seg, both)
                for name, parts, critical, truth in (
                    ("gross", gross, critical_values, ratio + 1),
                    ("net", net, critical_values, ratio + 1),
                    ("Cochran-Cox", net, cochran_cox, ratio + 1),
                    ("Satterthwaite", net, satterthwaite, ratio + 1),
                    ("runs", runs, critical_values, ratio + x),
                ):
                    for alpha in ALPHAS:
                        c = critical(parts.values, parts.nus, alpha / 2)
                        chance = 2 * ndtr(-c * np.sqrt(parts.variance / truth))
                        error = float(chance.std() / np.sqrt(draws))
                        level = float(chance.mean())
                        yield name, alpha, ratio, x, outputs, noise, level, error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--only", default="", help="designs whose name has this")
    options = parser.parse_args()
    rows = []
    for plan in (plan for plan in PLANS if options.only in plan.name):
        start = time.process_time()
        worst: dict[tuple[str, float], dict[str, object]] = {}
        for name, alpha, ratio, x, outputs, noise, level, error in levels(plan, options.draws):
            if level > float(str(worst.get((name, alpha), {"level": -1})["level"])):
                worst[name, alpha] = {
                    "design": plan.name,
                    "critical value": name,
                    "alpha": alpha,
                    "level": round(level, 5),
                    "error": round(error, 5),
                    "ratio": ratio,
                    "interaction": x,
                    "outputs": outputs,
                    "noise": noise,
                    "draws": options.draws,
                }
        rows += worst.values()
        found = {f"{name} {alpha:g}": row["level"] for (name, alpha), row in worst.items()}
        print(f"{plan.name} {time.process_time() - start:.0f}s {found}", flush=True)
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
