"""All tests on one test set, which is a suite of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from replitune.significance.base import TestResult
from replitune.significance.run import TestSetScores
from replitune.significance.run import run_tests as run_tests_of_suite


def run_tests(
    metrics: Mapping[str, Any], documents: np.ndarray, **options: Any
) -> dict[str, list[TestResult]]:
    """`metrics`: (metric, systems) by id."""
    return run_tests_of_suite([TestSetScores(metrics, documents)], **options)
