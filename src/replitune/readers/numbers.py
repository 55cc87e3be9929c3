"""One score a line, in the order of the segments, as ``pymarian-eval`` and other scorers of translations
write them. ``pymarian-eval -a append`` adds the mean as the last line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.records import Records
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.readers.tabular import ABSENT
from replitune.running.files import read_lines


class Numbers(Reader):
    """A file is one run of one system; its name says which."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        lines = [line.strip() for line in beginning.lines]
        return any(number_of(line) is not None for line in lines) and all(
            number_of(line) is not None or line in ABSENT for line in lines
        )

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        rows = Records(path)
        cells = [line.strip() for line in read_lines(path)]
        notes = ["a score on each line"]
        if _ends_with_the_mean(cells):
            cells.pop()
            notes.append("the last line is the mean of the others, so it is left out")
        for number, cell in enumerate(cells, start=1):
            score = number_of(cell)
            if score is None and cell not in ABSENT:
                raise ReplituneError(
                    "not a score",
                    file=path,
                    line=number,
                    found=repr(cell),
                    expected="a number on each line",
                )
            rows.add(number, score, segment=number - 1)
        return rows.rows({"segment": "line"}, notes)


def _ends_with_the_mean(cells: Sequence[str]) -> bool:
    """Whether the last score is the mean of the others, to the digits that are written. With few scores
    it may be so by chance, so at least four are needed."""
    scores = [number_of(cell) for cell in cells]
    known = [score for score in scores if score is not None]
    if len(known) < max(len(scores), 4):
        return False
    *others, last = known
    digits = len(cells[-1].partition(".")[2])
    # the mean was computed from more digits than are written
    return len(set(others)) > 1 and abs(sum(others) / len(others) - last) <= 1.01 * 10.0**-digits
