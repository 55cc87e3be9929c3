"""Make the tables and figures of docs/evidence.md from the study's results.

    PYTHONPATH=src python benchmarks/calibration/tables.py

Reads gate.csv (study.py), suprema.csv (suprema.py), noise_ratio.csv (noise_ratio.py), outside.csv
(outside.py), replicas.csv (replicas.py), halves.csv and next_runs.csv (halves.py) beside this file, and
docs/results/calibration; writes calibration and level-power (.svg and .png) in docs/figures, and the
tables between the markers of docs/evidence.md.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from study import LIMITS, verdict

from replitune.running.files import atomic_open, atomic_path
from replitune.significance.studies.pilot import VarianceModel
from replitune.significance.studies.planned import Plan, Planned

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
METHODS = [
    "crossed",
    "crossed:scope=runs",
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
CRITICAL = ["crossed", "crossed, Cochran-Cox", "crossed, Satterthwaite"]
MIXED = ["mixed model", "mixed model, runs"]
ALPHAS = tuple(LIMITS)
PRINTED = {"bleu": "BLEU", "ter": "TER", "chrf": "chrF"}
REAL_LIMIT = 0.065
"""The limit for rates in 200 to 500 draws from real replicas, which are not gated."""


def read() -> pd.DataFrame:
    """gate.csv, with columns `rate 0.05` and `rate 0.01` added, and defaults filled in."""
    gate = pd.read_csv(HERE / "gate.csv", keep_default_na=False, na_values=[""])
    for alpha in ALPHAS:
        gate[f"rate {alpha}"] = gate[f"at {alpha}"] / gate["trials"]
    plain = {"runs": "normal", "systems": 2, "spread": 0, "segments": 0, "effective": 0}
    return gate.fillna(plain)


def where(gate: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows with these values; None selects rows without a value, a list any of its values."""
    for name, value in values.items():
        if value is None:
            gate = gate[gate[name].isna()]
        else:
            gate = gate[gate[name].isin(value if isinstance(value, list) else [value])]
    return gate


FIRST = {"interaction": None, "icc": None, "accuracy": None, "runs": "normal", "segments": 0, "systems": 2}
"""Values of the cells with the usual noise of single outputs."""


def number(rate: float | None, digits: int = 3) -> str:
    """A rate as text: .052."""
    if rate is None or pd.isna(rate):
        return "–"
    return f"{rate:.{digits}f}".removeprefix("0") if rate < 1 else "1"


def rate(rows: pd.DataFrame, alpha: float) -> str:
    """The largest rate of some cells, in bold if a cell is above the limit by more than chance."""
    if not len(rows):
        return "–"
    text = number(rows[f"rate {alpha}"].max())
    counts = zip(rows[f"at {alpha}"], rows["trials"], strict=True)
    bad = any(verdict(k, n, alpha) == "fail" for k, n in counts)
    return f"**{text}**" if bad else text


def named(method: str) -> str:
    return f"`{method}`" if method in METHODS or method.startswith("crossed:") else method


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


# -- the gate -----------------------------------------------------------------------------


def suprema(found: pd.DataFrame) -> str:
    """The largest levels by design and critical value."""
    rows = []
    names = ["gross", "net", "Cochran-Cox", "Satterthwaite", "runs"]
    plans = [d for d in dict.fromkeys(found["design"]) if "documents" not in d]
    groups = {d: [d] for d in plans}
    for nu in (6, 10, 20, 40):
        own = [d for d in dict.fromkeys(found["design"]) if d.endswith(f"nu_seg {nu}")]
        groups[f"documents, {nu + 1} of equal size (3 v 3, 5 v 5, 20 v 20)"] = own
    for title, designs in groups.items():
        row = [title]
        for name in names:
            if name == "runs" and len(designs) > 1:
                row.append("–")
                continue
            own = found[found["design"].isin(designs) & (found["critical value"] == name)]
            largest = own.groupby("alpha")["level"].max()
            row.append(" / ".join(number(largest[alpha]) for alpha in ALPHAS))
        rows.append(row)
    head = ["design", "gross layers", "**net layers** (`crossed`)", "Cochran-Cox, net"]
    return table([*head, "Satterthwaite, net", "`crossed:scope=runs`"], rows)


def worst(gate: pd.DataFrame) -> str:
    """The largest rates over gated cells, by method, null and level."""
    judged = gate[gate["gate 0.05"].notna()]
    columns = [(n, m) for n in ("this", "next") for m in ("mean", "bleu")]
    rows = []
    for method in ["crossed", *CRITICAL[1:], "crossed:scope=runs", *MIXED, *METHODS[2:]]:
        own = judged[judged["method"] == method]
        row = [named(method)]
        for alpha in ALPHAS:
            for n, m in columns:
                kinds = ["bleu"] if m == "bleu" else ["mean", "documents", "tuners"]
                row.append(rate(where(own, null=n, metric=kinds), alpha))
        failed = sum(int((own[f"gate {alpha}"] == "fail").sum()) for alpha in ALPHAS)
        row.append("passes" if failed == 0 else f"fails {failed} of {2 * len(own)}")
        rows.append(row)
    head = ["method"] + [
        f"{'mean' if m == 'mean' else 'BLEU'}, {n}, {f'{alpha:g}'[1:]}"
        for alpha in ALPHAS
        for n, m in columns
    ]
    return table([*head, "gate"], rows)


def gate_count(gate: pd.DataFrame) -> str:
    """The result of the gate for `crossed`, in words."""
    own = where(gate[gate["gate 0.05"].notna()], method="crossed")
    text = []
    for alpha in ALPHAS:
        column = f"rate {alpha}"
        at = own.loc[[own[column].idxmax()]].iloc[0]
        above = int((own[column] > LIMITS[alpha]).sum())
        failed = int((own[f"gate {alpha}"] == "fail").sum())
        text.append(
            f"at {short(alpha)}, {failed or 'none'} of {len(own)} cells "
            f"{'fails' if failed == 1 else 'fail'}, the rate is above {short(LIMITS[alpha])} in "
            f"{above or 'none'}, and the worst is {number(at[column], 4)} ({described(at)})"
        )
    return "`crossed`: " + "; ".join(text) + "."


def described(row: pd.Series) -> str:
    """A cell in words."""
    noise = {
        "A": "A's runs alone vary",
        "B": "B's runs alone vary",
        "one": "one tuner's runs of A alone vary",
        "equal": "",
    }
    more = [f"{row['n_a']} v {row['n_b']}", f"V_rep/V_seg {short(row['ratio'])}"]
    if row["metric"] != "mean":
        more.insert(0, str(row["metric"]))
    more.append(noise[row["noise"]])
    if not pd.isna(row["interaction"]):
        more.append(f"V_int/V_seg {short(row['interaction'])}")
    if row["effective"]:
        more.append(f"as good as {row['effective']:g}, ICC {short(row['icc'])}")
    if row["null"] == "this":
        more.append("this test set")
    return ", ".join(m for m in more if m)


def short(value: float) -> str:
    return f"{value:g}".removeprefix("0") or "0"


def power(gate: pd.DataFrame) -> str:
    """Power against a difference of three standard deviations, `next`."""
    own = where(gate, shift=3, null="next", **FIRST)
    rows = []
    for method in [*CRITICAL, "multi-bootstrap"]:
        for metric in ("mean", "bleu"):
            row = [named(method), "mean" if metric == "mean" else "BLEU"]
            for n in (3, 5, 10, 20):
                at = where(own, method=method, metric=metric, n_a=n).set_index("ratio")
                row += [number(at["rate 0.05"][r], 2) for r in (0.1, 1.0, 10.0)]
            rows.append(row)
    head = ["critical value or method", "metric"] + [
        f"n={n}, {r}" for n in (3, 5, 10, 20) for r in (".1", "1", "10")
    ]
    return table(head, rows)


def power_this(gate: pd.DataFrame) -> str:
    """Power on this test set."""
    own = where(gate, shift=3, null="this", **FIRST)
    rows = []
    for method in ("crossed:scope=runs", "replica-permutation", "fu-ar"):
        at = where(own, method=method).set_index("n_a")["rate 0.05"]
        rows.append([named(method), *(number(at[n], 2) for n in (3, 5, 10, 20))])
    return table(["method", *(f"n={n}" for n in (3, 5, 10, 20))], rows)


# -- where the gate ends ------------------------------------------------------------------


def both(rows: pd.DataFrame) -> str:
    """The largest rates at both levels: .055 / .013."""
    return " / ".join(number(rows[f"rate {alpha}"].max()) for alpha in ALPHAS)


def beyond(gate: pd.DataFrame) -> str:
    """The worst rates of `crossed` in families of cells that are not gated, and what its rows say."""
    null = gate[gate["shift"] == 0]
    crossed = null[null["method"] == "crossed"]
    two = crossed[crossed["n_a"] == 2]
    families: list[tuple[str, pd.DataFrame, str]] = [
        ("two runs each, a run effect", two[two["ratio"] > 0], "`two-replicas`"),
        ("three tuners of two runs", where(crossed, metric="tuners", n_a=6), "`two-replicas`"),
    ]
    kinds = {"exponential": "exponential runs", "t3": "runs from t with 3 df", "bad": "one bad run in five"}
    for kind, title in kinds.items():
        for noise, of in (("equal", "both systems"), ("A", "A only")):
            own = where(crossed, runs=kind, noise=noise)
            says = "`unstable-run` in some (below)"
            families.append((f"{title}, {of}", own, says))
    for low, high in ((50, 100), (200, 400)):
        own = where(crossed, metric="binary", segments=[low, high])
        families.append((f"right or wrong, N = {low} and {high}", own, "nothing"))
        own = where(null, metric="binary", segments=[low, high], ratio=0)
        own = own[own["method"] == "crossed:scope=segments"]
        title = f"right or wrong, N = {low} and {high}, samples, `scope=segments`"
        families.append((title, own, "nothing"))
    for effective in (6, 10):
        own = where(crossed, effective=effective)
        families.append((f"as good as {effective} documents", own, "`few-documents`"))
    own = where(null, method="crossed:unit=segment")
    families.append(("documents taken as segments, ICC .02 to .5", own, "`documents-ignored`"))
    rows = [[title, str(len(own)), both(own), says] for title, own, says in families]
    return table(["cells", "number", "worst, .05 / .01", "what the row says"], rows)


def unstable(gate: pd.DataFrame) -> str:
    """Levels, and how often there is a note, by the distribution of runs."""
    rows = []
    for kind, noise in (
        ("normal", "equal"),
        *((kind, noise) for kind in ("exponential", "t3", "bad") for noise in ("equal", "A")),
    ):
        row = [kind, "both" if noise == "equal" else "A only"]
        segments = 0 if kind == "normal" else 100
        own = where(gate, **(FIRST | {"runs": kind, "segments": segments}), ratio=10, noise=noise)
        for n_a, n_b in ((3, 3), (5, 5), (10, 10), (3, 30)):
            at = where(own, metric="mean", null="next", shift=0, n_a=n_a, n_b=n_b)
            at = at.set_index("method")
            wrong = at["at 0.05"]["crossed"]
            noted = at["at 0.05"]["crossed, note unstable-run"] / wrong
            shares = [at["rate 0.05"]["note unstable-run"], noted]
            if noise == "A":
                shares.append(at["at 0.05"]["crossed, A ahead"] / wrong)
            listed = ", ".join(number(share, 2) for share in shares)
            row.append(f"{number(at['rate 0.05']['crossed'])} ({listed})")
        rows.append(row)
    return table(["runs", "vary in", "3 v 3", "5 v 5", "10 v 10", "3 v 30"], rows)


def documents(gate: pd.DataFrame) -> str:
    """Levels by document, and as if segments were independent."""
    rows = []
    for effective in (6, 10, 20, 40):
        own = where(gate, metric="documents", effective=effective)
        row = [str(effective), both(where(own, method="crossed"))]
        for icc in (0.05, 0.2, 0.5):
            row.append(both(where(own, method="crossed:unit=segment", icc=icc)))
        rows.append(row)
    own = where(gate, metric="equal documents")
    row = ["40 of 15 segments, samples, `scope=segments`, ICC .02, .05, .1"]
    row.append(both(where(own, method="crossed:scope=segments")))
    for icc in (0.02, 0.05, 0.1):
        row.append(both(where(own, method="crossed:scope=segments:unit=segment", icc=icc)))
    head = ["as good as", "`unit: document`"]
    head += [f"`unit: segment`, ICC {icc}" for icc in (".05", ".2", ".5")]
    return table(head, [*rows, row])


def samples(gate: pd.DataFrame) -> str:
    """Levels and power for replicas without a run effect, and for runs treated as such."""
    own = where(gate, metric="mean", null="next", noise="equal", segments=0, systems=2)
    rows = []
    for n in (2, 3, 5, 10):
        at = where(own, n_a=n, n_b=n)
        row = [str(n)]
        for method in ("crossed", "crossed:scope=segments"):
            of = where(at, method=method, ratio=0)
            found = where(of, shift=3)["rate 0.05"]
            low, high = number(found.min(), 2), number(found.max(), 2)
            row += [both(where(of, shift=0)), low if low == high else f"{low} to {high}"]
        row.append(number(where(at, method="note run-effect", ratio=0)["rate 0.05"].max()))
        for ratio in (0.1, 1):
            of = where(at, ratio=ratio, shift=0, interaction=None)
            note = where(of, method="note run-effect")["rate 0.05"].max()
            level = where(of, method="crossed:scope=segments")["rate 0.05"].max()
            row.append(f"{number(level)} ({number(note, 2)})")
        rows.append(row)
    head = ["n", "`crossed`: level", "power", "`scope=segments`: level", "power"]
    head += ["`run-effect` by mistake", "runs, V_rep/V_seg .1", "runs, V_rep/V_seg 1"]
    return table(head, rows)


def mixed(gate: pd.DataFrame) -> str:
    """Levels of mixed models at .05."""
    own = where(gate, metric="mean", noise="equal", shift=0, **FIRST)
    own = own[own["n_a"] == own["n_b"]]
    rows = []
    for method in [*MIXED, "crossed"]:
        for null in ("this", "next"):
            row = [named(method), null]
            for n in (3, 5, 20):
                for ratio in (0.1, 1, 3, 10):
                    row.append(rate(where(own, method=method, null=null, n_a=n, ratio=ratio), 0.05))
            rows.append(row)
    head = ["method", "test set"]
    head += [f"n={n}, {r}" for n in (3, 5, 20) for r in (".1", "1", "3", "10")]
    return table(head, rows)


def nested(gate: pd.DataFrame) -> str:
    """The nested bootstrap of evalstats, and other methods on the same cells."""
    own = where(gate, metric="mean", segments=100, runs="normal")
    rows = []
    methods = ["evalstats", "mixed model", "mixed model, runs", "multi-bootstrap", "crossed"]
    for method in methods:
        title = "evalstats, nested bootstrap" if method == "evalstats" else named(method)
        row = [title]
        for n in (3, 5):
            at = where(own, method=method, n_a=n)
            for ratio in (0, 0.1, 1, 10):
                level = rate(where(at, shift=0, ratio=ratio, noise="equal"), 0.05)
                found = where(at, shift=3, ratio=ratio)["rate 0.05"].max()
                row.append(f"{level}, {number(found, 2)}")
        rows.append(row)
    head = ["method, level and power"]
    return table([*head, *(f"n={n}, {r}" for n in (3, 5) for r in ("0", ".1", "1", "10"))], rows)


def replicas(real: pd.DataFrame) -> str:
    """Rates at .05 on the real replicas."""
    at = real[(real["alpha"] == 0.05) & real["study"].isin(["A/A", "coin flip"])]
    at = at[at["pool"] != "all"]
    columns = [*dict.fromkeys(zip(at["study"], at["pool"], at["n_a"], strict=True))]
    columns.sort(key=lambda c: (c[0] == "coin flip", c[1], c[2]))
    rows = []
    order = [m for m in METHODS if m != "crossed:scope=runs"]
    order.insert(order.index("clark") + 1, "clark (index)")
    order.insert(order.index("riezler") + 1, "riezler (one run)")
    for method in order:
        row = [f"`{method}`"]
        for study, pool, n in columns:
            own = at[
                (at["method"] == method) & (at["study"] == study) & (at["pool"] == pool) & (at["n_a"] == n)
            ]
            found = float(own["rate"].iloc[0])
            text = f"**{number(found)}**" if found > REAL_LIMIT else number(found)
            row.append(text + ("†" if own["exact"].iloc[0] else ""))
        rows.append(row)
    head = ["method"] + [
        (f"{pool} v itself" if study == "A/A" else "coin flip") + f", n={n}" for study, pool, n in columns
    ]
    return table(head, rows)


def three_metrics(found: pd.DataFrame) -> str:
    """Rates of A/A at .05 on the pooled runs of both systems, by metric."""
    at = found[(found["study"] == "A/A") & (found["pool"] == "all") & (found["alpha"] == 0.05)]
    columns = [*dict.fromkeys(zip(at["metric"], at["n_a"], strict=True))]
    rows = []
    order = [m for m in METHODS if m != "crossed:scope=runs"]
    order.insert(order.index("riezler") + 1, "riezler-one-run")
    for method in order:
        row = [f"`{method}`" if method != "riezler-one-run" else "`riezler` (one run)"]
        for metric, n in columns:
            own = at[(at["method"] == method) & (at["metric"] == metric) & (at["n_a"] == n)].iloc[0]
            text = number(own["rate"]) if own["rejected"] else "0"
            text = f"**{text}**" if own["ci_low"] > 0.05 else text
            row.append(text + ("†" if own["exact"] else ""))
        rows.append(row)
    head = [f"{PRINTED[metric]}, n={n}" for metric, n in columns]
    return table(["test", *head], rows)


def three_spreads(systems: pd.DataFrame) -> str:
    """How much runs and segments move each metric."""
    rows = []
    for metric, own in systems.groupby("metric", sort=False):
        each = [[number(v, 2) for v in own["s_test"]], [number(v, 2) for v in own["s_sel"]]]
        each.append([number(v, 2) for v in own["s_test"] / own["s_sel"]])
        rows.append([PRINTED[str(metric)], *(", ".join(dict.fromkeys(values)) for values in each)])
    names = ", ".join(dict.fromkeys(systems["system"]))
    return table(["metric", f"s_test {names}", "s_sel", "s_test / s_sel"], rows)


def three_powers(found: pd.DataFrame, drawn: pd.DataFrame) -> str:
    """Shares of small experiments that find the difference by BLEU, and the level in coin flips."""
    drawn = drawn[(drawn["metric"] == "bleu") & drawn["significant"].notna()]
    coin = found[(found["study"] == "coin flip") & (found["alpha"] == 0.05) & (found["metric"] == "bleu")]
    rows = []
    for method in dict.fromkeys(drawn["method"]):
        own = drawn[drawn["method"] == method].set_index("n")
        own = own["significant" if own["delta"].mean() > 0 else "opposite"]
        rates = coin[coin["method"] == method].set_index("n_a")["rate"]
        sizes = [n for n in own.index if n in rates.index]
        level = ", ".join(number(rates[n]) if rates[n] else "0" for n in sizes)
        rows.append([f"`{method}`", *(number(own[n]) if own[n] else "0" for n in sizes), level])
    head = [f"n={n}" for n in sizes]
    return table(["test", *head, "type-I error, coin, n=" + ", ".join(map(str, sizes))], rows)


# -- where the model ends -----------------------------------------------------------------


def outside() -> pd.DataFrame:
    """outside.csv, with counts as shares of the trials."""
    found = pd.read_csv(HERE / "outside.csv")
    for column in ("p", "note", "at 0.05", "at 0.01", "quiet 0.05", "quiet 0.01"):
        found[column] = found[column] / found["trials"]
    return found


def pair_of_rates(rows: pd.DataFrame, what: str = "at") -> str:
    return " / ".join(number(rows[f"{what} {alpha}"].max()) for alpha in ALPHAS)


TITLES = {
    "own deviations": "normal, each with a deviation of its own",
    "t3": "t with 3 df",
    "exponential": "exponential",
    "lognormal": "lognormal",
}


def shapes(found: pd.DataFrame) -> str:
    """Levels for segments and documents by `scope=segments`."""
    every = found[found["kind"].isin(["segments", "documents"]) & (found["one_sided"] == 0)]
    rows = []
    for (kind, what, N), own in every.groupby(["kind", "what", "N"], sort=False):
        if (what in ("normal", "own deviations", "t3", "exponential") and N == 200) or (
            kind == "documents" and what.split()[1] == "0.2"
        ):
            continue
        alone = own[(own["n"] == 1) & (own["method"] == "crossed")].iloc[[0]]
        plain = own[(own["n"] == 1) & (own["method"] == "plain")]
        with_p = float(alone["p"].iloc[0])
        if kind == "documents":
            sd, slope = what.split()
            title = f"{N} documents, log sd {short(float(sd))}, {short(float(slope))} a log unit"
        elif what[0] == "+":
            up, p = what.split()
            title = f"{up} with {short(float(p))}, -1 with {short(float(p) * float(up))}; N = {N}"
        else:
            title = f"{TITLES.get(what, what)}, N = {N}"
        rows.append(
            [
                title,
                pair_of_rates(plain),
                pair_of_rates(alone),
                number(float(alone["at 0.05"].iloc[0]) / with_p if with_p else None),
                number(alone["quiet 0.05"].iloc[0]),
                number(1 - with_p, 2),
                number(alone["note"].iloc[0], 2),
            ]
        )
    single = found[(found["n"] == 1) & (found["one_sided"] != 0)]
    for (what, N), own in single.groupby(["what", "N"], sort=False):
        crossed, plain = own[own["method"] == "crossed"], own[own["method"] == "plain"]
        worst = crossed.loc[crossed["at 0.05"].idxmax()]
        shares = [number(worst["quiet 0.05"]), number(1 - worst["p"], 2), number(worst["note"], 2)]
        title = f"{TITLES[what]}, N = {N}, one-sided, the worse side"
        of_p = number(worst["at 0.05"] / worst["p"])
        rows.append([title, pair_of_rates(plain), pair_of_rates(crossed), of_p, *shares])
    head = ["B - A of a segment", "Student's t", "`crossed`", "of those with p", "without a note"]
    return table([*head, "no p", "note"], rows)


# -- families -----------------------------------------------------------------------------


def failures(found: pd.DataFrame) -> str:
    """Levels for runs of which some fail, and the share of rejections at .05 that have a note."""
    own = found[(found["kind"] == "failures") & (found["method"] == "crossed") & (found["ratio"] == 10)]
    rows = []
    for what, of in own.groupby("what", sort=False):
        row = [what]
        for n in sorted(set(of["n"])):
            one = of[of["n"] == n].iloc[0]
            noted = 1 - one["quiet 0.05"] / one["at 0.05"] if one["at 0.05"] else 0.0
            row.append(f"{pair_of_rates(of[of['n'] == n])} ({number(noted, 2)})")
        rows.append(row)
    return table(["runs that fail, and in which system", "3 v 3", "5 v 5", "10 v 10"], rows)


def others(found: pd.DataFrame) -> str:
    """The worst rates at .05 / .01 in the other kinds of cells."""
    own = found[found["method"] == "crossed"]
    seeds = own[own["kind"] == "seeds"]
    rows = [["single outputs of A thrice as noisy", pair_of_rates(own[own["kind"] == "outputs"])]]
    for accuracy in (0.5, 0.9, 0.99):
        at = own[(own["kind"] == "binary") & (own["what"].astype(str) == f"{accuracy:g}")]
        rows.append([f"right or wrong, accuracy {short(accuracy)}, N = 50 and 200", pair_of_rates(at)])
    for rho in ("0.5", "1"):
        for paired in (False, True):
            at = seeds[(seeds["what"].astype(str) == rho) & (seeds["paired"] == paired)]
            how = "paired" if paired else "not paired"
            rows.append([f"runs of A and B correlated by {short(float(rho))}, {how}", pair_of_rates(at)])
    for what in ("exponential", "lognormal"):
        for N in (50, 200, 500):
            at = own[(own["one_sided"] != 0) & (own["what"] == what) & (own["N"] == N)]
            rows.append([f"one-sided, {what} segments, N = {N}", pair_of_rates(at)])
    return table(["cells", "worst, .05 / .01"], rows)


def families(found: pd.DataFrame) -> str:
    """Power at .05 for a difference of three standard errors of a pair: simulated with the bound, planned
    without it (a simulation agrees). Adjusted power without the bound is by Bonferroni."""
    rows = []
    for S, n in product((2, 3, 5, 10), (3, 5, 10)):
        row = [str(S), str(n)]
        for ratio in (1.0, 10.0):
            model = VarianceModel(np.full(2, ratio * n / 1000), np.ones(1), np.zeros((2, 1)), np.ones(1))
            at = found[
                (found["kind"] == "power")
                & (found["systems"] == S)
                & (found["n"] == str(n))
                & (found["ratio"] == ratio)
            ].iloc[0]
            for pairs, column in ((1, "pair 0.05"), (S * (S - 1) // 2, "found 0.05")):
                plain = Planned(model, Plan(n, n, 500), alpha=0.05 / pairs)
                row += [number(float(plain.power(3 * plain.se)), 2), number(at[column], 2)]
        rows.append(row)
    head = ["systems", "n"]
    for ratio in ("1", "10"):
        head += [f"{ratio}: `crossed`", "bound", "adjusted: `crossed`", "bound"]
    return table(head, rows)


def halves(found: pd.DataFrame) -> str:
    """Rates at .05 / .01, by system; those of the seeds together."""
    of = {"seeds, 2 v 3": ~found["system"].isin(["dl2", "dl6"])}
    of |= {f"{name}, {k} v {k}": found["system"] == name for name, k in (("dl2", 6), ("dl6", 8))}
    rows = []
    for method in dict.fromkeys(found["method"]):
        row = [f"`{method}`"]
        for which in of.values():
            own = found[which & (found["method"] == method)]
            total = own["splits"].sum()
            shares = (number(own[f"at {alpha}"].sum() / total) for alpha in ALPHAS)
            row.append(" / ".join(shares) if own["without p"].sum() < total else "no p")
        rows.append(row)
    return table(["test", *of], rows)


def next_runs(found: pd.DataFrame) -> str:
    keys = list(dict.fromkeys(zip(found["runs"], found["n"], found["column"], strict=True)))
    bins = sorted(set(zip(found["said from"], found["to"], strict=True)))
    rows = []
    for low, high in bins:
        row = [f"{short(low)} to {short(high)}"]
        for runs, n, column in keys:
            at = where(found, runs=runs, n=n, column=column, **{"said from": low})
            one = at.iloc[0] if len(at) else None
            row.append("–" if one is None else f"{number(one['came'], 2)} ({one['predictions']})")
        rows.append(row)
    where_to = {"superior": "this set", "superior_new": "a new one"}
    head = [f"{runs}, {n} runs, {where_to[column]}" for runs, n, column in keys]
    return table(["probability said", *head], rows)


def calibration(gate: pd.DataFrame) -> None:
    """Rates at .05 by the ratio of tuner noise to segment noise."""
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
    at = where(gate, shift=0, noise="equal", **FIRST)
    at = at[(at["n_a"] == at["n_b"]) & (at["ratio"] > 0)]
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
                    own["rate 0.05"],
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
    save(made, "calibration")


NAMES = {
    "crossed": "crossed",
    "crossed, Cochran-Cox": "Cochran-Cox",
    "crossed, Satterthwaite": "Satterthwaite",
    "mixed model": "mixed model",
    "mixed model, runs": "mixed model, runs",
    "multi-bootstrap": "multi-bootstrap",
    "evalstats": "evalstats nested",
    "replica-permutation": "replica-permutation",
    "fu-bootstrap": "fu-bootstrap",
    "clark": "clark",
    "clark-bootstrap": "clark-bootstrap",
    "riezler": "riezler",
}
"""Points of the figure. koehn and graham coincide with riezler; fu-ar finds nothing at n = 3 and 5."""
BESIDE = {
    3: {
        "crossed": (-7, 0, "right"),
        "crossed, Cochran-Cox": (0, -10, "center"),
        "clark": (-5, 7, "right"),
        "mixed model": (5, 5, "left"),
        "fu-bootstrap": (-5, -1, "right"),
        "clark-bootstrap": (5, 0, "left"),
        "evalstats": (5, -7, "left"),
        "multi-bootstrap": (0, 9, "center"),
        "mixed model, runs": (5, -4, "left"),
    },
    5: {
        "crossed": (-7, -2, "right"),
        "crossed, Cochran-Cox": (-5, -4, "right"),
        "crossed, Satterthwaite": (-5, 6, "right"),
        "clark": (-5, 7, "right"),
        "mixed model": (5, 5, "left"),
        "clark-bootstrap": (5, 0, "left"),
        "fu-bootstrap": (-5, -1, "right"),
        "evalstats": (5, -1, "left"),
        "mixed model, runs": (-5, 4, "right"),
        "replica-permutation": (5, -4, "left"),
    },
}
"""Offsets of names from their points, and alignment, for those that are not right of their point."""


def level_power(gate: pd.DataFrame) -> None:
    """Draw the worst level and mean power of every method on the same cells."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "replitune", "font.size": 8.5, "svg.fonttype": "none"}
    own = where(gate, metric="mean", segments=100, runs="normal", ratio=[0.1, 1, 10])
    made, axes = plt.subplots(1, 2, figsize=(7.4, 4.1), sharex=True, sharey=True)
    for axis, n in zip(axes, (3, 5), strict=True):
        axis.axvspan(0.01, LIMITS[0.05], color="#eeeeee", lw=0)
        axis.axvline(LIMITS[0.05], color="#888888", lw=0.8)
        for method, name in NAMES.items():
            at = where(own, method=method, n_a=n)
            level = max(float(where(at, shift=0)["rate 0.05"].max()), 0.011)
            found = float(where(at, shift=3)["rate 0.05"].mean())
            mine = method.startswith("crossed")
            colour = "#000000" if method == "crossed" else "#0072b2" if mine else "#b5480a"
            axis.plot(level, found, "o", color=colour, ms=5.5 if method == "crossed" else 4)
            x, y, end = BESIDE[n].get(method, (5, 0, "left"))
            axis.annotate(
                name,
                (level, found),
                (x, y),
                textcoords="offset points",
                ha=end,
                va="center",
                color=colour,
                fontweight="bold" if method == "crossed" else "normal",
            )
        axis.set_xscale("log")
        axis.set_xlim(0.01, 1)
        axis.set_ylim(-0.03, 1.03)
        axis.set_xticks([0.01, 0.055, 0.1, 0.2, 0.5, 1], [".01", ".055", ".1", ".2", ".5", "1"])
        axis.minorticks_off()
        axis.set_title(f"n = {n}", fontsize=8.5)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    axes[0].set_ylabel("power, mean of three cells")
    made.supxlabel("level at .05, worst of six cells", fontsize=8.5)
    made.tight_layout()
    save(made, "level-power")


def save(made: Any, name: str) -> None:
    for kind, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 150})):
        with atomic_path(DOCS / "figures" / f"{name}.{kind}") as path:
            made.savefig(path, format=kind, **options)


def main() -> None:
    gate = read()
    calibration(gate)
    level_power(gate)
    page = (DOCS / "evidence.md").read_text(encoding="utf-8")
    three = DOCS / "results" / "calibration"
    rates = pd.read_csv(three / "calibration.csv")
    parts = {
        "suprema": suprema(pd.read_csv(HERE / "suprema.csv")),
        "count": gate_count(gate),
        "worst": worst(gate),
        "power": power(gate),
        "power-this": power_this(gate),
        "beyond": beyond(gate),
        "unstable": unstable(gate),
        "documents": documents(gate),
        "samples": samples(gate),
        "mixed": mixed(gate),
        "nested": nested(gate),
        "replicas": replicas(pd.read_csv(HERE / "replicas.csv")),
        "three-spreads": three_spreads(pd.read_csv(three / "systems.csv")),
        "three-metrics": three_metrics(rates),
        "three-powers": three_powers(rates, pd.read_csv(three / "replication.csv")),
        "shapes": shapes(outside()),
        "failures": failures(outside()),
        "others": others(outside()),
        "halves": halves(pd.read_csv(HERE / "halves.csv")),
        "next-runs": next_runs(pd.read_csv(HERE / "next_runs.csv")),
        "families": families(pd.read_csv(HERE / "noise_ratio.csv")),
    }
    for name, text in parts.items():
        page, count = re.subn(
            rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
            lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}",
            page,
            flags=re.S,
        )
        assert count == 1, name
    with atomic_open(DOCS / "evidence.md") as handle:
        handle.write(page)


if __name__ == "__main__":
    main()
