"""What a metric is: text -> additive statistics per segment -> corpus score.

Modelled on sacrebleu's Metric, Signature and Score, with one change: scores are computed from
*batches of sums*, so that a metric gets every significance test for free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.settings import about, check_arguments

Array = NDArray[Any]
"""An array of numbers of any type."""
Direction = Literal[1, -1] | None
"""1 if a higher score is better, -1 if a lower one is; None if neither is."""
HigherIsBetter = Annotated[bool, about("Whether a higher score is better.")]


class Metric(ABC):
    """A corpus metric with additive sufficient statistics.

    Shapes: `hyps` has N segments; `refs` is a sequence of R reference streams of N segments
    each (sacrebleu's order); statistics are (N, K); sums are (..., K); scores are (...).

    A subclass sets the class attributes, and in `__init__` whatever its options change.
    """

    name: ClassVar[str]
    """Name in configuration and on the command line."""

    title: ClassVar[str] = ""
    """Its name in papers; by default its id. Not inherited: a variant is another metric."""

    statistic_names: tuple[str, ...]
    """K column names of the store."""

    direction: Direction = 1

    integer_statistics: bool = True
    """Whether the statistics are counts (int32 in the store) or not (float64)."""

    signed_statistics: tuple[str, ...] | None = None
    """The statistics that may be negative. None: none if they are counts, otherwise all."""

    programs_mb: ClassVar[int] = 0
    """Memory of the programs that the metric starts."""

    breadth: ClassVar[float] = 1.0
    """The memory that tests take for its statistics, relative to BLEU's."""

    needs_text: bool = True
    """False when scores come from a file and not from hypotheses."""

    has_kernels: ClassVar[bool] = True
    """Whether a workflow scores a few lines with it (if it needs text) before jobs start in parallel,
    so that its kernels are compiled once."""

    def __init__(self, id: str | None = None) -> None:
        self.id = id or self.name

    @property
    def ignores(self) -> Collection[str]:
        """What does not matter to it: ``case``, ``spaces`` before punctuation, ``marks`` of tokenisers."""
        return ()

    @property
    def sign(self) -> int:
        """The direction; for a metric for which neither is better, more counts as ahead."""
        return self.direction or 1

    @abstractmethod
    def signature(self) -> str:
        """Everything that decides the number, sacrebleu-style: ``nrefs:1|case:mixed|...``.

        `nrefs` is not known to the metric: :func:`full_signature` puts it first.
        """

    def prepare(self, refs: Sequence[Sequence[str]]) -> Any:
        """Work done once per test set (tokenising references, information weights, ...)."""
        return refs

    def prepare_texts(self, refs: Sequence[Sequence[str]], source: Sequence[str] | None) -> Any:
        """The same for a metric that also reads the source."""
        return self.prepare(refs)

    @abstractmethod
    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: Any
    ) -> NDArray[Any]:
        """Statistics (len(hyps), K); row j is hypothesis j against the references of segments[j].

        Each row depends on its own hypothesis and segment only, so rows may be computed once
        per distinct (segment, hypothesis).
        """

    def statistics(self, hyps: Sequence[str], refs: Sequence[Sequence[str]]) -> NDArray[Any]:
        """Statistics (N, K) of one system output."""
        return self.segment_statistics(hyps, np.arange(len(hyps)), self.prepare(refs))

    def bounds(self) -> Iterable[tuple[str, str]]:
        """Pairs of statistics; in every segment the first is at most the second."""
        return ()

    @abstractmethod
    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        """Corpus scores (...) of sums (..., K). Finite for every sum, even of 0 segments."""

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64] | None:
        """Gradient (..., K) of `score` at sums (..., K); None when the metric has none."""
        return None

    def missing(self, statistics: NDArray[Any]) -> NDArray[np.bool_] | None:
        """(...) which segments have no score, of statistics (..., K); None if all have one."""
        return None

    def kink(self, sums: NDArray[Any], spread: NDArray[np.float64]) -> str | None:
        """A warning for linearised tests when `score` is not smooth within two standard errors of
        `sums` (K,); `spread` (K, K) is the covariance of the sums."""
        return None


class MeanMetric(Metric):
    """Mean of segment scores from a store: the statistics are (score, count), the score their ratio.

    A store without metadata is read as this metric.
    """

    name = "mean"
    statistic_names = ("score", "count")
    integer_statistics = False
    signed_statistics = ("score",)
    needs_text = False

    @check_arguments
    def __init__(self, id: str | None = None, higher_is_better: HigherIsBetter = True) -> None:
        super().__init__(id)
        self.direction = 1 if higher_is_better else -1

    def signature(self) -> str:
        return "aggregation:mean"

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: Any
    ) -> NDArray[Any]:
        raise TypeError("segment scores come from a file, not from text")

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return ratio(sums)

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        return ratio_gradient(sums)

    def missing(self, statistics: NDArray[Any]) -> NDArray[np.bool_] | None:
        return np.asarray(statistics[..., -1] == 0)


def ratio(sums: NDArray[Any]) -> NDArray[np.float64]:
    """The first of two statistics (..., 2) over the second; 0 where the second is 0."""
    total, count = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0)


def ratio_gradient(sums: NDArray[Any]) -> NDArray[np.float64]:
    total, count = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    inverse = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
    return np.stack([inverse, -total * inverse**2], axis=-1)


def full_signature(metric: Metric, nrefs: int, versions: Mapping[str, str]) -> str:
    """``nrefs:1|<metric signature>|version:...``: what papers print."""
    fields = [f"nrefs:{nrefs}", metric.signature()]
    fields += [f"{name}:{version}" for name, version in versions.items()]
    return "|".join(filter(None, fields))
