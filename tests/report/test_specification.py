"""One table in its five forms, written out by hand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.report.specification import WIDTH, Column, Table, exact
from replitune.results.numbers import score


@pytest.fixture
def table() -> Table:
    class Row:
        system, n, mean, note = "a|b", 3, 1 / 3, None

    class Other(Row):
        system, n, mean = "a_c", 12, 10.0

    return Table(
        columns=(
            Column("system", "system", left=True),
            *exact("note"),
            Column("n", "n", width=4),
            Column("mean", "avg", "mean", score, mark=lambda _, row: "best sign" * (row.n > 3)),
            Column("set", None, lambda name, _: name, left=True, gap=3),
        ),
        rows=[("x", Row()), ("<y>", Other())],
        caption="50%",
    )


def test_csv_has_exact_values(table: Table):
    assert table.csv() == f"system,note,n,avg\na|b,,3,{1 / 3}\na_c,,12,10.0\n"


def test_markdown(table: Table):
    assert table.markdown().splitlines() == [
        "50%",
        "",
        "| system | n | mean | set |",
        "| --- | ---: | ---: | --- |",
        r"| a\|b | 3 | 0.33 | x |",
        "| a_c | 12 | **10.00** † | <y> |",
    ]


def test_latex(table: Table):
    text = table.latex()
    assert r"\begin{tabular}{@{}lrrl@{}}" in text
    assert "\\begin{table}" in text
    assert "a\\textbar{}b & 3 & 0.33 & x \\\\\n\\midrule\n" in text
    assert r"a\_c & 12 & \textbf{10.00}$^{\dagger}$ & \textless{}y\textgreater{} \\" in text
    assert r"\caption{50\%}" in text


WORDS = ("short", "of several words " * 8, "w" * 30)
PAIR = f"{'transformer_big_' * 4}1 over {'relative-positions-' * 3}2"


@pytest.mark.parametrize(("columns", "rows"), [(4, 5), (9, 30), (5, 6), (6, 200), (3, 0)])
def test_latex_fits_a_page_of_two_columns(columns: int, rows: int, tmp_path: Path):
    """A column, both columns, or pages of their own; what all rows share is in the caption."""
    table = Table(
        columns=(
            Column("test set", "t", lambda r: "test_1", left=True),
            Column("what it says", "w", lambda r: WORDS[r % min(columns - 3, 2)], left=True),
            *([Column("pair", "p", lambda r: PAIR + "x" * r, left=True)] if rows == 6 else []),
            *(Column(f"number {k}", f"n{k}", lambda r: -r / 7, score) for k in range(columns)),
        ),
        rows=[(r,) for r in range(rows)],
        caption="From -0.5 to 2-3.",
        name="some",
    )
    text = table.latex()
    assert r"From $-$0.5 to 2-3." in text
    assert r"\label{tab:some}" in text
    assert (r"test set: test\_1." in text) == (rows > 1)
    assert ("& $-$0.14" in text) == (rows > 1)
    assert ("longtable" in text) == (rows == 200)
    if shutil.which("pdflatex"):
        (tmp_path / "t.tex").write_text(
            "\\documentclass[a4paper,twocolumn]{article}\\usepackage{booktabs,array,longtable}\n"
            f"\\begin{{document}}Before.\n{text}After.\\end{{document}}\n"
        )
        for _ in range(2):
            command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
            ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert ran.returncode == 0, ran.stdout[-2000:]
        assert "Overfull" not in ran.stdout


def test_html(table: Table):
    head, body = table.html().split("\n<tbody>\n")
    assert head == (
        '<thead><tr><th scope="col" class="word frozen">system</th><th scope="col">n</th>'
        '<th scope="col">mean</th><th scope="col" class="word">set</th></tr></thead>'
    )
    assert body.splitlines()[1] == (
        '<tr><td class="word frozen">a_c</td><td>12</td>'
        '<td class="best sign">10.00<sup>†</sup></td>'
        '<td class="word">&lt;y&gt;</td></tr>'
    )


@pytest.mark.parametrize("column", [Column("n"), Column("n", "size"), Column("n", value="size")])
def test_a_column_that_has_no_value_says_so(column: Column):
    with pytest.raises(ReplituneError, match="column 'n' of a table has no value") as error:
        Table([column], [("x", 5)]).markdown()
    assert "a row of str, int" in str(error.value)


def test_terminal(table: Table):
    (lines,) = table.terminal()
    assert lines == ["  system    n  mean   set", "  a|b       3  0.33   x", "  a_c      12 10.00   <y>"]


def test_what_does_not_fit_a_terminal_stands_in_blocks_with_the_first_columns():
    columns = [Column(f"c{i}", None, lambda i=i: i, width=9) for i in range(25)]
    blocks = [*Table(columns, [()]).terminal(repeated=2)]
    assert all(len(line) <= WIDTH for lines in blocks for line in lines)
    heads = [lines[0].split() for lines in blocks]
    assert all(head[:2] == ["c0", "c1"] for head in heads)
    assert [name for head in heads for name in head[2:]] == [f"c{i}" for i in range(2, 25)]
    (whole,) = Table(columns, [()]).terminal()
    assert len(whole[0]) > WIDTH


def test_a_comparison_on_a_terminal_needs_nothing_of_the_page(tmp_path: Path):
    for name in ("ref", "a", "b"):
        (tmp_path / name).write_text(f"the cat sat\non a mat {name}\n", "utf-8")
    code = (
        "import sys; from replitune.cli.main import main;"
        "code = main('compare --refs ref --baseline a --system b=b --samples 99'.split());"
        "loaded = {'pandas', 'matplotlib', 'jinja2'} & {*sys.modules};"
        "sys.exit(', '.join(loaded) or code)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "difference" in ran.stdout
