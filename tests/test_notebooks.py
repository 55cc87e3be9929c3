"""Every notebook of the documentation runs, cell by cell, and shows what it should."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def shown(path: Path) -> Iterator[Any]:
    """What the last line of each cell is, as a notebook would show it."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if last is not None:
            yield eval(compile(ast.Expression(last.value), path.name, "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, capsys: pytest.CaptureFixture[str]):
    for value in shown(path):
        for name in ("_repr_html_", "_repr_svg_"):
            if hasattr(value, name):
                assert getattr(value, name)()
    printed = capsys.readouterr().out
    assert "BLEU above base and is better" in printed
    assert "scores are missing" in printed


def test_notebooks_are_kept_without_outputs():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs")
