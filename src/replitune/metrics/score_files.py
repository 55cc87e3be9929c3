"""Names of files with segment scores that were computed elsewhere (metric `external`). Light."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from replitune.errors import did_you_mean
from replitune.registry import Entry
from replitune.settings import about

PLACES = ("{system}", "{replica}", "{number}")
"""Places in the name of an output's file of scores, for such as baseline, run-001 and 1."""

TESTSET = "{testset}"

Scores = str | Mapping[str, str]
"""A file, with {testset} in its name if there are several test sets; or a file for each test set."""

File = Annotated[str, about("A file name without a comma.", pattern="^[^,]+$")]
ScoreFile = Annotated[
    File | Annotated[dict[str, File], about(min_length=1)],
    about(
        "The file of scores, with `{testset}` in its name where there are several test sets, or a "
        "file for each test set (dev too, if you have it). With `{system}`, `{replica}` (run-001) "
        "or `{number}` (1) each output has a file, a score on each line."
    ),
]


Complain = Callable[..., object]
"""Reports a mistake: `complain(path, message, found=, expected=, fix=)`."""


def scores_named(entry: Entry) -> Scores | None:
    """The scores that a metric of an experiment names; None if it names no file of scores."""
    scores: Scores | None = entry.options["file"] if entry.name == "external" else None
    return scores


def scores_file(scores: Scores, testset: str) -> str:
    """The file of scores of a test set."""
    return scores.replace(TESTSET, testset) if isinstance(scores, str) else scores[testset]


def has_scores(scores: Scores, testset: str) -> bool:
    """Whether a test set that is not tested (dev) has scores: only if it is named."""
    return not isinstance(scores, str) and testset in scores


def replica_number(replica: str) -> int | None:
    """The number at the end of a replica's id."""
    match = re.search(r"\d+$", replica)
    return int(match.group()) if match else None


def output_file(file: str | Path, system: str, replica: str) -> Path:
    """The file of one output: the name with its places filled in."""
    number = replica_number(replica)
    values = (system, replica, "" if number is None else str(number))
    name = str(file)
    for place, value in zip(PLACES, values, strict=True):
        name = name.replace(place, value)
    return Path(name)


def check_scores(entry: Entry, tests: Sequence[str], complain: Complain) -> None:
    """Report test sets without scores of their own, and scores of unknown test sets."""
    scores = scores_named(entry)
    if scores is None:
        return
    path, what = ("metrics",), "metric external"
    if isinstance(scores, str):
        if len(tests) > 1 and TESTSET not in scores:
            complain(
                path,
                f"{what}: one file of scores for {len(tests)} test sets",
                found=scores,
                fix=f"write {TESTSET} in its name, or name a file for each test set",
            )
        return
    known = [*tests, "dev"]
    for name in scores:
        if name not in known:
            complain(
                path,
                f"{what}: unknown test set {name!r}",
                expected=", ".join(known),
                fix=did_you_mean(name, known),
            )
    for name in tests:
        if name not in scores:
            complain(
                path, f"{what}: no scores for test set {name}", fix="name its file, or remove the test set"
            )
