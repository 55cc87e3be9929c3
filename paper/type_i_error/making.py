"""Everything that the paper is made of, in one folder, and then the PDF."""

from __future__ import annotations

import shutil
from pathlib import Path

from paper.type_i_error.claims import claims
from paper.type_i_error.drawings import FIGURES
from paper.type_i_error.latex import typeset
from paper.type_i_error.literals import undeclared
from paper.type_i_error.sources import FILES, Sources
from paper.type_i_error.tables import TABLES
from paper.type_i_error.values import macros, values

from replitune.report.drawing import render
from replitune.running.files import atomic_open

HERE = Path(__file__).parent
NAME = "type-i-error"


def write(sources: Sources, folder: Path) -> int:
    """Text, macros, tables and figures; how many macros."""
    typed = undeclared((HERE / "paper.tex").read_text("utf-8"))
    assert not typed, "numbers are typed in paper.tex:\n" + "\n".join(typed)
    wrong = [said for said, true in claims(sources).items() if not true]
    assert not wrong, "the text says what the CSV files do not: " + "; ".join(wrong)
    found = values(sources)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"values": macros(found)} | {name: table(sources) for name, table in TABLES.items()}
    for name, text in texts.items():
        with atomic_open(folder / f"{name}.tex") as handle:
            handle.write(text)
    for name, figure in FIGURES.items():
        with atomic_open(folder / f"{name}.pdf", "wb") as handle:
            handle.write(render(name, figure(sources), ("pdf",))["pdf"])
    shutil.copy(HERE / "paper.tex", folder / f"{NAME}.tex")
    shutil.copy(HERE / "references.bib", folder)
    return len(found)


def make(folder: Path) -> str:
    """What was made, in words."""
    count = write(Sources(), folder)
    pages, warned = typeset(folder, NAME)
    made = (
        f"{folder / NAME}.pdf: {pages} pages, {count} numbers in the text, {len(TABLES)} tables "
        f"and {len(FIGURES)} figures from {len(FILES)} CSV files"
    )
    return "\n".join([*warned, made])
