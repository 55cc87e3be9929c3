"""Studies in the report: what is printed is what the rows say."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replitune import read
from replitune.meta.human_tests import clopper_pearson
from replitune.meta.rows import MetaRow
from replitune.report import tables_tests
from replitune.report.contents import FIGURES, TABLES, Captions
from replitune.report.material import Material, thresholds
from replitune.results.numbers import interval, p_value, score, signed
from replitune.results.result import Result
from replitune.results.rows import read_rows
from replitune.significance.studies.calibrate import CalibrationRow, wilson
from replitune.significance.studies.power import PowerRow, sentence
from replitune.significance.studies.replication import ReplicationRow
from report.report_models import call, finished_experiment, studied, write_report
from support import Ran

SYSTEMS = {name: [f"mert-{k:03d}" for k in (1, 2, 3, 4)] for name in ("a", "b", "c")}
METHODS = ("crossed", "clark", "clark-bootstrap", "fu-ar", "fu-bootstrap", "riezler", "koehn")


def page_rows(page: str, table: str) -> list[list[str]]:
    body = page.split(f'id="table-{table}"')[1].split("<tbody>")[1].split("</tbody>")[0]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("<tr>")[1:]]
    return [[html.unescape(re.sub(r"<sup>.*?</sup>", "", cell)) for cell in row] for row in cells]


def exact_rows(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{table}.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def material(cell: Result) -> Material:
    return Material("small", 7, 0.05, "pairs", 99, [cell])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    """A folder, its page and the settings of its report; not to be changed by a test."""
    folder = tmp_path_factory.mktemp("studied")
    settings = finished_experiment(call, folder, SYSTEMS, metrics=["bleu", "chrf"], methods=METHODS)
    studied(call, folder, settings)
    return folder, write_report(call, folder, settings), settings


def test_every_study_is_printed_as_its_rows_say(finished: tuple[Path, str, dict[str, Any]]):
    folder, page, _ = finished
    power = read_rows(folder / "studies/power/t1/bleu.parquet", PowerRow)
    plans = list(
        dict.fromkeys((r.a, r.b, r.n_a, r.segments, r.detectable.value, r.needed.value) for r in power)
    )
    printed = page_rows(page, "power")
    assert [row[8] for row in printed] == [score(plan[4]) for plan in plans]
    assert {row[6] for row in printed} == {"–" if r.documents is None else str(r.documents) for r in power}
    assert [row[10] for row in printed] == ["–" if p[5] is None else str(p[5]) for p in plans]
    by_plan = {(r.a, r.b, r.n_a, r.segments): r for r in power}
    for row, plan in zip(printed, plans, strict=True):
        found = by_plan[plan[:4]]
        assert row[9] == interval(found.detectable.low, found.detectable.high)
        high = "any number" if found.needed.high is None else str(found.needed.high)
        assert row[11] == ("–" if found.needed.low is None else f"[{found.needed.low}, {high}]")
    units = {row.unit for row in power}
    assert len(units) == 1
    assert page.count(f"It holds for new {units.pop()}s and new runs.") >= 3, "table and figures"
    own = [row for row in power if row.design]
    assert {(row.n_a, row.n_b, row.segments) for row in own} == {(4, 4, 24)}
    said = {sentence(row, "BLEU") for row in own}
    plain = html.unescape(page.split('id="plans"')[1].split("</section>")[0])
    assert sum(text in plain for text in said) == 1, "one pair speaks for the metric"

    rows = read_rows(folder / "studies/replication/t1/bleu.parquet", ReplicationRow)
    assert {row.n for row in rows} == {1, 3}, "no pool has 50 replicas"
    expected = [
        p_value(row.p) if row.case else f"{p_value(row.p_low)} to {p_value(row.p_high)}" for row in rows
    ]
    printed = page_rows(page, "replication")
    assert [row[6] for row in printed] == expected
    assert [row[5] for row in printed] == [signed(row.delta) for row in rows]
    assert len(rows) == 3 * (3 + 2)
    assert [float(row["p_low"] or -1) for row in exact_rows(folder, "replication")] == [
        -1 if row.p_low is None else row.p_low for row in rows
    ]

    trials = read_rows(folder / "studies/calibrate/t1/bleu.parquet", CalibrationRow)
    printed = page_rows(page, "calibration")
    assert [row[7] for row in printed] == [score(row.rejected / row.trials, 3) for row in trials]
    assert [row[8] for row in printed] == [interval(*wilson(row.rejected, row.trials), 3) for row in trials]

    judged = read_rows(folder / "studies/meta/t1.parquet", MetaRow)
    pairs = [row for row in judged if row.study == "agreement"]
    assert len(pairs) == 2 * 3 * 3  # metrics, tests, levels
    for row, shown in zip(pairs, page_rows(page, "agreement"), strict=True):
        agree = round(row.value * row.n)
        low, high = clopper_pearson(agree, row.n)
        assert shown[4:] == [
            row.human_test,
            f"{row.alpha:g}",
            f"{100 * agree / row.n:.1f}",
            interval(100 * low, 100 * high, 1),
            str(row.n),
        ]
    better = [row for row in judged if row.study == "comparison"]
    assert [row[7] for row in page_rows(page, "metrics")] == [p_value(row.p) for row in better]
    shown = r'id="figure-([^"]+)".*?<figcaption>(.*?)</figcaption>'
    figures = re.findall(shown, page, re.DOTALL)
    assert {name.rpartition(".")[2] for name, _ in figures} == {*FIGURES.names} - {
        "tuners",
        "convergence",
        "looks",
        "runs",
        "comparison",
    }, "one tuner, three systems; the picture of the first screen is there"
    for name, caption in figures:
        assert re.search(r"\d", caption), f"n stands in the caption of {name}"
    assert {path.stem for path in (folder / "tables").glob("*.csv")} == {*TABLES.names} - {
        "suites",
        "looks",
    }


def test_tables_and_figures_say_what_they_are(tmp_path: Path):
    """In the report of the workflow."""
    captions = Captions(tmp_path, read)
    assert list(captions.tables) == TABLES.names
    assert list(captions.figures) == FIGURES.names
    for caption in (*captions.tables.values(), *captions.figures.values()):
        assert caption.endswith(".")
        assert "\n\n" not in caption


def test_overlaps_are_the_same_in_rows_table_and_json(
    finished: tuple[Path, str, dict[str, Any]], replitune: Callable[..., Ran], tmp_path: Path
):
    folder, page, _ = finished
    rows = Result.read(folder / "tests/t1", "bleu").overlaps
    assert {row.method for row in rows} == {"riezler", "clark", "fu"}
    assert all(row.ratio is not None and 0 <= row.ratio <= 1 for row in rows)
    by_pair = {(row.a, row.b, row.method): row.ratio for row in rows}
    bleu = [row for row in page_rows(page, "overlaps") if row[1] == "BLEU"]
    for shown, pair in zip(bleu, [("a", "b"), ("a", "c"), ("b", "c")], strict=True):
        assert shown[3:] == [score(by_pair[(*pair, m)]) for m in ("riezler", "clark", "fu")]
    out = tmp_path / "test.json"
    ran = replitune(
        "test",
        folder / "stats/t1/bleu",
        "--testset",
        "t1",
        "--methods",
        *METHODS,
        "--samples",
        99,
        "--seed",
        7,
        "--json",
        out,
    )
    assert ran.code == 0, ran.err
    for pair in json.loads(out.read_text())["metrics"]["bleu"]["pairs"]:
        for method, ratio in pair["overlaps"].items():
            assert ratio == by_pair[pair["a"], pair["b"], method]


def test_ar_and_bootstrap_that_disagree_are_marked(finished: tuple[Path, str, dict[str, Any]]):
    folder, _, _ = finished
    table = tables_tests.resampling(material(Result.read(folder / "tests/t1", "bleu")))
    marks_of = [[marks for _, marks in row] for row in table.cells]
    assert [row[4:6] for row in table.values[:3]] == [
        ("one run", "riezler"),
        ("all runs (Clark)", "clark"),
        ("test set (Fu)", "fu-ar"),
    ]
    for number, row in enumerate(table.values):
        *_, p_ar, p_bootstrap = row
        marks = marks_of[number][7:9]
        assert [("sign" in m) for m in marks] == [p_ar <= 0.05, p_bootstrap <= 0.05]
        disagree = (p_ar <= 0.05) != (p_bootstrap <= 0.05)
        assert [("odd" in m) for m in marks] == [disagree, disagree]
    assert any("odd" in marks[7] for marks in marks_of), (
        "fu-ar of 4 pairs of runs cannot reach .05, its bootstrap can"
    )


def test_the_difference_that_is_enough_is_interpolated(finished: tuple[Path, str, dict[str, Any]]):
    """Between the last pair above .05 and the first not above, by hand."""
    folder, page, _ = finished
    cell = Result.read(folder / "tests/t1", "bleu")
    fits = thresholds(cell, 0.05, 7)
    assert [fit.method for fit in fits] == list(METHODS)
    shown = {row[2]: row[5] for row in page_rows(page, "thresholds") if row[1] == "BLEU"}
    assert shown == {fit.method: score(fit.crossing) for fit in fits}
    chosen = zip((0.1, 0.3, 0.5), (0.4, 0.2, 0.01), strict=True)
    tests = [
        replace(result, delta=-delta, p=p)
        for result, (delta, p) in zip(cell.tests[:: len(METHODS)], chosen, strict=True)
    ]
    table = tables_tests.thresholds(material(replace(cell, tests=tuple(tests))))
    by_hand = 0.3 + (0.2 - 0.05) / (0.2 - 0.01) * 0.2
    assert table.values[0][5] == pytest.approx(by_hand)
    assert table.cells[0][5][0] == f"{by_hand:.2f}"


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        ({"a": ["seed-001", "seed-002", "seed-003"]}, "differences (one system)"),
        ({"a": ["seed-001"], "b": ["seed-001", "seed-002"]}, "One run of a"),
    ],
    ids=["one system", "one run"],
)
def test_what_studies_need_is_said(replitune: Callable[..., Ran], tmp_path: Path, systems: dict, said: str):
    """One metric, no documents, no dev scores."""
    settings = finished_experiment(
        replitune, tmp_path, systems, metrics=["bleu"], documents=False, methods=["crossed"]
    )
    page = write_report(replitune, tmp_path, settings)
    assert said in page
    lacking = page.split("Not in this report: ")[1].split("</p>")[0]
    assert "power" in lacking
    assert "documents" in lacking
    assert 'id="plans"' not in page
    store = tmp_path / "stats/t1/bleu"
    for study in ("power", "replication"):
        ran = replitune(study, store)
        if len(systems) == 1:
            assert ran.code == 2, ran.out
            assert "no pair of systems with 2 runs each" in ran.err
        else:
            assert ran.code == 2
            assert "1 of a" in ran.err
