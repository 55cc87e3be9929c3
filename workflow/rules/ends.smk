# How a run begins and ends: one message for a mistake, last on the terminal, and no lock.

import importlib.util
import tempfile
import threading
from contextlib import contextmanager

# a workflow that uses this one as a module gets it from its repository, without the library
if importlib.util.find_spec("replitune") is None:
    raise SystemExit(
        "replitune: the library is not installed beside Snakemake\n"
        f"  to do:    install version {VERSION} of the package replitune with the Python"
        f" {sys.executable}"
    )

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.experiment.plan import cautions
from replitune.ledger.records import check_origins
from replitune.ledger.runs import write_run
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


def require_one_version():
    """The rules and the library that their jobs call belong together."""
    if __version__ != VERSION:
        raise ReplituneError(
            "the workflow and the installed library are of different versions",
            found=f"workflow {VERSION}, library {__version__}",
            fix=f"install version {VERSION} of the package replitune, or use the workflow of"
            f" version {__version__}",
        )


def require_places():
    """Settings tell jobs where their files are, so Snakemake must not put them elsewhere."""
    if workflow.modifier.path_modifier.replace_prefix("results") != "results":
        raise ReplituneError(
            "a module with `prefix` or `replace_prefix`: its jobs would not find their files",
            fix="leave it out; every experiment has a folder of its own, results/<experiment>/",
        )


def working_systems(dag):
    """The systems of this experiment with something to train, tune or decode. (The names of rules
    may be others, and jobs those of another experiment, where this workflow is a module.)
    """
    folders = tuple(
        f"{EXPERIMENT.folder}/logs/{stage}/" for stage in ("train", "tune", "decode")
    )
    jobs = [
        job
        for job in dag.needrun_jobs()
        if str(job.log.get("text", "")).startswith(folders)
    ]
    systems = {dict(job.wildcards.items()).get("system") for job in jobs}
    return sorted(systems - {None})


def before_first_job(dag):
    """Check that the systems with something to do have their programs and extras, and that results
    can be written."""
    if errors := EXPERIMENT.missing(working_systems(dag)):
        raise SystemExit("\n".join(f"replitune: {error}" for error in errors))
    with one_message():
        require_writable(EXPERIMENT.folder)
    leave_word(dag)
    # SIGTERM is handled in the thread that may hold this lock, and would wait for it for ever
    workflow.scheduler._lock = threading.RLock()
    if workflow.local_exec:
        # One machine has no need of so many jobs a second at most, and while there is such a limit
        # every job that has ended wakes the scheduler once a second until the run ends.
        workflow.scheduler.job_rate_limiter = None
    for caution in cautions(EXPERIMENT):
        print(f"warning: {caution}", file=sys.stderr)


def leave_word(dag):
    """Record which experiment this is and what is to be done, for `replitune watch`. The numbers do
    not depend on it."""
    logs = [str(job.log.get("text", "")) for job in dag.needrun_jobs()]
    amount = workflow.resource_settings
    try:
        write_run(EXPERIMENT, logs, amount.nodes or amount.cores or 1)
    except OSError as error:
        print(f"warning: watchers are not told of this run: {error}", file=sys.stderr)


def after_last_job():
    """Check that every result was made from the present version of its inputs, whatever the clock.

    Not for a run that was to make only some."""
    asked = workflow.dag_settings
    if asked.until or asked.omit_from or asked.batch:
        return
    if not any(AT.manifest in job.output for job in workflow.dag.jobs):
        return
    with one_message():
        check_origins(EXPERIMENT.folder.absolute())


def after_failure():
    """Print the messages of the failed jobs last, and what to do next."""
    failed = [
        job
        for entry in workflow.scheduler.failed
        for job in (entry.jobs if entry.is_group() else [entry])
    ]
    message = last_words(
        {
            f"{job.message or job.rule.name} ({log})": log
            for job in failed
            for log in [job.log.get("text")]
            if log
        }
    )
    workflow.logger_manager.logfile_hint()
    raise SystemExit(message)
