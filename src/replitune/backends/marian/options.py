"""Marian's training options that an experiment may set, and what they are set to by default.

Names are Marian's own. They are checked before anything runs, and written to one configuration
file, so that none is given twice (which Marian refuses). What decides paths, seeds, threads and
the length of training is the workflow's business and refused with the key that says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replitune.errors import ReplituneError
from replitune.settings import WRONG, Kind, Path_, Reading, did_you_mean, fits

KINDS: dict[str, tuple[str, ...]] = {
    "a whole number": (
        "dim-emb",
        "dim-rnn",
        "enc-cell-depth",
        "enc-depth",
        "dec-cell-base-depth",
        "dec-cell-high-depth",
        "dec-depth",
        "transformer-heads",
        "transformer-dim-ffn",
        "transformer-decoder-dim-ffn",
        "transformer-ffn-depth",
        "transformer-decoder-ffn-depth",
        "transformer-dim-aan",
        "transformer-aan-depth",
        "max-length",
        "mini-batch",
        "mini-batch-words",
        "mini-batch-fit-step",
        "maxi-batch",
        "mini-batch-words-ref",
        "lr-decay-freq",
        "gradient-norm-average-window",
        "workspace",
    ),
    "a number": (
        "dropout-rnn",
        "dropout-src",
        "dropout-trg",
        "transformer-dropout",
        "transformer-dropout-attention",
        "transformer-dropout-ffn",
        "optimizer-delay",
        "learn-rate",
        "lr-decay",
        "lr-warmup-start-rate",
        "label-smoothing",
        "clip-norm",
        "exponential-smoothing",
    ),
    "true or false": (
        "skip",
        "layer-normalization",
        "right-left",
        "best-deep",
        "tied-embeddings",
        "tied-embeddings-src",
        "tied-embeddings-all",
        "output-omit-bias",
        "transformer-no-projection",
        "transformer-rnn-projection",
        "transformer-pool",
        "transformer-aan-nogate",
        "transformer-train-position-embeddings",
        "transformer-depth-scaling",
        "transformer-disable-position-embeddings",
        "transformer-alibi-trainable",
        "transformer-no-bias",
        "transformer-no-affine",
        "max-length-crop",
        "mini-batch-fit",
        "gradient-checkpointing",
        "shuffle-in-ram",
        "mini-batch-track-lr",
        "mini-batch-round-up",
        "lr-decay-reset-optimizer",
        "lr-decay-repeat-warmup",
        "lr-warmup-cycle",
        "check-nan",
        "check-gradient-nan",
        "normalize-gradient",
        "normalize-gradient-by-ratio",
    ),
    "a text": (
        "type",
        "enc-type",
        "enc-cell",
        "dec-cell",
        "transformer-ffn-activation",
        "transformer-aan-activation",
        "transformer-decoder-autoreg",
        "transformer-preprocess",
        "transformer-postprocess-emb",
        "transformer-postprocess",
        "transformer-postprocess-top",
        "transformer-attention-mask",
        "cost-type",
        "shuffle",
        "maxi-batch-sort",
        "mini-batch-warmup",
        "optimizer",
        "lr-decay-strategy",
        "lr-warmup",
        "disp-freq",
        "exponential-smoothing-replace-freq",
    ),
    "a list": (
        "transformer-tied-layers",
        "optimizer-params",
        "lr-decay-start",
        "lr-decay-inv-sqrt",
        "throw-on-divergence",
        "custom-fallbacks",
        "dynamic-gradient-scaling",
    ),
}
"""What may be set, by the kind of value."""

KIND = {name: kind for kind, names in KINDS.items() for name in names}

RESERVED = {
    "model": "the workflow names files",
    "train-sets": "name the texts as corpus.train",
    "valid-sets": "name them as corpus.dev",
    "vocabs": "say `vocabulary: {...}`",
    "dim-vocabs": "say `vocabulary: {size: N}`",
    "sentencepiece-options": "say `vocabulary: {...}`",
    "sentencepiece-alphas": "random segmentation is not repeatable",
    "seed": "the replica is the seed",
    "after": "say `training: {length: 20e}`",
    "after-epochs": "say `training: {length: 20e}`",
    "after-batches": "say `training: {length: 20000u}`",
    "valid-freq": "say `training: {every: 1e}`",
    "valid-metrics": "say `tuning: {metric: ...}`",
    "early-stopping": "say `training: {patience: N}`",
    "early-stopping-epsilon": "say `training: {min_gain: X}`",
    "keep-best": "the best model on dev is always kept",
    "save-freq": "say `training: {every: 1e}`",
    "cpu-threads": "say `threads: N`",
    "beam-size": "say `decoding: {beam: N}`",
    "normalize": "say `decoding: {normalize: X}`",
    "task": "say `architecture: transformer`, and what differs as options",
    "sync-sgd": "it has no meaning with one thread",
}
"""Options that are something else's business, with what to say instead."""

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
"""Those whose cost Marian prints per target word."""


class MarianOptions(Kind):
    """Marian's own options by their names, each of which is looked at."""

    words = "a mapping of Marian's options for models and training, by their own names"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if not isinstance(value, Mapping):
            return reading.not_allowed(value, path, self.words)
        errors = {name: complaint(name, given) for name, given in value.items()}
        for name, error in errors.items():
            if error is not None:
                reading.caught((*path, name), error)
        return WRONG if any(errors.values()) else dict(value)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        properties = {name: {"type": TYPES[kind][0]} for name, kind in KIND.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}


TYPES: dict[str, tuple[str, Any]] = {
    "a whole number": ("integer", int),
    "a number": ("number", float),
    "true or false": ("boolean", bool),
    "a text": ("string", str),
    "a list": ("array", list),
}
"""In a JSON schema, and in Python."""


def complaint(name: str, value: Any) -> ReplituneError | None:
    """What is wrong with an option."""
    if name in RESERVED:
        return ReplituneError(f"option {name} cannot be set", fix=RESERVED[name])
    if name not in KIND:
        return ReplituneError(
            f"unknown option {name}",
            expected="one of Marian's options for models and training, by its own name",
            fix=did_you_mean(name, [*KIND, *RESERVED]),
        )
    if not fits(TYPES[KIND[name]][1], value):
        return ReplituneError(f"option {name} is not allowed", found=repr(value), expected=KIND[name])
    return None


def training_options(
    architecture: str, given: Mapping[str, Any], shared_vocabulary: bool
) -> dict[str, Any]:
    """The architecture's options with those `given`, which were read, over them; each name once.

    Embeddings of both languages are one where the vocabulary is.
    """
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
