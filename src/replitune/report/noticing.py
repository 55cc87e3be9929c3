"""Would people notice? How often people rank two systems as a difference of a metric does: the
accuracies of Kocmi et al. (2024), "Navigating the Metrics Maze", by their package mt-thresholds
(extra `notice`). They hold for differences of that size between systems in general, and are no test.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from functools import cache
from typing import Any

from replitune.results.result import Result

MODELS = {
    "wmt20-comet-da": "comet20",
    "wmt22-comet-da": "comet22",
    "wmt21-comet-qe-mqm": "comet21qe",
    "wmt22-cometkiwi-da": "cometkiwi22",
    "wmt23-cometkiwi-da-xxl": "cometkiwixxl",
    "bleurt-20": "bleurt20",
}
"""What mt-thresholds calls the models of pymarian."""

IN_HUNDREDTHS = ("comet", "xcomet", "bleurt")
"""Metrics whose differences are published in hundredths."""

HEADING = "people"
CAPTION = (
    "people: how often people prefer the system that a difference of this size favours (Kocmi et al. "
    "2024); no test"
)


@cache
def _package() -> Any:
    """mt-thresholds; None if it is not installed."""
    if importlib.util.find_spec("mt_thresholds") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("mt_thresholds")


def published_name(result: Result) -> str | None:
    """What mt-thresholds calls the metric; None if it has no thresholds for it as it was computed."""
    package = _package()
    if package is None:
        return None
    name, _, rest = result.word.partition(":")
    options = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    options.pop("id", None)
    if name in ("comet", "bleurt"):
        known = MODELS.get(options.get("model", {"comet": "wmt22-comet-da"}.get(name, "bleurt-20")))
    elif name in ("bleu", "chrf"):  # other options give other scores
        known = None if options else name
    else:
        known = re.sub(r"[^a-z0-9]", "", result.metric.lower())
    return known if known in package.METRICS else None


def accuracy(result: Result, pair: tuple[str, str]) -> float | None:
    """How often people agree with the sign of a difference: .5 or more."""
    name, delta = published_name(result), result.difference(pair)
    if name is None:
        return None
    if name.startswith(IN_HUNDREDTHS) and all(abs(s.avg) <= 2 for s in result.systems.values()):
        delta *= 100
    return max(0.5, float(_package().accuracy(abs(delta), name)) / 100)


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"
