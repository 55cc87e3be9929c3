"""The paper on type-I error: its numbers come from the CSV files, its words agree with them."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support import ROOT

sys.path.append(str(ROOT))

from paper.type_i_error import costs, latex
from paper.type_i_error.claims import claims
from paper.type_i_error.drawings import FIGURES
from paper.type_i_error.literals import undeclared
from paper.type_i_error.making import HERE, NAME, make, write
from paper.type_i_error.sources import FILES, GATE, Sources
from paper.type_i_error.tables import TABLES
from paper.type_i_error.values import Values, definitions, values

from replitune.report.drawing import render

TEXT = (HERE / "paper.tex").read_text("utf-8")


@cache
def made() -> Values:
    return values(Sources())


def rows(name: str, **wanted: object) -> Iterator[dict[str, str]]:
    """Of a CSV file, without pandas."""
    with open(ROOT / name, newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if all(row[key] == str(value) for key, value in wanted.items()):
                yield row


# -- numbers in the text ------------------------------------------------------------------


def test_no_number_is_typed_in_the_text():
    assert undeclared(TEXT) == []


@pytest.mark.parametrize(
    ("at", "typed"),
    [
        ("\\test{crossed} fails in none", "\\test{crossed} (at most .0537) fails in none"),
        ("Scope decides in practice.", "Scope decides in practice, in 15 pairs."),
        ("\\val{aa.clark.least} to", ".11 to"),
        ("Scope decides in practice.", "Scope decides in practice, in half of the pairs."),
        ("is an old warning", "is twelve times an old warning"),
        # what is declared once may not be typed once more
        ("\\section{What to do}", "With 3, 5 and 10 runs.\\section{What to do}"),
        ("\\section{What to do}", "It rejects at .05.\\section{What to do}"),
        ("\\operatorname{Var}(\\hat\\delta) =", "\\operatorname{Var}(\\hat\\delta) = 2"),
    ],
)
def test_a_typed_number_is_found(at: str, typed: str):
    assert at in TEXT
    assert undeclared(TEXT.replace(at, typed, 1)) != []


def test_a_declared_phrase_that_is_gone_is_found():
    assert undeclared(TEXT.replace("Multi30k", "Multi")) != []


def test_every_value_is_made_and_used():
    asked = set(re.findall(r"\\val\{([^}]*)\}", re.sub(r"(?m)^%.*", "", TEXT)))
    assert asked == set(made())


def test_every_table_and_figure_is_made_and_used():
    used = set(re.findall(r"\\input\{(table-[^}]*)\}|\]\{(figure-[^}]*)\}", TEXT))
    assert {a or b for a, b in used} == {*TABLES, *FIGURES}


def test_what_is_cited_is_what_the_bibliography_has():
    cited = {key for keys in re.findall(r"\\cite[pt]\{([^}]*)\}", TEXT) for key in keys.split(",")}
    entries = (HERE / "references.bib").read_text("utf-8")
    assert cited == set(re.findall(r"^@\w+\{(\w+),", entries, re.MULTILINE))


# -- the same numbers, counted again without pandas ---------------------------------------


def short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def test_the_gate_counted_again():
    judged = [r for r in rows(GATE, method="crossed") if r["gate 0.05"]]
    assert made()["gate.crossed.cells"] == str(len(judged))
    for digits, alpha in (("05", "0.05"), ("01", "0.01")):
        worst = max(int(r[f"at {alpha}"]) / int(r["trials"]) for r in judged)
        assert made()[f"gate.crossed.worst{digits}"] == short(worst, 4)
        assert all(r[f"gate {alpha}"] == "pass" for r in judged)
    cells = {tuple(list(r.values())[:15]) for r in rows(GATE)}
    assert made()["gate.all"] == str(len(cells))
    other = [r for r in rows(GATE, method="crossed, Satterthwaite") if r["gate 0.05"]]
    failed = sum((r["gate 0.05"] == "fail") + (r["gate 0.01"] == "fail") for r in other)
    assert made()["gate.satterthwaite.failed"] == str(failed)


def test_rates_of_clark_counted_again():
    plain = {"interaction": "", "runs": "", "icc": "", "accuracy": "", "systems": "", "spread": ""}
    cell = {"metric": "mean", "null": "next", "noise": "equal", "shift": "0.0", "method": "clark"}
    for n in (3, 5):
        (free,) = rows(GATE, **plain, **cell, n_a=n, n_b=n, ratio="0.0")
        assert made()[f"law.free.{n}"] == short(int(free["at 0.05"]) / int(free["trials"]))
    for n in (3, 5, 10, 20):
        (one,) = rows(GATE, **plain, **cell, n_a=n, n_b=n, ratio="1.0", segments="")
        assert made()[f"law.one.{n}"] == short(int(one["at 0.05"]) / int(one["trials"]))


def test_real_runs_counted_again():
    found = list(rows("docs/results/calibration/calibration.csv", study="A/A", pool="all", alpha="0.05"))
    for name, method in (("one", "riezler-one-run"), ("clark", "clark")):
        for metric in ("bleu", "ter", "chrf"):
            own = [r for r in found if (r["method"], r["metric"]) == (method, metric)]
            rates = [int(r["rejected"]) / int(r["trials"]) for r in own]
            assert len(rates) == 3
            assert made()[f"aa.{name}.{metric}.least"] == short(min(rates))
            assert made()[f"aa.{name}.{metric}.most"] == short(max(rates))
    splits = list(rows("benchmarks/head_to_head/splits.csv"))
    assert made()["heads.splits"] == str(len(splits))
    for name, column in (("bootstrap", "sacrebleu --paired-bs"), ("crossed", "replitune, texts")):
        assert made()[f"heads.{name}"] == str(sum(float(r[column]) < 0.05 for r in splits))


def test_the_search_counted_again():
    for value, name in (("gross", "gross"), ("net", "net"), ("Cochran-Cox", "cc")):
        found = [
            float(r["level"])
            for r in rows("benchmarks/calibration/suprema.csv", alpha="0.05")
            if r["critical value"] == value and not re.match(r"2 v|3 tuners x 2", r["design"])
        ]
        assert made()[f"suprema.{name}.worst05"] == short(max(found))


def test_looks_and_costs_counted_again():
    level = list(rows("benchmarks/adaptive/gate.csv", part="level", alpha="0.05"))
    assert made()["looks.level.cells"] == str(len(level))
    assert made()["looks.level05"] == short(max(float(r["rule"]) for r in level))
    powers = rows("benchmarks/adaptive/gate.csv", part="power", alpha="0.05", h="0.4", shift="3")
    used = [float(r["runs_used"]) for r in powers]
    assert made()["looks.saved.3"] == f"{100 * (1 - sum(used) / len(used) / 20):.0f}\\%"
    stage = {r["stage"]: r for r in rows("docs/results/fu2016/costs.csv")}
    spent = {name: float(row["cpu_seconds"]) for name, row in stage.items()}
    share = (spent["tune"] + spent["decode"]) / (spent["all"] - spent["replication"])
    assert made()["cost.share.fu2016"] == f"{100 * share:.0f}\\%"
    run = (spent["tune"] + spent["decode"]) / int(stage["tune"]["jobs"])
    train = spent["train"] / int(stage["train"]["jobs"])
    expected = (train + 5 * run) / (train + run)
    assert float(made()["cost.five.fu2016"]) == pytest.approx(expected, abs=0.06)


def test_a_row_of_a_table_counted_again():
    """`clark` on real runs: A/A by metric and size, then the coin with five runs."""
    line = next(line for line in TABLES["table-real"](Sources()).splitlines() if "{clark} &" in line)
    name, cells = "docs/results/calibration/calibration.csv", []
    for study, pool, sizes in (("A/A", "all", (3, 5, 10)), ("coin flip", "lexro, distance", (5,))):
        for metric in ("bleu", "ter", "chrf"):
            for n in sizes:
                (row,) = rows(
                    name, study=study, pool=pool, metric=metric, n_a=n, alpha="0.05", method="clark"
                )
                cells.append(short(int(row["rejected"]) / int(row["trials"])))
    assert re.findall(r"\.\d+", line) == cells


# -- other files, other numbers -----------------------------------------------------------

KEYS = {
    "n",
    "n_a",
    "n_b",
    "ratio",
    "shift",
    "interaction",
    "segments",
    "icc",
    "effective",
    "accuracy",
    "systems",
    "spread",
    "alpha",
    "h",
    "tuners",
    "nu_seg",
    "power",
    "asked",
    "split",
    "trials",
    "repeats",
}
"""Columns that say which row it is; all other numbers are made smaller."""


def changed(name: str, root: Path) -> None:
    """The file with other measured numbers; sizes, too, where they are what is told."""
    table = pd.read_csv(ROOT / name, keep_default_na=False, na_values=[""])
    told = {"n_a", "n_b", "segments"} if name.endswith("pairs.csv") else set()
    factors = 0.5 + 0.3 * (np.arange(len(table)) * 0.61 % 1)
    for column in table.columns:
        kind = table[column].dtype.kind
        if (column in KEYS and column not in told) or kind not in "if":
            continue
        if name.endswith(("/p.csv", "splits.csv")):  # of p the text says how many are small
            new = np.sign(table[column]) * table[column].abs() ** 0.2
        else:
            new = table[column] * factors
        table[column] = new.round().astype(int) if kind == "i" else new
    table.to_csv(root / name, index=False)


def linked(folder: Path, *without: str) -> Path:
    """A folder with all files but some."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if name not in without:
            (folder / name).symlink_to(ROOT / name)
    return folder


COUNTED = {
    "aa.trials",
    "coin.trials",
    "draws.trials",
    "gate.trials.most",
    "gate.trials.resampled",
    "gate.trials.bleu",
    "looks.trials",
    "gate.all",
    "gate.crossed.cells",
    "gate.ratio.least",
    "gate.ratio.most",
    "gate.satterthwaite.failed",
    "gate.satterthwaite.of",
    "law.cells",
    "suprema.ratio.most",
    "suprema.documents.least",
    "suprema.documents.most",
    "heads.splits",
    "fu.pairs",
    "looks.level.cells",
    "looks.limits",
    "looks.verdicts",
    "looks.same",
    "cost.power",
    "cost.segments.calibration",
    "cost.segments.clark2011",
    "cost.segments.fu2016",
    "scope.permutation.3",
    "pair.repeats",
}
"""Rows, keys and verdicts, which are the same; and a rate of 0."""


def test_other_files_give_other_numbers(tmp_path: Path):
    before, still = made(), set(made())
    for number, name in enumerate(FILES):
        root = linked(tmp_path / str(number), name)
        changed(name, root)
        after = values(Sources(root))
        moved = {key for key in before if before[key] != after[key]}
        assert moved, f"no number comes from {name}"
        still -= moved
    assert still <= COUNTED | set(definitions(Sources()))


def test_cells_of_tables_follow_the_files(tmp_path: Path):
    root = linked(tmp_path, *FILES)
    for name in FILES:
        changed(name, root)
    for name, table in TABLES.items():
        before, after = (
            [line for line in table(of).splitlines() if line.endswith(r"\\")]
            for of in (Sources(), Sources(root))
        )
        assert len(before) == len(after)
        moved = kept = 0
        for old, new in zip(before, after, strict=True):
            if "&" not in old:
                continue
            for a, b in zip(old.split("&")[1:], new.split("&")[1:], strict=True):
                told = re.findall(r"\d*\.\d{2,}", a)
                again = re.findall(r"\d*\.\d{2,}", b)
                if told and max(map(float, told)) > 0.01:
                    moved += told != again
                    kept += told == again
        assert moved, name
        assert kept == 0, f"{name}: {kept} cells do not follow the files"


def test_figures_follow_the_files_and_have_the_same_bytes(tmp_path: Path):
    root = linked(tmp_path, *FILES)
    for name in FILES:
        changed(name, root)
    for name, figure in FIGURES.items():
        one, two = (render(name, figure(Sources()), ("pdf",))["pdf"] for _ in range(2))
        assert one == two
        assert render(name, figure(Sources(root)), ("pdf",))["pdf"] != one


# -- words --------------------------------------------------------------------------------


def test_what_is_said_in_words_holds():
    found = claims(Sources())
    assert len(found) > 20
    assert [said for said, true in found.items() if not true] == []


def test_words_that_the_files_do_not_bear_out_stop_the_making(tmp_path: Path):
    root = linked(tmp_path, GATE)
    text = (ROOT / GATE).read_text("utf-8")
    first = re.search(r"^mean,next,3,3,.*,crossed,200000,.*,pass,pass$", text, re.MULTILINE)
    assert first is not None
    failed = first[0].removesuffix("pass,pass") + "fail,pass"
    (root / GATE).write_text(text.replace(first[0], failed))
    with pytest.raises(AssertionError, match="crossed fails no gated cell"):
        write(Sources(root), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_detectable_difference_is_that_of_the_segments_at_hand():
    (row,) = (
        r
        for r in rows(
            "docs/results/calibration/power.csv",
            metric="bleu",
            n_a=5,
            n_b=5,
            tuners=1,
            segments=1000,
            design=False,
            asked="",
        )
    )
    assert costs.detectable(Sources(), "calibration")[5] == float(row["detectable"])


# -- the PDF ------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["paper.type_i_error", "paper.type_i_error.latex"])
def test_without_latex_it_says_what_is_missing_and_does_nothing(tmp_path: Path, module: str):
    command = [sys.executable, "-S", "-m", module]
    if module == "paper.type_i_error":
        command += ["--out", str(tmp_path / "out")]
    env = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": ""}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert ran.returncode != 0
    assert "pdflatex  (texlive-latex-base)" in ran.stderr
    assert "apt-get install --no-install-recommends texlive-latex-base latexmk" in ran.stderr
    assert "texlive-latex-recommended texlive-fonts-recommended" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_pdf_has_four_to_six_pages_no_warning_and_the_same_bytes(tmp_path: Path):
    if latex.missing():
        pytest.skip(latex.advice(latex.missing()))
    said = make(tmp_path / "one")
    make(tmp_path / "two")
    found = re.fullmatch(r".*type-i-error\.pdf: (\d+) pages, .*", said)
    assert found is not None, said  # a warning would stand in a line of its own
    assert 4 <= int(found[1]) <= 6
    one, two = ((tmp_path / folder / f"{NAME}.pdf").read_bytes() for folder in ("one", "two"))
    assert one == two


@pytest.mark.slow
def test_a_value_that_does_not_exist_stops_latex(tmp_path: Path):
    if latex.missing():
        pytest.skip(latex.advice(latex.missing()))
    write(Sources(), tmp_path)
    text = tmp_path / f"{NAME}.tex"
    text.write_text(text.read_text("utf-8").replace(r"\val{aa.clark.least}", r"\val{aa.none}"))
    with pytest.raises(latex.LatexError, match=r"no value aa\.none"):
        latex.typeset(tmp_path, NAME)
