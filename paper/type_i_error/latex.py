"""LaTeX: whether it is here, and running it. Needs only Python, for make asks it first.

python -m paper.type_i_error.latex
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = {
    "pdflatex": "texlive-latex-base",
    "latexmk": "latexmk",
    "bibtex": "texlive-binaries",
    "kpsewhich": "texlive-binaries",
}
"""Programs, and the packages of Debian and Ubuntu that bring them."""
STYLES = {
    "article.cls": "texlive-latex-base",
    "booktabs.sty": "texlive-latex-recommended",
    "microtype.sty": "texlive-latex-recommended",
    "natbib.sty": "texlive-latex-base",
    "plainnat.bst": "texlive-latex-base",
    "mathptmx.sty": "texlive-latex-base",
    "ptmr7t.tfm": "texlive-fonts-recommended",
}
EPOCH = "0"
"""Dates of the PDF, so that the same sources give the same bytes."""


class LatexError(Exception):
    """LaTeX found a mistake."""


def missing() -> dict[str, str]:
    """What is not here, and what brings it."""
    found = {name: package for name, package in PROGRAMS.items() if not shutil.which(name)}
    if "kpsewhich" in found:
        return found | STYLES
    for name, package in STYLES.items():
        asked = subprocess.run(["kpsewhich", name], capture_output=True, text=True)
        if not asked.stdout.strip():
            found[name] = package
    return found


def advice(lacking: dict[str, str]) -> str:
    listed = "\n".join(f"  {name}  ({package})" for name, package in lacking.items())
    packages = " ".join(dict.fromkeys(lacking.values()))
    return (
        f"make paper needs LaTeX; not found:\n{listed}\n"
        f"on Debian and Ubuntu: apt-get install --no-install-recommends {packages}"
    )


def typeset(folder: Path, name: str) -> tuple[int, list[str]]:
    """Pages of folder/name.pdf, and what LaTeX warns of; its own report is name.log."""
    command = ["latexmk", "-pdf", "-g", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "FORCE_SOURCE_DATE": "1"}
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    log = folder / f"{name}.log"
    text = log.read_text("utf-8", "replace") if log.exists() else ran.stdout + ran.stderr
    if ran.returncode:
        errors = re.findall(r"^!.*(?:\n.*){0,2}", text, re.MULTILINE) or [ran.stdout[-2000:]]
        raise LatexError("\n".join(errors) + f"\nall of it: {log}")
    pages = re.search(r"Output written on .*?\((\d+) pages?", text.replace("\n", ""))
    assert pages is not None
    warning = r"^(?:LaTeX|Package natbib) Warning:.*|^Overfull \\hbox.*"
    return int(pages[1]), re.findall(warning, text, re.MULTILINE)


if __name__ == "__main__" and (lacking := missing()):
    sys.exit(advice(lacking))
