"""Make the tables of docs/papers-since.md, from the CSV files beside this script, and those of
docs/papers.md, from docs/results.

PYTHONPATH=src python benchmarks/papers/page.py
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable

from shared import HERE, read

from replitune.meta.human_tests import clopper_pearson
from replitune.results.numbers import p_value
from replitune.running.files import atomic_open

DOCS = HERE.parents[1] / "docs"
RESULTS = DOCS / "results"
ALPHAS = ("0.05", "0.01", "0.001")
METHODS = ("koehn", "graham", "riezler")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def share(text: str, digits: int = 3) -> str:
    """A share as text: .052, or 1."""
    said = f"{float(text):.{digits}f}"
    return said[1:] if said.startswith("0") else "1" if float(said) == 1 else said


def result(experiment: str, name: str) -> list[dict[str, str]]:
    with open(RESULTS / experiment / f"{name}.csv", encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def bold_below(value: str, limit: float) -> str:
    return f"**{share(value)}**" if float(value) < limit else share(value)


def bold_above(value: str, limit: float) -> str:
    return f"**{share(value)}**" if float(value) > limit else share(value)


def hagmann() -> str:
    rows = [
        [r["what"], r["of"], "`" + r["model"].replace("|", "\\|") + "`", r["paper"], r["ours"]]
        for r in read("hagmann")
    ]
    return table(["", "contrast", "model or test", "paper", "ours"], rows)


def zmigrod() -> str:
    rows = [
        [
            r["data"],
            f"{int(r['N']):,}",
            f"{float(r['p_exact']):.6g}",
            r["oracle"] or "–",
            f"{float(r['p_sampled']):.4g}",
            f"{float(r['rms_error']):.1e} / {float(r['binomial_error']):.1e}",
            f"{1000 * float(r['seconds_exact']):.2g}",
            f"{1000 * float(r['seconds_sampled']):.2g}",
        ]
        for r in read("zmigrod")
    ]
    head = [
        "scores",
        "N",
        "p, exact",
        "oracle",
        "mean of 20 sampled p",
        "their error: found / binomial",
        "exact, CPU ms",
        "20,000 exchanges, CPU ms",
    ]
    return table(head, rows)


def miller() -> str:
    found = read("miller")
    cells = list(dict.fromkeys((r["texts"], r["icc"]) for r in found))
    lines = []
    for runs in ("1", "3"):
        for method in dict.fromkeys(r["method"] for r in found if r["runs"] == runs):
            said = {
                (r["texts"], r["icc"]): r["rejects"]
                for r in found
                if (r["runs"], r["method"]) == (runs, method)
            }
            one = "1 answer" if runs == "1" else "3 runs"
            lines.append([one, method, *(bold_above(said[cell], 0.06) for cell in cells)])
    return table(["", "test", *(f"{texts}, ICC {float(icc):g}" for texts, icc in cells)], lines)


def errors() -> str:
    found = [r for r in read("miller") if r["runs"] == "1"]
    sizes = {"40 of 10": 10.0, "20 of 20": 20.0}
    lines = []
    for texts, m in sizes.items():
        for icc in ("0.1", "0.3"):
            said = {r["method"]: float(r["se"]) for r in found if (r["texts"], r["icc"]) == (texts, icc)}
            expected = (1 + (m - 1) * float(icc)) ** 0.5
            lines.append([texts, icc.lstrip("0"), f"{1 / said['CLT, naive']:.2f}", f"{expected:.2f}"])
    head = ["texts", "ICC", "true error / naive error", "sqrt(1 + (m - 1) ICC)"]
    return table(head, lines)


def one_system() -> str:
    found = [r for r in read("bowyer") if r["design"] == "one system"]
    return _coverage(found, ("N", "20", "50", "100", "200", "400"))


def two_systems() -> str:
    found = [r for r in read("bowyer") if r["design"] != "one system"]
    return _coverage(found, ("N", "20", "50", "100", "400"))


def _coverage(found: list[dict[str, str]], sizes: tuple[str, ...]) -> str:
    """Coverage by design and method; kinds of scores in the order of the file."""
    kinds = list(dict.fromkeys(r["scores"] for r in found))
    said = {(r["design"], r["method"], r["scores"], r["N"]): r["coverage"] for r in found}
    lines = []
    for design, method in dict.fromkeys((r["design"], r["method"]) for r in found):
        cells = []
        for kind in kinds:
            values = [said.get((design, method, kind, N)) for N in sizes[1:]]
            cells.append(" ".join("–" if v is None else bold_below(v, 0.94) for v in values))
        lines.append([design, method, *(c if set(c) != {"–", " "} else "–" for c in cells)])
    return table(["design", "interval", *kinds], lines)


def kocmi() -> str:
    lines = []
    for r in read("kocmi"):
        whole = (r["people_from"], r["people_to"]) == ("0", "100")
        people = "all" if whole else f"{float(r['people_from']):g}–{float(r['people_to']):g}%"
        ends = f"[{100 * float(r['ci_low']):.0f}, {100 * float(r['ci_high']):.0f}]"
        low, high = (float(r[k]) for k in ("delta_from", "delta_to"))
        of = "" if whole else f"{low:.2f} to {high:.2f}".replace("nan to", "up to")
        lines.append(
            [
                r["metric"],
                people,
                of.replace("to nan", "and more"),
                r["pairs"],
                r["significant"],
                r["significant_experts"],
                f"{100 * float(r['predicted']):.0f}%",
                f"{100 * float(r['experts_agree']):.0f}% {ends}",
            ]
        )
    head = [
        "metric",
        "people notice",
        "difference",
        "pairs",
        "significant by the metric",
        "significant by experts",
        "predicted agreement",
        "experts agree on the sign",
    ]
    return table(head, lines)


def limits() -> str:
    lines = [
        [
            r["metric"],
            r["testset"],
            f"{r['significant']} of {r['pairs']}",
            *(f"{float(r[k]):.2f}" for k in ("smallest_significant", "largest_not", "typical")),
            f"{float(r['people_at_typical']):.0f}%",
            f"{float(r['delta_of_80']):.2f}",
        ]
        for r in read("kocmi-limits")
    ]
    head = [
        "metric",
        "test set",
        "significant",
        "smallest that is",
        "largest that is not",
        "typically from",
        "people notice that",
        "80% notice",
    ]
    return table(head, lines)


def ter() -> str:
    found = read("zmigrod-ter")
    lines = []
    for testset in dict.fromkeys(r["testset"] for r in found):
        some = [r for r in found if r["testset"] == testset]
        exact, sampled = ([float(r[k]) for r in some] for k in ("p_exact", "p_sampled"))
        gaps = [abs(x - y) for x, y in zip(exact, sampled, strict=True)]
        worst = max(
            abs(x - y) / max(float(r["binomial_error"]), 5e-5)
            for x, y, r in zip(exact, sampled, some, strict=True)
        )
        other = sum((x <= 0.05) != (y <= 0.05) for x, y in zip(exact, sampled, strict=True))
        seconds = [sum(float(r[k]) for r in some) for k in ("seconds_exact", "seconds_sampled")]
        lines.append(
            [
                testset,
                str(len(some)),
                f"{min(exact):.2g}",
                f"{max(gaps):.4f}",
                f"{worst:.1f}",
                str(other),
                *(f"{s:.2f}" for s in seconds),
            ]
        )
    head = [
        "TER, test set",
        "pairs",
        "smallest exact p",
        "largest gap",
        "in binomial errors",
        "other decision at .05",
        "exact, CPU s",
        "20,000 exchanges, CPU s",
    ]
    return table(head, lines)


# -- Clark et al. (2011) ------------------------------------------------------------------

CLARK_PRINTED = [
    ["paper, BTEC, Moses", "300", "48.4, 1.6, .2, .5", "63.3, .9, –, .4", "30.2, 1.1, –, .6"],
    ["paper, BTEC, Hiero", "300", "49.9, 1.5, .1, .4", "63.8, .9, –, .5", "28.7, 1.0, –, .2"],
    ["paper, WMT, words", "50", "18.5, .3, .0, .1", "49.0, .2, –, .2", "65.5, .4, –, .3"],
    ["paper, WMT, segmented", "50", "18.7, .3, .0, .2", "50.0, .2, –, .1", "64.9, .4, –, .4"],
]
CASES = ("A's worst, B's best", "A's best, B's worst", "median, median")


def clark_systems() -> str:
    """Table 1."""
    found = {(r["system"], r["metric"]): r for r in result("clark2011", "systems")}
    metrics = list(dict.fromkeys(metric for _, metric in found))
    lines = []
    for system in dict.fromkeys(system for system, _ in found):
        rows = [found[system, metric] for metric in metrics]
        cells = [
            ", ".join([f"{float(r['avg']):.2f}", *(_short(r[k]) for k in ("s_sel", "s_dev", "s_test"))])
            for r in rows
        ]
        lines.append([f"ours, {system}", rows[0]["n"], *cells])
    names = [f"{NAMES[metric]}: Avg, s_sel, s_dev, s_test" for metric in metrics]
    return table(["", "n", *names], CLARK_PRINTED + lines)


NAMES = {"bleu": "BLEU", "meteor": "METEOR", "ter": "TER", "nist": "NIST"}


def clark_luck() -> str:
    """Table 2, and the same of draws of n runs."""
    found = result("clark2011", "replication")
    columns = list(dict.fromkeys((f"{r['a']}/{r['b']}", r["metric"]) for r in found))
    order = list(dict.fromkeys(f"{r['a']}/{r['b']}" for r in found))
    columns.sort(key=lambda column: order.index(column[0]))
    said = {(f"{r['a']}/{r['b']}", r["metric"], r["method"], r["case"], r["n"]): r for r in found}
    lines = []
    for case in CASES:
        rows = [said[(*column, "clark", case, "1")] for column in columns]
        lines.append([case, *(f"{_rough(r['p'])} ({float(r['delta']):+.2f})" for r in rows)])
    for method, label in (("clark", ""), ("crossed", "`crossed`, ")):
        for n in ("1", "3", "5", "10", "50")[method == "crossed" :]:
            rows = [said[(*column, method, "", n)] for column in columns]
            lines.append(
                [
                    f"{label}n = {n}",
                    *(
                        f"{_rough(r['p_low'])} to {_rough(r['p_high'])}; {float(r['significant']):.0%}"
                        for r in rows
                    ),
                ]
            )
    return table(["", *(f"{pair}, {NAMES[metric]}" for pair, metric in columns)], lines)


def _rough(p: str) -> str:
    """In two digits; 1,000 resamples tell no more."""
    value = float(p)
    return p_value(value) if value < 0.1 else _short(p)


# -- Fu et al. (2016) ---------------------------------------------------------------------

FU_INTERVALS = [
    ["paper, TOTAL", "", "", "27.44–28.82", "28.11–28.28", "28.17–28.22"],
    ["paper, BOT", "", "", "27.37–28.74", "27.81–27.99", "27.86–27.93"],
]
FU_PRINTED = {
    ("R1", "R2"): (("Clark", ".077", ".234", ".268", ".291"), ("test set", ".324", ".121", ".719", ".265")),
    ("R1", "ODD"): (
        ("Clark", ".666", ".369", ".001", ".069"),
        ("test set", ".783", ".303", ".005", ".028"),
    ),
    ("R2", "ODD"): (
        ("Clark", ".031", ".199", ".001", ".101"),
        ("test set", ".117", ".082", ".037", ".045"),
    ),
    ("BOTTOM", "EVEN"): (
        ("Clark", ".001", ".115", ".001", ".001"),
        ("test set", ".018", ".006", ".001", ".001"),
    ),
    ("ODD", "EVEN"): (
        ("Clark", ".001", ".001", ".004", ".154"),
        ("test set", ".001", ".001", ".134", ".089"),
    ),
}
"""AR and bootstrap by BLEU, then by NIST."""


def fu_intervals() -> str:
    """Table 7, BLEU."""
    s_test = {(r["system"], r["metric"]): r["s_test"] for r in result("fu2016", "systems")}
    lines = [
        [
            r["system"],
            f"{float(r['avg']):.2f}",
            _short(s_test[r["system"], "bleu"]),
            *(
                "–".join(f"{float(r[f'{kind}_{end}']):.2f}" for end in ("low", "high"))
                for kind in ("riezler", "clark", "fu")
            ),
        ]
        for r in result("fu2016", "intervals")
        if r["metric"] == "bleu"
    ]
    return table(["", "Avg", "s_test", "Riezler", "Clark", "test set"], FU_INTERVALS + lines)


def fu_p() -> str:
    """Table 8: the paper's pairs, and the two that are closest by BLEU."""
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = defaultdict(dict)
    for r in result("fu2016", "p"):
        found[r["a"], r["b"]][r["metric"]] = r
    closest = sorted(found, key=lambda pair: -abs(float(found[pair]["bleu"]["delta"])))
    rest = [pair for pair in closest if pair not in FU_PRINTED][-2:]
    lines = []
    for pair in [*FU_PRINTED, *rest]:
        name = "-".join(pair)
        for i, (unit, *p) in enumerate(FU_PRINTED.get(pair, ())):
            paper = f"{name.replace('BOTTOM', 'BOT')}, paper" if i == 0 else ""
            lines.append([paper, "", unit, p[0], p[1], "", p[2], p[3], ""])
        of = found[pair]
        units = []
        for unit, ar, bootstrap in (
            ("Clark", "clark", "clark-bootstrap"),
            ("test set", "fu-ar", "fu-bootstrap"),
        ):
            tests = (f"{ar}-pooled", f"{bootstrap}-folded", f"{bootstrap}-pooled")
            units.append([unit, *(p_value(float(of[m][test])) for m in ("bleu", "nist") for test in tests)])
        if units[0][1:] == units[1][1:]:
            units = [["both", *units[0][1:]]]
        delta = _short(str(abs(float(of["bleu"]["delta"]))))
        lines += [[name, delta, *units[0]], *(["", "", *unit] for unit in units[1:])]
    head = ["pair", "delta, BLEU", "", "BLEU: AR", "bootstrap, folded", "bootstrap, right"]
    return table([*head, "NIST: AR", "folded", "right"], lines)


# -- Graham (2016) ------------------------------------------------------------------------


def _percent(agree: int, pairs: int) -> str:
    low, high = clopper_pearson(agree, pairs)
    return f"{100 * agree / pairs:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _agreeing(testsets: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Numbers of pairs in agreement by people's test, level, metric and method, over all test sets."""
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for r in result("graham2016", "agreement"):
        if r["testset"] in testsets:
            key = r["human_test"], r["alpha"], r["metric"], r["method"]
            found[key] += round(float(r["agreement"]) * int(r["pairs"]))
    return found


SLIDES = [
    ["slides, .05", "BLEU", "80.3 [68.7, 89.1]", "80.3", "80.3"],
    ["", "NIST", "81.8 [70.4, 90.2]", "81.8", "81.8"],
    ["", "TER", "78.8 [67.0, 87.9]", "78.8", "78.8"],
    ["", "METEOR", "78.8 [67.0, 87.9]", "78.8", "78.8"],
]


def graham_agreement() -> str:
    agree = _agreeing(("en-de", "zh-en"))
    metrics = list(dict.fromkeys(key[2] for key in agree))
    lines = [
        [
            share(alpha, 3).rstrip("0"),
            metric,
            *(_percent(agree["permutation", alpha, metric, method], 56) for method in METHODS),
        ]
        for alpha in ALPHAS
        for metric in metrics
    ]
    return table(["level", "metric", "paired bootstrap", "bootstrap", "AR"], SLIDES + lines)


def graham_human_tests() -> str:
    metrics = list(dict.fromkeys(r["metric"] for r in result("graham2016", "agreement")))
    whole = {
        (r["testset"], r["human_test"], r["metric"]): r
        for r in read("experts")
        if r["alpha"] == "0.05" and r["method"] in ("riezler", "")
    }
    lines = []
    for testset in ("en-de", "en-de-3refs", "zh-en"):
        agree = _agreeing((testset,))
        for test in ("permutation", "signed-rank", "rank-sum"):
            cells = []
            for metric in metrics:
                judged = agree[test, "0.05", metric, "riezler"]
                cells.append(f"{judged} / {whole[testset, test, metric]['agree']}")
            lines.append([testset, test, whole[testset, test, ""]["agree"], *cells])
    return table(["test set", "people's test", "pairs that differ", *metrics], lines)


def graham_correlations() -> str:
    found = {
        (r["testset"], r["metric"], r["level"], r["measure"]): r
        for r in result("graham2016", "correlations")
    }

    def said(*key: str) -> str:
        r = found[key]
        return f"{_short(r['value'])} [{_short(r['ci_low'])}, {_short(r['ci_high'])}]"

    lines = [
        [
            testset,
            metric,
            said(testset, metric, "system", "pearson"),
            _short(found[testset, metric, "", "soft-pairwise-accuracy"]["value"]),
            said(testset, metric, "segment", "pearson"),
            said(testset, metric, "segment", "kendall"),
            said(testset, metric, "average", "kendall"),
        ]
        for testset, metric in dict.fromkeys(key[:2] for key in found)
    ]
    return table(
        [
            "test set",
            "metric",
            "systems: Pearson",
            "SPA",
            "outputs: Pearson",
            "outputs: Kendall",
            "in a segment: Kendall",
        ],
        lines,
    )


def _short(text: str) -> str:
    value = float(text)
    return f"{value + 0.0 if abs(value) >= 0.005 else 0.0:.2f}".replace("0.", ".", 1)


def graham_comparisons() -> str:
    """p of the tests that the first metric correlates better, where its correlation is higher and one of
    the tests is at most .05."""
    found: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    higher = set()
    for r in result("graham2016", "metrics"):
        key = r["level"], r["testset"], r["metric"], r["other"]
        found[key][r["method"]] = r["p"]
        if r["method"] == "williams" and float(r["difference"]) > 0:
            higher.add(key)
    lines = [
        [
            "systems" if level == "system" else "outputs",
            testset,
            f"{metric} > {other}",
            *(p_value(float(p[test])) for test in ("williams", "perm-systems", "perm-both")),
        ]
        for (level, testset, metric, other), p in sorted(found.items(), reverse=True)
        if (level, testset, metric, other) in higher and min(map(float, p.values())) <= 0.05
    ]
    head = ["over", "test set", "metrics", "Williams", "PERM-SYS", "PERM-BOTH"]
    return table(head, lines)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "papers-since.md": {
        "hagmann": hagmann,
        "zmigrod": zmigrod,
        "ter": ter,
        "kocmi": kocmi,
        "limits": limits,
        "miller": miller,
        "errors": errors,
        "one-system": one_system,
        "two-systems": two_systems,
    },
    "papers.md": {
        "clark-systems": clark_systems,
        "clark-luck": clark_luck,
        "fu-intervals": fu_intervals,
        "fu-p": fu_p,
        "agreement": graham_agreement,
        "human-tests": graham_human_tests,
        "correlations": graham_correlations,
        "comparisons": graham_comparisons,
    },
}
"""The functions that make tables, by page and marker."""


def filled(name: str) -> str:
    """The text of a page with its tables made anew."""
    text = (DOCS / name).read_text("utf-8")
    for marker, make in TABLES[name].items():
        start, end = f"<!-- {marker} -->\n", f"<!-- /{marker} -->"
        head, found, rest = text.partition(start)
        assert found, marker
        assert end in rest, marker
        text = f"{head}{start}\n{make()}\n\n{end}{rest.partition(end)[2]}"
    return text


def main() -> None:
    for name in TABLES:
        text = filled(name)
        with atomic_open(DOCS / name) as handle:
            handle.write(text)


if __name__ == "__main__":
    main()
