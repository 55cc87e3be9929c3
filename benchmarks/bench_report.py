"""Measure what the report costs after finished tests; prints a Markdown table.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_report.py [--folder DIR] [--systems 7]
        [--replicas 60] [--segments 3000] [--metrics bleu chrf ter bleu:...]

The experiment is synthetic: every replica of a system takes its output for a segment from a few
corrupted copies of the reference (runs of a tuner, too, often share outputs); everything from scores
to the report is made by the commands of the workflow. With --folder it is kept, and reused by the next
run. The time to the first picture is the least of five openings of the page in headless Chromium, if
there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from browser.chromium import CHROMIUM, Browser
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve

VARIANTS = 8
"""How many different outputs the replicas of one system have for a segment."""
METRICS = ("bleu", "chrf", "ter", "bleu:id=bleu-2,max_ngram_order=2")
METHODS = ("crossed", "clark", "clark-bootstrap", "fu-ar", "fu-bootstrap", "riezler", "graham")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--systems", type=int, default=7)
    parser.add_argument("--replicas", type=int, default=60)
    parser.add_argument("--segments", type=int, default=3000)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        experiment = Experiment(settings(options, folder), results=folder)
        if not (experiment.folder / "done").exists():
            finish(experiment, options.segments)
        seconds, wall, rss = job(experiment, "report")
        figures = len(list((experiment.folder / "figures").glob("*.svg")))
        report = experiment.folder / "report.html"
        print(
            "| systems | replicas | segments | metrics | figures | CPU s | wall s | MB | page MB "
            "| first picture ms |\n|---|---|---|---|---|---|---|---|---|---|"
        )
        print(
            f"| {options.systems} | {options.replicas} | {options.segments:,} "
            f"| {len(experiment.metrics)} | {figures} "
            f"| {seconds:.1f} | {wall:.1f} | {rss:.0f} | {report.stat().st_size / 1e6:.2f} "
            f"| {first_picture(report)} |"
        )


def first_picture(page: Path) -> str:
    if CHROMIUM is None:
        return "no Chromium"
    times = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(Path(profile))
        browser.look(1280)
        for _ in range(5):
            browser.open(page)
            times.append(browser.js("performance.getEntriesByName('first-picture')[0].startTime"))
        browser.close()
    return f"{min(times):.0f}"


def settings(options: argparse.Namespace, folder: Path) -> dict:
    """An experiment with given outputs, where each of three tuners made a third of the replicas."""
    third = options.replicas // 3
    files = {tuner: f"{folder}/{{name}}/{tuner}.{{1..{third}}}.txt" for tuner in ("mert", "mira", "pro")}
    systems = {
        f"s{k}": {
            "backend": "outputs",
            "files": {"test": {t: p.replace("{name}", f"s{k}") for t, p in files.items()}},
        }
        for k in range(options.systems)
    }
    return resolve(
        {
            "experiment": "large",
            "corpus": {"kind": "files", "tests": {"test": {"references": "none"}}},
            "systems": systems,
            "metrics": [metric_entry(word) for word in options.metrics],
            "tests": {"methods": list(METHODS), "samples": 500},
            "studies": {"replication": {"sizes": [1, 3], "samples": 100, "repeats": 50}},
        }
    )


def metric_entry(word: str) -> str | dict:
    """A metric as in an experiment file; `id=` names it."""
    name, _, options = word.partition(":")
    return {"name": name, **dict(o.split("=") for o in options.split(","))} if options else name


def finish(experiment: Experiment, segments: int) -> None:
    """Make the texts, and run the jobs that come before the report."""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(4000)]
    lines = [
        " ".join(words[int(4000 * rng.random() ** 3)] for _ in range(rng.randint(8, 40)))
        for _ in range(segments)
    ]
    corpus = experiment.folder / "corpus" / "test.jsonl"
    corpus.parent.mkdir(parents=True, exist_ok=True)
    with corpus.open("w", encoding="utf-8") as handle:
        for i, line in enumerate(lines):
            row = {"references": [line], "source": line[::-1], "document": f"doc{i // 20}"}
            handle.write(json.dumps(row) + "\n")
    for k, system in enumerate(experiment.systems):
        share = 0.2 + 0.005 * k
        choices = [
            [
                " ".join(w if rng.random() > share else rng.choice(words) for w in line.split())
                for _ in range(VARIANTS)
            ]
            for line in lines
        ]
        decodes = experiment.folder / "decodes" / "test" / system
        decodes.mkdir(parents=True, exist_ok=True)
        for replica in experiment.replicas(system):
            text = "\n".join(rng.choice(of) for of in choices)
            (decodes / f"{replica.id}.txt").write_text(text + "\n", encoding="utf-8")
    account = experiment.folder / "corpus" / "inputs.json"
    account.write_text(json.dumps({"warnings": []}), encoding="utf-8")
    for stage in ("score", "test", "power", "replication"):
        for one in jobs_of(experiment):
            if one.stage == stage:
                job(experiment, stage, **one.names)
    (experiment.folder / "done").touch()


def job(experiment: Experiment, stage: str, **names: str) -> tuple[float, float, float]:
    """What `measured` returns for one job of the workflow."""
    return measured("job", stage, "--settings", experiment.stage(stage, **names).json)


def measured(*arguments: object) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MB of one command."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "replitune", *map(str, arguments)], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"replitune {arguments[0]} failed")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
