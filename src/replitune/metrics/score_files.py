"""Names of files with segment scores that something else computed (metric `external`). Light."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError, nearest

PLACES = ("{system}", "{replica}", "{number}")
"""In the name of a file that holds the scores of one output: baseline, run-001, 1."""

TESTSET = "{testset}"

Scores = str | Mapping[str, str]
"""A file, with the place {testset} where there are several test sets; or files by test set."""


def scores_named(entry: str | Mapping[str, Any]) -> Scores | None:
    """What a metric of an experiment names as its scores; None: it computes them from text."""
    if isinstance(entry, str):
        name, _, rest = entry.partition(":")
        options: Mapping[str, Any] = dict(word.partition("=")[::2] for word in rest.split(","))
    else:
        name = entry["name"]
        options = {**entry, **(entry.get("options") or {})}
    if name != "external":
        return None
    given: Scores | None = options.get("file")
    return given


def scores_file(scores: Scores, testset: str) -> str:
    """The file of a test set."""
    return scores.replace(TESTSET, testset) if isinstance(scores, str) else scores[testset]


def has_scores(scores: Scores, testset: str) -> bool:
    """Whether a test set that is not tested (dev) has scores: where it is named."""
    return not isinstance(scores, str) and testset in scores


def output_file(file: str | Path, system: str, replica: str) -> Path:
    """The file of one output: places in the name filled in."""
    number = re.search(r"\d+$", replica)
    values = (system, replica, str(int(number.group())) if number else "")
    name = str(file)
    for place, value in zip(PLACES, values, strict=True):
        name = name.replace(place, value)
    return Path(name)


def check_scores(
    entry: str | Mapping[str, Any], tests: Sequence[str], complain: Callable[..., ReplituneError]
) -> None:
    """Every test set has scores of its own, in files that can be named on a command line."""
    scores = scores_named(entry)
    what = "metric external"
    if scores is None:
        name = entry.partition(":")[0] if isinstance(entry, str) else entry["name"]
        if name == "external":
            raise complain(("metrics",), f"{what} needs a file of scores", fix="say `file: NAME`")
        return
    if not isinstance(scores, str | Mapping):
        raise complain(
            ("metrics",), f"{what}: file is not allowed", found=repr(scores),
            expected="a name, or names by test set",
        )  # fmt: skip
    if isinstance(scores, str):
        if len(tests) > 1 and TESTSET not in scores:
            raise complain(
                ("metrics",), f"{what}: one file of scores for {len(tests)} test sets",
                found=scores, fix=f"write {TESTSET} in its name, or name a file for each test set",
            )  # fmt: skip
    else:
        for name in scores:
            if name not in (*tests, "dev"):
                close = nearest(name, [*tests, "dev"])
                raise complain(
                    ("metrics",), f"{what}: unknown test set {name!r}",
                    expected=", ".join([*tests, "dev"]),
                    fix=f"did you mean {close!r}?" if close else None,
                )  # fmt: skip
        lacking = [name for name in tests if name not in scores]
        if lacking:
            raise complain(
                ("metrics",), f"{what}: no scores for test set {lacking[0]}",
                fix="name its file, or remove the test set",
            )  # fmt: skip
    names = [scores] if isinstance(scores, str) else scores.values()
    bad = next((name for name in names if not isinstance(name, str) or "," in name), None)
    if bad is not None:
        raise complain(
            ("metrics",), f"{what}: not a name of a file of scores", found=repr(bad),
            expected="a text without a comma",
        )  # fmt: skip
