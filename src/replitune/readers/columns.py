"""Which column of a table has which role: as the user says, or by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError, nearest, option
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of
from replitune.settings import settings_of

CALLED = {
    "system": "system model systemname systemid modelname modelid sys sysid",
    "replica": "replica run seed replicaid runid",
    "group": "group prompt modelseed trainingseed",
    "sample": "sample epoch trial repeat repetition attempt",
    "segment": "segment segmentid segid seg id item itemid example exampleid sampleid taskid "
    "question questionid promptid sentence sentenceid index idx line linenumber sid",
    "score": "score value metricscore",
    "document": "document doc documentid docid docname",
    "metric": "metric metricname metricid measure scorer",
    "testset": "testset dataset task benchmark",
    "language": "language lang lp languagepair langpair langs",
    "annotator": "annotator annotatorid worker workerid user userid rater",
    "probability": "probability inclusionprobability",
    "type": "type itemtype",
    "criterion": "criterion aspect inputitem",
}
"""Names of columns by role; blanks, case and punctuation are ignored. The last four are those of
judgements."""

WORDS = {"replica": "run", "testset": "test set"}
"""What messages call a role, where it is another word."""

CORRECT = "correct ncorrect numcorrect passed npassed passes resolved nresolved solved successes"
COUNT = "count n total ntotal trials ntrials numtrials attempts nattempts samples nsamples numsamples"
"""Names of two columns whose ratio is the score."""

SCORES = "reward resolved passed correct"
"""Names of a column of scores where none is called a score."""

RUN_COLUMN = re.compile(
    r"(run|seed|epoch|trial|repeat|attempt|sample|replica|rep)[\W_]*(\d+)", re.ASCII | re.IGNORECASE
)
"""The name of a column with the scores of one run or sample."""

INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""What pandas calls its index, which is not a score."""

BOOLEANS = {"true": 1.0, "false": 0.0}

NUMBERS = ("score", "count")
"""Roles of columns of numbers."""


def is_number(cell: Any) -> bool:
    return isinstance(cell, bool) or number_of(cell) is not None or str(cell).lower() in BOOLEANS


@dataclass(frozen=True)
class Choice:
    """The columns of a table by role."""

    ids: Mapping[str, str]
    """The column of each role but the score."""
    scores: tuple[str, ...]
    """The columns of scores: several in a table with one for each metric, run or system."""
    read_as: tuple[str, ...] = ()
    wide: str = "metric"
    """What each of several columns of scores stands for: metric, replica, sample or system."""
    count: str | None = None
    """The column by which scores are divided."""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Role and name of each column."""
        count = [] if self.count is None else [("count", self.count)]
        return [*self.ids.items(), *(("score", name) for name in self.scores), *count]


def choose(
    header: Sequence[str],
    first: Mapping[str, Any],
    given: ColumnNames,
    file: str,
    metrics: Sequence[str] = (),
) -> Choice:
    """Choose the columns. `first`: the cells of the first row, by column. `metrics`: those that are
    wanted, which may be columns."""
    for name in header:
        if list(header).count(name) > 1:
            raise ReplituneError(
                f"two columns are called {name!r}", file=file, line=1, found=", ".join(header)
            )
    asked = {role: getattr(given, role) for role in settings_of(ColumnNames)}
    # --columns system=A,B: each of these columns is a system
    several = [
        r for r in ("system", "replica", "sample") if "," in (asked[r] or "") and asked[r] not in header
    ]
    wide = several[0] if several else ""
    each = tuple(_known(name, header, wide, file) for name in asked.pop(wide).split(",")) if wide else ()
    columns = {role: _known(name, header, role, file) for role, name in asked.items() if name}
    free = [name for name in header if name not in (*columns.values(), *each)]
    guessed: dict[str, str] = {}
    ids = [name for name in free if not isinstance(first.get(name), list | dict)]
    for role in asked:
        known = role in columns or role == wide
        if not known and (like := column_of(role, ids if role in ("group", "sample") else free, file)):
            guessed[role] = like
    if "segment" not in {**columns, **guessed} and plain(guessed.get("group", "")) == "prompt":
        guessed["segment"] = guessed.pop("group")  # each prompt is an item
    guesses = [
        f"{WORDS.get(role, role)} is `{name}`"
        for role, name in guessed.items()
        if plain(name) not in (role, WORDS.get(role))
    ]
    columns |= guessed
    score = columns.pop("score", None)
    if wide:
        index = [name for name in free if INDEX.fullmatch(name)]
        items = {"segment": index[0]} if index else {}
        return Choice({**items, **columns}, each, _together(guesses), wide)
    wanted = metrics and all(name in header for name in metrics)
    if given.score is None and "metric" not in columns and wanted:
        return Choice(columns, tuple(dict.fromkeys(metrics)), _together(guesses))
    if score is not None:
        return Choice(columns, (score,), _together(guesses))
    if not {"replica", "sample", "metric"} & {*columns}:
        runs = [name for name in free if RUN_COLUMN.fullmatch(name) and is_number(first.get(name))]
        if len(runs) > 1:
            called = RUN_COLUMN.fullmatch(runs[0])
            of = "sample" if called and called[1].lower() in CALLED["sample"].split() else "replica"
            guesses.append(f"{WORDS.get(of, of)}s are `{runs[0]}` to `{runs[-1]}`")
            return Choice(columns, tuple(runs), _together(guesses), wide=of)
    correct, count = (
        [name for name in free if plain(name) in words.split() and is_number(first.get(name))]
        for words in (CORRECT, COUNT)
    )
    if len(correct) == len(count) == 1:
        guesses.append(f"score is `{correct[0]}` / `{count[0]}`")
        return Choice(columns, (correct[0],), _together(guesses), count=count[0])
    named = [name for name in free if plain(name) in SCORES.split() and is_number(first.get(name))]
    only = named[0] if len(named) == 1 else _only_number(header, first, columns, file)
    return Choice(columns, (only,), _together([*guesses, f"score is `{only}`"]))


def _together(guesses: Sequence[str]) -> tuple[str, ...]:
    return (", ".join(guesses),) if guesses else ()


def column_of(role: str, header: Sequence[str], file: str) -> str | None:
    """The column of a role, by its name, if there is one; several are a mistake."""
    likely = _likely(role, header)
    like = called_like(role, likely)
    if like is None and likely:
        say = option("columns", {role: likely[0]})
        raise ReplituneError(
            f"several columns could be the {WORDS.get(role, role)}",
            file=file,
            found=", ".join(likely),
            fix=f"say which: {say}" if hasattr(ColumnNames, role) and say else "rename or remove one",
        )
    return like


def called_like(role: str, header: Sequence[str]) -> str | None:
    """The only column whose name fits the role, or the one that is called exactly so; else None."""
    likely = _likely(role, header)
    exact = [name for name in likely if plain(name) == role]
    return (exact or likely)[0] if len(likely) == 1 or len(exact) == 1 else None


def _likely(role: str, header: Sequence[str]) -> list[str]:
    return [name for name in header if plain(name) in CALLED[role].split()]


def plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _known(name: str, header: Sequence[str], role: str, file: str) -> str:
    if name in header:
        return name
    close = nearest(name, header)
    raise ReplituneError(
        f"no column is called {name!r}",
        file=file,
        found=", ".join(header),
        fix=f"did you mean {option('columns', {role: close})}?" if close else None,
    )


def _only_number(
    header: Sequence[str], first: Mapping[str, Any], columns: Mapping[str, str], file: str
) -> str:
    """The one column of numbers that has no other role."""
    left = [
        name
        for name in header
        if name not in columns.values() and is_number(first.get(name)) and not INDEX.fullmatch(name)
    ]
    if len(left) == 1:
        return left[0]
    role = "replica" if "system" in columns else "system"
    several = (
        f"; or several: as metrics {option('metrics', left)}, as {WORDS.get(role, role)}s "
        f"{option('columns', {role: ','.join(left)})}"
    )
    raise ReplituneError(
        "which column is the score?",
        file=file,
        found=", ".join(header) or "no columns",
        expected="a column `score`",
        fix=f"say which: {option('columns', {'score': left[0] if left else 'NAME'})}"
        f"{several if left[1:] else ''}",
    )
