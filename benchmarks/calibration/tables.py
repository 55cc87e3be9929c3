"""Tables and figure of docs/statistics.md from the study's results.

    PYTHONPATH=src python benchmarks/calibration/tables.py

Reads gate.csv (study.py) and replicas.csv (replicas.py) beside this file; writes
docs/figures/calibration.svg and .png, and the tables between the markers of docs/statistics.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from replitune.running.files import atomic_open, atomic_path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
METHODS = [
    "crossed",
    "multi-bootstrap",
    "replica-permutation",
    "fu-ar",
    "fu-bootstrap",
    "clark",
    "clark-bootstrap",
    "riezler",
    "koehn",
    "graham",
]
VARIANTS = ["crossed", "crossed, Cochran-Cox", "crossed, Satterthwaite"]
LIMITS = {0.05: 0.065, 0.01: 0.015}


def cell(rate: float | None, bad: float) -> str:
    """.052, bold when above the limit."""
    if rate is None or pd.isna(rate):
        return "–"
    text = f"{rate:.3f}".removeprefix("0") if rate < 1 else "1"
    return f"**{text}**" if rate > bad else text


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def worst(gate: pd.DataFrame) -> str:
    """Largest rate over gated cells, by method, null and level."""
    null = gate[(gate["shift"] == 0) & gate["gate"].notna()]
    columns = [(n, m) for n in ("this", "next") for m in ("mean", "bleu")]
    rows = []
    for method in METHODS + VARIANTS[1:]:
        own = null[null["method"] == method]
        row = [f"`{method}`" if method in METHODS else method]
        for alpha in LIMITS:
            at = own[own["alpha"] == alpha]
            for n, m in columns:
                kinds = ["bleu"] if m == "bleu" else ["mean", "documents", "tuners"]
                rate = at[(at["null"] == n) & at["metric"].isin(kinds)]["rate"].max()
                row.append(cell(rate, LIMITS[alpha]))
        failed = int((own["gate"] == "fail").sum())
        row.append("passes" if failed == 0 else f"fails {failed} of {len(own)}")
        rows.append(row)
    head = ["method"] + [
        f"{'mean' if m == 'mean' else 'BLEU'}, {n}, {f'{alpha:g}'[1:]}"
        for alpha in LIMITS
        for n, m in columns
    ]
    return table([*head, "gate"], rows)


def levels(gate: pd.DataFrame, null: str) -> str:
    """Rates at .05 when tuner runs and segments add alike, by n, for the mean and for BLEU."""
    at = gate[
        (gate["shift"] == 0)
        & (gate["alpha"] == 0.05)
        & (gate["null"] == null)
        & (gate["noise"] == "equal")
        & (gate["ratio"] == 1)
        & (gate["n_a"] == gate["n_b"])
    ]
    rows = []
    for method in METHODS:
        row = [f"`{method}`"]
        for metric in ("mean", "bleu"):
            for n in (3, 5, 10, 20):
                own = at[(at["method"] == method) & (at["metric"] == metric) & (at["n_a"] == n)]
                row.append(cell(own["rate"].max() if len(own) else None, LIMITS[0.05]))
        rows.append(row)
    head = ["method"] + [f"{m}, n={n}" for m in ("mean", "BLEU") for n in (3, 5, 10, 20)]
    return table(head, rows)


def two_replicas(gate: pd.DataFrame) -> str:
    own = gate[(gate["method"] == "crossed") & (gate["n_a"] == 2) & (gate["shift"] == 0)]
    largest = own.groupby("alpha")["rate"].max()
    return (
        f"With n = 2 (reported, not gated) `crossed` rejects at most "
        f"{cell(largest[0.05], 1)} and {cell(largest[0.01], 1)} at .05 and .01."
    )


def power(gate: pd.DataFrame) -> str:
    """Power against a difference of three standard deviations, `next`."""
    own = gate[(gate["shift"] > 0) & (gate["alpha"] == 0.05)]
    rows = []
    for method in [*VARIANTS, "multi-bootstrap"]:
        for metric in ("mean", "bleu"):
            row = [f"`{method}`" if method in METHODS else method]
            row.append("mean" if metric == "mean" else "BLEU")
            for n in (3, 5, 10, 20):
                at = own[(own["method"] == method) & (own["metric"] == metric) & (own["n_a"] == n)]
                by_ratio = at.set_index("ratio")["rate"]
                row += [f"{by_ratio[r]:.2f}".removeprefix("0") for r in (0.1, 1.0, 10.0)]
            rows.append(row)
    head = ["critical value or method", "metric"] + [
        f"n={n}, {r}" for n in (3, 5, 10, 20) for r in (".1", "1", "10")
    ]
    return table(head, rows)


def replicas(real: pd.DataFrame) -> str:
    """Rates at .05 on the real replicas."""
    at = real[(real["alpha"] == 0.05) & real["study"].isin(["A/A", "coin flip"])]
    at = at[at["pool"] != "all"]
    columns = [*dict.fromkeys(zip(at["study"], at["pool"], at["n_a"], strict=True))]
    columns.sort(key=lambda c: (c[0] == "coin flip", c[1], c[2]))
    rows = []
    order = [*METHODS[:6], "clark (index)", *METHODS[6:8], "riezler (one run)", *METHODS[8:]]
    for method in order:
        row = [f"`{method}`"]
        for study, pool, n in columns:
            own = at[
                (at["method"] == method)
                & (at["study"] == study)
                & (at["pool"] == pool)
                & (at["n_a"] == n)
            ]
            text = cell(float(own["rate"].iloc[0]), LIMITS[0.05])
            row.append(text + ("†" if own["exact"].iloc[0] else ""))
        rows.append(row)
    head = ["method"] + [
        (f"{pool} v itself" if study == "A/A" else "coin flip") + f", n={n}"
        for study, pool, n in columns
    ]
    return table(head, rows)


def figure(gate: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "replitune", "font.size": 8, "svg.fonttype": "none"}
    colours = {
        "crossed": "#000000",
        "multi-bootstrap": "#0072b2",
        "replica-permutation": "#009e73",
        "fu-ar": "#56b4e9",
        "clark": "#d55e00",
        "riezler": "#cc79a7",
    }
    at = gate[
        (gate["shift"] == 0)
        & (gate["alpha"] == 0.05)
        & (gate["noise"] == "equal")
        & (gate["n_a"] == gate["n_b"])
    ]
    grid = [("this", "mean"), ("next", "mean"), ("this", "bleu"), ("next", "bleu")]
    sizes = (3, 5, 10, 20)
    made, axes = plt.subplots(4, 4, figsize=(7.4, 7.4), sharex=True, sharey=True)
    for row, (null, metric) in zip(axes, grid, strict=True):
        for axis, n in zip(row, sizes, strict=True):
            axis.axhspan(0, 0.05, color="#eeeeee", lw=0)
            axis.axhline(0.05, color="#888888", lw=0.7)
            for method, colour in colours.items():
                own = at[
                    (at["method"] == method)
                    & (at["null"] == null)
                    & (at["metric"] == metric)
                    & (at["n_a"] == n)
                ].sort_values("ratio")
                wide = 2.0 if method == "crossed" else 1.1
                axis.plot(
                    own["ratio"],
                    own["rate"],
                    "o-",
                    color=colour,
                    lw=wide,
                    ms=2.5,
                    label=method,
                    zorder=3 if method == "crossed" else 2,
                )
            axis.set_xscale("log")
            axis.set_yscale("function", functions=(lambda y: y.clip(0) ** 0.5, lambda y: y**2))
            axis.set_ylim(0, 0.9)
            axis.set_yticks([0, 0.05, 0.2, 0.4, 0.6, 0.8], ["0", ".05", ".2", ".4", ".6", ".8"])
            axis.set_xticks([0.1, 1, 10], [".1", "1", "10"])
            axis.minorticks_off()
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
        name = "mean metric" if metric == "mean" else "BLEU"
        row[0].set_ylabel(f"{null} test set, {name}\nrejected at .05")
    for axis, n in zip(axes[0], sizes, strict=True):
        axis.set_title(f"n = {n}", fontsize=8)
    made.supxlabel("variance of the difference due to tuner runs / due to segments", fontsize=8)
    made.legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", ncols=6, frameon=False)
    made.tight_layout(rect=(0, 0, 1, 0.965))
    for kind, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 150})):
        with atomic_path(DOCS / "figures" / f"calibration.{kind}") as path:
            made.savefig(path, format=kind, **options)


def main() -> None:
    gate = pd.read_csv(HERE / "gate.csv", keep_default_na=False, na_values=[""])
    real = pd.read_csv(HERE / "replicas.csv")
    figure(gate)
    page = (DOCS / "statistics.md").read_text(encoding="utf-8")
    parts = {
        "worst": worst(gate),
        "this": levels(gate, "this"),
        "next": levels(gate, "next"),
        "power": power(gate),
        "replicas": replicas(real),
        "two": two_replicas(gate),
    }
    for name, text in parts.items():
        page, count = re.subn(
            rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
            lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}",
            page,
            flags=re.S,
        )
        assert count == 1, name
    with atomic_open(DOCS / "statistics.md") as handle:
        handle.write(page)


if __name__ == "__main__":
    main()
