# Names for the rules: the experiment, its folders, and what each stage depends on.

import json
import shlex
from functools import partial

from snakemake.exceptions import WorkflowError

from replitune.experiment.configuration import read_yaml, resolve
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment, Replica
from replitune.experiment.plain_values import Source
from replitune.ledger.records import check_origins
from replitune.report.contents import Captions


def _experiment():
    """The validated experiment; a mistake in it ends the run with one message."""
    try:
        source = (
            read_yaml(workflow.configfiles[-1])[1] if workflow.configfiles else Source()
        )
        experiment = Experiment(resolve(config, source))
        experiment.outputs  # looks for files of systems that are on disk
    except ReplituneError as error:
        print(f"replitune: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)
    return experiment


EXPERIMENT = _experiment()
RESULTS = str(EXPERIMENT.folder)
GIVEN_OUTPUTS = [
    (system, testset)
    for system, testsets in EXPERIMENT.outputs.items()
    for testset in testsets
]


# Compiled once, before jobs start side by side; its age means nothing to them.
KERNELS = ancient(f"{RESULTS}/.kernels")


wildcard_constraints:
    testset="|".join(map(re.escape, EXPERIMENT.testsets)),
    system="|".join(map(re.escape, EXPERIMENT.systems)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),
    replica=r"[A-Za-z0-9._+-]+-\d{3}",


def final_outputs():
    return [f"{RESULTS}/report.html", f"{RESULTS}/manifest.json"]


def check_pieces():
    """Every result was made from the present version of its inputs, whatever the clock said.

    Not asked of a run that was told to make only some."""
    asked = workflow.dag_settings
    if set(asked.targets) - {"all"} or asked.until or asked.omit_from or asked.batch:
        return
    try:
        check_origins(EXPERIMENT.folder.absolute())
    except ReplituneError as error:
        raise WorkflowError(f"replitune: {error}")


def existing(paths):
    """Data files are inputs when they are there; when not, the job itself says what is missing,
    so that a dry run needs no data."""
    return [str(path) for path in paths if Path(path).exists()]


def systems_with(stage):
    """A wildcard constraint: the systems that have a stage, or nothing at all."""
    return "|".join(map(re.escape, EXPERIMENT.having(stage))) or "(?!)"


def part_inputs(stage):
    """A function from wildcards to the parts that a stage of a system reads."""

    def inputs(wildcards):
        reads = partial(EXPERIMENT.reads, wildcards.system, stage)
        found = {}
        if reads("train"):
            found["source"] = f"{RESULTS}/corpus/train.source.txt"
            found["target"] = f"{RESULTS}/corpus/train.target.txt"
        if reads("dev"):
            found["dev"] = f"{RESULTS}/corpus/dev.jsonl"
        if reads("model"):
            found["model"] = f"{RESULTS}/models/{wildcards.system}"
        if reads("tuned"):
            own = f"{RESULTS}/tuning/{wildcards.system}/{wildcards.replica}"
            tuned = wildcards.system in EXPERIMENT.having("tune")
            found["tuned"] = f"{own}/weights.json" if tuned else own
        return found

    return inputs


def part_words(stage, **names):
    """A function from wildcards to the same as options, under the given `names`.

    Not from `input`: Snakemake does not see changes of params that are made from it."""

    def options(wildcards):
        return " ".join(
            f"--{names.get(part, part)} {shlex.quote(path)}"
            for part, path in part_inputs(stage)(wildcards).items()
        )

    return options


def job_words(stage):
    """A function from wildcards to what makes the system in this stage, as options."""
    return lambda wildcards: EXPERIMENT.job_words(wildcards.system, stage)


def backend_version(wildcards):
    return EXPERIMENT.stage_version(wildcards.system)


def system_resource(name, otherwise, growing=False):
    """What the system asks for, or a rule's usual amount; more of it when a job is tried again."""
    if growing:
        return (
            lambda wildcards, attempt: EXPERIMENT.resources(wildcards.system).get(
                name, otherwise
            )
            * attempt
        )
    return lambda wildcards: EXPERIMENT.resources(wildcards.system).get(name, otherwise)


def stop_if_missing(dag):
    """Before the first job: programs and extras of the systems that have something to do."""
    stages = ("train", "tune", "train_replica", "decode")
    systems = {
        job.wildcards.system for job in dag.needrun_jobs() if job.rule.name in stages
    }
    errors = EXPERIMENT.missing(sorted(systems))
    if errors:
        for error in errors:
            print(f"replitune: {error}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(1)


def missing_allowed(option):
    """A function of wildcards and output, so that a change alone makes nothing again."""
    given = option if EXPERIMENT.settings["allow_missing_replicas"] else ""
    return lambda wildcards, output: given


PAIRED = "--paired" if EXPERIMENT.settings["tests"]["paired_replicas"] else ""


def given_files(system, testset):
    """A function, because a list would be searched for wildcards, and names may have braces."""
    return lambda wildcards: existing(EXPERIMENT.outputs[system][testset].values())


def given_settings(system, testset):
    """Patterns as they stand in the experiment: short, however many files they name."""
    return lambda wildcards: as_json(
        EXPERIMENT.backends[system].testset_settings(testset)
    )


def as_json(settings):
    return json.dumps(settings, sort_keys=True, ensure_ascii=False)


def decodes(wildcards):
    return [
        f"{RESULTS}/decodes/{wildcards.testset}/{wildcards.system}/{replica.id}.txt"
        for replica in EXPERIMENT.replicas(wildcards.system)
    ]


def stores(testset, metric):
    return [
        f"{RESULTS}/stats/{testset}/{metric}/{system}.parquet"
        for system in EXPERIMENT.systems
        if testset in EXPERIMENT.decoded(system) and EXPERIMENT.scored(metric, testset)
    ]


def score_files(wildcards):
    """Scores that something else computed are inputs when they are there, as data files are."""
    return existing(
        EXPERIMENT.score_files(wildcards.metric, wildcards.testset, wildcards.system)
    )


def report_texts(wildcards):
    """Test sets, outputs and statistics of the segments that the report shows."""
    lead = EXPERIMENT.metrics[0]
    return [
        path
        for testset in EXPERIMENT.tests
        for path in (
            f"{RESULTS}/corpus/{testset}.jsonl",
            *stores(testset, lead),
            *(
                f"{RESULTS}/decodes/{testset}/{system}/{replica.id}.txt"
                for system in EXPERIMENT.systems
                if testset in EXPERIMENT.decoded(system)
                for replica in EXPERIMENT.replicas(system)
            ),
        )
    ]


def study_words(study):
    """The options of a study's command, as a function of the test set alone."""
    return lambda wildcards: EXPERIMENT.studies.words(study, wildcards.testset)


def report_histories(wildcards):
    """What tuning or training wrote down, of the systems that keep a history."""
    tuned = EXPERIMENT.having("tune")
    return [
        (
            f"{RESULTS}/tuning/{system}/{replica.id}/history.parquet"
            if system in tuned
            else f"{RESULTS}/tuning/{system}/{replica.id}"
        )
        for system in EXPERIMENT.with_history
        for replica in EXPERIMENT.replicas(system)
    ]
