"""What the paper says in words, as conditions on the CSV files. All of them have to hold."""

from __future__ import annotations

from paper.type_i_error import costs, law
from paper.type_i_error.sources import ALPHAS, EXPERIMENTS, SYSTEMS, Sources, looks, study, where
from paper.type_i_error.values import METRICS, rows, two_runs


def failures(sources: Sources, method: str) -> int:
    own = where(sources.judged, method=method)
    assert len(own), method
    return sum(int((own[f"gate {alpha}"] == "fail").sum()) for alpha in ALPHAS)


def gate(sources: Sources) -> dict[str, bool]:
    judged, limits = sources.judged, study().LIMITS
    crossed = where(judged, method="crossed")
    others = set(judged["method"]) - {
        "crossed",
        "crossed, Cochran-Cox",
        "crossed:scope=runs",
        "crossed:scope=segments",
        "evalstats",
    }
    cells = {cell.name for cell in study().cells()}
    keys = list(sources.gate.columns[: sources.gate.columns.get_loc("spread") + 1])
    multi = where(judged, method="multi-bootstrap")
    alike = where(
        sources.plain,
        method="multi-bootstrap",
        noise="equal",
        null="next",
        shift=0,
        metric="mean",
        segments=0,
    )
    alike = alike[(alike["n_a"] == alike["n_b"]) & (alike["ratio"] <= 1) & (alike["n_a"] >= 3)]
    exact = where(
        sources.plain,
        method=["replica-permutation", "fu-ar"],
        noise="equal",
        null="this",
        shift=0,
        metric="mean",
    )
    exact = exact[(exact["n_a"] == exact["n_b"]) & exact["gate 0.05"].notna()]
    return {
        "crossed fails no gated cell": failures(sources, "crossed") == 0,
        "its worst rates are below the limits themselves": all(
            crossed[f"rate {alpha}"].max() <= limits[alpha] for alpha in ALPHAS
        ),
        "Cochran and Cox's value passes, too": failures(sources, "crossed, Cochran-Cox") == 0,
        "scope=runs passes": failures(sources, "crossed:scope=runs") == 0,
        "every other test fails some cell": all(failures(sources, m) > 0 for m in others),
        "all cells of the study are in the file": len(cells) == len(sources.gate[keys].drop_duplicates()),
        "multi-bootstrap is on the safe side where noise is shared and not large": bool(
            (alike["rate 0.05"] <= 0.05).all()
        ),
        "multi-bootstrap is at its worst where one system makes all noise": all(
            where(at, noise="A")["rate 0.05"].max() == at["rate 0.05"].max()
            for at in (where(multi, n_a=n, n_b=n) for n in (3, 5))
        ),
        "tests of whole runs hold where both vary alike": bool(
            (exact["gate 0.05"] == "pass").all() and (exact["gate 0.01"] == "pass").all()
        ),
    }


def theory(sources: Sources) -> dict[str, bool]:
    cells = law.cells(sources)
    free = where(cells, ratio=0, null="next").set_index("n_a")["found"]
    searched = sources.suprema
    three = searched[~two_runs(searched)]
    largest = where(three, alpha=0.05).groupby("critical value")["level"].max()
    at = where(sources.plain, metric="mean", null="next", shift=3, segments=0, noise="equal")
    power = at.pivot_table(index=["n_a", "ratio"], columns="method", values="rate 0.05")
    one = where(cells, ratio=1, null="next", segments=0).set_index("n_a")["found"]
    net = power["crossed"].xs(1, level="ratio")
    return {
        "the law agrees with every cell": bool((cells["distance"] < 3).all()),
        "without any run effect the level of clark rises with n": 0.05 < free[3] < free[5],
        "with one it rises, too": bool(one.sort_index().is_monotonic_increasing),
        "the law holds at one output without run effect": abs(law.level(1, 0, 500, "next") - 0.05) < 1e-9,
        "gross is above net, net hardly above Cochran and Cox": largest["gross"] > largest["net"] + 0.01
        and largest["net"] - largest["Cochran-Cox"] < 0.002,
        "net finds more than Cochran and Cox everywhere": bool(
            (power["crossed"] >= power["crossed, Cochran-Cox"]).all()
        ),
        "most of the price is paid between three runs and five": net[5] - net[3] > net[20] - net[5],
    }


def real(sources: Sources) -> dict[str, bool]:
    own = where(sources.real, alpha=0.05, study="A/A", pool="all")
    one, clark = (where(own, method=m) for m in ("riezler-one-run", "clark"))
    systems = sources.csv(SYSTEMS)
    spread = {m: (of := where(systems, metric=m))["s_test"].sum() / of["s_sel"].sum() for m in METRICS}
    found = {m: where(one, metric=m)["rate"].mean() for m in METRICS}
    both = where(sources.real, alpha=0.05, study=["A/A", "coin flip"])
    return {
        "metrics are in the order of what runs differ by, beside what the test set leaves open": (
            sorted(METRICS, key=spread.__getitem__) == sorted(METRICS, key=found.__getitem__)
        ),
        "clark is above .05 by BLEU and chrF, and not by TER": bool(
            ((clark["ci_low"] > 0.05) == (clark["metric"] != "ter")).all()
        ),
        "clark-bootstrap never rejects in A/A": bool(
            (where(both, study="A/A", method="clark-bootstrap")["rejected"] == 0).all()
        ),
        "crossed is nowhere above .05 by more than chance": bool(
            (where(both, method="crossed")["ci_low"] <= 0.05).all()
        ),
        "no program but crossed is near its level on the splits": all(
            (sources.splits[column] < 0.05).mean() > 0.1
            for column in set(sources.splits) - {"split", "replitune, texts", "replitune, scores"}
        ),
    }


def adaptive(sources: Sources) -> dict[str, bool]:
    verdicts = list(looks().limits(rows(sources)))
    odd = where(sources.looks, part="reported", alpha=0.05)
    return {
        "every limit of the looks holds": all(holds for *_, holds in verdicts),
        "exponential runs make it worse": odd["rule"].max() > odd["always"].max(),
        "packed systems save next to nothing": bool(
            where(sources.looks, part="family", alpha=0.05, shift="0 0 0 3 3 6 10")["saved"].max() < 0.1
        ),
    }


def limits(sources: Sources) -> dict[str, bool]:
    crossed = where(sources.gate, method="crossed", shift=0)
    tails = where(crossed, runs="t3")
    both = where(crossed, noise="equal", runs=["exponential", "t3", "bad"])
    documents = where(crossed, metric="documents")
    five = where(sources.gate, runs="bad", noise="A", ratio=10, n_a=5, shift=0)
    counts = five.set_index("method")["at 0.05"]
    spent = [costs.cost(sources, name) for name in ("clark2011", "fu2016")]
    return {
        "heavy tails alone do not raise the level": bool((tails["rate 0.05"] <= 0.05).all()),
        "the level holds at equal n where both have the same odd distribution": bool(
            (both[both["n_a"] == both["n_b"]]["rate 0.05"] <= 0.05).all()
        ),
        "unequal sizes are 3 against 30": set(
            zip(*(both[both["n_a"] != both["n_b"]][c] for c in ("n_a", "n_b")), strict=True)
        )
        == {(3, 30)},
        "documents as units hold in the cells tried": bool(
            (documents["rate 0.05"] <= study().LIMITS[0.05]).all()
        ),
        "it is the unstable system that is declared better": counts["crossed, A ahead"]
        > 0.9 * counts["crossed"],
        "runs are what is paid for": all(c.share("tune", "decode") > 0.8 for c in spent),
        "the statistics are nearly free": all(c.share("test") < 0.05 for c in spent),
        "more runs detect smaller differences": all(
            list(found.values()) == sorted(found.values(), reverse=True)
            for found in (costs.detectable(sources, name) for name in EXPERIMENTS)
        ),
    }


def claims(sources: Sources) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for part in (gate, theory, real, adaptive, limits):
        found |= {f"{part.__name__}: {said}": bool(true) for said, true in part(sources).items()}
    return found
