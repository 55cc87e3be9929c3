"""A finished experiment in a folder, made by the commands that the workflow calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.cli.main import main
from replitune.replicas import Replica, counts_of
from replitune.significance.registry import TESTS
from support import Ran

SEGMENTS = 24
WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "ran",
    "on",
    "mat",
    "park",
    "it",
    "is",
    "city",
    "sea",
    "book",
    "we",
    "old",
    "bridge",
    "rain",
    "day",
    "long",
]


def call(*arguments: object) -> Ran:
    """`replitune` in this process, where no test captures what it prints."""
    return Ran(main([str(argument) for argument in arguments]), "", "")


def references() -> list[str]:
    generator = random.Random(5)
    return [" ".join(generator.choices(WORDS, k=generator.randint(5, 12))) for _ in range(SEGMENTS)]


def output(system: int, replica: int) -> list[str]:
    """References with words lost; later systems lose more."""
    generator = random.Random(100 * system + replica)
    share = 0.08 + 0.1 * system
    return [
        " ".join(word if generator.random() > share else "x" for word in line.split())
        for line in references()
    ]


def finished_experiment(
    replitune: Callable[..., Any],
    folder: Path,
    systems: Mapping[str, Sequence[str]],
    *,
    metrics: Sequence[str] = ("bleu", "ter:id=ter-norm,normalized=true"),
    methods: Sequence[str] = ("crossed", "clark", "fu-ar"),
    documents: bool = True,
    source: Callable[[int], str] | None = lambda i: f"quelle {i}",
    edit: Callable[[list[str]], list[str]] = lambda lines: lines,
    baseline: str | None = None,
    parts: bool = False,
    corpus_warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Replica ids by system -> results in `folder`; returns what the job of its report is told."""
    refs = edit(references())
    rows: list[dict[str, Any]] = []
    for i, line in enumerate(refs):
        row: dict[str, Any] = {"references": [line]}
        if documents:
            row["document"] = f"d{i // 4}"
        if source:
            row["source"] = source(i)
        if parts:
            row["part"] = "early" if i < 10 else "late"
        rows.append(row)
    (folder / "corpus").mkdir(parents=True)
    account = json.dumps({"warnings": list(corpus_warnings)})
    (folder / "corpus" / "inputs.json").write_text(account, "utf-8")
    corpus = folder / "corpus" / "t1.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    listed = []
    for s, (name, replicas) in enumerate(systems.items()):
        for r, replica in enumerate(replicas):
            path = folder / "decodes" / "t1" / name / f"{replica}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(edit(output(s, r))) + "\n", "utf-8")
            listed.append(f"{name}\t{replica}\t{path}\n")
    (folder / "list").write_text("".join(listed), "utf-8")
    ran = replitune(
        "score",
        "--refs",
        corpus,
        "--hyps-from",
        folder / "list",
        "--metrics",
        *metrics,
        "--testset",
        "t1",
        "--out",
        folder / "stats" / "t1",
    )
    assert ran.code == 0, ran.err
    ids = [metric.partition(":id=")[2].partition(",")[0] or metric for metric in metrics]
    for id in ids:
        ran = replitune(
            "test",
            folder / "stats" / "t1" / id,
            "--testset",
            "t1",
            "--systems",
            *systems,
            "--pairs",
            f"baseline={baseline}" if baseline else "all",
            "--methods",
            *methods,
            "--samples",
            99,
            "--seed",
            7,
            "--out",
            folder / "tests" / "t1",
        )
        assert ran.code == 0, ran.err
    return {
        "folder": str(folder),
        "seed": 7,
        "version": "",
        "systems": {name: counts_of(map(Replica, ids)) for name, ids in systems.items()},
        "decoded": {"t1": list(systems)},
        "derived": [],
        "suites": [],
        "histories": {},
        "trained": False,
        "metrics": ids,
        "studies": {study: [] for study in ("power", "replication", "calibrate")},
        "judged": [],
        "baseline": baseline,
        "methods": [TESTS.entry(word).mapping for word in methods],
        "alpha": 0.05,
        "family": "pairs",
        "samples": 99,
    }


def studied(replitune: Callable[..., Any], folder: Path, settings: dict[str, Any]) -> None:
    """Run every study on the first metric of a finished experiment; `settings` learn of it."""
    id = settings["metrics"][0]
    store = folder / "stats" / "t1" / id
    generator = random.Random(9)
    lines = ["system,segment,score"]
    for shift, name in enumerate(settings["systems"]):
        lines += [f"{name},{i},{generator.gauss(shift, 1)}" for i in range(SEGMENTS)]
    (folder / "human.csv").write_text("\n".join(lines) + "\n", "utf-8")
    small = {
        "power": ["--replicas", 3, 5, "--delta", 2],
        "replication": ["--sizes", 1, 3, 50, "--repeats", 20, "--samples", 99],
        "calibrate": [
            "--sizes",
            1,
            "--trials",
            20,
            "--samples",
            99,
            "--methods",
            "crossed",
            "clark",
            "riezler",
        ],
    }
    for study, words in small.items():
        out = folder / "studies" / study / "t1" / f"{id}.parquet"
        ran = replitune(study, store, "--testset", "t1", *words, "--out", out)
        assert ran.code == 0, ran.err
    ran = replitune(
        "meta",
        folder / "stats" / "t1",
        "--human",
        folder / "human.csv",
        "--samples",
        99,
        "--ci-samples",
        50,
        "--out",
        folder / "studies" / "meta" / "t1.parquet",
    )
    assert ran.code == 0, ran.err
    settings["studies"] = {study: [("t1", id)] for study in small}
    settings["judged"] = ["t1"]


def write_report(replitune: Callable[..., Any], folder: Path, settings: Mapping[str, Any]) -> str:
    """Run the job of the report; returns the page."""
    ran = replitune("job", "report", "--settings", json.dumps(settings))
    assert ran.code == 0, ran.err
    return (folder / "report.html").read_text("utf-8")
