"""The settings of training, and their limits."""

from __future__ import annotations

from dataclasses import dataclass

from replitune.errors import ReplituneError, nearest
from replitune.phrase.align import ALIGNERS, LONGEST
from replitune.phrase.extract import LONGEST_PHRASE
from replitune.phrase.kneser_ney import HIGHEST_ORDER
from replitune.phrase.symmetrise import HEURISTICS

FEATURES = {
    "LexicalReordering0": ("lexro", 6),
    "Distortion0": ("distortion", 1),
    "LM0": ("lm", 1),
    "WordPenalty0": ("penalties", 1),
    "PhrasePenalty0": ("penalties", 1),
    "TranslationModel0": ("tm", 4),
}
"""Moses' default model: name, group in an experiment file, number of scores."""

GROUPS = ("tm", "lm", "distortion", "penalties", "lexro")


@dataclass(frozen=True)
class PhraseSettings:
    """Everything that decides a model, inputs apart."""

    features: tuple[str, ...] = GROUPS
    """Groups of features that the decoder is to use; tables are trained for all of them."""
    alignment: str = "hmm"
    alignment_iterations: int = 5
    symmetrisation: str = "grow-diag-final-and"
    max_phrase_length: int = 7
    good_turing: bool = False
    reordering_smoothing: float = 0.5
    max_options: int = 100
    """Translation options kept per source phrase; 0 keeps all."""
    lm_order: int = 5
    max_length: int = 100
    """Pairs with a longer side are dropped; counted in pieces when words are split."""
    max_ratio: float = 9.0
    """Pairs with one side longer than this many times the other are dropped."""
    source_segmentation: str = "none"
    target_segmentation: str = "none"
    bpe_merges: int = 8000
    compound_min_length: int = 4
    compound_min_count: int = 5
    compound_fillers: tuple[str, ...] = ("", "s", "es")
    seed: int = 1
    """Used by eflomal only."""


def validate(settings: PhraseSettings) -> None:
    """Refuse settings out of range before anything is done."""
    if not settings.features or len(set(settings.features)) < len(settings.features):
        raise ReplituneError(
            "features must be distinct groups, and at least one",
            found=", ".join(settings.features) or "none",
            expected="some of " + ", ".join(GROUPS),
        )
    choices = (
        *(("features", GROUPS, group) for group in settings.features),
        ("alignment", ALIGNERS, settings.alignment),
        ("symmetrisation", HEURISTICS, settings.symmetrisation),
        ("source_segmentation", ("none", "compounds", "bpe"), settings.source_segmentation),
        ("target_segmentation", ("none", "bpe"), settings.target_segmentation),
    )
    for name, known, value in choices:
        if value not in known:
            close = nearest(str(value), list(known))
            raise ReplituneError(
                f"unknown {name}",
                found=str(value),
                expected=", ".join(known),
                fix=f"did you mean {close}?" if close else None,
            )
    ranges = (
        ("alignment_iterations", 1, 100),
        ("max_phrase_length", 1, LONGEST_PHRASE),
        ("reordering_smoothing", 0.001, 1e6),
        ("max_options", 0, 10**9),
        ("lm_order", 1, HIGHEST_ORDER),
        ("max_length", 1, LONGEST),
        ("max_ratio", 1, 1e6),
        ("bpe_merges", 0, 10**9),
        ("compound_min_length", 1, 1000),
        ("compound_min_count", 1, 10**9),
        ("seed", 0, 2**31 - 1),
    )
    for name, low, high in ranges:
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ReplituneError(
                f"{name} out of range", found=str(value), expected=f"{low:g} to {high:g}"
            )
