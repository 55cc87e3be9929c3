# Results in a storage of Snakemake's (--default-storage-provider), for jobs on machines that share no
# folder. Snakemake fetches what a job reads and stores what it makes. The records of the jobs that made
# its inputs, which a job otherwise finds in the folder, are fetched as inputs, too.

from functools import lru_cache

from replitune.experiment.plan import check_storage
from replitune.experiment.stage import paths_of
from replitune.experiment.yaml_file import ExperimentError

STORAGE = probe.default_storage(workflow)

# local rules: texts are where Snakemake is started, and the manifest is made from everything
STAYS_HERE = STORAGE is not None


if STORAGE is not None:
    s3.look_again_for_folders()

    def update(files):
        """No `update`: Snakemake cannot keep outputs that are in storage while their job runs."""
        return files


def with_texts(config):
    """The config with absolute names of texts, since jobs run in another folder."""
    if STORAGE is None:
        return config
    return {**config, "corpora": str(Path(config.get("corpora") or ".").absolute())}


def require_no_shared_folder():
    """Refuse what jobs would not find in storage, when there is one."""
    if STORAGE is not None and (errors := [*check_storage(EXPERIMENT)]):
        raise ExperimentError(errors)


@lru_cache
def all_outputs():
    """The record of the job that makes each output of the experiment."""
    return {
        str(path): AT.record(job.name)
        for job in jobs_of(EXPERIMENT)
        for path in paths_of(EXPERIMENT.stage(job.stage, **job.names).outputs)
    }


def inputs_of(job):
    """The inputs of a job, for Snakemake."""
    if STORAGE is None:
        return job.planned
    inputs = {
        name: [paths] if isinstance(paths, str) else paths
        for name, paths in job.planned.items()
    }
    made = all_outputs()
    records = {
        made[path] for paths in inputs.values() for path in paths if path in made
    }
    here = {
        name: [path if path in made else local(path) for path in paths]
        for name, paths in inputs.items()
    }
    return {**here, "records": sorted(records)}


def without_storage(path):
    """The name that a file of the experiment has in its folder."""
    return path[max(path.rfind(f"{EXPERIMENT.folder}/"), 0) :]


def kept_at(path):
    """Where people find a file of the experiment."""
    return path if STORAGE is None else f"{STORAGE.rstrip('/')}/{path}"


def without_direction(log):
    """The name of a log in storage, without what Snakemake's messages add."""
    return log.removesuffix(" (send to storage)")


def in_storage(job):
    """The command of a job, run in the folder below which Snakemake has put its inputs and expects its
    outputs, so that all names are the same as without storage."""
    below = f"{EXPERIMENT.folder}/logs/".replace("{", "{{").replace("}", "}}")
    return (
        "log={log.text:q}; record={log.record:q}; "
        f'root="${{{{log%{below}*}}}}"; cd "$root"; {job} --from-storage '
        '--log "${{log#"$root"}}" --record "${{record#"$root"}}"'
    )


def everything():
    """What the manifest reads beside the page: all results, and the records of all jobs."""
    if STORAGE is None:
        return {}
    made = {
        path: record for path, record in all_outputs().items() if path != AT.manifest
    }
    return {"results": [*made], "records": sorted(set(made.values()))}


def index():
    """Who made each result, for people who copy the results from storage."""
    return {} if STORAGE is None else {"index": directory(AT.at(MADE))}
