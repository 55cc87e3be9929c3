"""Human judgements of translations, read from files.

A table with a header, separated by tabs, commas or blanks, has a column for the system, the
segment and the score, under any of the names that the WMT campaigns use (`SYS SID RAW.SCR
Z.SCR`, `system,segment,score`, ...), and optionally: `adequacy` and `fluency` in place of the
score, or a column that says which of the two a row is about; the replica that was judged; the
annotator; the probability with which the segment was chosen; the type of item (quality control is
left out). A file without a header has a system and a score on each line, segment by segment, `None`
for no score (the .seg.score files of mt-metrics-eval).

Several judgements of one output are averaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.columns import column_of, plain
from replitune.readers.table import Table, number_of, read_table, score_of, segment_of
from replitune.running.files import read_text, split_lines

ROLES = ("system", "segment", "replica", "annotator", "probability", "type", "criterion")
"""Of the columns of judgements, beside the scores."""
SCORES = ("zscr", "zscore", "z", "score", "rawscr", "rawscore", "raw")
"""Columns of scores, standardised before raw; the first one that is there is read."""

CRITERIA = {
    "adequacy": "adequacy",
    "ad": "adequacy",
    "da": "adequacy",
    "fluency": "fluency",
    "fl": "fluency",
}

JUDGED_TYPES = ("system", "tgt", "repeat", "")
"""Types of items that count, as at WMT: translations of a system, some judged again. The rest,
damaged translations and references, is quality control."""

ABSENT = ("", "none", "na", "nan", "null")
"""What files write where there is no score."""


@dataclass(frozen=True)
class Judgement:
    """One score that one person gave to one output."""

    line: int
    system: str
    segment: int
    score: float
    replica: str | None = None
    annotator: str | None = None
    probability: float | None = None
    """The probability with which the segment was chosen to be judged."""


@dataclass(frozen=True)
class HumanJudgements:
    """The content of a file of judgements."""

    path: Path
    judgements: dict[str, list[Judgement]]
    """By criterion: adequacy, fluency, or human where the file does not say."""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Judgement]:
        """The judgements of all criteria."""
        return [row for rows in self.judgements.values() for row in rows]


def read_human(
    path: str | Path, *, criterion: str | None = None, score: str | None = None
) -> HumanJudgements:
    """Read and check a file of judgements.

    Parameters
    ----------
    criterion
        What was judged, if the file does not say.
    score
        The column of scores, if it has none of the usual names.
    """
    path = Path(path)
    text = read_text(path)
    first = next(iter(split_lines(text)), "")
    if not first.strip():
        raise ReplituneError("no header", file=path, line=1, expected="system, segment and score")
    if _no_header(first):
        return HumanJudgements(path, {criterion or "human": list(_by_order(path, text))})
    table = read_table(path, text)
    columns = _columns(table, score)
    judgements: dict[str, list[Judgement]] = {}
    control: dict[str, int] = {}
    empty = 0
    for line, row in table.rows:
        kind = row[columns["type"]] if "type" in columns else ""
        if kind.lower() not in JUDGED_TYPES:
            control[kind] = control.get(kind, 0) + 1
            continue
        for name, value in _scores(path, line, row, columns, criterion or "human"):
            if value is None:
                empty += 1
                continue
            judgements.setdefault(name, []).append(
                Judgement(
                    line,
                    row[columns["system"]],
                    segment_of(path, line, row[columns["segment"]]),
                    value,
                    row[columns["replica"]] or None if "replica" in columns else None,
                    row[columns["annotator"]] or None if "annotator" in columns else None,
                    _probability(path, line, row[columns["probability"]])
                    if "probability" in columns
                    else None,
                )
            )
    if not judgements:
        raise ReplituneError(
            "no judgement in this file",
            file=path,
            found=", ".join(f"{n} items of type {kind}" for kind, n in control.items()) or "no rows",
            expected="rows of system, segment and score",
        )
    notes = []
    if control:
        listed = ", ".join(f"{n} {kind}" for kind, n in sorted(control.items()))
        notes.append(f"{path}: items that are quality control are left out: {listed}")
    if empty:
        notes.append(f"{path}: {empty} rows without a score")
    return HumanJudgements(path, judgements, tuple(notes))


def _no_header(first: str) -> bool:
    """Whether the first line has a system and a score: names of columns are not numbers."""
    fields = first.split()
    return len(fields) == 2 and (fields[1] == "None" or number_of(fields[1]) is not None)


def _by_order(path: Path, text: str) -> Iterator[Judgement]:
    """Judgements without a header: each system's lines are its segments in order."""
    seen: dict[str, int] = {}
    for line, content in enumerate(split_lines(text), start=1):
        fields = content.split()
        score = number_of(fields[1]) if len(fields) == 2 else None
        if len(fields) != 2 or (score is None and fields[1].lower() not in ABSENT):
            raise ReplituneError(
                "not a system and its score",
                file=path,
                line=line,
                found=repr(content),
                expected="NAME SCORE, as on line 1",
            )
        segment = seen.get(fields[0], 0)
        seen[fields[0]] = segment + 1
        if score is not None:
            yield Judgement(line, fields[0], segment, score)


def _columns(table: Table, score: str | None) -> dict[str, int]:
    """Places of the columns; those of scores are called `score`, `adequacy` and `fluency`."""
    path, header = table.path, table.header
    known = {role: column_of(role, header, str(path)) for role in ROLES}
    columns = {role: header.index(name) for role, name in known.items() if name is not None}
    names = [plain(name) for name in header]
    if score is not None:
        columns["score"] = table.place(score)
    elif "adequacy" in names or "fluency" in names:
        columns.update({name: names.index(name) for name in ("adequacy", "fluency") if name in names})
    elif usual := next((name for name in SCORES if name in names), None):
        columns["score"] = names.index(usual)
    missing = [what for what in ("system", "segment") if what not in columns]
    if not {"score", "adequacy", "fluency"} & columns.keys():
        missing.append("score")
    if missing:
        raise ReplituneError(
            f"no column of the {' or the '.join(missing)}",
            file=path,
            line=1,
            found=", ".join(header),
            expected="system, segment and score",
            fix="give the file a header; --score-column names a column of scores",
        )
    return columns


def _probability(path: Path, line: int, cell: str) -> float:
    value = number_of(cell)
    if value is None or not 0 < value <= 1:
        raise ReplituneError("not a probability", file=path, line=line, found=repr(cell), expected="0 to 1")
    return value


def _scores(
    path: Path, line: int, row: Sequence[str], columns: dict[str, int], criterion: str
) -> Iterator[tuple[str, float | None]]:
    """Each (criterion, score) of a row; the score is None where there is none."""
    if "score" not in columns:
        for name in ("adequacy", "fluency"):
            if name in columns:
                yield name, score_of(path, line, row[columns[name]], ABSENT)
        return
    if "criterion" in columns:
        word = row[columns["criterion"]]
        if word.lower() not in CRITERIA:
            raise ReplituneError(
                "an unknown criterion", file=path, line=line, found=repr(word), expected=", ".join(CRITERIA)
            )
        criterion = CRITERIA[word.lower()]
    yield criterion, score_of(path, line, row[columns["score"]], ABSENT)
