"""The settings of phrase-based systems. Light: the Snakefile imports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from replitune.backends.settings import Subset, SystemSettings
from replitune.errors import ReplituneError
from replitune.settings import Settings, about

Group = Literal["tm", "lm", "distortion", "penalties", "lexro"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Groups of features."""

Aligner = Literal["hmm", "fast_align", "eflomal"]

Heuristic = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
HEURISTICS: tuple[Heuristic, ...] = get_args(Heuristic)

LONGEST = 200
"""Most words of a segment that aligners accept; their memory grows with its square."""
LONGEST_PHRASE = 8
"""The links inside a phrase pair are a mask of LONGEST_PHRASE x LONGEST_PHRASE = 64 bits."""
HIGHEST_ORDER = 6
"""Highest order of a language model."""


def require_distinct(groups: Sequence[str], known: Sequence[str] = GROUPS) -> None:
    """Refuse an empty list of feature groups, and one that names a group twice."""
    if not groups or len(set(groups)) < len(groups):
        raise ReplituneError(
            "features must be one or more distinct groups",
            found=", ".join(groups) or "none",
            expected="some of " + ", ".join(known),
        )


class TrainingSettings(Settings):
    """The training settings that both kinds of model share: words, alignment, counts, language model."""

    alignment: Annotated[Aligner, about("Word aligner.")] = "hmm"
    alignment_iterations: Annotated[int, about("Iterations of the aligner.", ge=1, le=100)] = 5
    symmetrisation: Annotated[
        Heuristic, about("How the alignments of the two directions are combined.")
    ] = "grow-diag-final-and"
    good_turing: Annotated[bool, about("Discount the counts of phrase pairs or rules.")] = False
    max_options: Annotated[
        int,
        about(
            "Translation options kept per source phrase, or rules per source side; 0: all.", ge=0, le=10**9
        ),
    ] = 100
    lm_order: Annotated[int, about("Order of the language model.", ge=1, le=HIGHEST_ORDER)] = 5
    lm_prune: Annotated[
        tuple[int, ...],
        about(
            "A number for single words, one for pairs of words, and so on: n-grams that occur at most "
            "this often are left out of the language model, as by lmplz's --prune; the last number also "
            "holds for all longer ones."
        ),
    ] = ()
    max_length: Annotated[
        int,
        about(
            "Pairs with a side of more words than this (or pieces, if words are split) are dropped.",
            ge=1,
            le=LONGEST,
        ),
    ] = 100
    max_ratio: Annotated[
        float,
        about(
            "Pairs are dropped if one side is more than this many times as long as the other.", ge=1, le=1e6
        ),
    ] = 9.0
    source_segmentation: Annotated[
        Literal["none", "compounds", "bpe"], about("How source words are split.")
    ] = "none"
    target_segmentation: Annotated[
        Literal["none", "bpe"], about("How target words are split; translations are joined again.")
    ] = "none"
    bpe_merges: Annotated[int, about("Most byte-pair merges to learn.", ge=0, le=10**9)] = 8000
    compound_min_length: Annotated[int, about("Fewest letters of a part of a compound.", ge=1, le=1000)] = 4
    compound_min_count: Annotated[
        int, about("Fewest occurrences of a part of a compound in the text.", ge=1, le=10**9)
    ] = 5
    compound_fillers: Annotated[
        tuple[str, ...], about("Letters that may stand between the parts of a compound.")
    ] = ("", "s", "es")
    seed: Annotated[int, about("Used by eflomal only.", ge=0, le=2**31 - 1)] = 1

    def __post_init__(self) -> None:
        prune = self.lm_prune
        if prune and (prune[0] or len(prune) > self.lm_order or list(prune) != sorted(prune)):
            raise ReplituneError(
                "lm_prune must begin with 0 (for single words), not decrease, and have at most one number "
                "per order",
                found=", ".join(map(str, prune)),
                expected="0, 0, 1 for example, to leave out n-grams of 3 or more words that occur once",
            )


class PhraseSettings(TrainingSettings):
    """Everything that decides a model, apart from the inputs."""

    features: Annotated[
        tuple[Group, ...],
        about("Groups of features that the decoder may use; tables have scores for the others, too."),
    ] = GROUPS
    max_phrase_length: Annotated[int, about("Most words of a phrase.", ge=1, le=LONGEST_PHRASE)] = 7
    reordering_smoothing: Annotated[
        float, about("Added to the count of each orientation.", ge=0.001, le=1e6)
    ] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct(self.features)


class SearchSettings(Settings):
    """How the decoder searches, by cube pruning; the defaults of `stack`, `beam`, `distortion_limit`
    and `options` are those of Moses."""

    stack: Annotated[int, about("Hypotheses kept per number of translated words.", ge=1)] = 100
    pop_limit: Annotated[
        int,
        about("Extensions tried per number of translated words; docs/benchmarks.md compares limits.", ge=1),
    ] = 320
    beam: Annotated[
        float,
        about(
            "Smallest probability of a hypothesis relative to the best of its stack; 0: no limit.",
            ge=0,
            lt=1,
        ),
    ] = 1e-5
    distortion_limit: Annotated[
        int, about("Farthest jump in the source; 0: monotone, -1: no limit.", ge=-1)
    ] = 6
    options: Annotated[int, about("Translation options kept per source phrase.", ge=1)] = 20


class EmbeddedSettings(SystemSettings):
    """The settings that all embedded systems have."""

    subset: Subset = "all"
    tables: Annotated[
        Literal["known", "full"],
        about(
            "`known`: a table for each text of the experiment, with only the phrases or rules that it "
            "can use; `full`: one table with all of them, so that the model can translate other texts, "
            "too. The translations are the same."
        ),
    ] = "known"


class PhraseSystemSettings(EmbeddedSettings):
    """The embedded phrase-based system, trained on the corpus and tuned once per run."""

    features: Annotated[
        tuple[Group, ...] | None,
        about(
            "Feature groups in use: translation model (tm, 4 scores), language model (lm), "
            "distortion, word and phrase penalty (penalties), lexicalised reordering (lexro, 6). "
            "By default all that the model was trained for."
        ),
    ] = None
    training: Annotated[PhraseSettings, about("How the model is trained.")] = PhraseSettings()
    search: Annotated[SearchSettings, about("How the decoder searches.")] = SearchSettings()

    def __post_init__(self) -> None:
        if self.features is not None:
            require_distinct(self.features)
