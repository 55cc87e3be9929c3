"""The settings of looks. Kept light, because the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from replitune.settings import Kind, Path_, Reading, Settings, about, json_schema, shown

FEWEST = 3
"""Fewest runs of each system at the first look: with two, the level at a nominal .05 is .075."""
SCHEDULE = (3, 5, 8, 12, 20)
"""The numbers of runs in the simulations."""


class RuleSettings(Settings, frozen=True):
    """The rule that ends the looks."""

    doubt: Annotated[
        float,
        about(
            "A difference is settled when the probability that the runs not made would undo it "
            "is below this times the level of its test. Use 0.05 when looking after every run.",
            gt=0,
            le=1,
        ),
    ] = 0.1
    futility: Annotated[
        float,
        about(
            "A pair gets no more runs if they would settle it with less than this probability.",
            gt=0,
            lt=0.5,
        ),
    ] = 0.05
    skip: Annotated[
        float,
        about(
            "A pair asks for no more runs of a system if those account for at most this share of the "
            "pair's uncertainty from runs.",
            ge=0,
            lt=0.5,
        ),
    ] = 0.1


class Decider(Kind):
    """The one metric that decides."""

    words = "the id of one metric"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if isinstance(value, (list, tuple)):
            return reading.wrong(
                path,
                f"{len(value)} metrics cannot decide together",
                found=shown(value),
                expected=self.words,
                fix="name one; others are tested at the numbers of runs that it asks for",
            )
        return reading.read(str, value, path)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return json_schema(str, definitions)


class LookSettings(RuleSettings, frozen=True):
    """Numbers of replicas that the experiment chooses itself; given beside the numbers."""

    until: Annotated[
        Literal["settled"] | None,
        about(
            "`settled`: the numbers of runs are the most that there may be. Every system gets "
            "as many as the first look wants, and more only while they could change a verdict: "
            "docs/adaptive.md. Without it, exactly these numbers are made."
        ),
    ] = None
    looks: Annotated[
        tuple[Annotated[int, about(ge=1)], ...],
        about(
            "Numbers of runs of each kind at which to look at the verdicts, rising, from 3 "
            "on. The last is the most that a system may have.",
            min_length=1,
        ),
    ] = SCHEDULE
    metric: Annotated[
        Any,
        Decider(),
        about(
            "The id of the one metric that decides; others are tested at the numbers of runs "
            "that it asked for. By default the first metric."
        ),
    ] = None
    testset: Annotated[
        str | None,
        about("The test set or suite that decides. May be left out if there is only one test set."),
    ] = None
    record: Annotated[
        str | None,
        about(
            "A record of looks (`looks/2.json`) that was made with the outputs that are given now, as in "
            "an archive: the looks are repeated, as if there could be as many runs as it says."
        ),
    ] = None
