"""Undocumented parts of Snakemake's `workflow`, which the Snakefile passes, so nothing is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from replitune import probes

T = TypeVar("T")


class Planned(NamedTuple):
    """A job that a run is to do."""

    log: str
    wildcards: dict[str, str]


def _ask(question: Callable[[], T], otherwise: T) -> T:
    if not probes.allowed():
        return otherwise
    try:
        return question()
    except (AttributeError, TypeError):
        probes.failed("snakemake")
        return otherwise


def planned(workflow: Any) -> list[Planned] | None:
    """The jobs that a run is to do; None if that cannot be known."""
    return _ask(
        lambda: [
            Planned(str(job.log.get("text", "")), dict(job.wildcards.items()))
            for job in workflow.dag.needrun_jobs()
        ],
        None,
    )


def missing_targets(workflow: Any) -> list[str]:
    """What a run was to make, directly, and is not there; nothing where that cannot be known."""

    def missing() -> list[str]:
        dag = workflow.dag
        jobs = {*dag.targetjobs} & {*dag.jobs}  # without those that --omit-from or --batch leaves out
        targets = {file for job in jobs for file in (*job.input, *job.output)}
        return sorted(str(file) for file in targets if not workflow.async_run(file.exists()))

    return _ask(missing, [])


def parallel(workflow: Any) -> int:
    """How many jobs may run at once; where that is not limited, how many cores there are."""
    asked = _ask(lambda: (of := workflow.resource_settings).nodes or of.cores, None)
    return asked or workflow.cores


def config_files(workflow: Any) -> list[Any]:
    """The config files that the experiment may be from."""
    return _ask(lambda: list(workflow.configfiles), [])


def default_storage(workflow: Any) -> str | None:
    """Where files are kept for which no rule names a storage, such as s3://bucket; None: in the working
    directory."""

    def place() -> str | None:
        settings = workflow.storage_settings
        provider = settings.default_storage_provider
        return None if provider is None else settings.default_storage_prefix or f"{provider}:"

    return _ask(place, None)


def is_main(workflow: Any) -> bool:
    """Whether no other workflow uses this one as a module."""
    return _ask(lambda: bool(workflow.modifier.is_main_snakefile()), True)


def start_at_once(workflow: Any) -> None:
    """Remove the limit of jobs per second: one machine needs none, and with it every finished job wakes
    the scheduler once a second until the run ends."""

    def without_limit() -> None:
        if workflow.local_exec and hasattr(workflow.scheduler, "job_rate_limiter"):
            workflow.scheduler.job_rate_limiter = None

    _ask(without_limit, None)
