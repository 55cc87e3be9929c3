"""The settings of neural systems. Imports little, because the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from replitune.backends.marian.options import MarianOptions
from replitune.backends.settings import Subset, SystemSettings, Text
from replitune.errors import ReplituneError
from replitune.settings import Settings, about

LENGTH = r"^[1-9][0-9]*[eu]$(?!\n)"
Length = Annotated[str, about("epochs or updates, such as 20e or 5000u", pattern=LENGTH)]
Pieces = Annotated[int, about(ge=1)]


class VocabularySettings(Settings):
    """How a vocabulary is made."""

    kind: Annotated[Literal["bpe", "unigram"], about("How SentencePiece cuts words.")] = "bpe"
    size: Annotated[
        Pieces | tuple[Pieces, Pieces], about("Pieces; for separate vocabularies also [source, target].")
    ] = 4000
    shared: Annotated[bool, about("One vocabulary for both languages.")] = True
    normalization: Annotated[
        Literal["identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"],
        about("SentencePiece's normalisation; `identity` leaves the text as it is, like the references."),
    ] = "identity"
    byte_fallback: Annotated[bool, about("Write unknown characters as bytes.")] = False

    def __post_init__(self) -> None:
        if self.shared and isinstance(self.size, tuple):
            raise ReplituneError(
                "a shared vocabulary has one size",
                found=str(list(self.size)),
                fix="say shared: false, or give one number",
            )

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes (source, target)."""
        return self.size if isinstance(self.size, tuple) else (self.size, self.size)


class TrainingSettings(Settings):
    """How long to train."""

    length: Annotated[Length, about("Train for at most so many epochs (`20e`) or updates (`5000u`).")] = (
        "20e"
    )
    every: Annotated[
        Length, about("How often dev is translated and scored, by `tuning.metric`; the best model is kept.")
    ] = "1e"
    patience: Annotated[int, about("Stop after so many scores in a row that are not better.", ge=1)] = 5
    min_gain: Annotated[
        float, about("A dev score is better if it gains more than this, in the metric's units.", ge=0)
    ] = 0.0

    def __post_init__(self) -> None:
        if self.length[-1] != self.every[-1]:
            raise ReplituneError(
                "training: length and every are in different units",
                found=f"{self.length} and {self.every}",
                expected="both in epochs (e), or both in updates (u)",
            )

    def end_of(self, number: int) -> str | None:
        """Where round `number`, counted from 1, ends; None if the round before it was the last."""
        step, last = int(self.every[:-1]), int(self.length[:-1])
        if (number - 1) * step >= last:
            return None
        return f"{min(number * step, last)}{self.length[-1]}"


class DecodingSettings(Settings):
    """Beam search. Sentences of similar length go through the network together. Which ones these are
    depends only on the text, so that the same text gives the same bytes."""

    beam: Annotated[int, about("Width of the beam.", ge=1)] = 5
    normalize: Annotated[float, about("Power of the length by which scores are divided.", ge=0)] = 0.6
    word_penalty: Annotated[float, about("Subtracted from the score for each piece.")] = 0.0
    max_length_factor: Annotated[
        float, about("Longest translation, in pieces per piece of source.", gt=0)
    ] = 3.0
    mini_batch: Annotated[int, about("Sentences that are translated together.", ge=1)] = 32
    workspace: Annotated[int, about("MB of memory to begin with.", ge=1)] = 512


class MarianSettings(SystemSettings):
    """A neural system, trained by Marian (extra `nmt`) once per run, each time with a different
    seed. See docs/backends.md."""

    architecture: Annotated[
        Literal["transformer", "rnn"],
        about(
            "Small defaults to begin with: a transformer of 2 + 2 layers, or an encoder and "
            "decoder of one recurrent layer with attention."
        ),
    ] = "transformer"
    options: Annotated[
        Any,
        about(
            "Marian's options for models and training, where they differ from the defaults of the "
            "architecture: `{dim-emb: 256, learn-rate: 0.001}`."
        ),
        MarianOptions(),
    ] = msgspec.field(default_factory=dict)
    vocabulary: Annotated[
        VocabularySettings, about("The subword vocabulary, made from the training text.")
    ] = VocabularySettings()
    subset: Subset = "all"
    training: Annotated[TrainingSettings, about("How long to train.")] = TrainingSettings()
    decoding: Annotated[DecodingSettings, about("Beam search.")] = DecodingSettings()
    deterministic: Annotated[
        bool,
        about(
            "`false` allows training with several threads (`resources: {threads: N}`), which gives "
            "other bytes each time; the report says which runs."
        ),
    ] = True
    binary: Annotated[Text, about("The package `pymarian`, or a program such as `marian` on PATH.")] = (
        "pymarian"
    )
