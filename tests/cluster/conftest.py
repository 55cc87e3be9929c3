from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from .slurm import Slurm, running, unavailable


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """Four nodes; skips where Slurm cannot be had or does not start."""
    if reason := unavailable():
        pytest.skip(reason)
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("the extra `slurm` is not installed")
    started = running()
    try:
        cluster = started.__enter__()
    except (OSError, TimeoutError, RuntimeError) as error:
        pytest.skip(f"Slurm does not start here: {error}")
    try:
        yield cluster
    finally:
        started.__exit__(None, None, None)
