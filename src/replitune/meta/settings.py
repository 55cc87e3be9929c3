"""The settings of an experiment's study of metrics. Light on purpose: the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated, Literal

from replitune.registry import Entry
from replitune.settings import Settings, about
from replitune.significance.settings import Methods, PlainCorrection
from replitune.significance.studies.settings import StudyMetrics

File = Annotated[str, about(min_length=1)]
HumanTestName = Literal["rank-sum", "signed-rank", "permutation"]
Level = Annotated[float, about(gt=0, lt=1)]


class MetaSettings(Settings, frozen=True):
    """How well metrics and their tests agree with people."""

    human: Annotated[
        File | dict[str, File],
        about(
            "File of human scores of the first test set, or a mapping from test set to file; "
            "docs/meta.md says what is read."
        ),
    ]
    fluency: Annotated[
        File | dict[str, File] | None, about("The same for fluency, if the others are of adequacy.")
    ] = None
    metrics: StudyMetrics = "all"
    score_column: Annotated[File | None, about("Column of the scores.")] = None
    standardise: Annotated[
        bool, about("Scores minus the annotator's mean, divided by the annotator's standard deviation.")
    ] = False
    first_segment: Annotated[Literal[0, 1], about("Number of the first segment in the files.")] = 0
    exclude: Annotated[
        tuple[str, ...],
        about("Systems to leave out, including those that only people scored (a human translation)."),
    ] = ()
    segments: Annotated[
        Literal["all", "judged"],
        about(
            "Segments that metrics are scored on: all of the test set, or those of which people "
            "judged the outputs of every system."
        ),
    ] = "all"
    human_tests: Annotated[
        tuple[HumanTestName, ...],
        about(
            "Tests of people's scores: Wilcoxon's rank-sum test (`rank-sum`); where people judged "
            "the same segments of both systems, his signed-rank test (`signed-rank`) and paired "
            "exchanges of scores (`permutation`).",
            min_length=1,
        ),
    ] = ("rank-sum",)
    methods: Annotated[
        Methods,
        about("Tests of pairs of systems, whose outcomes are compared with those of people.", min_length=1),
    ] = (Entry("koehn"), Entry("graham"), Entry("riezler"))
    samples: Annotated[int, about("Resamples of each test.", ge=1)] = 10_000
    ci_samples: Annotated[int, about("Resamples of the intervals of correlations.", ge=1)] = 1_000
    resample: Annotated[Literal["systems", "segments", "both"], about("What these intervals resample.")] = (
        "both"
    )
    alphas: Annotated[tuple[Level, ...], about("Levels at which outcomes are compared.", min_length=1)] = (
        0.05,
        0.01,
        0.001,
    )
    human_alpha: Annotated[Level | None, about("Level for people; by default the metric's.")] = None
    correction: Annotated[
        PlainCorrection, about("Correction for all pairs within one metric and test.")
    ] = "none"
