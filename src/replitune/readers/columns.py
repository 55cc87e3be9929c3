"""Which column of a table holds what: as the user says, or by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError, nearest
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.settings import settings_of

CALLED = {
    "system": "system model systemname systemid modelname modelid sys",
    "replica": "replica run seed replicaid runid epoch repeat trial",
    "segment": "segment segmentid segid seg id item itemid example exampleid sample sampleid "
    "question questionid promptid sentence sentenceid index idx line",
    "score": "score value metricscore",
    "document": "document doc documentid docid docname",
    "metric": "metric metricname metricid measure scorer",
    "testset": "testset dataset task benchmark",
    "language": "language lang lp languagepair langpair langs",
}
"""Names of columns by role; blanks, case and punctuation are ignored."""

WORDS = {"replica": "run", "testset": "test set"}
"""Their names in messages."""


@dataclass(frozen=True)
class Choice:
    """The columns of a table by role."""

    ids: Mapping[str, str]
    """The column of each role but the score."""
    scores: tuple[str, ...]
    """Several in a table with a column for each metric."""
    read_as: tuple[str, ...] = ()

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Role and name of each column."""
        return [*self.ids.items(), *(("score", name) for name in self.scores)]


def choose(
    header: Sequence[str],
    first: Mapping[str, Any],
    given: ColumnNames,
    file: str,
    metrics: Sequence[str] = (),
) -> Choice:
    """`first`: the cells of the first row, by column. `metrics`: those that are wanted, which may
    be columns."""
    for name in header:
        if list(header).count(name) > 1:
            raise ReplituneError(
                f"two columns are called {name!r}", file=file, line=1, found=", ".join(header)
            )
    asked = {role: getattr(given, role) for role in settings_of(ColumnNames)}
    columns = {role: _known(name, header, role, file) for role, name in asked.items() if name}
    free = [name for name in header if name not in columns.values()]
    guessed: dict[str, str] = {}
    for role, words in CALLED.items():
        if role in columns:
            continue
        likely = [name for name in free if plain(name) in words.split()]
        exact = [name for name in likely if plain(name) == role]
        if len(likely) > 1 and len(exact) != 1:
            raise ReplituneError(
                f"several columns could be the {WORDS.get(role, role)}",
                file=file,
                found=", ".join(likely),
                fix=f"say which: --columns {role}={likely[0]}",
            )
        if likely:
            guessed[role] = (exact or likely)[0]
    guesses = [
        f"{WORDS.get(role, role)} is `{name}`"
        for role, name in guessed.items()
        if plain(name) not in (role, WORDS.get(role))
    ]
    columns |= guessed
    score = columns.pop("score", None)
    wanted = metrics and all(name in header for name in metrics)
    if given.score is None and "metric" not in columns and wanted:
        return Choice(columns, tuple(dict.fromkeys(metrics)), _together(guesses))
    if score is not None:
        return Choice(columns, (score,), _together(guesses))
    only = _only_number(header, first, set(columns.values()), file)
    return Choice(columns, (only,), _together([*guesses, f"score is `{only}`"]))


def _together(guesses: Sequence[str]) -> tuple[str, ...]:
    return (", ".join(guesses),) if guesses else ()


def called_like(role: str, header: Sequence[str]) -> str | None:
    """The one column whose name fits the role."""
    likely = [name for name in header if plain(name) in CALLED[role].split()]
    exact = [name for name in likely if plain(name) == role]
    return (exact or likely)[0] if len(likely) == 1 or len(exact) == 1 else None


def plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _known(name: str, header: Sequence[str], role: str, file: str) -> str:
    if name in header:
        return name
    close = nearest(name, list(header))
    raise ReplituneError(
        f"no column is called {name!r}",
        file=file,
        found=", ".join(header),
        fix=f"did you mean --columns {role}={close}?" if close else None,
    )


def _only_number(header: Sequence[str], first: Mapping[str, Any], taken: set[str], file: str) -> str:
    """The one column of numbers that has no other role."""
    left = [
        name
        for name in header
        if name not in taken
        and (isinstance(first.get(name), bool) or number_of(first.get(name)) is not None)
    ]
    if len(left) == 1:
        return left[0]
    several = f", or several of them as metrics: --metrics {' '.join(left)}" if left else ""
    raise ReplituneError(
        "which column is the score?",
        file=file,
        found=", ".join(header) or "no columns",
        expected="a column `score`",
        fix=f"say which: --columns score={left[0] if left else 'NAME'}{several}",
    )
