"""The 8 features: their order, their groups, vectors and weights files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from replitune.hiero.settings import GROUPS
from replitune.phrase.features import UNKNOWN_WORD, GroupedLayout

__all__ = [
    "GLUE",
    "LM",
    "NAMES",
    "RULE_PENALTY",
    "TM",
    "UNKNOWN_WORD",
    "WIDTH",
    "WORD_PENALTY",
    "HieroLayout",
]

NAMES: tuple[tuple[str, str, int], ...] = (
    ("LM0", "lm", 1),
    ("WordPenalty0", "penalties", 1),
    ("RulePenalty0", "penalties", 1),
    ("Glue0", "glue", 1),
    ("TranslationModel0", "tm", 4),
)
"""(name in n-best lists and weights files, group in an experiment file, arity), in order."""

WIDTH = sum(arity for _, _, arity in NAMES)

# First column of each feature in a full vector of WIDTH values.
LM, WORD_PENALTY, RULE_PENALTY, GLUE, TM = 0, 1, 2, 3, 4

SENSIBLE: Mapping[str, Sequence[float]] = {
    "LM0": [0.5],
    "WordPenalty0": [-0.3],
    "RulePenalty0": [0.1],
    "Glue0": [-0.1],
    "TranslationModel0": [0.2] * 4,
}
"""Weights to start from."""


@dataclass(frozen=True)
class HieroLayout(GroupedLayout):
    """Which of the 8 features a system has."""

    known = NAMES
    start = SENSIBLE
    all_groups = GROUPS
