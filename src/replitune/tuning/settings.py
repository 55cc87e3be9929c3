"""The settings of tuning. Light: the Snakefile imports them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from replitune.errors import ReplituneError
from replitune.metrics.registry import METRICS
from replitune.registry import Named
from replitune.settings import WRONG, Kind, Path_, Reading, about, mapping_schema, plain, read, settings_of
from replitune.tuners import TUNERS, get_tuner
from replitune.tuning.interface import Tuner


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """How long tuning goes on, and the sources of randomness besides the tuner's own."""

    iterations: Annotated[int, about("Decode and optimise at most this many times.", ge=1)] = 10
    patience: Annotated[
        int,
        about(
            "Once a dev score is better than at the start, stop after this many iterations in a row "
            "without a better one.",
            ge=1,
        ),
    ] = 2
    min_gain: Annotated[
        float, about("A dev score is better if it gains more than this, in the metric's units.", ge=0)
    ] = 0.01
    min_promise: Annotated[
        float | None,
        about(
            "Once a dev score is better than at the start, stop when the new weights' score on the pool "
            "is better than the best dev score by less than this, in the metric's units. `null`: never."
        ),
    ] = 0.03
    init: Annotated[
        Literal["given", "random"], about("Start from the decoder's default weights, or from random ones.")
    ] = "given"
    init_range: Annotated[tuple[float, float], about("Range of random start weights.")] = (-1.0, 1.0)
    resample_dev: Annotated[
        bool, about("Tune each run on its own bootstrap sample of dev, to study that source of noise.")
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
    metrics. It is read as a string."""

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


@dataclass(frozen=True, kw_only=True)
class Tuning(LoopSettings):
    """How systems are tuned."""

    metric: Annotated[Any, about("What the weights are tuned for."), ObjectiveWord()] = "bleu"
    nbest: Annotated[int, about("Distinct translations of each segment per iteration.", ge=2)] = 100
    tuners: Mapping[str, Tuner] = field(default_factory=dict)
    """Tuners with settings of their own, by name."""

    @property
    def loop(self) -> LoopSettings:
        return LoopSettings(**{each.name: getattr(self, each.name) for each in fields(LoopSettings)})

    def tuner(self, name: str) -> Tuner:
        """A tuner with its settings."""
        return self.tuners.get(name) or get_tuner(name)

    def for_tuner(self, name: str) -> dict[str, Any]:
        """The settings that decide a run of one tuner, as JSON can write them, with defaults filled
        in: a mapping that can be read as `Tuning` again."""
        return {
            "metric": self.metric,
            "nbest": self.nbest,
            **plain(self.loop),
            name: plain(self.tuner(name)),
        }


class TuningMapping(Kind):
    """`Tuning`, with a mapping of settings for each tuner under its name: only tuners with settings in
    the experiment are imported."""

    words = "a mapping, key: value"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if not isinstance(value, Mapping):
            return reading.not_allowed(value, path, self.words)
        known = [*settings_of(Tuning), *TUNERS.names]
        unknown = [reading.unknown(key, known, path) for key in value if key not in known]
        tuners = {
            name: self._tuner(reading, name, value[name], path) for name in TUNERS.names if name in value
        }
        own = {key: given for key, given in value.items() if key in settings_of(Tuning)}
        tuning = reading.read_model(Tuning, own, path)
        if unknown or tuning is WRONG or any(tuner is WRONG for tuner in tuners.values()):
            return WRONG
        return replace(tuning, tuners=tuners)

    def _tuner(self, reading: Reading, name: str, value: Any, path: Path_) -> Any:
        try:
            declared = TUNERS[name]
        except ReplituneError as error:
            return reading.caught((*path, name), error)
        return reading.read_model(declared, value, (*path, name))

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        own = mapping_schema(settings_of(Tuning), definitions)
        tuners = {name: mapping_schema(TUNERS.settings(name), definitions) for name in TUNERS.names}
        return {**own, "properties": own["properties"] | tuners}


TUNING = TuningMapping()


def tuning_of(settings: Mapping[str, Any], tuner: str | None = None) -> dict[str, Any]:
    """What `replitune.backends.interface.ReplicaJob` takes from tuning settings, which are as in JSON;
    `tuner`: the name of the replica's tuner, if it has one."""
    tuning: Tuning = read(Annotated[Any, TUNING], settings, "tuning")
    return {
        "metric": tuning.metric,
        "nbest": tuning.nbest,
        "loop": tuning.loop,
        "tuner": tuning.tuner(tuner) if tuner else None,
    }
