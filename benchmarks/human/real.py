"""WMT21's expert judgements, as if only some had been made: how often are the verdicts of all of them
found, and how wide are intervals with metrics, relative to judgements alone?

    PYTHONPATH=src python benchmarks/human/real.py FOLDER real.csv figure.svg

FOLDER has en-de/ and zh-en/ with reference.A.gz, an output of each system NAME.gz, and mqm.tsv.gz
(system, segment from 1, score). 10%, 20% and 50% of the judged segments are drawn at random, 1,000 times,
for all metrics together and for each one. A verdict is p at most .05 by Holm over the 28 pairs; the
verdicts of all judgements without metrics are the truth. Metrics score all segments of the test set.
"""

from __future__ import annotations

import csv
import itertools
import sys
from pathlib import Path

import numpy as np
from batch import batched

from replitune.metrics.registry import get_metric
from replitune.running.files import atomic_open, read_lines
from replitune.significance.multiple import adjust
from replitune.streams import stream

METRICS = ("chrf", "bleu", "ter", "ribes")
SHARES = (0.1, 0.2, 0.5)
DRAWS = 1_000
SEED = 41


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """(S, N) judgements, NaN if there is none, and (S, N, M) scores where higher is better."""
    rows = [line.split("\t") for line in read_lines(folder / "mqm.tsv.gz")[1:]]
    names = sorted({row[0] for row in rows})
    reference = read_lines(folder / "reference.A.gz")
    people = np.full((len(names), len(reference)), np.nan)
    for name, segment, score in rows:
        people[names.index(name), int(segment) - 1] = float(score)
    metrics = [get_metric(name) for name in METRICS]
    outputs = [read_lines(folder / f"{name}.gz") for name in names]
    scores = [[m.score(m.statistics(lines, [reference])) * m.sign for m in metrics] for lines in outputs]
    return people, np.array(scores).transpose(0, 2, 1)


def verdicts(deltas: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.where(np.array(adjust(p.tolist(), "holm")) <= 0.05, np.sign(deltas), 0)


def main() -> None:
    folder, table, figure = map(Path, sys.argv[1:])
    rows = []
    for language in ("en-de", "zh-en"):
        people, scores = read(folder / language)
        judged = ~np.isnan(people).any(axis=0)
        known = np.flatnonzero(judged)
        pairs = list(itertools.combinations(range(len(people)), 2))
        y = np.array([people[b] - people[a] for a, b in pairs])
        x = np.array([scores[b] - scores[a] for a, b in pairs])
        others = np.flatnonzero(~judged)
        whole, _ = batched(y[:, known], x[:, np.concatenate([known, others])])
        truth = verdicts(whole.mean, whole.p)
        for share, method in itertools.product(SHARES, ("together", *METRICS)):
            rng = stream(SEED, "wmt21", language, str(share), method)
            columns = [METRICS.index(method)] if method in METRICS else list(range(len(METRICS)))
            n, draws = round(share * len(known)), DRAWS
            found, wrong, ratios = np.zeros((2, 2)), np.zeros(2), np.empty((draws, len(pairs)))
            for draw in range(draws):
                shuffled = rng.permutation(known)
                order = np.concatenate([shuffled, others])
                own = batched(y[:, shuffled[:n]], x[:, order][..., columns])
                ratios[draw] = np.sqrt(own[1].variance / own[0].variance)
                for k, estimate in enumerate(own):
                    said = verdicts(estimate.mean, estimate.p)
                    found[0, k] += (said == truth)[truth != 0].mean()
                    found[1, k] += (said == truth).mean()
                    wrong[k] += (said * truth < 0).sum() / len(pairs)
            row = {"language": language, "share": share, "judged": n, "method": method, "draws": draws}
            row |= {"width": np.median(ratios), "width_low": np.quantile(ratios, 0.025)}
            row |= {"width_high": np.quantile(ratios, 0.975), "decided": int((truth != 0).sum())}
            for k, name in enumerate(("alone", "with")):
                row |= {f"found_{name}": found[0, k] / draws, f"same_{name}": found[1, k] / draws}
                row |= {f"opposite_{name}": wrong[k] / draws}
            rows.append(row)
            print({key: f"{v:.4f}" if isinstance(v, float) else v for key, v in row.items()}, flush=True)
            with atomic_open(table) as handle:
                writer = csv.DictWriter(handle, list(row), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        for m, name in enumerate(METRICS):
            seen = [
                np.corrcoef((people[b] - people[a])[known], (scores[b] - scores[a])[known, m])[0, 1]
                for a, b in pairs
            ]
            print(
                language, name, "correlation of differences:", np.round(np.quantile(seen, [0, 0.5, 1]), 3)
            )
    draw_figure(figure)


def draw_figure(path: Path) -> None:
    """Draw how much a metric narrows intervals, by its correlation with people."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "judging"
    figure, axes = plt.subplots(figsize=(5.2, 3.2))
    rho = np.linspace(0, 0.95, 200)
    for share, style in ((0.0, "-"), (0.2, "--"), (0.5, ":")):
        label = "few of very many" if share == 0 else f"{share:.0%} of all segments"
        axes.plot(rho, np.sqrt(1 - rho**2 * (1 - share)), style, color="#0072b2", label=f"{label} judged")
    axes.axvspan(0, 0.16, color="0.9", lw=0)
    axes.text(0.17, 0.42, "chrF, BLEU, TER, RIBES\nand experts, WMT21", fontsize=8)
    axes.set(
        xlabel="correlation of a metric's differences with people's",
        ylabel="width against judgements alone",
    )
    axes.set(ylim=(0, 1.05), xlim=(0, 0.95))
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
