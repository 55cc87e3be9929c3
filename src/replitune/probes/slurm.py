"""What Slurm's executor for Snakemake (2.8) does not document: how it submits job arrays."""

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
"""Tasks of an array. The commands of all are one word of the script, and Linux has 128 KiB for one."""
_COMMANDS = "--slurm-jobstep-array-execs="


def run_own_command() -> None:
    """In a task of an array that is not its first: become the command of the task's own job.

    Every task starts Snakemake for the array's *first* job, with the commands of all others. That one
    starts the command of the task, then waits for the outputs of the first job and fails without them;
    and when the task's own job has failed, it removes the outputs of the first."""
    packed = [word.removeprefix(_COMMANDS) for word in sys.argv if word.startswith(_COMMANDS)]
    task = os.environ.get("SLURM_ARRAY_TASK_ID", "")
    if packed and task != os.environ.get("SLURM_ARRAY_TASK_MIN"):
        command = zlib.decompress(bytes.fromhex(json.loads(base64.b64decode(packed[0]))[task]))
        os.execv("/bin/sh", ["sh", "-c", command.decode()])


def require_safe_arrays(workflow: Any) -> None:
    """Of jobs that cannot all be submitted at once it submits none; all jobs of an array get what the
    first one asks for; and commands that are too long it loses."""
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
