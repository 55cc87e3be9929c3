# How a run begins and ends: a mistake gives one message, last on the terminal, and leaves no lock.

import atexit
import importlib.util
import signal
import tempfile
import threading
from contextlib import ExitStack, contextmanager

# a workflow that uses this one as a module gets it from its repository, without the library
if importlib.util.find_spec("replitune") is None:
    raise SystemExit(
        "replitune: the library is not installed beside Snakemake\n"
        f"  to do:    install version {VERSION} of the package replitune with the Python"
        f" {sys.executable}"
    )

from replitune import __version__, probes
from replitune.errors import ReplituneError
from replitune.experiment.jobs import jobs_of
from replitune.experiment.plan import cautions
from replitune.ledger.records import MADE, check_origins
from replitune.ledger.runs import NAME as RUN, write_run
from replitune.probes import s3, slurm, snakemake as probe
from replitune.running import locks
from replitune.running.failures import last_words
from replitune.running.files import flush_all
from replitune.running.processes import Process
from replitune.workflow.display import words
from replitune.workflow.events import Listener, failed_logs, forget_earlier

# a job ends when the Snakemake that started it has ended, even by kill -9
os.environ.update(REPLITUNE_RUN=Process.this().written.decode())

HEARD = Listener()
UNTIL_THE_END = ExitStack()
atexit.register(UNTIL_THE_END.close)


@contextmanager
def one_message():
    """End the run at a user's mistake with one message, last on the terminal, and exit code 1.
    SystemExit skips Snakemake's own messages, and its lock is removed."""
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


def require_places(page):
    """Settings tell jobs where their files are, so Snakemake must not put them elsewhere."""
    if STORAGE is None and page != AT.page:
        raise ReplituneError(
            "a module with `prefix` or `replace_prefix`: its jobs would not find their files",
            fix="leave it out; every experiment has a folder of its own, results/<experiment>/",
        )


def require_results_to_report():
    """Refuse `--report` before there are results: it would fail at a missing file."""
    asked = {word.partition("=")[0] for word in sys.argv}
    if (
        "--report" in asked
        and "--report-after-run" not in asked
        and not Path(AT.page).exists()
    ):
        raise ReplituneError(
            "nothing to report yet", file=AT.page, fix="run the experiment first"
        )


def planned_jobs():
    """The jobs that this run is to do; where Snakemake does not say, those without a record."""
    jobs = probe.planned(workflow)
    if jobs is not None:
        return jobs
    missing = [j for j in jobs_of(EXPERIMENT) if not is_done(AT.record(j.name))]
    return [probe.Planned(AT.log(j.name), j.names) for j in missing]


def is_done(record):
    """Whether a job has ended well. Snakemake makes an empty record when it begins."""
    return Path(record).exists() and Path(record).stat().st_size > 0


def working_systems(jobs):
    """The systems of this experiment with something to train, tune or decode. (Where this
    workflow is a module, rules may have other names, and jobs may be of another experiment.)
    """
    folders = tuple(
        f"{EXPERIMENT.folder}/logs/{stage}/"
        for stage in ("train", "table", "tune", "ask", "decode")
    )
    systems = {
        job.wildcards.get("system")
        for job in jobs
        if without_storage(job.log).startswith(folders)
    }
    return sorted(systems - {None})


def before_first_job():
    """Check that the systems with something to do have their programs and extras, that results can
    be written, and that no other run is at work on them."""
    jobs = planned_jobs()
    if errors := EXPERIMENT.missing(working_systems(jobs)):
        raise SystemExit("\n".join(f"replitune: {error}" for error in errors))
    with one_message():
        slurm.require_safe_arrays(workflow)
        require_writable(EXPERIMENT.folder)
        UNTIL_THE_END.enter_context(
            locks.held(
                EXPERIMENT.folder / locks.RUN, "another run is at work in this folder"
            )
        )
    leave_word(jobs)
    BEFORE.update(manifest=made(AT.manifest))
    call_in_a_thread(signal.SIGTERM)
    probe.start_at_once(workflow)
    for caution in [*cautions(EXPERIMENT), *probes.notes()]:
        print(f"warning: {caution}", file=sys.stderr)


BEFORE = {}


def made(name):
    """What distinguishes a file from one that is made later, whatever the clock says."""
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def call_in_a_thread(number):
    """Call the handler of a signal in a thread. Snakemake's waits for a lock, which the interrupted
    thread may hold; then it would wait for ever."""
    handler = signal.getsignal(number)
    if callable(handler):
        signal.signal(
            number, lambda *args: threading.Thread(target=handler, args=args).start()
        )


def leave_word(jobs):
    """Record which experiment this is and what is to be done, for `replitune watch`. The numbers do
    not depend on it."""
    try:
        logs = [without_storage(job.log) for job in jobs]
        write_run(EXPERIMENT, logs, probe.parallel(workflow))
        forget_earlier(EXPERIMENT.folder)
    except OSError as error:
        print(f"warning: watchers are not told of this run: {error}", file=sys.stderr)


def after_last_job():
    """Flush Snakemake's records to the disk, as results are; and check that everything that was asked for
    is there, and that every result was made from the present version of its inputs, whatever the clock
    says.

    The inputs are not checked by a run that was to make only some results, and made no manifest.
    """
    flush_all(Path.cwd())
    with one_message():
        if missing := probe.missing_targets(workflow):
            raise ReplituneError(
                "Snakemake ended before everything was made",
                file=missing[0],
                found=f"{len(missing)} of its targets missing",
                fix="run it again",
            )
        if made(AT.manifest) in (None, BEFORE.get("manifest")):
            return
        check_origins(EXPERIMENT.folder.absolute())


def after_failure(log):
    """Print the messages of the failed jobs last, and what to do next."""
    failed = {
        f"{words(without_storage(name).removesuffix('.log').split('/', 3)[-1])} ({name})": name
        for name in map(without_direction, failed_logs(HEARD.events))
        if not is_done(Path(name).with_suffix(".json"))  # others of its group may be
    }
    print("Complete log(s):", *[log] if isinstance(log, str) else log, file=sys.stderr)
    raise SystemExit(last_words(failed))
