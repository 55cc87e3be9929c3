"""The tables of the paper, as LaTeX, from the CSV files. Captions are in paper.tex."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
from paper.type_i_error import costs
from paper.type_i_error.sources import ALPHAS, EXPERIMENTS, Sources, looks, only, where
from paper.type_i_error.values import METRICS, POOLED
from paper.type_i_error.words import percent, plain, rate, short

NAMES = {"bleu": "BLEU", "ter": "TER", "chrf": "chrF"}
METHODS = (
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
)
EXACT = r"$^\dagger$"


def mono(text: str) -> str:
    return rf"\test{{{text}}}"


def bold(text: str, really: bool) -> str:
    return rf"\textbf{{{text}}}" if really else text


def tabular(columns: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """`head` are finished lines."""
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def spanning(groups: Sequence[tuple[str, int]], start: int = 2) -> str:
    r"""A line of headings over several columns, with rules below.

    >>> spanning([("BLEU", 3)])
    '& \\multicolumn{3}{c}{BLEU} \\\\ \\cmidrule(lr){2-4}'
    """
    cells, rules = [], []
    for title, width in groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{title}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return "& " + " & ".join(cells) + r" \\ " + "".join(rules)


def real(sources: Sources) -> str:
    """A/A and coin flips on real runs."""
    own = where(sources.real, alpha=0.05)
    sizes = sorted(set(own["n_a"]))
    kinds = (("A/A", "all", sizes), ("coin flip", ", ".join(POOLED), [5]))
    rows = []
    methods = list(METHODS)
    methods.insert(methods.index("riezler") + 1, "riezler-one-run")
    for method in methods:
        title = f"{mono('riezler')}, one run" if method == "riezler-one-run" else mono(method)
        row = [title]
        for study, pool, ns in kinds:
            for metric in METRICS:
                for n in ns:
                    at = where(own, study=study, pool=pool, metric=metric, method=method, n_a=n)
                    assert len(at) == 1
                    cell = at.iloc[0]
                    text = bold(rate(cell["rate"]), cell["ci_low"] > 0.05)
                    row.append(text + (EXACT if cell["exact"] else ""))
        rows.append(row)
    groups = [(f"A/A, {NAMES[m]}", len(sizes)) for m in METRICS] + [("coin flip", len(METRICS))]
    second = [f"${'n=' if i == 0 else ''}{n}$" for _ in METRICS for i, n in enumerate(sizes)]
    second += [NAMES[metric] for metric in METRICS]
    head = [spanning(groups), f"& {' & '.join(second)} \\\\"]
    return tabular("l" + "r" * len(second), head, rows)


GATED = (
    ("crossed", mono("crossed")),
    ("crossed, Cochran-Cox", "\\quad Cochran--Cox"),
    ("crossed, Satterthwaite", "\\quad Satterthwaite"),
    ("crossed:scope=runs", mono("crossed:scope=runs")),
    ("mixed model", "mixed model, no run term"),
    ("mixed model, runs", "mixed model, runs"),
    *((name, mono(name)) for name in METHODS[1:]),
)


def gate(sources: Sources) -> str:
    """Worst gated rates, failures and power by method."""
    judged = sources.judged
    rows = []
    for method, title in GATED:
        own = where(judged, method=method)
        row = [title]
        for alpha in ALPHAS:
            for null in ("this", "next"):
                for kinds in (["mean", "documents", "tuners"], ["bleu"]):
                    at = where(own, null=null, metric=kinds)
                    failed = bool((at[f"gate {alpha}"] == "fail").any())
                    row.append(bold(rate(at[f"rate {alpha}"].max()), failed))
        failures = sum(int((own[f"gate {alpha}"] == "fail").sum()) for alpha in ALPHAS)
        row += [str(failures), str(len(ALPHAS) * len(own))]
        for n in (3, 5):
            found = where(sources.plain, metric="mean", null="next", shift=3, segments=100, n_a=n, ratio=1)
            at = where(found, method=method)["rate 0.05"]
            row.append(rate(at.max() if len(at) else float("nan"), 2))
        rows.append(row)
    head = [
        spanning(
            [
                ("level .05, this", 2),
                ("level .05, next", 2),
                ("level .01, this", 2),
                ("level .01, next", 2),
                ("gate", 2),
                ("power", 2),
            ]
        ),
        "& mean & BLEU" * 4 + r" & fails & of & $n=3$ & $n=5$ \\",
    ]
    return tabular("l" + "r" * 12, head, rows)


CRITICAL = ("gross", "net", "Cochran-Cox", "Satterthwaite")


def suprema(sources: Sources) -> str:
    """The largest levels by design."""
    found = sources.suprema
    documents = found["design"].str.contains("documents")
    designs = [(d, [d]) for d in dict.fromkeys(found["design"][~documents])]
    designs.append(("documents", list(dict.fromkeys(found["design"][documents]))))
    rows = []
    for title, own in designs:
        row = [title.replace(" v ", " v.\\ ").replace(" x ", " $\\times$ ")]
        for value in CRITICAL:
            largest = where(found, design=own, critical_value=value).groupby("alpha")["level"].max()
            row.append(" / ".join(rate(largest[alpha]) for alpha in ALPHAS))
        rows.append(row)
    head = [r"& gross & \textbf{net} & C.--Cox & Satterth. \\"]
    return tabular("lrrrr", head, rows)


def power(sources: Sources) -> str:
    """Power by critical value."""
    at = where(sources.plain, metric="mean", null="next", shift=3, segments=0, noise="equal")
    ratios, sizes = (0.1, 1, 10), (3, 5, 10)
    rows = []
    for method, title in (
        ("crossed", r"\textbf{net}"),
        ("crossed, Cochran-Cox", "C.--Cox"),
        ("crossed, Satterthwaite", "Satterth."),
    ):
        shares = [
            only(at, "rate 0.05", method=method, n_a=n, ratio=ratio) for n in sizes for ratio in ratios
        ]
        rows.append([title, *(rate(share, 2) for share in shares)])
    head = [
        spanning([(f"$n={n}$", 3) for n in sizes]),
        r"$R/D$ & " + " & ".join(short(r) for _ in sizes for r in ratios) + r" \\",
    ]
    return tabular("l" + "r" * 9, head, rows)


def looking(sources: Sources) -> str:
    """Runs and power of adaptive replication."""
    powers = where(sources.looks, part="power", alpha=0.05)
    rows = []
    for h in sorted(set(powers["h"])):
        for ratio in sorted(set(powers["ratio"])):
            row = [short(h), short(ratio)]
            for shift in ("0", "3", "5"):
                at = where(powers, h=h, ratio=ratio, shift=shift)
                row.append(f"{at['runs_used'].mean():.1f}")
                row.append(percent(at["saved"].mean()))
                if shift == "3":
                    row += [rate(at["rule"].mean(), 2), rate(at["always"].mean(), 2)]
            rows.append(row)
    most = looks().SCHEDULE[-1]
    head = [
        r"& & \multicolumn{2}{c}{no difference} & \multicolumn{4}{c}{3 sd} & "
        r"\multicolumn{2}{c}{5 sd} \\"
        r" \cmidrule(lr){3-4}\cmidrule(lr){5-8}\cmidrule(lr){9-10}",
        rf"$h$ & ratio & runs & saved & runs & saved & rule & {most} & runs & saved \\",
    ]
    return tabular("r" * 10, head, rows)


def cost(sources: Sources) -> str:
    """CPU time of n runs, and what they detect."""
    spent = [costs.cost(sources, name) for name in ("clark2011", "fu2016")]
    found = [costs.detectable(sources, name) for name in EXPERIMENTS]
    pairs = [costs.pair(sources, name).iloc[0] for name in EXPERIMENTS]
    rows = []
    for n in (1, *costs.SIZES):
        row = [str(n), *(f"{c.system(n):.0f}" for c in spent)]
        rows.append(row + [plain(d[n]) if n in d else "--" for d in found])
    names = " & ".join(rf"\test{{{p['a']}}}" for p in pairs)
    others = " & ".join(rf"\test{{{p['b']}}}" for p in pairs)
    head = [
        spanning([("CPU s", 2), ("detectable BLEU", 3)]),
        rf"$n$ & Clark & Fu & {names} \\ & & & {others} \\",
    ]
    return tabular("rrrrrr", head, rows)


KINDS = {"normal": "normal", "exponential": "exponential", "t3": "$t$, 3 df", "bad": "1 bad in 5"}


def beyond(sources: Sources) -> str:
    """Runs that are not normal."""
    at = where(sources.gate, metric="mean", null="next", shift=0, ratio=10, method="crossed")
    at = at[at["interaction"].isna() & (at["systems"] == 2)]
    sizes = ((3, 3), (5, 5), (10, 10), (3, 30))
    rows = []
    for kind, title in KINDS.items():
        for noise in ("equal", "A"):
            segments = 0 if kind == "normal" else 100
            own = where(at, runs=kind, noise=noise, segments=segments)
            cells = [where(own, n_a=a, n_b=b) for a, b in sizes]
            row = [title, "both" if noise == "equal" else "A"]
            for cell in cells:
                assert len(cell) == 1
                one = cell.iloc[0]
                row.append(bold(rate(one["rate 0.05"]), above(one)))
            rows.append(row)
    names = " & ".join(f"{a} v.\\ {b}" for a, b in sizes)
    head = [rf"runs & vary in & {names} \\"]
    return tabular("llrrrr", head, rows)


def above(cell: pd.Series) -> bool:
    """The rule of the gate, for a cell that is not gated."""
    from paper.type_i_error.sources import study

    return study().verdict(int(cell["at 0.05"]), int(cell["trials"]), 0.05) == "fail"


TABLES: dict[str, Callable[[Sources], str]] = {
    "table-real": real,
    "table-gate": gate,
    "table-suprema": suprema,
    "table-power": power,
    "table-looks": looking,
    "table-cost": cost,
    "table-beyond": beyond,
}
