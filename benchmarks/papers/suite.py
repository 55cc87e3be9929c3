"""The three years of fu2016's test set as a suite: one verdict over test sets, `crossed`.

    python suite.py RESULTS      # results/fu2016

Statistics of segments are taken from its store, so nothing is decoded again. Writes suite.csv: for
each metric and pair, p by year, of the suite, and of the one joined test set.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from shared import write

from replitune.corpus.testset import read_prepared

JOINED = "flickr"
METRICS = ("bleu", "nist")


def parts(results: Path) -> dict[str, list[int]]:
    """Numbers of the segments of each year."""
    found: dict[str, list[int]] = defaultdict(list)
    joined = read_prepared(results / "corpus" / f"{JOINED}.jsonl")
    for number, part in enumerate(joined.parts or []):
        found[part].append(number)
    return found


def split(results: Path, stats: Path) -> None:
    """The store with a test set for each year."""
    for metric in METRICS:
        for path in sorted((results / "stats" / JOINED / metric).glob("*.parquet")):
            table = pq.read_table(path)
            header = json.loads(table.schema.metadata[b"replitune"])
            for name, numbers in parts(results).items():
                first, last = numbers[0], numbers[-1]
                assert numbers == list(range(first, last + 1))
                segment = table["segment"].to_numpy()
                own = table.filter(pa.array((segment >= first) & (segment <= last)))
                at = own.schema.get_field_index("segment")
                moved = pa.array(own["segment"].to_numpy() - first, pa.int32())
                own = own.set_column(at, own.schema.field(at), moved)
                mark = {"replitune": json.dumps({**header, "testset": name})}
                out = stats / name / metric / path.name
                out.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(own.replace_schema_metadata(mark), out)


def tested(stats: Path, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "replitune", "test", str(stats), "--methods", "crossed"]
    command += ["--intervals", "--correction", "none", *options]
    with TemporaryDirectory() as folder:
        subprocess.run([*command, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        found = []
        for metric in METRICS:
            (path,) = Path(folder).rglob(f"{metric}.parquet")
            found += [row | {"metric": metric} for row in pq.read_table(path).to_pylist()]
        return found


def main(results: Path) -> None:
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}

    def keep(found: list[dict[str, Any]], column: str) -> None:
        for row in found:
            key = row["metric"], row["a"], row["b"]
            rows.setdefault(key, dict(zip(("metric", "a", "b"), key, strict=True)))
            rows[key] |= {f"delta {column}": row["delta"], f"p {column}": row["p"]}

    with TemporaryDirectory() as folder:
        split(results, Path(folder))
        for name in parts(results):
            keep(tested(Path(folder) / name), name)
        keep(tested(Path(folder), "--suite"), "suite")
    keep(tested(results / "stats" / JOINED), "joined")
    write("suite", list(rows.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
