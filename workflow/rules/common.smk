# Names for the rules: the experiment, its folders, and what each stage depends on.

import json

from replitune.configuration import Source, read_yaml, resolve
from replitune.errors import ReplituneError
from replitune.experiment import Experiment, Replica


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
OUTPUT_SYSTEMS = [s for s in EXPERIMENT.systems if EXPERIMENT.backend(s) == "outputs"]
MADE_SYSTEMS = [s for s in EXPERIMENT.systems if s not in OUTPUT_SYSTEMS]


wildcard_constraints:
    testset="|".join(map(re.escape, EXPERIMENT.testsets)),
    system="|".join(map(re.escape, EXPERIMENT.systems)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),
    replica=r"[A-Za-z0-9._+-]+-\d{3}",


def final_outputs():
    return [f"{RESULTS}/report.html", f"{RESULTS}/manifest.json"]


def existing(paths):
    """Data files are inputs when they are there; when not, the job itself says what is missing,
    so that a dry run needs no data."""
    return [str(path) for path in paths if Path(path).exists()]


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
