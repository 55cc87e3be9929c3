"""What the columns of a table of scores are called. Light: commands import it."""

from __future__ import annotations

from typing import Annotated

from replitune.settings import Settings, about


class ColumnNames(Settings):
    """The columns of a table of scores; what is not given is guessed, and the guess is reported."""

    system: Annotated[str | None, about("The system.")] = None
    replica: Annotated[str | None, about("The run: its number, its seed.")] = None
    group: Annotated[
        str | None, about("What several runs or samples share: a prompt, a trained model.")
    ] = None
    sample: Annotated[
        str | None, about("The sample, drawn for each segment independently: an epoch, a trial.")
    ] = None
    segment: Annotated[str | None, about("The segment: its number or its id.")] = None
    score: Annotated[str | None, about("The score.")] = None
    document: Annotated[str | None, about("The document of the segment.")] = None
    metric: Annotated[str | None, about("The metric of the score.")] = None
    testset: Annotated[str | None, about("The test set, or the task.")] = None
    language: Annotated[str | None, about("The language pair; with `testset`, part of it.")] = None
