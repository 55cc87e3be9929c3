"""Which column of a table is what: as it is said, or as it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replitune.corpus.table import number_of
from replitune.errors import ReplituneError, nearest
from replitune.readers.settings import ColumnNames
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
"""Names of columns that tell what they are; blanks, case and signs do not count."""

NEEDED = ("score",)

WORDS = {"replica": "run", "testset": "test set"}
"""What people call them."""


@dataclass(frozen=True)
class Choice:
    """The column of each thing that a table has."""

    columns: Mapping[str, str]
    read_as: tuple[str, ...]


def choose(
    header: Sequence[str], first: Mapping[str, Any], given: ColumnNames, file: str
) -> Choice:
    """`first`: the cells of the first row, by column."""
    for name in header:
        if list(header).count(name) > 1:
            raise ReplituneError(f"two columns are called {name!r}", file=file, line=1,
                                 found=", ".join(header))  # fmt: skip
    asked = {role: getattr(given, role) for role in settings_of(ColumnNames)}
    columns = {role: _known(name, header, role, file) for role, name in asked.items() if name}
    free = [name for name in header if name not in columns.values()]
    guessed: dict[str, str] = {}
    for role, words in CALLED.items():
        if role in columns:
            continue
        found = [name for name in free if plain(name) in words.split()]
        exact = [name for name in found if plain(name) == role]
        if len(found) > 1 and len(exact) != 1:
            raise ReplituneError(
                f"several columns could be the {WORDS.get(role, role)}", file=file,
                found=", ".join(found), fix=f"say which: --columns {role}={found[0]}",
            )  # fmt: skip
        if found:
            guessed[role] = (exact or found)[0]
    if "score" not in columns and "score" not in guessed:
        guessed["score"] = _only_number(header, first, {*columns.values(), *guessed.values()}, file)
    said = ", ".join(
        f"{WORDS.get(role, role)} is `{name}`" for role, name in guessed.items()
        if plain(name) != role
    )  # fmt: skip
    return Choice({**columns, **guessed}, (said,) if said else ())


def plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _known(name: str, header: Sequence[str], role: str, file: str) -> str:
    if name in header:
        return name
    close = nearest(name, list(header))
    raise ReplituneError(
        f"no column is called {name!r}", file=file, found=", ".join(header),
        fix=f"did you mean --columns {role}={close}?" if close else None,
    )  # fmt: skip


def _only_number(
    header: Sequence[str], first: Mapping[str, Any], taken: set[str], file: str
) -> str:
    """The one column of numbers that is nothing else."""
    left = [name for name in header if name not in taken and number_of(first.get(name)) is not None]
    if len(left) == 1:
        return left[0]
    raise ReplituneError(
        "which column is the score?", file=file, found=", ".join(header) or "no columns",
        expected="a column `score`",
        fix=f"say which: --columns score={left[0] if left else 'NAME'}",
    )  # fmt: skip
