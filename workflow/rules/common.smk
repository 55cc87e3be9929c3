# Names for the rules: the experiment, its folders, and what each stage depends on.

import json
import shlex

from snakemake.exceptions import WorkflowError

from replitune.configuration import Source, read_yaml, resolve
from replitune.errors import ReplituneError
from replitune.experiment import Experiment, Replica
from replitune.records import check_origins


def _experiment():
    """The validated experiment; a mistake in it ends the run with one message."""
    try:
        source = (
            read_yaml(workflow.configfiles[-1])[1] if workflow.configfiles else Source()
        )
        experiment = Experiment(resolve(config, source))
        experiment.outputs  # looks for files of the `outputs` backend
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


def decode_inputs(wildcards):
    """The test set; of a trained system also the model and the replica's weights."""
    inputs = {"testset": f"{RESULTS}/corpus/{wildcards.testset}.jsonl"}
    if EXPERIMENT.backend(wildcards.system) == "phrase":
        tuned = f"{RESULTS}/tuning/{wildcards.system}/{wildcards.replica}"
        inputs["model"] = f"{RESULTS}/models/{wildcards.system}"
        inputs["weights"] = f"{tuned}/weights.json"
    return inputs


def decode_options(wildcards):
    """What makes the translations, as options of `replitune decode`.

    Not from `input`: Snakemake does not see changes of params that are made from it."""
    settings = EXPERIMENT.settings["systems"][wildcards.system]
    if settings["backend"] == "phrase":
        inputs = decode_inputs(wildcards)
        model, weights = shlex.quote(inputs["model"]), shlex.quote(inputs["weights"])
        features = " ".join(settings["features"])
        search = EXPERIMENT.search_words(wildcards.system)
        return (
            f"--model {model} --weights {weights} --features {features} --set {search}"
        )
    kept = {key: settings[key] for key in ("errors", "spread")}
    return f"--corruption {shlex.quote(as_json(kept))}"


def given_files(system, testset):
    """A function, because a list would be searched for wildcards, and names may have braces."""
    return lambda wildcards: existing(EXPERIMENT.outputs[system][testset].values())


def given_patterns(system, testset):
    """The patterns as they stand in the experiment: short, however many files they name."""
    return lambda wildcards: as_json(
        EXPERIMENT.settings["systems"][system]["files"][testset]
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
        if testset in EXPERIMENT.decoded(system)
    ]


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
    """What tuning wrote down, of the systems that are tuned."""
    return [
        f"{RESULTS}/tuning/{system}/{replica.id}/history.parquet"
        for system in EXPERIMENT.systems
        if EXPERIMENT.backend(system) == "phrase"
        for replica in EXPERIMENT.replicas(system)
    ]
