from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

from report.report_models import output, references
from support import Ran


@pytest.fixture
def written(replitune: Callable[..., Ran], tmp_path: Path) -> Path:
    """A comparison of two systems, everything written to files."""

    def lines(name: str, text: list[str]) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(text) + "\n", "utf-8")
        return path

    ran = replitune(
        "compare",
        "--refs",
        lines("ref", references()),
        "--baseline",
        *(lines(f"a{r}", output(3, r)) for r in range(3)),
        "--system",
        f"new={lines('b0', output(0, 0))}",
        lines("b1", output(0, 1)),
        "--metrics",
        "bleu:effective_order=true",
        "ter",
        "--samples",
        99,
        "--html",
        tmp_path / "page.html",
        "--latex",
        tmp_path / "t.tex",
        "--figures",
        tmp_path / "figures",
        "--methods-paragraph",
        tmp_path / "methods.txt",
        "--json",
        tmp_path / "c.json",
        "--rank",
        tmp_path / "rank",
        "--sentence-scores",
        tmp_path / "scores",
    )
    assert ran.code == 0, ran.err
    return tmp_path


def tsv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def test_json_page_and_latex_agree_to_the_printed_digit(written: Path):
    said = json.loads((written / "c.json").read_text())
    page = html.unescape((written / "page.html").read_text("utf-8"))
    latex = (written / "t.tex").read_text("utf-8")
    for metric in said["metrics"].values():
        for system in metric["systems"].values():
            printed = f"{system['avg']:.2f} ± {system['s_test']:.2f}"
            assert printed in page
            assert printed.replace("±", "$\\pm$") in latex
        (pair,) = metric["pairs"]
        for method in pair["methods"].values():
            assert f">{abs(method['delta']):.2f}<" in page
            assert f"& {abs(method['delta']):.2f} &" in latex
    for answer in said["answers"]:
        assert answer["sentence"] in page
        assert answer["by_text"] in page
    assert said["summary"]["headlines"][0]["sentence"] in page


def test_sentence_scores_are_sacrebleus(written: Path):
    (name,) = [path.name for path in (written / "scores").iterdir() if "ter" not in path.name]
    found = tsv(written / "scores" / name / "new.tsv")
    for i, (hypothesis, reference) in enumerate(zip(output(0, 1), references(), strict=True)):
        expected = sacrebleu.sentence_bleu(hypothesis, [reference]).score
        assert float(found[i]["run-002"]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "sign"), [("bleu", 1), ("ter", -1)])
def test_rankings_are_in_order_and_complete(written: Path, metric: str, sign: int):
    folder = written / "rank" / metric
    improved = tsv(folder / "new-over-baseline.improved.tsv")
    declined = tsv(folder / "new-over-baseline.declined.tsv")
    up = [sign * float(row["change"]) for row in improved]
    down = [sign * float(row["change"]) for row in declined]
    assert up == sorted(up, reverse=True)
    assert down == sorted(down)
    assert all(x > 0 for x in up)
    assert all(x < 0 for x in down)
    said = json.loads((written / "c.json").read_text())["metrics"][metric]["systems"]
    columns = {name: f"output_{name}_{said[name]['median_replica']}" for name in said}
    numbers = {name: int(said[name]["median_replica"][-3:]) - 1 for name in said}
    segments = [int(row["segment"]) for row in improved + declined]
    assert len(segments) == len(set(segments)) > 10
    for row in improved:
        i = int(row["segment"])
        assert row["reference_1"] == references()[i]
        assert row[columns["new"]] == output(0, numbers["new"])[i]
        assert row[columns["baseline"]] == output(3, numbers["baseline"])[i]
        assert float(row["change"]) == pytest.approx(float(row["new"]) - float(row["baseline"]))


def test_the_page_needs_nothing_from_elsewhere(written: Path):
    page = (written / "page.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", re.sub(r"<svg.*?>", "", page))


def test_figures_are_for_papers(written: Path):
    names = {path.name for path in (written / "figures").iterdir()}
    assert {name.removesuffix("pdf") for name in names if name.endswith(".pdf")} == {
        name.removesuffix("svg") for name in names if name.endswith(".svg")
    }
    assert "testset.bleu.replicas.pdf" in names
    for path in (written / "figures").glob("*.pdf"):
        fonts = set(re.findall(rb"/Subtype /(Type\w+|CIDFontType\w+|TrueType)", path.read_bytes()))
        assert fonts, path.name
        assert b"Type3" not in fonts, path.name


def test_the_methods_paragraph_cites(written: Path):
    text = (written / "methods.txt").read_text("utf-8")
    assert "following Clark et al. (2011)" in text
    assert "nrefs:1" in text
