"""Scores that are the outputs of a system of `backend: scores`: one line of JSON for a segment,
``{"id": "q1", "scores": {"accuracy": 1.0}}``, with the id that the segment has in the test set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.metrics.base import HigherIsBetter, MeanMetric
from replitune.settings import about, check_arguments


def score_line(id: str, scores: Mapping[str, float | None]) -> str:
    """The output for one segment."""
    return json.dumps({"id": id, "scores": scores}, ensure_ascii=False)


class Given(MeanMetric):
    """Mean of given scores."""

    name = "given"
    needs_text = True
    has_kernels = False

    @check_arguments
    def __init__(
        self,
        id: str | None = None,
        metric: Annotated[
            str | None, about("Which metric of the tables; by default the one whose name is the id.")
        ] = None,
        higher_is_better: HigherIsBetter = True,
    ) -> None:
        super().__init__(id, higher_is_better)
        self.metric = metric

    @property
    def wanted(self) -> str:
        return self.metric or self.id

    def signature(self) -> str:
        return f"{super().signature()}|scores:{self.wanted}"

    def prepare(self, refs: Sequence[Sequence[str]]) -> Any:
        return refs[0]

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: Any
    ) -> NDArray[Any]:
        out = np.zeros((len(hyps), 2))
        for i, (line, segment) in enumerate(zip(hyps, segments.tolist(), strict=True)):
            scores = _scores(line, prepared[segment])
            if self.wanted in scores:
                score = scores[self.wanted]
            elif self.metric is None and self.id == self.name and len(scores) == 1:
                (score,) = scores.values()
            else:
                raise ReplituneError(
                    f"no scores of {self.wanted}",
                    found=", ".join(scores),
                    fix="make the id of the metric its name in the table",
                )
            if score is not None:
                out[i] = score, 1.0
        return out


def _scores(line: str, id: str) -> dict[str, float | None]:
    try:
        row = json.loads(line)
        own, scores = row["id"], row["scores"]
    except (ValueError, KeyError, TypeError):
        raise ReplituneError(
            "an output that is not a line of scores",
            found=line[:80],
            expected='{"id": "q1", "scores": {"accuracy": 1.0}}',
            fix="the metric `given` is for systems of `backend: scores`",
        ) from None
    if own != id:
        raise ReplituneError(
            "the scores are not those of this segment of the test set",
            found=own,
            expected=id,
            fix="read the test set from the same table, `format: scores`",
        )
    return dict(scores)
