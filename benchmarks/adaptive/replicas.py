"""Compare looks at real MERT runs, read in the order of their numbers, with a test of all of them.

    REPLITUNE_DATA=DIR PYTHONPATH=src python benchmarks/adaptive/replicas.py replicas.csv

DIR/multi30k-replicas has 12 runs of dl2 and 16 of dl6, translations of Multi30k's test2016 from
German to English. Rows: dl2 against dl6 by each metric; the same on parts of the test set, and with
an added difference, so that there is more than one verdict; and A/A, where the runs of one system are
dealt to two sides 500 times: how often the rule finds a system different from itself.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from replitune.corpus.testset import TestSet
from replitune.metrics.base import MeanMetric
from replitune.replicas import replica_ids
from replitune.results.in_hand import looks_in_hand, plan_of
from replitune.results.looking import all_looks
from replitune.running.files import atomic_open
from replitune.significance.looks.record import SETTLED
from replitune.significance.looks.settings import LookSettings
from replitune.significance.settings import TestSettings
from replitune.statistics.outputs import read_outputs
from replitune.statistics.scoring import Scorer
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

SEED = 2011
DEALS = 500
METRICS = ("bleu:tokenize=none", "chrf", "ter")
SHIFTS = (0.1, 0.2, 0.3, 0.5, 1.0)
"""Points of mean segment chrF that are added to dl6."""
TESTS = TestSettings(pairs=(("A", "B"),), methods=("crossed",))  # type: ignore[arg-type]
FIELDS = ("study", "metric", "what", "alpha", "used", "of", "settled", "all_settled", "trials")


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        return handle.read().splitlines()


def stores(data: Path) -> dict[str, SegmentStatistics]:
    references = lines(data / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz")
    found = {}
    texts = {
        name: read_outputs(
            sorted((data / "multi30k-replicas").glob(f"{name}.mert-*.test2016.gz")), len(references)
        )
        for name in ("dl2", "dl6")
    }
    for word in METRICS:
        scorer = Scorer(word, TestSet((references,)), "test2016")
        scored = [
            scorer.score(name, replica_ids({"mert": len(outputs)}), outputs)
            for name, outputs in texts.items()
        ]
        found[scorer.metric.id] = scorer.statistics(scored)
    return found


def renamed(system: SystemStatistics, name: str, rows: np.ndarray) -> SystemStatistics:
    ids = tuple(f"mert-{k + 1:03d}" for k in range(len(rows)))
    return SystemStatistics(name, ids, ("mert",) * len(rows), system.statistics[rows])


def pair(store: SegmentStatistics, a: SystemStatistics, b: SystemStatistics) -> SegmentStatistics:
    named = {"A": replace(a, name="A"), "B": replace(b, name="B")}
    return SegmentStatistics(
        store.testset, store.metric, store.signature, named, np.arange(a.segments, dtype=np.int32), None
    )


def row(study: str, metric: str, what: str, store: SegmentStatistics) -> dict[str, object]:
    """The verdict with the runs in the order of their numbers, and with all runs."""
    record = looks_in_hand([store], TESTS, LookSettings())
    used, most = record.runs
    (last,) = record.looks[-1].pairs
    at_all = LookSettings(looks=(max(s.n for s in store.systems.values()),))
    everything = plan_of([store], TESTS, at_all)
    (whole,) = all_looks(everything, [store]).looks[-1].pairs
    return {
        "study": study,
        "metric": metric,
        "what": what,
        "alpha": TESTS.alpha,
        "used": used,
        "of": most,
        "settled": int(last.decision == SETTLED),
        "all_settled": int(whole.decision == SETTLED),
        "trials": 1,
    }


def in_order(found: dict[str, SegmentStatistics]) -> Iterator[dict[str, object]]:
    for id, store in found.items():
        a, b = (renamed(s, s.name, np.arange(s.n)) for s in store.systems.values())
        yield row("in order", id, "dl2, dl6", pair(store, a, b))
        for start in range(0, store.segments, 250):
            part = slice(start, start + 250)
            of_part = [
                SystemStatistics(s.name, s.replicas, s.groups, s.statistics[:, part]) for s in (a, b)
            ]
            yield row("in order", id, f"segments {start} to {start + 249}", pair(store, *of_part))
    store = found["chrf"]
    chrf = [store.metric.score(s.statistics) for s in store.systems.values()]
    for shift in SHIFTS:
        systems = []
        for (name, s), x in zip(store.systems.items(), chrf, strict=True):
            moved = x + (shift if name == "dl6" else 0.0)
            statistics = np.stack([moved, np.ones_like(moved)], axis=-1)
            systems.append(SystemStatistics(name, s.replicas, s.groups, statistics))
        means = SegmentStatistics(store.testset, MeanMetric("score"), "", {}, store.documents, None)
        yield row("in order", "mean segment chrf", f"dl6 + {shift:g}", pair(means, *systems))


def dealt(found: dict[str, SegmentStatistics]) -> Iterator[dict[str, object]]:
    """The rule, and the test of all runs, on the same deals."""
    for id, store in found.items():
        for name, system in store.systems.items():
            rng = stream(SEED, "adaptive", "deals", id, name)
            half = system.n // 2
            for alpha in (0.05, 0.01):
                sums = np.zeros(4, int)
                tests = TestSettings(pairs=(("A", "B"),), methods=TESTS.methods, alpha=alpha)
                for _ in range(DEALS):
                    order = rng.permutation(system.n)
                    given = pair(
                        store,
                        renamed(system, "A", order[:half]),
                        renamed(system, "B", order[half : 2 * half]),
                    )
                    record = looks_in_hand([given], tests, LookSettings())
                    whole = all_looks(plan_of([given], tests, LookSettings(looks=(half,))), [given])
                    used, most = record.runs
                    ends = [r.looks[-1].pairs[0].decision == SETTLED for r in (record, whole)]
                    sums += [used, most, *ends]
                yield {
                    "study": "A/A",
                    "metric": id,
                    "what": f"{name}, {half} v {half}",
                    "alpha": alpha,
                    **dict(zip(FIELDS[4:8], sums.tolist(), strict=True)),
                    "trials": DEALS,
                }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    found = stores(Path(os.environ["REPLITUNE_DATA"]))
    rows = []
    for made in (in_order(found), dealt(found)):
        for one in made:
            rows.append(one)
            print(one, flush=True)
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
