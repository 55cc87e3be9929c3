"""The tests of one test set or suite of an experiment under one metric: what the job `test` finds,
and `verify` and the live page with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replitune.experiment import stages
from replitune.results.comparing import compare
from replitune.results.result import Result
from replitune.settings import read
from replitune.significance.looks.record import read_record
from replitune.significance.settings import TestSettings
from replitune.statistics.store import SegmentStatistics, read_systems


def result_of_job(job: stages.Test, threads: int = 1) -> Result:
    """Of all replicas."""
    stores = [read_systems(job.stores(testset)) for testset in job.suite or [job.testset]]
    dev = [job.at.store("dev", job.metric, system) for system in job.dev]
    return result_of_stores(job, stores, read(TestSettings, job.tests, "tests"), job.systems, dev, threads)


def result_of_stores(
    job: stages.Test,
    stores: Sequence[SegmentStatistics],
    tests: TestSettings,
    systems: Sequence[str],
    dev: Iterable[str] = (),
    threads: int = 1,
) -> Result:
    """The same of these statistics, by these tests."""
    found = compare(
        stores,
        tests,
        testset=job.testset,
        suite=job.suite,
        seed=job.seed,
        threads=threads,
        dev=[read_systems(dev)] if dev else [],
        systems=systems,
        design=job.design,
        families=job.families,
        looks=read_record(job.at.look(job.looks)) if job.looks else None,
    )
    return found.metrics[job.metric]
