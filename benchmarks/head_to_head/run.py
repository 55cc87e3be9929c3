"""Compare a system with itself, five runs against five, by five programs; README.md says what is counted.

python benchmarks/head_to_head/run.py --data DIR --peers PYTHON [--splits 200] [--out FILE.csv]
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import replitune
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines

HERE = Path(__file__).resolve().parent
ALPHA = 0.05
RUNS = 5
SEED = 2011
OURS = ("replitune, texts", "replitune, scores", "replitune, texts, clark")
"""With the default test, `crossed`, and with `clark`, which answers multeval's question."""


def texts_of(data: Path) -> dict[str, Any]:
    """The reference, the outputs of every run, and chrF of each segment of each run."""
    reference = read_lines(data / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz")
    names = sorted((data / "multi30k-replicas").glob("dl6.mert-*.test2016.gz"))
    outputs = [read_lines(name) for name in names]
    chrf = get_metric("chrf")
    prepared = chrf.prepare([reference])
    segments = np.arange(len(reference))
    scores = [chrf.score(chrf.segment_statistics(lines, segments, prepared)).tolist() for lines in outputs]
    return {"reference": reference, "outputs": outputs, "scores": scores}


def splits(number: int, runs: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(SEED)
    drawn = (rng.permutation(runs)[: 2 * RUNS].tolist() for _ in range(number))
    return [{"split": i, "a": d[:RUNS], "b": d[RUNS:]} for i, d in enumerate(drawn)]


def ours(texts: dict[str, Any], split: dict[str, Any]) -> dict[str, float]:
    """p of `crossed` on texts and on scores, and of `clark` on texts."""
    systems = {name: [texts["outputs"][run] for run in split[name.lower()]] for name in ("A", "B")}
    report = replitune.compare(
        texts["reference"],
        systems,
        ["bleu:tokenize=none"],
        methods=["crossed", "clark"],
        intervals=[],
        threads=1,
    )
    rows = {row.method: row.p for row in report.results[0].tests}
    arrays = {name: [texts["scores"][run] for run in split[name.lower()]] for name in ("A", "B")}
    given = replitune.test(arrays, methods=["crossed"], intervals=[], threads=1)
    found = given.results[0].tests[0].p
    return dict(zip(OURS, (rows["crossed"], found, rows["clark"]), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--peers", required=True, help="python with the peers")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--out", type=Path, default=HERE / "splits.csv")
    options = parser.parse_args()
    texts = texts_of(options.data)
    drawn = splits(options.splits, len(texts["outputs"]))
    table: dict[int, dict[str, float]] = {split["split"]: {} for split in drawn}
    seconds: dict[str, float] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as handle:
        json.dump(texts, handle)
        handle.flush()
        with subprocess.Popen(
            [options.peers, str(HERE / "peers.py"), handle.name],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
        ) as peers:
            assert peers.stdin is not None
            assert peers.stdout is not None
            peers.stdin.write("".join(json.dumps(split) + "\n" for split in drawn))
            peers.stdin.close()
            for line in peers.stdout:
                said = json.loads(line)
                if "seconds" in said:
                    seconds = said["seconds"]
                else:
                    table[said["split"]][said["program"]] = said["p"]
                    print(line, end="", file=sys.stderr)
        if peers.returncode:
            sys.exit("the peers failed")
    start = time.process_time()
    for split in drawn:
        table[split["split"]] |= ours(texts, split)
    seconds["replitune, all three"] = time.process_time() - start
    programs = list(table[0])
    with open(options.out, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["split", *programs])
        writer.writerows(
            [split, *(f"{row[name]:.4g}" for name in programs)] for split, row in table.items()
        )
    print(f'| program | says "different", of {len(drawn)} |\n| --- | ---: |')
    for name in programs:
        count = sum(row[name] < ALPHA for row in table.values())
        print(f"| {name} | {count} ({100 * count / len(drawn):.0f}%) |")
    print("CPU seconds a split:", {name: round(s / len(drawn), 2) for name, s in seconds.items()})


if __name__ == "__main__":
    main()
