"""Training of a hierarchical system: from a parallel text to a model folder.

It holds the grammar (`grammar.json` and its arrays) and, as that of a phrase-based system, the
language model in `lm/`, `source_segmentation.json` and `target_segmentation.json` when words are
split, and `model.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.hiero.extract import extract_rules
from replitune.hiero.features import HieroLayout
from replitune.hiero.scores import make_grammar
from replitune.hiero.settings import HieroSettings
from replitune.phrase.align import Progress
from replitune.phrase.encode import Encoded
from replitune.phrase.symmetrise import Links
from replitune.phrase.train import ModelKind, train_system


def train_hiero_system(
    source: Sequence[str], target: Sequence[str], settings: HieroSettings, out: str | Path, **inputs: Any
) -> Path:
    """Train a model on the pairs (`source[i]`, `target[i]`) and write the folder `out`; `inputs` as
    of `replitune.phrase.train.train_system`."""
    layout = HieroLayout.from_groups(settings.features)
    kind = ModelKind("hiero", layout, partial(_train_grammar, settings))
    return train_system(kind, source, target, settings, out, **inputs)


def _train_grammar(
    settings: HieroSettings, source: Encoded, target: Encoded, links: Links, folder: Path, say: Progress
) -> dict[str, int]:
    """Extract, score and save the grammar."""
    rules = extract_rules(source, target, links, settings)
    if rules.extracted == 0:
        raise ReplituneError(
            "no rule can be extracted",
            found=f"{len(source)} pairs with {len(links.source)} word links",
            fix="train on more text",
        )
    grammar = make_grammar(source, target, links, rules, settings)
    say(
        f"{rules.extracted} rules extracted ({settings.extraction}), {len(rules.count)} distinct, "
        f"{len(grammar.scores)} kept"
    )
    grammar.save(folder)
    return {"extracted": rules.extracted, "distinct": len(rules.count), "rules": len(grammar.scores)}
