"""Tests of other packages, for the calibration study; the project does not need them.

evalstats 0.3.3 (https://github.com/ianarawjo/evalstats): `pairwise_differences` with
method="bootstrap" is its nested bootstrap if there are three runs or more: inputs are resampled, and
runs are resampled *within each input*. Its model has no runs that move all inputs together.
"""

from __future__ import annotations

import warnings

import numpy as np
from batch import Array, Batch


def nested_bootstrap(batch: Batch, rng: np.random.Generator, samples: int) -> Array:
    """p (T,); statistics are (score, 1)."""
    from evalstats.core.paired import pairwise_differences

    found = np.empty(len(batch.a))
    for t, (a, b) in enumerate(zip(batch.a, batch.b, strict=True)):
        scores = np.stack([a[..., 0].T, b[..., 0].T])  # (2, inputs, runs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = pairwise_differences(scores, 0, 1, method="bootstrap", n_bootstrap=samples, rng=rng)
        assert result.test_method.startswith("nested bootstrap")
        found[t] = result.p_value
    return found
