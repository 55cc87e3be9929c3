"""Takes the times that the benchmarks print."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def cpu(work: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """CPU seconds of the fastest of `repeats` runs, since the others were disturbed more."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """The result of `work`, CPU seconds of all threads, wall seconds."""
    seconds, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, time.process_time() - seconds, time.perf_counter() - wall
