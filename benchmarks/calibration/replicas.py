"""A/A and coin-flip calibration on real MERT replicas (Multi30k, BLEU).

    REPLITUNE_DATA=DIR PYTHONPATH=src python benchmarks/calibration/replicas.py OUT.csv [--trials N]

DIR has multi30k/ and multi30k-replicas/: outputs on test_2016_flickr of two phrase-based systems, `dl6`
and `dl2` (distortion limits 6 and 2), each tuned many times on val.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from replitune.metrics.bleu import Bleu
from replitune.running.files import atomic_open, read_lines
from replitune.significance.studies.calibrate import calibrate, registered
from replitune.statistics.systems import SystemStatistics

METHODS = [
    "riezler",
    "koehn",
    "graham",
    "clark",
    {"name": "clark", "id": "clark-index", "pairing": "index"},
    "clark-bootstrap",
    "fu-ar",
    "fu-bootstrap",
    "replica-permutation",
    "multi-bootstrap",
    "crossed",
    {"name": "riezler", "id": "riezler-one-run", "replica_a": "run-001", "replica_b": "run-001"},
]
"""`riezler-one-run` uses the run that was drawn first, as in a paper with one run; by default, tests of
single replicas use the median replica."""


def read(folder: Path) -> tuple[Bleu, dict[str, SystemStatistics]]:
    """BLEU statistics of all replicas of each system."""
    metric = Bleu(tokenize="none")
    refs = [read_lines(folder / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz")]
    systems = {}
    for name in ("dl6", "dl2"):
        files = sorted((folder / "multi30k-replicas").glob(f"{name}.*.test2016.gz"))
        ids = tuple(file.name.split(".")[1] for file in files)
        z = np.stack([metric.statistics(read_lines(file), refs) for file in files])
        systems[name] = SystemStatistics(name, ids, (None,) * len(ids), z)
        scores = metric.score(systems[name].sums)
        print(f"{name}: {len(files)} replicas, {scores.mean():.2f}, s_test {scores.std(ddof=1):.3f}")
    return metric, systems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--samples", type=int, default=999)
    options = parser.parse_args()
    metric, systems = read(Path(os.environ["REPLITUNE_DATA"]))
    documents = np.arange(next(iter(systems.values())).segments, dtype=np.int32)
    start = time.process_time()
    rows = calibrate(
        metric,
        systems,
        documents,
        registered(METHODS, options.samples),
        ns=(3, 5, 6),
        trials=options.trials,
        seed=2011,
    )
    print(f"{time.process_time() - start:.0f} CPU-s")
    with atomic_open(options.out) as handle:
        writer = csv.DictWriter(handle, fieldnames=list(asdict(rows[0])), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            record = asdict(row)
            for name in ("rate", "low", "high"):
                record[name] = round(record[name], 5)
            writer.writerow(record)


if __name__ == "__main__":
    main()
