"""The settings of tuning. Light: the Snakefile imports them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from replitune.errors import ReplituneError
from replitune.metrics.registry import METRICS
from replitune.registry import Named
from replitune.settings import WRONG, Kind, Path_, Reading, Settings, about, model_schema, plain, read
from replitune.tuning.interface import Tuner
from replitune.tuning.registry import TUNERS, get_tuner


class LoopSettings(Settings):
    """How long to go on, and the sources of chance beside the tuner's own."""

    iterations: Annotated[int, about("Decode and optimise at most this often.", ge=1)] = 10
    patience: Annotated[
        int,
        about(
            "Stop after so many iterations without a better dev score, once there is a better one "
            "than at the start.",
            ge=1,
        ),
    ] = 2
    min_gain: Annotated[float, about("What counts as better, in the metric's units.", ge=0)] = 0.01
    min_promise: Annotated[
        float | None,
        about(
            "Stop when the weights that the tuner proposes promise less than this, in the metric's "
            "units: their score on the pool, beside the best dev score. `null`: never."
        ),
    ] = 0.03
    init: Annotated[
        Literal["given", "random"], about("Start from the decoder's default weights, or from random ones.")
    ] = "given"
    init_range: Annotated[tuple[float, float], about("Range of random start weights.")] = (-1.0, 1.0)
    resample_dev: Annotated[
        bool, about("Tune each replica on its own bootstrap sample of dev, to study that source of noise.")
    ] = False

    def __post_init__(self) -> None:
        if not self.init_range[0] < self.init_range[1]:
            raise ReplituneError(
                "tuning: init_range is not a range", found=str(list(self.init_range)), expected="low, high"
            )


TERM = re.compile(r"(?P<sign>[+-]?)\s*(?:(?P<factor>\d+(?:\.\d+)?)\s*\*\s*)?(?P<metric>[^\s*]+)")


def terms_of(word: str) -> list[tuple[float, str]]:
    """(factor, metric) of each term: ``0.5*ter - 0.5*bleu:tokenize=none``, with spaces around the
    signs; or of a metric alone."""
    if "*" not in word and not re.search(r"\s[+-]\s", word):
        return [(1.0, word)]
    terms = []
    for part in re.split(r"\s+(?=[+-]\s)", word.strip()):
        match = TERM.fullmatch(part.strip())
        if match is None:
            raise ReplituneError(
                "not a sum of metrics", found=part.strip(), expected="for example 0.5*ter - 0.5*bleu"
            )
        factor = float(match["factor"] or 1.0) * (-1.0 if match["sign"] == "-" else 1.0)
        terms.append((factor, match["metric"]))
    return terms


class ObjectiveWord(Kind):
    """What weights are tuned for: a metric by name, or as a mapping with its options, or a sum of
    metrics. Read, it is a text."""

    words = "a metric, or a sum of metrics such as `0.5*ter - 0.5*bleu`"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        metric = Named(METRICS)
        if not isinstance(value, str):
            entry = metric.read(reading, value, path)
            return WRONG if entry is WRONG else entry.word
        try:
            words = [word.strip() for _, word in terms_of(value)]
        except ReplituneError as error:
            return reading.caught(path, error)
        entries = [metric.read(reading, word, path) for word in words]
        return WRONG if any(entry is WRONG for entry in entries) else value

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "required": ["name"]}]}


@dataclass(frozen=True)
class GivenTuner:
    """A tuner with the settings that were given."""

    tuner: Tuner
    mapping: dict[str, Any]
    """As in an experiment file."""


class SettingsOf(Kind):
    """The settings of one tuner. Read, they are a `GivenTuner`, or nothing: only the tuners that an
    experiment says something of are imported."""

    words = "a mapping, key: value"

    def __init__(self, tuner: str) -> None:
        self.tuner = tuner

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        try:
            declared = TUNERS[self.tuner]
        except ReplituneError as error:
            return reading.caught(path, error)
        tuner = reading.read_model(declared, value, path)
        return WRONG if tuner is WRONG else GivenTuner(tuner, dict(value)) if value else {}

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return model_schema(TUNERS[self.tuner], definitions)


class TuningSettings(LoopSettings):
    """How systems are tuned."""

    metric: Annotated[Any, about("What the weights are tuned for."), ObjectiveWord()] = "bleu"
    nbest: Annotated[int, about("Distinct translations of each segment per iteration.", ge=2)] = 100

    @property
    def loop(self) -> LoopSettings:
        return LoopSettings(**{name: getattr(self, name) for name in LoopSettings.__struct_fields__})

    def tuner(self, name: str) -> Tuner:
        """A tuner with its settings."""
        given: GivenTuner | None = getattr(self, name.replace("-", "_"))
        return given.tuner if given else get_tuner(name)

    def of(self, name: str) -> dict[str, Any]:
        """The settings that decide a run of one tuner, as JSON can write them, defaults filled in:
        a mapping that reads as `Tuning` again."""
        return {
            "metric": self.metric,
            "nbest": self.nbest,
            **plain(self.loop),
            name: plain(self.tuner(name)),
        }


if TYPE_CHECKING:
    Tuning = TuningSettings
else:
    Tuning = msgspec.defstruct(
        "Tuning",
        [
            (
                name.replace("-", "_"),
                Annotated[
                    Any, about(f"Settings of `{name}` that differ from its defaults."), SettingsOf(name)
                ],
                msgspec.field(default_factory=dict, name=name),
            )
            for name in TUNERS.names
        ],
        bases=(TuningSettings,),
        module=__name__,
        namespace={"__doc__": TuningSettings.__doc__},
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
    )
    """With a mapping of settings for each tuner, under its name."""


def tuning_of(settings: Mapping[str, Any], tuner: str | None = None) -> dict[str, Any]:
    """What `replitune.backends.interface.ReplicaJob` takes of settings of tuning, as JSON has them;
    `tuner`: the name of the replica's, where one tunes it."""
    tuning: Tuning = read(Tuning, settings, "tuning")
    return {
        "metric": tuning.metric,
        "nbest": tuning.nbest,
        "loop": tuning.loop,
        "tuner": tuning.tuner(tuner) if tuner else None,
    }
