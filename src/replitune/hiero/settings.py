"""The settings of hierarchical systems. Light: the Snakefile imports them."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from replitune.errors import ReplituneError
from replitune.phrase.settings import EmbeddedSettings, TrainingSettings, require_distinct
from replitune.settings import Settings, about

Group = Literal["tm", "lm", "glue", "penalties"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Groups of features."""

MASK_BITS = 64
"""Most bits of a rule's mask of word links: its source symbols times the words of an initial phrase."""


LONGEST_RULE = 20
"""Most source words that a rule may cover in a search."""


class HieroSettings(TrainingSettings):
    """Everything that decides a grammar, apart from the inputs. The default limits are those of Moses,
    which differ from Chiang's (2007) only in `extraction`."""

    features: Annotated[
        tuple[Group, ...],
        about("Groups of features that the decoder may use; rules have scores for the others, too."),
    ] = GROUPS
    extraction: Annotated[
        Literal["tight", "loose"],
        about(
            "Whether phrases that rules are made from may begin or end with unaligned words: `tight` (no, "
            "as in Chiang (2007) and cdec) or `loose` (yes, as in Moses, with far more rules)."
        ),
    ] = "loose"
    max_span: Annotated[
        int, about("Most words, on either side, of a phrase that rules are made from.", ge=1, le=16)
    ] = 10
    max_symbols: Annotated[int, about("Most words and gaps of a rule's source side.", ge=1, le=8)] = 5
    min_gap: Annotated[int, about("Fewest source words that a gap stands for.", ge=1, le=16)] = 2
    fractional_counts: Annotated[
        bool, about("Whether the rules of one phrase share a count of 1, or count 1 each.")
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct(self.features, GROUPS)
        if self.max_symbols * self.max_span > MASK_BITS:
            raise ReplituneError(
                "max_symbols times max_span is too large",
                found=f"{self.max_symbols} * {self.max_span} = {self.max_symbols * self.max_span}",
                expected=f"at most {MASK_BITS}",
            )


class HieroSearchSettings(Settings):
    """How the decoder searches."""

    pop_limit: Annotated[
        int, about("Combinations of a rule and its parts tried per span (cube pruning).", ge=1)
    ] = 100
    max_span: Annotated[
        int,
        about("Most source words that a rule covers; glue rules cover any number.", ge=1, le=LONGEST_RULE),
    ] = 10
    options: Annotated[int, about("Rules kept per source side.", ge=1)] = 20


class HieroSystemSettings(EmbeddedSettings):
    """The embedded hierarchical system, trained on the corpus and tuned once per run."""

    features: Annotated[
        tuple[Group, ...] | None,
        about(
            "Feature groups in use: translation model (tm, 4 scores), language model (lm), number "
            "of glue rules (glue), word and rule penalty (penalties). By default all that the "
            "model was trained for."
        ),
    ] = None
    training: Annotated[HieroSettings, about("How the model is trained.")] = HieroSettings()
    search: Annotated[HieroSearchSettings, about("How the decoder searches.")] = HieroSearchSettings()

    def __post_init__(self) -> None:
        if self.features is not None:
            require_distinct(self.features, GROUPS)
