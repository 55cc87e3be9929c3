"""The 8 features: their order, their groups, vectors and weights files."""

from __future__ import annotations

from dataclasses import dataclass

from replitune.hiero.settings import GROUPS
from replitune.phrase.features import Feature, GroupedLayout

FEATURES = (
    Feature("LM0", "lm", 1, 0.5),
    Feature("WordPenalty0", "penalties", 1, -0.3),
    Feature("RulePenalty0", "penalties", 1, 0.1),
    Feature("Glue0", "glue", 1, -0.1),
    Feature("TranslationModel0", "tm", 4, 0.2),
)
"""In the order of vectors."""

WIDTH = sum(feature.arity for feature in FEATURES)

# First column of each feature in a full vector of WIDTH values.
LM, WORD_PENALTY, RULE_PENALTY, GLUE, TM = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class HieroLayout(GroupedLayout):
    """Which of the 8 features a system has."""

    known = FEATURES
    all_groups = GROUPS
