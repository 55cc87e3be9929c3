"""All settings of an experiment file. Each package declares its own; this module puts them together.

The validation, the defaults, config/schema/experiment.schema.json and docs/configuration.md
(scripts/make_docs.py) are made from these declarations.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from replitune.backends.registry import BACKENDS
from replitune.backends.settings import Counts
from replitune.corpus.settings import CORPUS
from replitune.meta.settings import MetaSettings
from replitune.metrics.registry import METRICS
from replitune.registry import SYSTEM_NAME, Entry, Name, Named, SystemName
from replitune.settings import SEED, WRONG, Chosen, Kind, Path_, Reading, Settings, about, json_schema
from replitune.significance.looks.settings import LookSettings
from replitune.significance.settings import ReplicaDesign, TestSettings
from replitune.significance.studies.settings import CalibrateSettings, PowerSettings, ReplicationSettings
from replitune.tuning.settings import TUNING, Tuning

FigureKind = Literal["pdf", "png"]

Replicas = Annotated[dict[str, Any], Counts(ReplicaDesign, LookSettings)]
"""Numbers as in `ReplicaCounts`, what replicas are, and whether the experiment itself decides how
many it needs."""


class Systems(Kind):
    """Systems by name. Those with mistakes are `WRONG`; the others are still checked together."""

    words = "a mapping from names of systems to their settings"
    one = Chosen("backend", lambda: BACKENDS.names, lambda name: BACKENDS[name].Settings)

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        named = Annotated[dict[SystemName, Any], about(min_length=1)]
        if reading.read(named, value, path) is WRONG and not isinstance(value, dict):
            return WRONG
        return {name: self.one.read(reading, given, (*path, name)) for name, given in value.items()}

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": SYSTEM_NAME},
            "additionalProperties": self.one.schema(definitions),
        }


class Asked(Kind):
    """A study: a mapping of its settings, true for the defaults, or false for no study."""

    words = "a mapping of its settings, true or false"

    def __init__(self, settings: type[Settings]) -> None:
        self.settings = settings

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if value is False or value is None:
            return None
        return reading.read(self.settings, {} if value is True else value, path)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [{"type": "boolean"}, json_schema(self.settings, definitions)]}


class Studies(Settings):
    """What runs show beyond the tests of pairs. Each study is a mapping of its settings, `true` for its
    defaults, or `false`."""

    power: Annotated[
        Any,
        Asked(PowerSettings),
        about("What n runs and N segments would detect. Needs two systems with 3 runs."),
    ] = PowerSettings()
    replication: Annotated[
        Any,
        Asked(ReplicationSettings),
        about(
            "What a paper with fewer tuning runs could have reported (Clark et al. 2011, Table 2 "
            "and Fig. 2). Needs two systems with 3 runs."
        ),
    ] = None
    calibrate: Annotated[
        Any, Asked(CalibrateSettings), about("How often each test finds a difference where there is none.")
    ] = None
    meta: Annotated[
        Any, Asked(MetaSettings), about("How well metrics and their tests agree with people (Graham 2016).")
    ] = None


class ExperimentSettings(Settings, kw_only=True):
    """One experiment; everything it makes is under results/<experiment>/."""

    experiment: Annotated[Name, about("Name of the experiment and of its folder below results/.")]
    seed: Annotated[int, about("The only source of randomness; 0 is a seed.", ge=0)] = SEED
    corpus: Annotated[Any, CORPUS, about("Where texts come from.")]
    systems: Annotated[Any, Systems(), about("The configurations under study, by name.")]
    replicas: Annotated[
        Replicas,
        about(
            "How many times each system is made: by tuner (`mert: 3`) or by seed (`seeds: 5`). "
            "Each system uses the keys that its backend can make, so both may be given. May be set "
            "per system. Not used by the `outputs` backend, whose files are its runs. With "
            "`design: samples`, they are outputs drawn for each segment independently. With `until: "
            "settled`, the numbers are the most that there may be, and the experiment decides how "
            "many it needs."
        ),
    ] = msgspec.field(default_factory=lambda: {"seeds": 5})
    allow_missing_replicas: Annotated[
        bool,
        about(
            "Go on without runs that cannot be made: a training that diverges, a decode with "
            "too few lines, a program that fails. The report names them with the reason. Otherwise "
            "such a run stops the scores of its system."
        ),
    ] = False
    tuning: Annotated[Any, TUNING, about("How systems are tuned on dev.")] = Tuning()
    metrics: Annotated[
        tuple[Annotated[Entry, Named(METRICS)], ...],
        about(
            "The metrics that score every system on every test set. The first one leads the report.",
            min_length=1,
        ),
    ] = (Entry("bleu"),)
    tests: Annotated[TestSettings, about("The significance tests.")] = TestSettings()
    studies: Annotated[
        Studies,
        about("What runs say beyond the tests of pairs. Results are under studies/ and in the report."),
    ] = Studies()
    figures: Annotated[
        tuple[FigureKind, ...], about("Kinds of files that figures/ has besides SVG: `[pdf, png]`.")
    ] = ()
    scales: Annotated[
        dict[Name, dict[str, Any]],
        about(
            "Named overrides of this file, chosen by `--config scale=NAME`; results then go to "
            "results/<experiment>-<NAME>/. Mappings are merged (`replicas` and `pairs` are "
            "replaced), null removes a key, everything else is replaced."
        ),
    ] = msgspec.field(default_factory=dict)
    scale: Annotated[str | None, about("The chosen scale (usually given on the command line).")] = None
    corpora: Annotated[
        str | None,
        about(
            "Folder that holds downloaded corpora; relative file names of the experiment start "
            "here. Without it they start in the working directory. Usually given on the command "
            "line."
        ),
    ] = None
