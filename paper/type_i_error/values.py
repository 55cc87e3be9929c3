"""Every number in the text, by name, from the CSV files.

Sections are functions of the sources; a name is what \\val{} asks for in paper.tex.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from paper.type_i_error import costs, law
from paper.type_i_error.sources import (
    CLARK,
    EXPERIMENTS,
    FU,
    FU_PAIRS,
    POOLS,
    REPLICAS,
    REPLICATION,
    SYSTEMS,
    Sources,
    looks,
    only,
    study,
    where,
)
from paper.type_i_error.words import count, percent, plain, rate, short

Values = dict[str, str]
METRICS = ("bleu", "ter", "chrf")
LEVEL = 0.05
"""The level of rates in the text, where no other is named."""
POOLED = ("lexro", "distance")
"""The pools of real runs that the text names."""
SHARE = 0.4
"""E / (D + E) of the looks whose saving the text has."""


def definitions(sources: Sources) -> Values:
    """What was fixed before the runs."""
    limits, looking = study().LIMITS, looks()
    return {
        "limit05": short(limits[0.05]),
        "limit01": short(limits[0.01]),
        "looks.limit05": short(looking.LIMITS["level"][0]),
        "looks.limit01": short(looking.LIMITS["level"][1]),
        "looks.most": str(looking.SCHEDULE[-1]),
        "looks.doubt": short(looking.RULE.doubt),
        "looks.futility": short(looking.RULE.futility),
        "looks.planned": count(looking.TRIALS),
        "looks.h": short(SHARE),
        "looks.schedule": ", ".join(map(str, looking.SCHEDULE[:-1])) + f" and {looking.SCHEDULE[-1]}",
    }


def real(sources: Sources) -> Values:
    """A/A and coin flips on two pools of runs, and A/A on two older ones."""
    found: Values = {}
    pools = where(sources.csv(POOLS), metric="bleu", method="crossed").iloc[0]
    sizes = {pools["a"]: pools["n_a"], pools["b"]: pools["n_b"]}
    assert {*sizes} == {*POOLED}, f"the text has the pools {POOLED}, {POOLS} has {[*sizes]}"
    for name in POOLED:
        found[f"pool.{name}"] = count(sizes[name])
    found["pool.segments"] = count(pools["segments"])
    systems = sources.csv(SYSTEMS)
    for metric in METRICS:
        spread = only(systems, "s_test", metric=metric, system=POOLED[0])
        found[f"pool.stest.{metric}"] = rate(spread, 2)
        own_error = only(systems, "s_sel", metric=metric, system=POOLED[0])
        found[f"pool.ssel.{metric}"] = rate(own_error, 2)
    own = where(sources.real, alpha=LEVEL, study="A/A", pool="all")
    for name, method in (("one", "riezler-one-run"), ("clark", "clark")):
        for metric in METRICS:
            rates = where(own, method=method, metric=metric)["rate"]
            found[f"aa.{name}.{metric}.least"] = rate(rates.min())
            found[f"aa.{name}.{metric}.most"] = rate(rates.max())
    clark = where(own, method="clark")["rate"]
    found["aa.clark.least"], found["aa.clark.most"] = rate(clark.min(), 2), rate(clark.max(), 2)
    found["aa.trials"] = count(own["trials"].max())
    each = where(sources.real, alpha=LEVEL, study="A/A", method="crossed")
    found["aa.crossed.most"] = rate(each["rate"].max())
    coin = where(sources.real, alpha=LEVEL, study="coin flip", method="crossed")
    found["coin.crossed.most"] = rate(coin["rate"].max())
    found["coin.trials"] = count(coin["trials"].max())
    draws = where(sources.csv(REPLICAS), alpha=LEVEL, study="A/A", method="clark")
    found["draws.trials"] = count(where(draws, pool=["dl6", "dl2"])["trials"].max())
    for pool in ("dl6", "dl2"):
        rates = where(draws, pool=pool)["rate"]
        found[f"draws.{pool}.least"] = rate(rates.min())
        found[f"draws.{pool}.most"] = rate(rates.max())
    return found


def heads(sources: Sources) -> Values:
    """Other programs on the same splits."""
    names = {
        "bootstrap": "sacrebleu --paired-bs",
        "ar": "sacrebleu --paired-ar",
        "comparemt": "compare-mt",
        "clark": "replitune, texts, clark",
        "crossed": "replitune, texts",
        "evalstats": "evalstats",
        "evalsig": "evalsig",
        "scores": "replitune, scores",
    }
    p = sources.splits
    found = {f"heads.{name}": count((p[column] < LEVEL).sum()) for name, column in names.items()}
    return found | {"heads.splits": count(len(p))}


def clarks_law(sources: Sources) -> Values:
    """`clark` in the cells of the equation."""
    cells = law.cells(sources)
    found = {
        "law.cells": count(len(cells)),
        "law.worst.sd": f"{cells['distance'].max():.1f}",
        "law.worst.gap": rate((cells["found"] - cells["law"]).abs().max()),
    }
    following = where(cells, null="next")
    for n in (3, 5):
        found[f"law.free.{n}"] = rate(only(following, "found", n_a=n, ratio=0))
    for n in (3, 5, 10, 20):
        found[f"law.one.{n}"] = rate(only(following, "found", n_a=n, ratio=1, segments=0))
    return found


def gate(sources: Sources) -> Values:
    """Cells and worst rates."""
    judged = sources.judged
    own = where(judged, method="crossed")
    keys = [c for c in sources.gate.columns if c not in ("method", "trials")]
    keys = keys[: keys.index("spread") + 1]
    every = sources.gate[keys].drop_duplicates()
    ratios = own["ratio"]
    trials = sources.gate["trials"]
    resampled = where(sources.gate, method="clark")
    satterthwaite = where(judged, method="crossed, Satterthwaite")
    failed = (satterthwaite[["gate 0.05", "gate 0.01"]] == "fail").sum().sum()
    following = where(
        sources.plain, metric="mean", null="next", noise="equal", shift=0, ratio=1, segments=0
    )
    found = {
        "gate.all": count(len(every)),
        "gate.crossed.cells": count(len(own)),
        "gate.crossed.worst05": rate(own["rate 0.05"].max(), 4),
        "gate.crossed.worst01": rate(own["rate 0.01"].max(), 4),
        "gate.ratio.least": short(ratios.min()),
        "gate.ratio.most": short(ratios.max()),
        "gate.trials.most": count(trials.max()),
        "gate.trials.resampled": count(resampled["trials"].max()),
        "gate.trials.bleu": count(resampled["trials"].min()),
        "gate.satterthwaite.failed": count(failed),
        "gate.satterthwaite.of": count(2 * len(satterthwaite)),
    }
    for n in (5, 10, 20):
        at = where(following, method="replica-permutation", n_a=n, n_b=n)
        found[f"next.permutation.{n}"] = rate(only(at, "rate 0.05"))
    for n in (3, 5):
        at = where(judged, method="multi-bootstrap", n_a=n, n_b=n)
        found[f"multi.{n}"] = rate(at["rate 0.05"].max())
    return found


SUPREMA_NAMES = {"gross": "gross", "net": "net", "cc": "Cochran-Cox", "satt": "Satterthwaite"}


def two_runs(found: pd.DataFrame) -> pd.Series:
    """Designs with two runs in a stratum."""
    return found["design"].str.match(r"2 v|.* x 2$")


def suprema(sources: Sources) -> Values:
    """The search between the cells."""
    searched = sources.suprema
    two = two_runs(searched)
    found = {
        "suprema.ratio.most": short(searched["ratio"].max()),
        "suprema.draws": count(searched["draws"].max()),
    }
    documents = searched["design"].str.extract(r"nu_seg (\d+)")[0].dropna().astype(int) + 1
    found["suprema.documents.least"] = count(documents.min())
    found["suprema.documents.most"] = count(documents.max())
    for digits, alpha in (("05", 0.05), ("01", 0.01)):
        for name, value in SUPREMA_NAMES.items():
            at = where(searched[~two], critical_value=value, alpha=alpha)
            found[f"suprema.{name}.worst{digits}"] = rate(at["level"].max())
        at = where(searched[two], critical_value="net", alpha=alpha)
        found[f"suprema.two{digits}"] = rate(at["level"].max())
    return found


def power(sources: Sources) -> Values:
    """Against a difference of three standard deviations."""
    at = where(sources.plain, metric="mean", null="next", shift=3, segments=0, noise="equal")
    found = {}
    for name, method in (("net", "crossed"), ("cc", "crossed, Cochran-Cox")):
        for n, ratio in ((3, 1), (5, 1), (10, 1), (20, 1), (3, 10)):
            if name == "cc" and ratio == 1:
                continue
            share = only(at, "rate 0.05", method=method, n_a=n, ratio=ratio)
            found[f"power.{name}.{n}.{ratio}"] = rate(share, 2)
    return found


def scope(sources: Sources) -> Values:
    """Narrower questions."""
    found = {}
    runs = where(sources.judged, method="crossed:scope=runs")
    found["scope.runs.worst05"] = rate(runs["rate 0.05"].max())
    this = where(sources.plain, metric="mean", null="this", shift=3, segments=0)
    for n in (3, 5, 10):
        methods = {"runs": "crossed:scope=runs", "permutation": "replica-permutation"}
        for name, method in methods.items():
            share = only(this, "rate 0.05", method=method, n_a=n)
            found[f"scope.{name}.{n}"] = rate(share, 2)
    free = where(sources.gate, metric="mean", null="next", ratio=0, segments=0, systems=2, n_a=3)
    segments = where(free, method="crossed:scope=segments")
    found["scope.segments.3"] = rate(where(segments, shift=3)["rate 0.05"].min(), 2)
    found["scope.segments.level"] = rate(where(segments, shift=0)["rate 0.05"].max())
    both = where(free, method="crossed", shift=3)["rate 0.05"]
    found["scope.both.low"], found["scope.both.high"] = rate(both.min(), 2), rate(both.max(), 2)
    wrong = where(sources.plain, metric="mean", null="next", ratio=1, shift=0, segments=0, noise="equal")
    for n in (3, 10):
        at = where(wrong, method="crossed:scope=segments", n_a=n, n_b=n)
        found[f"scope.wrong.{n}"] = rate(only(at, "rate 0.05"))
    return found


def seven(sources: Sources) -> Values:
    """The systems after Fu et al."""
    p = where(sources.csv(FU), metric="bleu")
    sizes = where(sources.csv(FU_PAIRS), metric="bleu", method="crossed").iloc[0]
    found = {
        f"fu.{name}": count((p[method] <= LEVEL).sum())
        for name, method in (
            ("clark", "clark"),
            ("permutation", "replica-permutation"),
            ("crossed", "crossed"),
            ("riezler", "riezler"),
        )
    }
    return found | {
        "fu.pairs": count(len(p)),
        "fu.runs": count(sizes["n_a"]),
        "fu.segments": count(sizes["segments"]),
    }


def pair(sources: Sources) -> Values:
    """The first pair after Clark et al., by BLEU, and small experiments with its runs."""
    p = where(sources.csv(CLARK), metric="bleu")
    first = p.iloc[0]
    drawn = where(sources.csv(REPLICATION), metric="bleu")
    drawn = drawn[drawn["repeats"].notna()]
    found = {
        f"clark.runs{number}": count(where(drawn, a=row.a, b=row.b)["pool_a"].iloc[0])
        for number, row in enumerate(p.itertuples(), start=1)
    }
    own = where(drawn, a=first["a"], b=first["b"])
    found["pair.delta"] = plain(abs(first["delta"]))
    found["pair.p"] = rate(first["crossed"])
    found["pair.repeats"] = count(own["repeats"].max())
    for n in (3, 5, 10):
        for method in ("crossed", "clark"):
            share = only(own, "significant", method=method, n=n)
            found[f"pair.{method}.{n}"] = percent(share)
    return found


def looking(sources: Sources) -> Values:
    """Adaptive replication."""
    module = looks()
    at = where(sources.looks, alpha=LEVEL)
    level, strict = (where(sources.looks, part="level", alpha=alpha)["rule"] for alpha in (0.05, 0.01))
    powers = where(at, part="power")
    found = {
        "looks.control": rate(where(at, part="level")["every"].max(), 2),
        "looks.level05": rate(level.max()),
        "looks.level01": rate(strict.max()),
        "looks.level.cells": count(len(level)),
        "looks.trials": count(where(at, part="level")["trials"].max()),
        "looks.family": rate(where(at, part="family")["rule"].max()),
        "looks.loss": rate((powers["always"] - powers["rule"])[powers["shift"] != "0"].max(), 2),
        "looks.five": rate(where(powers, shift="5")["rule"].min(), 2),
        "looks.limits": count(len(list(module.limits(rows(sources))))),
    }
    for shift in ("0", "3", "5"):
        saved = where(powers, h=SHARE, shift=shift)["saved"]
        found[f"looks.saved.{shift}"] = percent(saved.mean())
    packed = where(at, part="family", shift=" ".join(f"{x:g}" for x in module.PACKED))
    found["looks.packed"] = f"{packed['runs_used'].iloc[0]:.1f}"
    odd = where(at, part="reported")
    worst = odd.loc[odd["rule"].idxmax()]
    found["looks.exponential"] = rate(worst["rule"])
    found["looks.exponential.always"] = rate(worst["always"])
    order = where(sources.looks_real, study="in order")
    found["looks.same"] = count((order["settled"] == order["all_settled"]).sum())
    found["looks.verdicts"] = count(len(order))
    found["looks.used"], found["looks.of"] = count(order["used"].sum()), count(order["of"].sum())
    return found


def rows(sources: Sources) -> list[object]:
    """Of the looks, as their own gate reads them."""
    from paper.type_i_error.sources import LOOKS

    return looks().read(sources.root / LOOKS)


def spending(sources: Sources) -> Values:
    """CPU time, and what it buys."""
    found: Values = {}
    for name in ("fu2016", "clark2011"):
        cost = costs.cost(sources, name)
        found[f"cost.share.{name}"] = percent(cost.share("tune", "decode"))
        found[f"cost.test.{name}"] = rf"{100 * cost.share('test'):.2f}\%"
    for name in EXPERIMENTS:
        cost = costs.cost(sources, name)
        found[f"cost.five.{name}"] = f"{cost.system(5) / cost.system(1):.1f}"
    fu = costs.cost(sources, "fu2016")
    found["cost.twenty.fu2016"] = f"{fu.system(20) / fu.system(5):.1f}"
    found["cost.power"] = short(float(costs.pair(sources, "fu2016")["power"].iloc[0]))
    for name in EXPERIMENTS:
        detectable = costs.detectable(sources, name)
        found[f"cost.segments.{name}"] = count(costs.pair(sources, name)["segments"].iloc[0])
        found[f"cost.gain.{name}"] = percent(1 - detectable[5] / detectable[3])
        found[f"cost.more.{name}"] = percent(1 - detectable[20] / detectable[5])
    return found


def beyond(sources: Sources) -> Values:
    """Where the gate ends."""
    crossed = where(sources.gate, method="crossed", shift=0)
    found = {}
    for kind in ("bad", "exponential"):
        found[f"beyond.{kind}.worst"] = rate(where(crossed, runs=kind)["rate 0.05"].max())
    both = where(crossed, runs=["bad", "exponential", "t3"], noise="equal")
    found["beyond.unequal"] = rate(both[both["n_a"] != both["n_b"]]["rate 0.05"].max())
    at = where(sources.gate, runs="bad", noise="A", ratio=10, n_a=5, shift=0)
    at = at.set_index("method")["at 0.05"]
    found["beyond.bad.ahead"] = percent(at["crossed, A ahead"] / at["crossed"])
    found["beyond.noted"] = percent(at["crossed, note unstable-run"] / at["crossed"])
    normal = where(
        sources.plain,
        metric="mean",
        null="next",
        noise="equal",
        ratio=10,
        n_a=5,
        n_b=5,
        shift=0,
        segments=0,
        method="note unstable-run",
    )
    found["beyond.noted.normal"] = percent(only(normal, "rate 0.05"))
    ignored = where(sources.gate, method="crossed:unit=segment", shift=0)
    found["beyond.ignored"] = rate(ignored["rate 0.05"].max())
    return found


SECTIONS: tuple[Callable[[Sources], Values], ...] = (
    definitions,
    real,
    heads,
    clarks_law,
    gate,
    suprema,
    power,
    scope,
    seven,
    pair,
    looking,
    spending,
    beyond,
)


def values(sources: Sources) -> Values:
    """All of them; a name is made once."""
    found: Values = {}
    for section in SECTIONS:
        own = section(sources)
        assert not own.keys() & found.keys(), own.keys() & found.keys()
        found |= own
    return found


def macros(found: Values) -> str:
    """A file for LaTeX: \\val{name}; a name that does not exist is an error there."""
    lines = ["% made by values.py from the CSV files"]
    lines += [rf"\expandafter\def\csname val:{name}\endcsname{{{text}}}" for name, text in found.items()]
    lines.append(
        r"\newcommand{\val}[1]{\ifcsname val:#1\endcsname\csname val:#1\endcsname"
        r"\else\errmessage{no value #1}\fi}"
    )
    return "\n".join(lines) + "\n"
