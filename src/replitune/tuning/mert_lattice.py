"""MERT on search graphs: lattices (Macherey, Och, Thayer & Uszkoreit 2008), or forests (Kumar,
Macherey, Dyer & Och 2009) with settings of their own.

It puts into the pool every hypothesis that is best anywhere on the lines through the current
weights, runs MERT on the pool, and repeats this from the weights found, until the lattices have no
better choice there than the pool. That is several times faster than doing every line search on the
whole lattices, and where it comes to rest its line searches are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from replitune.settings import about
from replitune.tuning.interface import Hypotheses, TuningResult, WordStatistics, l1_normalised, together
from replitune.tuning.mert import Mert, Restarts

if TYPE_CHECKING:
    from replitune.tuning.forest import Envelope, Forests
    from replitune.tuning.objective import Objective
    from replitune.tuning.pool import Pool


Decodings = Annotated[
    int,
    about(
        "Most decodings, even if `iterations` is larger: a search graph holds far more than a list.", ge=1
    ),
]
Reach = Annotated[
    float,
    about(
        "Hypotheses count if they are the best on a line at most this far from the weights (L1 norm 1).",
        gt=0,
    ),
]
Density = Annotated[
    float,
    about(
        "Arcs of a search graph kept per source word: those on the best paths (Macherey et al., "
        "section 5).",
        gt=0,
    ),
]


@dataclass(frozen=True)
class MertLattice(Mert):
    """Minimum error rate training on search graphs; besides its own settings it has those of the MERT
    inside it."""

    name = "mert-lattice"
    needs_lattices = True

    directions: Annotated[
        int, about("Random lines through the weights, besides those along the axes.", ge=0)
    ] = 5
    decodings: Decodings = 3
    rounds: Annotated[
        int,
        about(
            "Most rounds of collecting hypotheses from the lattices. Rounds after the first have a quarter "
            "of the random starts: they continue a search.",
            ge=1,
        ),
    ] = 2
    reach: Reach = 0.25
    density: Density = 10.0

    @property
    def mert(self) -> Mert:
        """The search on the pool, which has its own number of directions."""
        shared = {item.name for item in fields(Mert)} - {"directions"}
        return Mert(**{name: getattr(self, name) for name in shared})

    def tune_lattices(
        self,
        lattices: Forests,
        statistics: WordStatistics,
        pool: Pool,
        objective: Objective,
        start: NDArray[np.float64],
        rng: np.random.Generator,
        threads: int = 1,
    ) -> TuningResult:
        """The weights, of those found in each round, with the best score on pool and lattices."""

        def hypotheses_of(envelope: Envelope) -> Hypotheses:
            segments = envelope.segments
            rows = statistics(segments, envelope.word_start, envelope.words)
            return Hypotheses(segments, envelope.features, rows)

        def joined(hypotheses: Hypotheses) -> Pool:
            added.append(hypotheses)
            return pool.extend(hypotheses.segments, hypotheses.features, hypotheses.statistics)

        here = np.zeros(len(start))
        weights = l1_normalised(start)
        added: list[Hypotheses] = []
        history: list[dict[str, Any]] = []
        best = (-np.inf, weights)
        for number in range(self.rounds):
            known = len(pool)
            lines = list(np.eye(len(weights)))
            lines += list(rng.uniform(-1.0, 1.0, (self.directions, len(weights))))
            pool = joined(
                together([hypotheses_of(e) for e in lattices.envelopes(weights, lines, self.reach)])
            )
            if not number:
                # Never worse than the start: all lines go through it, so the pool has its choices.
                best = (float(objective.utility(objective.sums(pool, weights))), weights)
            mert = replace(self.mert, restarts=self.mert.restarts // 4) if number else self.mert
            result = mert.tune(pool, objective, weights, rng, threads)
            weights = result.weights
            # Weights that are good on the pool may be bad on the lattices.
            pool = joined(hypotheses_of(lattices.envelope(weights, here)))
            utility = float(objective.utility(objective.sums(pool, weights)))
            history.append(
                {
                    "round": number,
                    "found": len(pool) - known,
                    "pool_score": result.score,
                    "score": objective.sign * utility,
                }
            )
            if utility > best[0]:
                best = (utility, weights)
            if utility >= objective.sign * result.score - self.mert.tolerance:
                break
        return TuningResult(best[1], objective.sign * best[0], tuple(history), together(added))


@dataclass(frozen=True)
class MertForest(MertLattice):
    """`mert-lattice` with settings for the forests of hierarchical systems, which hold more choices:
    larger graphs, searched closer to the weights, without random starts (Clark et al. 2011)."""

    name = "mert-forest"

    restarts: Restarts = 0
    decodings: Decodings = 10
    reach: Reach = 0.1
    density: Density = 40.0
