"""The linear mixed-effects model of Hagmann, Meier and Riezler (2023).

    score ~ system + (1 | segment) + (1 | system:run)        `runs: true`
    score ~ system + (1 | segment)                           `runs: false`, as published

Segments have a normal effect that all systems share, runs have one within their system, and the
rest is independent noise with one variance for all systems. Every run translates every segment, so
the restricted likelihood depends on three mean squares only, and the fit has a closed form (Searle,
Casella and McCulloch 1992, ch. 4): no search, and no matrix.

p and interval are those of the contrast B - A: Student's t with

- M - S degrees of freedom (M runs of S = 2 systems) with run effects, by containment. Satterthwaite's
  method gives the same number unless the run variance is estimated as 0. Then it gives thousands, for
  a variance that happened to be estimated low, while containment keeps the level.
- the residual ones without run effects, where t is exact. The published likelihood-ratio test (chi2
  on 1 df, by maximum likelihood) is in `details`: it has no direction, and with few segments it is
  liberal; with hundreds its p is that of t.

The model assumes that a difference between systems is the same on all segments: it has no term for
system by segment. A difference on these segments then holds for new segments, too. If the assumption
fails, a note says so, and `crossed` is the right test. Without run effects, all outputs of a run
also count as independent, which is `clark`'s null hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, log
from replitune.errors import ReplituneError
from replitune.notes import Note, note
from replitune.settings import about
from replitune.significance import arguments as iv
from replitune.significance.base import Scope, TestResult
from replitune.significance.counting import Contrast
from replitune.significance.critical import TINIEST
from replitune.significance.crossed_pair import lonely_note
from replitune.significance.interface import Context, SignificanceTest
from replitune.significance.system_parts import SystemParts, has_documents, ignored_documents

INTERACTION = 0.01
"""p of the F test below which systems are said to differ more on some segments than on others."""


class Lmem(SignificanceTest):
    """Test equal expected scores under the model.

    A corpus metric is linearised (`system_parts.linearise`); for a mean, the values are the segment
    scores. `details` are standard deviations of the model in metric points.
    """

    name = "lmem"
    cited = "a linear mixed-effects model of segment scores (Hagmann et al., 2023)"
    takes_design = True

    alternative: iv.Alternative = "two-sided"
    runs: Annotated[
        bool,
        about(
            "Whether runs of a system have a random effect. Without, as published, all outputs of "
            "a run count as independent."
        ),
    ] = True

    def run(self, context: Context) -> TestResult:
        comparison = context.comparison
        from scipy.special import stdtrit

        if context.design == "nested":
            raise ReplituneError("`lmem` does not support `design: nested`", fix="use `crossed` instead")
        runs = self.runs and context.design == "runs"
        scope: Scope = "both" if runs else "samples" if context.design == "samples" else "segments"
        contrast = context.contrast(self, scope=scope)
        a, b = (context.analyses.parts(comparison.metric, s, None) for s in (comparison.a, comparison.b))
        table = sums_of_squares(
            [a.scores, b.scores], [s.units * np.sqrt(s.segments * (s.segments - 1)) for s in (a, b)]
        )
        lonely = [s.name for s in (a, b) if s.n == 1]
        if runs and lonely:
            return contrast.row(None, lonely_note(lonely))
        if table.segments < 2:
            return contrast.row(None, note("one-unit", unit="segment", what="no p"))
        fit = reml(table, runs)
        se = fit.se(0, 1)
        if se <= contrast.slack:
            p = 1.0 if abs(contrast.delta) <= contrast.slack else None
            return contrast.row(p, note("zero-variance"), se=0.0)
        notes = [*_notes(a, b, table, runs, context.design, contrast.slack), *a.notes, *b.notes]
        if has_documents(comparison.documents):
            notes.append(ignored_documents(comparison.documents, b.mean - a.mean, context.alpha))
        level = context.alpha if self.alternative == "two-sided" else 2 * context.alpha
        reach = -float(stdtrit(fit.df, level / 2)) * se
        details = {"sd_segments": fit.segments**0.5, "sd_runs": fit.runs**0.5, "sd_noise": fit.noise**0.5}
        if not runs:
            chi2, p_chi2 = likelihood_ratio(table)
            details |= {"chi2": chi2, "p_chi2": p_chi2}
        return contrast.row(
            _p(contrast, se, fit.df),
            *notes,
            se=se,
            df=fit.df,
            ci_low=contrast.delta - reach,
            ci_high=contrast.delta + reach,
            ci_level=1 - level,
            details=details,
        )


# -- the model ----------------------------------------------------------------------------


@dataclass(frozen=True)
class SumsOfSquares:
    """The analysis of variance of M runs of S systems on the same N segments: all that the
    likelihood depends on."""

    means: tuple[float, ...]
    """(S,) of each system."""
    n: tuple[int, ...]
    """(S,) runs of each system."""
    segments: int
    between_segments: float
    """On N - 1 degrees of freedom."""
    between_systems: float
    """On S - 1."""
    between_runs: float
    """Of runs within systems, on M - S."""
    interaction: float
    """System by segment, on (S - 1) (N - 1)."""
    rest: float
    """Run by segment within systems, on (M - S) (N - 1)."""

    @property
    def runs(self) -> int:
        """M, of all systems."""
        return sum(self.n)

    @property
    def systems(self) -> int:
        """S."""
        return len(self.n)


def sums_of_squares(
    scores: Sequence[NDArray[np.float64]], deviations: Sequence[NDArray[np.float64]]
) -> SumsOfSquares:
    """From the scores (n,) of the runs of each system, and the deviations (n, N) of the segments from
    these scores, whose rows sum to 0."""
    n = [len(x) for x in scores]
    M, N = sum(n), deviations[0].shape[1]
    means = [float(x.mean()) for x in scores]
    grand = sum(k * mean for k, mean in zip(n, means, strict=True)) / M
    profiles = [x.mean(axis=0) for x in deviations]  # (N,) of each system
    shared = sum(k * profile for k, profile in zip(n, profiles, strict=True)) / M
    return SumsOfSquares(
        means=tuple(means),
        n=tuple(n),
        segments=N,
        between_segments=M * _square(shared),
        between_systems=N * sum(k * (m - grand) ** 2 for k, m in zip(n, means, strict=True)),
        between_runs=N * sum(_square(x - m) for x, m in zip(scores, means, strict=True)),
        interaction=sum(k * _square(own - shared) for k, own in zip(n, profiles, strict=True)),
        rest=sum(_square(x - own) for x, own in zip(deviations, profiles, strict=True)),
    )


def _square(x: NDArray[np.float64]) -> float:
    return dot(x, x)


@dataclass(frozen=True)
class Fit:
    """Variances by restricted maximum likelihood."""

    table: SumsOfSquares
    noise: float
    segments: float
    """Variance of the effects of segments."""
    runs: float
    """Variance of the effects of runs; 0 in the model without."""
    df: float
    """Degrees of freedom of a difference between systems."""

    def se(self, s: int, t: int) -> float:
        """Standard error of mean t minus mean s; the effects of segments cancel."""
        n = self.table.n
        of_a_run = self.noise / self.table.segments + self.runs
        return float(np.sqrt(of_a_run * (1 / n[s] + 1 / n[t])))


def reml(table: SumsOfSquares, runs: bool) -> Fit:
    """Fit the model, with effects of runs or without.

    The covariance matrix has the eigenvalues noise, noise + M segments, and noise + N runs, and
    -2 log REML is the sum of df log(eigenvalue) + sum of squares / eigenvalue over them. So each is
    estimated by its mean square, unless a variance came out negative: then that variance is 0, and
    its sum of squares is pooled with the noise, the smaller mean square first (Thompson 1962).
    """
    M, S, N = table.runs, table.systems, table.segments
    squares, df = table.interaction + table.rest, (M - 1) * (N - 1)
    of_runs = (table.between_runs, M - S)
    if not runs:
        squares, df = squares + table.between_runs, df + M - S
    effects = [(table.between_segments, N - 1), *([of_runs] if runs and M > S else [])]
    total, pooled = squares, df
    for more, of_more in sorted(effects, key=lambda effect: effect[0] / effect[1]):
        if more / of_more < total / pooled:
            total, pooled = total + more, pooled + of_more
    noise = total / pooled
    return Fit(
        table,
        noise,
        max(table.between_segments / (N - 1) - noise, 0.0) / M,
        max(table.between_runs / (M - S) - noise, 0.0) / N if runs and M > S else 0.0,
        float(M - S if runs else df),
    )


def likelihood_ratio(table: SumsOfSquares) -> tuple[float, float]:
    """chi2 and p of the hypothesis that all systems are equal, in the model without effects of runs.

    S - 1 degrees of freedom; both models by maximum likelihood, as they differ in fixed effects.
    """
    from scipy.special import chdtrc

    within = table.interaction + table.rest + table.between_runs
    chi2 = _deviance(table, within + table.between_systems) - _deviance(table, within)
    return chi2, max(float(chdtrc(table.systems - 1, chi2)), TINIEST)


def _deviance(table: SumsOfSquares, within: float) -> float:
    """-2 log of the largest likelihood, up to a constant; `within`: sum of squares within segments."""
    M, N = table.runs, table.segments
    between = table.between_segments / N
    noise = within / (N * (M - 1))
    if between < noise:  # no effects of segments
        between = noise = (table.between_segments + within) / (N * M)
    return float(N * log(between) + N * (M - 1) * log(noise))


# -- the pair -----------------------------------------------------------------------------


def _p(contrast: Contrast, se: float, df: float) -> float:
    from scipy.special import stdtr

    if abs(contrast.delta) <= contrast.slack:
        return 1.0
    tail = max(float(stdtr(df, -abs(contrast.delta) / se)), TINIEST)
    if contrast.alternative == "two-sided":
        return min(1.0, 2 * tail)
    better = contrast.delta * contrast.comparison.metric.sign > 0
    return tail if better == (contrast.alternative == "greater") else 1 - tail


def _notes(
    a: SystemParts, b: SystemParts, table: SumsOfSquares, runs: bool, design: str, slack: float
) -> list[Note | None]:
    """Notes on where the data do not fit the model."""
    from scipy.special import fdtrc

    notes: list[Note | None] = []
    M, S, N = table.runs, table.systems, table.segments
    noise = (table.interaction + table.rest) / ((M - 1) * (N - 1))
    if noise <= slack**2:  # runs differ, and by the same on every segment
        noise = 0.0
    if not (a.smooth and b.smooth):
        notes.append(note("no-gradient"))
    if design == "runs" and len({*a.groups, *b.groups}) > 1:
        notes.append(note("pooled-groups", why=""))
    if not runs and design == "runs" and M > S:
        here = ""
        if noise > 0:
            ratio = table.between_runs / (M - S) / noise
            here = f"; here it varies {ratio:.3g} times as much ({M - S} degrees of freedom)"
        notes.append(note("no-run-effect", here=here))
    if M > S and noise > 0:
        own = (S - 1) * (N - 1), (M - S) * (N - 1)
        between, within = table.interaction / own[0], table.rest / own[1]
        p = float(fdtrc(*own, between / within)) if within > slack**2 else 0.0
        if p < INTERACTION:
            notes.append(note("no-interaction", p="< 0.0001" if p < 1e-4 else f"= {p:.2g}"))
    return notes
