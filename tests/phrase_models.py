"""Phrase-based models without a command, and language models as ARPA text, for other programs to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.phrase.arpa import NgramModel
from replitune.phrase.settings import PhraseSettings
from replitune.phrase.train import phrase_kind, train_system
from replitune.running.files import atomic_open


def train_phrase_system(
    source: Sequence[str], target: Sequence[str], settings: PhraseSettings, out: str | Path, **inputs: Any
) -> Path:
    """Train a model on the pairs (`source[i]`, `target[i]`) and write the folder `out`; `inputs` as
    in `train_system`."""
    return train_system(phrase_kind(settings), source, target, settings, out, **inputs)


def write_arpa(model: NgramModel, path: str | Path) -> None:
    """Write ARPA text with nine digits, so that reading it gives the same float32 again."""
    number = "{:.9g}".format
    with atomic_open(path) as handle:
        handle.write("\\data\\\n")
        for n, grams in enumerate(model.ngrams, 1):
            handle.write(f"ngram {n}={len(grams)}\n")
        for n, grams in enumerate(model.ngrams, 1):
            handle.write(f"\n\\{n}-grams:\n")
            columns = [[model.words[i] for i in column] for column in grams.T.tolist()]
            texts = map(" ".join, zip(*columns, strict=True))
            probs = map(number, model.logprobs[n - 1].tolist())
            if n < model.order:
                rests = map(number, (model.backoffs[n - 1] + 0.0).tolist())
                lines = map("\t".join, zip(probs, texts, rests, strict=True))
            else:
                lines = map("\t".join, zip(probs, texts, strict=True))
            handle.write("\n".join(lines))
            handle.write("\n" if len(grams) else "")
        handle.write("\n\\end\\\n")
