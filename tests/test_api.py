"""What programs and notebooks call: the same numbers as the command line, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import replitune as r
from replitune.report.report import ComparisonReport, Rows
from report.report_models import output, references
from support import ROOT, Ran

SYSTEMS = {
    "base": [output(3, 0), output(3, 1), output(3, 2)],
    "new": [output(0, 0), output(0, 1), output(0, 2)],
    "third": [output(2, 0), output(2, 1)],
}
SMALL = {"x": [["a"]], "y": [["a"]]}
METRICS = ["bleu:effective_order=true", "ter", "chrf"]


@pytest.fixture(scope="module")
def report() -> ComparisonReport:
    return r.compare(references(), SYSTEMS, METRICS, baseline="base", samples=99)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same texts as files."""
    (tmp_path / "ref").write_text("\n".join(references()) + "\n")
    for name, runs in SYSTEMS.items():
        for number, lines in enumerate(runs):
            (tmp_path / f"{name}{number}").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_the_numbers_are_those_of_the_command(replitune: Callable[..., Ran], folder: Path):
    """With other names, so that the random streams are the same ones."""
    systems = {"baseline": SYSTEMS["base"], "new": SYSTEMS["new"], "third": SYSTEMS["third"]}
    found = r.compare(references(), systems, METRICS, baseline="baseline", samples=99)
    ran = replitune(
        "compare",
        "--refs",
        folder / "ref",
        "--baseline",
        *(folder / f"base{i}" for i in range(3)),
        "--system",
        *(f"new={folder}/new{i}" for i in range(3)),
        "--system",
        *(f"third={folder}/third{i}" for i in range(2)),
        "--metrics",
        *METRICS,
        "--samples",
        99,
        "--json",
        folder / "c.json",
    )
    assert ran.code == 0, ran.err
    assert ran.out == f"{found}\n"
    written, here = json.loads((folder / "c.json").read_text()), json.loads(json.dumps(found.to_json()))
    assert written["summary"]["provenance"].pop("command").startswith("replitune compare ")
    assert here["summary"]["provenance"].pop("command") == ""
    assert written == here


PROGRAM = """
import json, sys
import numpy as np
import replitune
table = np.load(sys.argv[1])
found = replitune.test(table, samples=9, intervals=[])
print(json.dumps(found.to_json()))
"""


def test_the_threads_of_blas_change_no_digit(tmp_path: Path):
    """numpy was imported long before, with as many threads as it likes."""
    rng = np.random.default_rng(1)
    np.save(tmp_path / "scores.npy", rng.normal(0.7, 0.1, (2, 3, 60_000)))
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, tmp_path / "scores.npy"],
            check=True,
            capture_output=True,
            env={"PATH": "", "OPENBLAS_NUM_THREADS": threads},
            cwd=ROOT / "src",
        ).stdout
        for threads in ("1", "2")
    ]
    assert said[0] == said[1]


def test_files_lists_and_series_are_the_same(report: ComparisonReport, folder: Path):
    paths = {name: [folder / f"{name}{i}" for i in range(len(s))] for name, s in SYSTEMS.items()}
    series = {name: [pd.Series(run) for run in runs] for name, runs in SYSTEMS.items()}
    expected = report.to_json()
    for refs, systems in (
        (folder / "ref", paths),
        (str(folder / "ref"), {name: list(map(str, p)) for name, p in paths.items()}),
        ([folder / "ref"], series),
        ([references()], paths),
        (np.array(references()), series),
    ):
        found = r.compare(refs, systems, METRICS, baseline="base", samples=99, threads=1)
        assert found.to_json() == expected


def test_sentence_scores_given_as_numbers_are_the_metric_that_made_them():
    """Mean of sentence scores, by the table and by hand."""
    systems = {name: runs for name, runs in SYSTEMS.items() if name != "third"}
    texts = r.compare(references(), systems, ["chrf"], samples=99)
    store = texts.stores[0]
    rows = [
        (name, run + 1, i, float(score))
        for name, system in store.systems.items()
        for run, scores in enumerate(store.metric.score(system.statistics))
        for i, score in enumerate(scores)
    ]
    table = pd.DataFrame(rows, columns=["system", "run", "segment", "score"])
    (result,) = r.scores(table, samples=99).results
    for name, summary in result.systems.items():
        expected = table[table.system == name].groupby("run").score.mean()
        assert list(summary.scores.values()) == pytest.approx(expected.tolist())


def test_tables_are_frames_and_texts(report: ComparisonReport):
    overview = report.table()
    frame = overview.to_frame()
    (bleu, *_) = report.results
    assert frame["system"].tolist() == bleu.ranked, "best first"
    assert frame["bleu_avg"].tolist() == sorted((s.avg for s in bleu.systems.values()), reverse=True)
    assert f"{bleu.systems['new'].avg:.{bleu.decimals}f}" in str(overview)
    assert overview.latex() in report.to_latex()
    assert report.to_latex("pairs") == report.table("pairs").latex()
    with pytest.raises(r.ReplituneError, match="did you mean `pairs`"):
        report.table("pair")
    with pytest.raises(r.ReplituneError, match="no rows here"):
        report.table("power")


def test_frames_have_every_row_unrounded(report: ComparisonReport):
    tests = report.to_frame()
    assert len(tests) == 3 * 2 * 2  # metrics, pairs, methods
    row = tests[(tests.metric == "ter") & (tests.b == "new") & (tests.method == "crossed")].iloc[0]
    expected = report.results[1].test(("base", "new"), "crossed")
    assert (row.p, row.delta, row.ci_low) == (expected.p, expected.delta, expected.ci_low)
    assert {*get_args(Rows)} == {*report.results[0].frames()}
    for rows in get_args(Rows):
        assert list(report.to_frame(rows).columns[:2]) == ["testset", "metric"]
    with pytest.raises(r.ReplituneError, match="did you mean 'tests'"):
        report.to_frame("test")


def test_answers_say_what_is_decided(report: ComparisonReport):
    said = {(answer.unit, answer.b): answer for answer in report.answers()}
    assert said["BLEU", "new"].decided
    assert str(said["BLEU", "new"]).startswith("new scored ")
    assert repr(said["BLEU", "new"]).startswith("<Answer, better: new scored ")
    assert len(said) == 6
    assert str(report.summary) in str(report).replace("\n  ", " ")


def test_figures_are_drawn_for_notebooks_and_files(report: ComparisonReport, tmp_path: Path):
    figure = report.plot("replicas", metric="ter")
    assert "TER" in figure.caption
    assert "<svg" in figure._repr_svg_()
    for suffix, begins in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        figure.save(tmp_path / f"f.{suffix}")
        assert (tmp_path / f"f.{suffix}").read_bytes().startswith(begins)
    for wrong in ({"name": "replica"}, {"metric": "blue"}, {"name": "power"}):
        with pytest.raises(r.ReplituneError):
            report.plot(**wrong)
    with pytest.raises(r.ReplituneError, match="svg, png, pdf"):
        figure.save(tmp_path / "f.jpg")


def test_figures_without_matplotlib_say_what_to_install(
    report: ComparisonReport, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert report.plot()._repr_svg_().startswith("<svg")
    with pytest.raises(r.ReplituneError, match=r"\[plots\]"):
        report.plot("replicas")._repr_svg_()


def test_a_notebook_shows_verdicts_and_nothing_from_data_as_html():
    evil = "<script>alert(1)</script>"
    report = r.test({evil: np.eye(3, 20), "b": np.ones((3, 20))}, samples=99)
    shown = report._repr_html_() + report.table()._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "http" not in shown
    assert len(report._repr_html_()) < 9_000, "with the picture"


def test_a_folder_without_results_is_said(tmp_path: Path):
    with pytest.raises(r.ReplituneError, match="no manifest"):
        r.read(tmp_path)
    with pytest.raises(r.ReplituneError, match="no such folder"):
        r.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: r.compare(["a", "b"], {"x": ["a b"], "y": [["a", "b"]]}), "one run of lines is a"),
        (lambda: r.compare(["a", "b"], {"x": [["a", 3.5]], "y": [["a", "b"]]}), "run 1 of x:2"),
        (lambda: r.compare(["a", "b"], {"x": [["a"]], "y": [["a", "b"]]}), "found:    1 lines"),
        (lambda: r.compare(["a"], {"x": [["a\nb"]], "y": [["a"]]}), "a line feed"),
        (lambda: r.compare(["a"], {"x": "file", "y": [["a"]]}), "are not a list"),
        (lambda: r.compare(["a"], SMALL, metrics=["bleu"], margin={"blue": 1.0}), "did you mean bleu?"),
        (lambda: r.compare([], {"x": [["a"]], "y": [["a"]]}), "no segments"),
        (lambda: r.compare(["a"], SMALL, sample=9), "did you mean `samples`"),
        (lambda: r.compare(["a"], SMALL, methods=["clrk"]), "`clark`"),
        (lambda: r.compare(["a"], SMALL, baseline="z"), "no system is called"),
        (lambda: r.compare(["a"], SMALL, baseline="x", pairs="all"), "together"),
    ],
)
def test_mistakes_are_said(call: Callable[[], object], message: str):
    with pytest.raises(r.ReplituneError) as caught:
        call()
    assert message in str(caught.value)


def test_importing_is_light_and_all_names_are_there():
    program = (
        "import sys, time; start = time.process_time(); import replitune;"
        "took = time.process_time() - start;"
        "heavy = {'numpy', 'pandas', 'pyarrow', 'numba', 'matplotlib'} & set(sys.modules);"
        "assert not heavy, heavy; assert set(replitune.__all__) <= set(dir(replitune));"
        "replitune.compare; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="no attribute 'comparr'"):
        r.comparr  # noqa: B018


def test_documents_need_not_follow_each_other():
    """Sorted by document, the same segments give the same numbers."""
    rng = np.random.default_rng(8)
    words = np.array(["the", "a", "cat", "dog", "sat", "ran"])
    refs = [rng.choice(words, 9) for _ in range(60)]
    documents = [f"d{i * 7 % 12}" for i in range(60)]
    systems = {
        name: [[" ".join(np.where(rng.random(9) < rate, "x", line)) for line in refs] for _ in range(3)]
        for name, rate in (("a", 0.2), ("b", 0.3))
    }
    found = []
    for order in (range(60), sorted(range(60), key=documents.__getitem__)):
        report = r.compare(
            [" ".join(refs[i]) for i in order],
            {name: [[run[i] for i in order] for run in runs] for name, runs in systems.items()},
            ["bleu"],
            documents=[documents[i] for i in order],
            methods=["crossed"],
            unit="document",
            intervals=[],
            threads=1,
        )
        (test,) = report.results[0].tests
        assert (test.documents, test.unit) == (12, "document")
        found.append((test.delta, test.p, test.ci_low, test.ci_high))
    assert found[0] == pytest.approx(found[1], rel=1e-9)
