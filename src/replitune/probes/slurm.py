"""Undocumented parts of Snakemake's executor for Slurm (2.8): how it submits job arrays."""

from __future__ import annotations

import base64
import json
import os
import sys
import zlib
from typing import Any

from replitune import probes
from replitune.errors import ReplituneError

LIMIT = 40
"""The most tasks of an array: their commands are one word of the script, at most 128 KiB on Linux."""
_COMMANDS = "--slurm-jobstep-array-execs="


def run_own_command() -> None:
    """In every task of a job array but the first, replace this process by the command of the task's job.

    Every task starts Snakemake for the array's *first* job, with the commands of all others. That
    Snakemake starts the command of the task, but waits for the outputs of the first job and fails without
    them; and if the task's own job fails, it removes the outputs of the first."""
    packed = [word.removeprefix(_COMMANDS) for word in sys.argv if word.startswith(_COMMANDS)]
    task = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if packed and task != os.environ.get("SLURM_ARRAY_TASK_MIN"):
        command = zlib.decompress(bytes.fromhex(json.loads(base64.b64decode(packed[0]))[task]))
        os.execv("/bin/sh", ["sh", "-c", command.decode()])


def require_safe_arrays(workflow: Any) -> None:
    """Refuse job arrays that would not run to the end. If the executor cannot submit all jobs at once, it
    submits none; it gives all jobs of an array what the first asks for; and it loses commands that are
    too long."""
    settings = workflow.executor_settings
    asked = getattr(settings, "array_jobs", None)
    if not asked:
        return
    rules = {rule.strip() for rule in asked.replace(";", ",").split(",")}
    planned = list(workflow.dag.needrun_jobs())
    alone = [job for job in planned if rules & {job.rule.name, "all"} and job.group is None]
    amounts = {(job.rule.name, str(sorted(job.resources.items()))) for job in alone}
    jobs, rate = workflow.resource_settings.nodes, workflow.scheduling_settings.max_jobs_per_timespan
    wrong = {
        f"{probes.VARIABLE}: undocumented parts of the executor are not used": not probes.allowed(),
        f"--slurm-array-limit {settings.array_limit}: {LIMIT} at most": settings.array_limit > LIMIT,
        f"--jobs {jobs}: --jobs unlimited": jobs < sys.maxsize,
        f"--max-jobs-per-timespan {rate}: 1000000/30s": rate and rate.max_jobs < len(planned),
        "jobs of a rule with different resources: --set-resources RULE:mem_mb=N RULE:runtime=N": len(
            amounts
        )
        > len({rule for rule, _ in amounts}),
    }
    for problem in (problem for problem, is_wrong in wrong.items() if is_wrong):
        found, _, fix = problem.partition(": ")
        raise ReplituneError(
            f"job arrays (--slurm-array-jobs {asked}) would not run to the end", found=found, fix=fix
        )
