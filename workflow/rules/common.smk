# The experiment, and what its rules have in common: a rule says which files a stage makes; the
# settings of its jobs and what they read come from `EXPERIMENT.stage(...)`.

import re
from functools import lru_cache

from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.experiment.places import TESTS
from replitune.experiment.sizes import Sizes
from replitune.experiment.stage import STAGES
from replitune.experiment.yaml_file import find_source
from replitune.significance.looks.record import read_record


def read_experiment():
    """The validated experiment."""
    with one_message():
        require_one_version()
        experiment = Experiment(
            resolve(
                with_texts(config), find_source(probe.config_files(workflow), config)
            )
        )
        experiment.outputs  # looks for the given outputs on the disk
        require_writable(".snakemake")
    return experiment


EXPERIMENT = read_experiment()
AT = EXPERIMENT.at

# Compiled once, before jobs start in parallel; the age of the file does not matter to them. No rule makes
# it while it is there: whatever depends on an ancient file that is made again is forgotten by Snakemake 9.
KERNELS = ancient(AT.kernels)


def is_compiled():
    """Whether the kernels are compiled. If their job was stopped after it had made the file and before it
    had written its record, the file is removed, unless the run is at work now."""
    if not Path(AT.kernels).exists():
        return False
    names = "kernels", "kernels"
    stopped = Path(AT.log(*names)).exists() and not is_done(AT.record(*names))
    if stopped and not locks.is_held(EXPERIMENT.folder / locks.RUN):
        Path(AT.kernels).unlink(missing_ok=True)
    return Path(AT.kernels).exists()


# what is not Python: Java, Marian, Moses
PROGRAMS = "../../envs/programs.yaml"


wildcard_constraints:
    testset="|".join(map(re.escape, [*EXPERIMENT.testsets, *EXPERIMENT.suites])),
    system="|".join(map(re.escape, EXPERIMENT.systems)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),
    replica=r"[A-Za-z0-9._+-]+-\d{3}",


def command(stage, option=""):
    """The one command of a rule."""
    job = f"replitune job {stage} --settings {{params.job:q}} {option} --threads {{threads}}"
    if STORAGE is None:
        return f"{job} --log {{log.text:q}} --record {{log.record:q}}"
    return in_storage(job)


def failure_option(wildcards, output):
    """Takes `output`, so that a change of the option alone runs nothing again."""
    return "--allow-failures" if EXPERIMENT.settings.allow_missing_replicas else ""


def job_settings(stage, **names):
    """A function: the settings of a stage's job with these names, or with those of its wildcards."""
    return lambda wildcards: find_job(stage, names or dict(wildcards.items())).json


def job_inputs(stage, **names):
    """A function: what that job reads."""
    return lambda wildcards: inputs_of(
        find_job(stage, names or dict(wildcards.items()))
    )


def find_job(stage, names):
    """The job of a stage, once it is known how many replicas there are."""
    if not EXPERIMENT.looks or not STAGES[stage].WAITS_FOR_LOOKS:
        return EXPERIMENT.stage(stage, **names)
    if stage == "look":
        if int(names["look"]) > 1:
            record_of_look(int(names["look"]) - 1)
        return EXPERIMENT.stage(stage, **names)
    number = 1
    while not (record := record_of_look(number)).settled:
        number += 1
    return EXPERIMENT.after(record).stage(stage, **names)


def record_of_look(number):
    """The record of a look; the jobs that ask for it are planned again when there is one."""
    path, _ = checkpoints.look.get(look=number).output
    return known_record(path, Path(path).stat().st_mtime_ns)


known_record = lru_cache(maxsize=None)(lambda path, changed: read_record(path))


def given_files(system, testset):
    """The files of given outputs; a function, since Snakemake looks for wildcards, in braces, in a list."""
    files = [*map(str, EXPERIMENT.outputs[system][testset].values())]
    return lambda wildcards: [file for file in files if Path(file).exists()]


def logs(*names):
    """Messages; how the job ran, with what it read and made; and its seconds and memory. The job
    itself writes them: Snakemake's `benchmark` looks at all processes of the machine, twice a second
    for every job."""
    return dict(
        text=AT.log(*names), record=AT.record(*names), benchmark=AT.benchmark(*names)
    )


SIZES = Sizes(EXPERIMENT)

# on a cluster, Snakemake runs beside each job
LEAST_MB = 500


def amounts(stage, runtime, gpu=None, **names):
    """The resources of a job, by the sizes of its texts or as its system asks; more when it is tried
    again. `names` are those of the job, where they are not its wildcards. `alone` is for executors that
    run the jobs of a submission one after the other (profiles/slurm)."""

    def memory(wildcards):
        named = dict(wildcards.items())
        given = {name: value.format(**named) for name, value in names.items()}
        # until looks have decided how many replicas there are: for as many as there may be
        job = EXPERIMENT.stage(stage, **(given or named))
        return max(LEAST_MB, job.memory_mb(SIZES))

    def amount(name, usual, growing=True):
        def resource(wildcards, attempt):
            asked = EXPERIMENT.asked(dict(wildcards.items()))
            if name not in asked:
                asked = {name: usual(wildcards) if callable(usual) else usual}
            return asked[name] * (attempt if growing else 1)

        return resource

    resources = dict(
        mem_mb=amount("mem_mb", memory), runtime=amount("runtime", runtime), alone=1
    )
    return (
        resources
        if gpu is None
        else dict(resources, gpu=amount("gpu", gpu, growing=False))
    )


def disk_of(stage):
    """The disk space that a job needs while it runs."""
    return lambda wildcards: EXPERIMENT.stage(stage, **dict(wildcards.items())).disk_mb(
        SIZES
    )


def threads_of_system(wildcards):
    return EXPERIMENT.resources(wildcards.system).get("threads", 1)


def threads_of_metric(wildcards):
    return EXPERIMENT.metric_resources(wildcards.metric).get("threads", 1)


def systems_with(stage):
    """A wildcard constraint: the systems that have a stage, or nothing at all."""
    return "|".join(map(re.escape, EXPERIMENT.systems_with(stage))) or "(?!)"
