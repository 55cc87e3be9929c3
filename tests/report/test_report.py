from __future__ import annotations

import csv
import hashlib
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

from replitune.report.latex import latex_text
from replitune.results.numbers import interval, p_value, score
from replitune.results.result import Result
from replitune.results.wording import generalises_to
from report.report_models import SEGMENTS, finished_experiment, output, references, write_report
from support import Ran

THREE = {name: ["mert-001", "mert-002", "mert-003"] for name in ("a", "b", "c")}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t" if path.suffix == ".tsv" else ","))


def page_rows(page: str, table: str) -> list[list[str]]:
    """Texts of the cells of one table of the page."""
    body = page.split(f'id="table-{table}"')[1].split("<tbody>")[1].split("</tbody>")[0]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("<tr>")[1:]]
    return [[html.unescape(re.sub(r"<sup>.*?</sup>", "", cell)) for cell in row] for row in cells]


def latex_rows(text: str) -> list[list[str]]:
    body = text.split("\\midrule\n", 1)[1].split("\\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith("\\\\")]
    return [[cell.strip() for cell in line.removesuffix("\\\\").split(" & ")] for line in lines]


def plain(cell: str) -> str:
    """What a LaTeX cell prints, in the characters of the other tables."""
    cell = re.sub(r"\$\^\{\\d?dagger\}\$", "", cell)
    cell = re.sub(r"\\textbf\{(.*)\}", r"\1", cell)
    for code, text in (("$\\pm$", "±"), ("$-$", "−"), ("{[}", "["), ("{]}", "]"), ("\\textless{}", "<")):
        cell = cell.replace(code, text)
    return "–" if cell == "--" else cell


def test_page_tables_and_rows_of_the_tests_agree_to_the_printed_digit(
    replitune: Callable[..., Ran], tmp_path: Path
):
    settings = finished_experiment(replitune, tmp_path, THREE)
    page = write_report(replitune, tmp_path, settings)
    printed = page_rows(page, "pairs")
    expected = []
    for id, name in (("bleu", "BLEU"), ("ter-norm", "TER")):
        cell, sign = Result.read(tmp_path / "tests" / "t1", id), 1 if id == "bleu" else -1
        ahead = {frozenset((one.a, one.b)): one.ahead for one in cell.answers}
        for test in cell.tests:
            r = test.swapped() if ahead[frozenset((test.a, test.b))] == test.a else test
            expected.append(
                [
                    "t1",
                    name,
                    f"{r.b} over {r.a}",
                    r.method,
                    score(sign * r.delta),
                    interval(*sorted(None if x is None else sign * x for x in (r.ci_low, r.ci_high)))
                    if r.ci_low is not None
                    else interval(None, None),
                    p_value(r.p),
                    p_value(r.p_adjusted),
                    generalises_to(r),
                ]
            )
    assert len(expected) == 2 * 3 * 3
    assert printed == expected
    tex = latex_rows((tmp_path / "tables" / "pairs.tex").read_text("utf-8"))
    same = [[cell.replace("−", "-") for cell in row[1:]] for row in expected]
    assert [[plain(cell).replace("−", "-") for cell in row] for row in tex] == same, "t1 is in the caption"
    exact = rows(tmp_path / "tables" / "pairs.csv")
    assert [score(float(row["by"])) for row in exact] == [row[4] for row in expected]
    bleu = Result.read(tmp_path / "tests" / "t1", "bleu")
    means = [summary.avg for summary in bleu.systems.values()]
    overview = page_rows(page, "overview")
    assert [row[5].split(" ± ")[0] for row in overview] == [score(mean) for mean in means]
    first = html.unescape(page.split('id="answer"')[1].split("</section>")[0])
    assert "BLEU" in first
    verdicts = html.unescape(page.split("Answers in words")[1].split("</details>")[0])
    lead = bleu.tests[0]
    assert f"scored {abs(lead.delta):.2f} BLEU" in verdicts
    assert verdicts.count("(lower is better") == 3, "said of every pair under TER"
    sentences = re.findall(r'class="sentence">(.*?)</span>', verdicts, re.DOTALL)
    assert len(sentences) == 6
    assert "ter-norm" not in " ".join(sentences).lower()


def test_the_same_input_gives_the_same_bytes(replitune: Callable[..., Ran], tmp_path: Path):
    settings = finished_experiment(replitune, tmp_path, {"a": ["run-001", "run-002"]})

    def made() -> dict[str, str]:
        write_report(replitune, tmp_path, settings)
        files = [tmp_path / "report.html", *tmp_path.glob("tables/*"), *tmp_path.glob("figures/*")]
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}

    first = made()
    assert len(first) > 20
    (tmp_path / "figures" / "t1.bleu.heatmap.svg").touch()  # of a report with more systems
    assert made() == first


@pytest.mark.parametrize(
    ("systems", "documents"),
    [({"a": ["run-001"]}, False), ({"a": ["run-001"], "b": ["run-001"]}, True)],
    ids=["one system, one replica", "two systems, one replica"],
)
def test_what_is_missing_is_said_and_the_rest_is_shown(
    replitune: Callable[..., Ran], tmp_path: Path, systems: dict, documents: bool
):
    settings = finished_experiment(
        replitune,
        tmp_path,
        systems,
        metrics=["bleu"],
        documents=documents,
        source=None,
        methods=["riezler"],
    )
    page = write_report(replitune, tmp_path, settings)
    (lacking,) = re.findall("Not in this report: (.*?)</p>", page)
    assert "spread over runs" in lacking
    assert ("One run of each system" in page) == (len(systems) == 2)
    assert ("documents" in lacking) == (not documents)
    assert ("one system" in lacking) == (len(systems) == 1)
    assert len(page_rows(page, "systems")) == len(systems)
    expected = {"t1.bleu.intervals", "t1.bleu.comparison"}
    if len(systems) > 1:  # their intervals do not overlap
        expected = {"t1.bleu.intervals", "t1.comparison", "t1.bleu.distributions"}
    assert drawn(tmp_path, page) == expected, "no runs to draw, and no spread to fit"
    assert "s_test" not in page.split('id="table-systems"')[1].split("</thead>")[0]


def drawn(folder: Path, page: str) -> set[str]:
    """Names of the figures of the page, which are those of the folder."""
    names = set(re.findall(r'id="figure-([^"]+)"', page))
    names |= {f"{about}.comparison" for about in re.findall(r'data-about="([^"]+)"', page)}
    files = {f"{name}.svg" for name in names}
    assert files == {path.name for path in (folder / "figures").iterdir()}
    return names


def test_markup_in_segments_is_text(replitune: Callable[..., Ran], tmp_path: Path):
    evil = '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u2028'

    def edit(lines: list[str]) -> list[str]:
        return [f"{evil} {line}" for line in lines]

    settings = finished_experiment(
        replitune,
        tmp_path,
        {"a": ["run-001"], "b": ["run-001"]},
        edit=edit,
        source=lambda i: evil,
        metrics=["bleu"],
        methods=["riezler"],
    )
    page = write_report(replitune, tmp_path, settings)
    assert "<script>alert" not in page
    assert "<img" not in page
    embedded = page.split('id="segment-data">')[1].split("</script>")[0]
    assert "<" not in embedded
    assert "\u2028" not in embedded
    (testset,) = json.loads(embedded)
    assert testset["rows"][0][2] == evil
    assert testset["rows"][0][4][1] == edit(output(1, 0))[0]


def test_every_segment_and_every_figure_is_there(replitune: Callable[..., Ran], tmp_path: Path):
    settings = finished_experiment(replitune, tmp_path, THREE, metrics=["bleu"])
    page = write_report(replitune, tmp_path, settings)
    assert '"link":"tables/segments.t1.tsv"' in page
    kinds = (
        "comparison",
        "heatmap",
        "differences",
        "distributions",
        "replicas",
        "intervals",
        "fits",
        "overlap",
    )
    assert drawn(tmp_path, page) == {f"t1.bleu.{kind}" for kind in kinds}
    found = rows(tmp_path / "tables" / "segments.t1.tsv")
    assert len(found) == SEGMENTS
    median = Result.read(tmp_path / "tests" / "t1", "bleu").systems["b"].median_replica
    number = THREE["b"].index(median)
    assert [row[f"b_{median}"] for row in found] == output(1, number)
    assert [row["document"] for row in found] == [f"d{i // 4}" for i in range(SEGMENTS)]


def test_a_joined_test_set_is_also_scored_part_by_part(replitune: Callable[..., Ran], tmp_path: Path):
    """Parts get rows of their own, and are no documents: tests do not see them."""
    said = "t1: of 24 segments, 1 sources, 1 references and 1 whole pairs occur in the training data"
    settings = finished_experiment(
        replitune,
        tmp_path,
        THREE,
        metrics=("bleu",),
        methods=("crossed", "koehn"),
        documents=False,
        parts=True,
        corpus_warnings=(said,),
    )
    page = write_report(replitune, tmp_path, settings)
    assert said in page
    found = rows(tmp_path / "tables" / "documents.csv")
    assert [(row["document"], row["segments"]) for row in found] == [("early", "10"), ("late", "14")]
    early = [
        sacrebleu.corpus_bleu(output(0, r)[:10], [references()[:10]]).score for r in range(len(THREE["a"]))
    ]
    assert float(found[0]["a"]) == pytest.approx(sum(early) / len(early))
    pairs = rows(tmp_path / "tables" / "pairs.csv")
    assert {row["documents"] for row in pairs} == {"24"}
    for row in pairs:
        if row["method"] == "koehn":
            shares = [float(row[name]) for name in ("won", "tied", "lost")]
            assert sum(shares) == pytest.approx(1)
        else:
            assert row["won"] == ""
    assert "won / tied / lost" in page


def balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def test_latex_is_well_formed(replitune: Callable[..., Ran], tmp_path: Path):
    systems = {"my_sys": ["run-001", "run-002"], "b": ["run-001", "run-002"]}
    settings = finished_experiment(replitune, tmp_path, systems)
    write_report(replitune, tmp_path, settings)
    documents = []
    for path in sorted((tmp_path / "tables").glob("*.tex")):
        text = path.read_text("utf-8")
        documents.append(text)
        assert balanced(text), path.name
        assert not re.search(r"(?<!\\)[#_%]", text.split("\n", 1)[1]), path.name
        assert text.count("$") % 2 == 0, path.name
        spec = re.search(r"\\begin\{tabular\}\{@\{\}(.*)@\{\}\}", text)[1]
        columns = len(re.sub(r">\{.*?\}p\{\d+pt\}", "l", spec))
        assert f"\\label{{tab:{path.stem}}}" in text
        assert all(len(row) == columns for row in latex_rows(text)), path.name
        assert text.isascii(), [c for c in text if not c.isascii()]
    assert len(documents) == 11
    if shutil.which("pdflatex"):
        whole = "\n".join(documents)
        (tmp_path / "all.tex").write_text(
            "\\documentclass[a4paper,twocolumn]{article}\n"
            "\\usepackage{booktabs,array,longtable}\\begin{document}\n"
            f"{whole}\\end{{document}}\n"
        )
        run = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stdout[-2000:]
        assert "Overfull" not in run.stdout


def test_latex_specials_are_escaped():
    text = latex_text("50% & $x_1$ {a} #2 ~ ^ \\ <b> | [c]")
    assert text == (
        r"50\% \& \$x\_1\$ \{a\} \#2 \textasciitilde{} \textasciicircum{} "
        r"\textbackslash{} \textless{}b\textgreater{} \textbar{} {[}c{]}"
    )
