"""The answer is one: terminal, page, picture, JSON, Python, Parquet and gate agree to the last digit."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import replitune as library
from replitune.report.page_numbers import differences_of, numbers, segment_differences
from replitune.report.report import ComparisonReport
from replitune.results.answer import Answer
from replitune.results.decision import decide
from replitune.results.summary import Summary
from support import ROOT, Ran, validate

WORDS = np.array(["the", "a", "cat", "dog", "sat", "ran", "on", "by", "mat", "road"])
SYSTEMS = {"Übergröße": (0.2, 4), "Система": (0.24, 4), "plain": (0.4, 3)}
METRICS = ["bleu", "ter", "length"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Path]]]:
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(5)
    lines = [rng.choice(WORDS, 12) for _ in range(50)]

    def write(name: str, rate: float) -> Path:
        path = folder / name
        spoilt = [np.where(rng.random(12) < rate, rng.choice(WORDS, 12), line) for line in lines]
        path.write_text("".join(" ".join(line) + "\n" for line in spoilt), "utf-8")
        return path

    systems = {
        name: [write(f"{k}.{run}.txt", rate) for run in range(n)]
        for k, (name, (rate, n)) in enumerate(SYSTEMS.items())
    }
    return write("ref.txt", 0.0), systems


@pytest.fixture(scope="module")
def report(texts: tuple[Path, dict[str, list[Path]]]) -> ComparisonReport:
    refs, systems = texts
    return library.compare(refs, systems, METRICS, methods=["crossed"], samples=99, margin={"bleu": 30.0})


@pytest.fixture(scope="module")
def page(report: ComparisonReport, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    report.write_html(path)
    return html.unescape(path.read_text("utf-8"))


def test_the_command_writes_what_python_says(
    report: ComparisonReport,
    texts: tuple[Path, dict[str, list[Path]]],
    replitune: Callable[..., Ran],
    tmp_path: Path,
):
    refs, systems = texts
    given: list[Any] = []
    for name, paths in systems.items():
        given += ["--system", f"{name}={paths[0]}", *paths[1:]]
    asked = ["--methods", "crossed", "--samples", 99, "--margin", "bleu=30", "--json", tmp_path / "a.json"]
    ran = replitune("compare", "--refs", refs, *given, "--metrics", *METRICS, *asked)
    assert ran.code == 0, ran.err
    assert ran.out == f"{report}\n"
    said = json.loads((tmp_path / "a.json").read_text("utf-8"))
    validate(said)
    command = said["summary"]["provenance"].pop("command")
    assert command.startswith("replitune compare --refs ")
    here = json.loads(json.dumps(report.to_json()))
    assert here["summary"]["provenance"].pop("command") == "", "of Python"
    assert said == here
    assert msgspec.convert(said["answers"], list[Answer]) == report.answers()
    assert msgspec.convert(said["summary"], Summary) == report.summary


def test_every_field_of_the_schema_is_told_where_people_look(report: ComparisonReport, page: str):
    """The fields of the schema one by one: each is in a text that is in terminal and page, or
    another of them has it in words."""
    schema = json.loads((ROOT / "docs" / "answer.schema.json").read_text("utf-8"))
    fields = set(schema["$defs"]["Answer"]["properties"])
    assert fields == {*Answer.__struct_fields__}
    printed = " ".join(str(report).split())
    for cell in report.results:
        for one in cell.answers:
            texts = {
                "sentence": [one.sentence],
                "detail": [one.detail],
                "more": [*one.more],
                "trust": [caveat.sentence for caveat in one.grave],
                "size_text": [one.size_text] if one.ahead else [],
                "interval_text": [one.interval_text],
                "unit": [one.unit],
                "speaks_of": [one.speaks_of],
                "interval": [one.interval or ""],
                "method": [one.method],
            }
            for name, said in texts.items():
                for text in said:
                    assert text in page, (name, text)
                    assert " ".join(text.split()) in printed, (name, text)
            assert one.by_text in page
            assert (
                f"{one.ahead or one.b} over {one.behind or one.a} {one.size:.{cell.decimals}f}" in printed
            )
            assert one.interval_text in one.by_text
            assert one.size_text in one.sentence or one.ahead is None
            told = {"ahead", "behind", "a", "b", "low", "high", "size", "p", "margin", "testset", "metric"}
            told |= {"state", "holds", "scope", "doubt", "counts", "next", "step", "by_text", *texts}
            assert told == fields
    headline = report.summary.headlines[0].sentence
    assert headline in page
    assert headline in printed
    assert report.summary.counts.partition(", ")[2] in page, "how many systems is said before"
    assert report.summary.next in page


def test_the_page_tells_of_the_pairs_what_the_answers_say(report: ComparisonReport):
    cells = numbers(report.material, differences_of(report.material))["cells"]
    assert len(cells) == len(report.results)
    for drawn, cell in zip(cells, report.results, strict=True):
        names = [system["name"] for system in drawn["systems"]]
        assert len(drawn["pairs"]) == len(cell.answers) == 3
        for pair, one in zip(drawn["pairs"], cell.answers, strict=True):
            assert (names[pair[0]], names[pair[1]]) == (one.a, one.b)
            assert pair[2] == one.by_text


def test_the_page_is_given_how_many_segments_are_better(report: ComparisonReport):
    found = numbers(report.material, differences_of(report.material))
    (why,) = report.material.why
    scores = found["why"][why.testset]["differences"]
    for metric, means in why.means.items():
        pairs = list(itertools.combinations(means, 2))
        for (a, b), counted in zip(pairs, scores[metric]["pairs"], strict=True):
            delta = means[b] - means[a]
            expected = [
                int((delta < -1e-9).sum()),
                int((abs(delta) <= 1e-9).sum()),
                int((delta > 1e-9).sum()),
            ]
            assert counted == expected


def test_files_and_gate_have_the_same(report: ComparisonReport, tmp_path: Path):
    for cell in report.results:
        cell.write(tmp_path)
        said = json.loads((tmp_path / f"{cell.metric}.json").read_text("utf-8"))
        assert msgspec.convert(said["answers"], list[Answer]) == [*cell.answers]
        for row, one in zip(cell.frames()["answers"].to_dict("records"), cell.answers, strict=True):
            assert all(row[name] == getattr(one, name) for name in row)
    first = report.results[0]
    baseline = replace(first, tests=tuple(test for test in first.tests if test.a == "Übergröße"))
    for rule in ("better", "not-worse", "same"):
        rows = decide([baseline], rule).pairs
        assert len(rows) == 2
        for row, one in zip(rows, baseline.answers, strict=True):
            assert row["state"] == one.state
            assert row["ok"] == (rule in one.holds)


def test_segments_that_are_the_same_text_are_equal_by_ter():
    """Two single runs with 60% of their outputs in common: TER divides by other lengths of
    references, and yet what is equal is counted as equal."""
    rng = np.random.default_rng(2)
    refs = [" ".join(rng.choice(WORDS, 5 + i % 23)) for i in range(200)]

    def spoilt() -> list[str]:
        return [
            " ".join(w if rng.random() > 0.3 else str(rng.choice(WORDS)) for w in r.split()) for r in refs
        ]

    a, b = spoilt(), spoilt()
    b = [x if i % 5 < 3 else y for i, (x, y) in enumerate(zip(a, b, strict=True))]
    found = library.compare([refs], {"a": [a], "b": [b]}, ["ter"], samples=19)
    (why,) = found.material.why
    scores, _ = segment_differences(why.means["ter"])
    lower, equal, higher = scores["pairs"][0]
    same = sum(x == y for x, y in zip(a, b, strict=True))
    assert same >= 120
    assert equal >= same
    assert lower + equal + higher == 200
