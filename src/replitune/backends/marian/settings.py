"""The settings of neural systems. Imports little, because the Snakefile imports it.

Marian's training options of an experiment override the defaults of its architecture. Names are Marian's
own, and Marian refuses unknown ones. replitune sets files, seeds, threads and the length of training:
it refuses options for these, and says what to write instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from replitune.backends.settings import Subset, SystemSettings, Text
from replitune.errors import ReplituneError
from replitune.settings import WRONG, Kind, Path_, Reading, Settings, about, fits

INSTEAD = {
    "replitune names the files, and trains anew when one changes": (
        "model",
        "pretrained-model",
        "embedding-vectors",
        "guided-alignment",
        "data-weighting",
        "config",
        "dump-config",
        "tempdir",
        "sqlite",
    ),
    "name the texts as corpus.train": ("train-sets", "tsv", "tsv-fields", "input-types"),
    "name them as corpus.dev": ("valid-sets",),
    "say `tuning: {metric: ...}`": ("valid-metrics",),
    "say `vocabulary: {...}`": ("vocabs", "sentencepiece-options", "no-spm-encode"),
    "say `vocabulary: {size: N}`": ("dim-vocabs",),
    "random segmentation is not repeatable": ("sentencepiece-alphas",),
    "each run has its own seed": ("seed",),
    "say `training: {length: 20e}`, or `20000u`": ("after", "after-epochs", "after-batches"),
    "say `training: {every: 1e}`": ("valid-freq", "save-freq"),
    "say `training: {patience: N}`": ("early-stopping",),
    "say `training: {min_gain: X}`": ("early-stopping-epsilon",),
    "the best model on dev is always kept": ("keep-best",),
    "replitune goes on from its own checkpoints": (
        "overwrite",
        "overwrite-checkpoint",
        "no-reload",
        "no-optimizer-reload",
        "no-restore-corpus",
    ),
    "replitune reads what Marian says": ("quiet", "log-level", "log"),
    "say `resources: {threads: N}`": ("cpu-threads", "data-threads"),
    "runs are trained on processor cores": ("devices",),
    "say `decoding: {beam: N}`": ("beam-size",),
    "say `decoding: {normalize: X}`": ("normalize",),
    "say `architecture: transformer`, and what differs as options": ("task",),
}
RESERVED = {name: instead for instead, names in INSTEAD.items() for name in names}
"""Options that replitune sets itself, with what to write instead."""

SHARED = {
    "learn-rate": 0.003,
    "lr-warmup": "400u",
    "lr-decay-inv-sqrt": ["400u"],
    "optimizer-params": [0.9, 0.98, 1e-9],
    "clip-norm": 1.0,
    "cost-type": "ce-mean-words",
    "label-smoothing": 0.1,
    "exponential-smoothing": 1e-3,
    "mini-batch": 1000,
    "mini-batch-words": 1000,
    "maxi-batch": 100,
    "max-length": 100,
    "shuffle-in-ram": True,
    "workspace": 512,
    "disp-freq": "50u",
}
PRESETS: dict[str, dict[str, Any]] = {
    "transformer": {
        "type": "transformer",
        "dim-emb": 128,
        "enc-depth": 2,
        "dec-depth": 2,
        "transformer-heads": 4,
        "transformer-dim-ffn": 512,
        "transformer-dropout": 0.1,
        **SHARED,
    },
    "rnn": {
        "type": "s2s",
        "dim-emb": 128,
        "dim-rnn": 256,
        "enc-depth": 1,
        "dec-depth": 1,
        "layer-normalization": True,
        "dropout-rnn": 0.1,
        **SHARED,
    },
}
"""Small architectures, which train in minutes on one processor core."""

COST_TYPES = ("ce-mean-words", "ce-sum")
"""Cost types that Marian prints per target word."""


class MarianOptions(Kind):
    """Marian's options by their own names, except those that replitune sets."""

    words = "a mapping of Marian's options for models and training, by their own names"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if not isinstance(value, Mapping):
            return reading.not_allowed(value, path, self.words)
        reserved = [name for name in value if name in RESERVED]
        for name in reserved:
            reading.wrong((*path, name), f"option {name} cannot be set", fix=RESERVED[name])
        return WRONG if reserved else dict(value)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "propertyNames": {"not": {"enum": [*RESERVED]}}}


def training_options(
    architecture: str, given: Mapping[str, Any], shared_vocabulary: bool
) -> dict[str, Any]:
    """The architecture's options, overridden by those `given`, which `MarianOptions` has read.

    Both languages share embeddings if they share the vocabulary.
    """
    for name, default in PRESETS[architecture].items():
        # Marian would read 8.5 as 8, and any text as true
        if not fits(type(default), given.get(name, default)):
            raise ReplituneError(
                f"option {name} is not allowed", found=repr(given[name]), expected=f"such as {default!r}"
            )
    tied = "tied-embeddings-all" if shared_vocabulary else "tied-embeddings"
    options = {**PRESETS[architecture], tied: True, **given}
    if any(name.startswith("tied-embeddings") for name in given):
        options = {k: v for k, v in options.items() if k in given or not k.startswith("tied-embeddings")}
    for name in ("tied-embeddings-all", "tied-embeddings-src"):
        if options.get(name) and not shared_vocabulary:
            raise ReplituneError(
                f"option {name} needs one vocabulary for both languages",
                fix="say `vocabulary: {shared: true}`, or tied-embeddings: true",
            )
    if options["cost-type"] not in COST_TYPES:
        raise ReplituneError(
            "option cost-type is not allowed",
            found=str(options["cost-type"]),
            expected=" or ".join(COST_TYPES),
        )
    if "stalled" in str(options.get("lr-decay-strategy", "")):
        raise ReplituneError(
            "option lr-decay-strategy is not allowed",
            found=str(options["lr-decay-strategy"]),
            expected="epoch, batches or epoch+batches: Marian does not validate here, so its "
            "validations never stall",
        )
    return options


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
