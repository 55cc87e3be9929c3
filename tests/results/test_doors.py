"""One answer at every door: the same p, delta, interval and lead test, whoever asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import replitune as library
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.ledger.verifying import Verification, check_tests
from replitune.report.page_numbers import differences_of, numbers
from replitune.report.report import ComparisonReport
from replitune.results.comparing import compare
from replitune.results.result import Result
from support import Ran

RUNS, SEED, SAMPLES = 4, 7, 99
PAIR = ("new", "base")
"""Not in the order of their names, in which pairs are tested."""

CASES: dict[str, tuple[list[str], str]] = {
    "the kind that leads is not first": (["clark", "crossed:id=main"], "main"),
    "two of this kind": (["crossed:scope=runs,id=here", "crossed"], "here"),
    "none of this kind": (["riezler", "clark"], "riezler"),
    "one-sided": (["crossed:alternative=less"], "crossed"),
    "the other side": (["clark", "crossed:alternative=greater"], "crossed"),
    "paired": (["crossed:paired=true"], "crossed"),
}
"""Tests, and which of them leads."""

Answer = tuple[str, float, float | None, float | None, float | None]
"""The lead test, delta, p and the ends of its interval."""


def texts(folder: Path) -> tuple[Path, dict[str, list[Path]]]:
    """References, and outputs that get some of their words wrong."""
    rng = np.random.default_rng(5)
    words = np.array(["the", "a", "cat", "dog", "sat", "ran", "on", "by", "mat", "road"])
    lines = [rng.choice(words, 12) for _ in range(40)]
    systems: dict[str, list[Path]] = {}
    for system, rate in zip(PAIR, (0.2, 0.24), strict=True):
        systems[system] = []
        for run in range(RUNS):
            spoilt = [np.where(rng.random(12) < rate, rng.choice(words, 12), line) for line in lines]
            systems[system].append(folder / f"{system}.{run}.txt")
            systems[system][-1].write_text("".join(" ".join(line) + "\n" for line in spoilt))
    refs = folder / "refs.txt"
    refs.write_text("".join(" ".join(line) + "\n" for line in lines))
    return refs, systems


class House:
    """The same outputs, by the Python API, by commands, and as an experiment that has scored them."""

    def __init__(self, folder: Path, methods: list[str], replitune: Callable[..., Ran]) -> None:
        self.folder, self.methods, self.replitune = folder, methods, replitune
        self.refs, self.systems = texts(folder)
        self.report: ComparisonReport = library.compare(
            self.refs, self.systems, testset="t", seed=SEED, methods=methods, samples=SAMPLES
        )
        names = {name: [str(path) for path in paths] for name, paths in self.systems.items()}
        settings = resolve(
            {
                "experiment": "x",
                "seed": SEED,
                "corpus": {"kind": "files", "tests": {"t": {"references": str(self.refs)}}},
                "systems": {n: {"backend": "outputs", "files": {"t": p}} for n, p in names.items()},
                "metrics": ["bleu"],
                "tests": {"methods": methods, "samples": SAMPLES, "pairs": [list(PAIR)]},
            }
        )
        ids = {name: {"t": [f"run-{r + 1:03d}" for r in range(RUNS)]} for name in PAIR}
        self.experiment = Experiment(settings, folder, outputs=ids)
        self.report.write_store(self.experiment.folder / "stats" / "t")

    def job(self) -> Result:
        told = self.experiment.stage("test", testset="t", metric="bleu")
        ran = self.replitune("job", "test", "--settings", msgspec.json.encode(told).decode())
        assert ran.code == 0, ran.err
        return Result.read(self.experiment.folder / "tests" / "t", "bleu")


def of_result(result: Result) -> Answer:
    row = result.lead_test(PAIR)
    assert row is not None
    return result.lead_method, row.delta, row.p, row.ci_low, row.ci_high


def of_json(said: Mapping[str, Any]) -> Answer:
    found = said["metrics"]["bleu"]
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"]) == PAIR
    row = pair["methods"][found["lead"]]
    return found["lead"], row["delta"], row["p"], row["ci_low"], row["ci_high"]


def results(house: House) -> Iterator[tuple[str, Answer]]:
    """What each door answers, numbers unrounded."""
    yield "api", of_result(house.report.results[0])
    asked = ["--seed", SEED, "--testset", "t", "--samples", SAMPLES, "--methods", *house.methods]
    given = ["--baseline", f"new={house.systems['new'][0]}", *house.systems["new"][1:]]
    given += ["--system", f"base={house.systems['base'][0]}", *house.systems["base"][1:]]
    file = house.folder / "said.json"
    ran = house.replitune("compare", "--refs", house.refs, *given, *asked, "--json", file)
    assert ran.code == 0, ran.err
    yield "compare", of_json(json.loads(file.read_text()))
    stats = house.experiment.folder / "stats"
    ran = house.replitune("test", stats, "--pairs", ":".join(PAIR), *asked, "--json", file)
    assert ran.code == 0, ran.err
    yield "test", of_json(json.loads(file.read_text()))
    yield "job", of_result(house.job())
    suite = compare(
        house.report.stores, house.report.comparison.settings, testset="t", seed=SEED, suite={"t": 1.0}
    )
    yield "a suite of one", of_result(suite.metrics["bleu"])


@pytest.mark.parametrize(("methods", "lead"), CASES.values(), ids=CASES)
def test_every_door_gives_one_answer(
    tmp_path: Path, replitune: Callable[..., Ran], methods: list[str], lead: str
):
    house = House(tmp_path, methods, replitune)
    answers = dict(results(house))
    (answer,) = set(answers.values())
    assert answer[0] == lead
    if lead != "riezler":
        assert None not in answer
    # words, on the terminal
    (told,) = house.report.answers()
    assert told.method == lead
    printed = " ".join(str(house.report).split())
    assert told.sentence in printed
    assert told.rest in printed
    # the page, and `verify`, which makes the tests again
    (cell,) = numbers(house.report.material, differences_of(house.report.material))["cells"]
    assert [pair[2] for pair in cell["pairs"]] == [told.by_text]
    found = Verification()
    check_tests(house.experiment, "t", "bleu", 1, found)
    assert (found.derived, found.findings) == (2, [])


@pytest.mark.parametrize(
    ("methods", "lead"), [case for case in CASES.values() if case[1] != "riezler"], ids=lambda x: str(x)
)
def test_a_look_at_all_runs_is_the_test(
    tmp_path: Path, replitune: Callable[..., Ran], methods: list[str], lead: str
):
    house = House(tmp_path, methods, replitune)
    answer = of_result(house.report.results[0])
    record = house.report.looks([RUNS])
    (look,) = record.looks
    (row,) = look.pairs
    assert record.plan.method == lead
    assert (row.delta, row.p, row.p_alone) == (answer[1], answer[2], answer[2])
    assert (row.ci_low, row.ci_high) == pytest.approx(answer[3:], rel=1e-12)
