# How a run begins and ends: one message for a mistake, last on the terminal, and no lock.

import tempfile
import threading
from contextlib import contextmanager

from replitune.errors import ReplituneError
from replitune.experiment.plan import cautions
from replitune.ledger.records import check_origins
from replitune.running.failures import last_words


@contextmanager
def one_message():
    """A mistake ends the run: one message, last on the terminal, and exit code 1. SystemExit
    passes by Snakemake's own messages, and its lock goes on the way."""
    try:
        yield
    except ReplituneError as error:
        raise SystemExit(f"replitune: {error}") from None


def require_writable(folder):
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ReplituneError(
            "results cannot be written",
            file=folder,
            found=error.strerror,
            fix="make it a folder that can be written, or run somewhere else (--directory)",
        ) from None


def before_first_job(dag):
    """Programs and extras are there for the systems that have something to do, and results can be
    written."""
    stages = ("train", "tune", "train_replica", "decode")
    systems = {
        job.wildcards.system for job in dag.needrun_jobs() if job.rule.name in stages
    }
    if errors := EXPERIMENT.missing(sorted(systems)):
        raise SystemExit("\n".join(f"replitune: {error}" for error in errors))
    with one_message():
        require_writable(EXPERIMENT.folder)
    # SIGTERM is handled in the thread that may have this lock, and would wait for it for ever
    workflow.scheduler._lock = threading.RLock()
    for caution in cautions(EXPERIMENT):
        print(f"warning: {caution}", file=sys.stderr)


def after_last_job():
    """Every result was made from the present version of its inputs, whatever the clock said.

    Not asked of a run that was told to make only some."""
    asked = workflow.dag_settings
    if set(asked.targets) - {"all"} or asked.until or asked.omit_from or asked.batch:
        return
    with one_message():
        check_origins(EXPERIMENT.folder.absolute())


def after_failure():
    """What the failed jobs said comes last, and what to do next."""
    failed = [
        job
        for found in workflow.scheduler.failed
        for job in (found.jobs if found.is_group() else [found])
    ]
    said = last_words(
        {
            f"{job.message or job.rule.name} ({log})": log
            for job in failed
            for log in [job.log.get("text")]
            if log
        }
    )
    workflow.logger_manager.logfile_hint()
    raise SystemExit(said)
