"""Training of a hierarchical system: from a parallel text to a model folder.

It is like that of a phrase-based system, with a grammar (`grammar.json`, arrays) in place of a table.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.hiero.features import HieroLayout
from replitune.hiero.model import HieroModel
from replitune.hiero.scores import make_grammar
from replitune.hiero.settings import HieroSettings
from replitune.phrase.align import Progress
from replitune.phrase.encode import Encoded
from replitune.phrase.linked import Linked
from replitune.phrase.train import ModelKind


def hiero_kind(settings: HieroSettings) -> ModelKind:
    """The kind of hierarchical systems."""
    layout = HieroLayout.from_groups(settings.features)
    return ModelKind("hiero", layout, HieroModel, partial(_train_grammar, settings))


def _train_grammar(
    settings: HieroSettings, linked: Linked, known: Encoded | None, folder: Path, say: Progress
) -> dict[str, int]:
    """Extract, score and save the grammar."""
    counts = make_grammar(linked, settings, known, folder)
    if counts["extracted"] == 0:
        raise ReplituneError(
            "no rule can be extracted",
            found=f"{len(linked.source)} pairs with {len(linked.links.source)} word links",
            fix="train on more text",
        )
    say(
        f"{counts['extracted']} rules extracted ({settings.extraction}), {counts['distinct']} distinct, "
        f"{counts['rules']} kept"
    )
    return counts
