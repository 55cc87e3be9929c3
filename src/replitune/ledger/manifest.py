"""manifest.json: an experiment's settings, the sha256 of every file, and what made it.

It is meant to be published, so it names no folder of the machine that it was made on.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import belongings
from replitune.ledger.provenance import printable
from replitune.ledger.records import check_results, records, result_files
from replitune.ledger.runs import NAME as RUN
from replitune.ledger.runs import experiment_of_run, read_run, require_results, without_scales
from replitune.replicas import replica_ids
from replitune.running.files import read_text, sha256_file, write_json

NAME = "manifest.json"

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Manifest(msgspec.Struct):
    """The required fields of a manifest."""

    files: dict[str, Sha256]
    settings: dict[str, Any]
    inputs: dict[str, Any]
    outputs_given: dict[str, dict[str, dict[str, Any]]]
    jobs: dict[str, Any]
    not_packed: dict[str, Sha256] = {}
    scores_given: dict[str, dict[str, Sha256]] = {}
    judgements_given: dict[str, dict[str, Sha256]] = {}


ABSOLUTE = re.compile(r"(?<![^\s\"'=,:\[{(\\])/(?:[^\s\"'/\\]+/)+")
"""The folders of an absolute path, at the start of a word."""


def write_manifest(folder: Path, given: Mapping[str, Any]) -> None:
    """`given`: the settings of the experiment whose results are in `folder`."""
    write_json(folder / NAME, make_manifest(folder, given))


def make_manifest(folder: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The content of manifest.json: every file of the experiment below `folder` with its hash."""
    experiment = Experiment(without_scales(given), results=folder.parent).after_looks()
    own = belongings(experiment)
    files = check_results(folder.absolute(), filter(own.has, result_files(folder)))
    jobs = {name: record for name, record in records(folder).items() if name in own.jobs}
    replicas = {system: experiment.replica_counts(system) for system in experiment.systems}
    manifest: dict[str, Any] = {
        "replitune": __version__,
        "experiment": experiment.name,
        "seed": experiment.seed,
        "settings": {
            **experiment.plain,
            "scale": given.get("scale"),
            "scales": given.get("scales", {}),
            "corpora": None,
        },
        "cpu_types": sorted({record["cpu"] for record in jobs.values()}),
        "versions": _united(record["versions"] for record in jobs.values()),
        "inputs": json.loads(read_text(folder / "corpus" / "inputs.json"))["parts"],
        "outputs_given": {
            system: {
                testset: {
                    replica.id: {
                        "path": printable(os.path.relpath(path, experiment.corpora))
                        if not path.is_absolute() or path.is_relative_to(experiment.corpora)
                        else printable(str(path)),
                        "sha256": sha256_file(path),
                    }
                    for replica, path in files.items()
                    if path.exists()
                }
                for testset, files in testsets.items()
            }
            for system, testsets in experiment.outputs.items()
        },
        "scores_given": {
            id: _below(experiment.corpora, experiment.all_score_files(id))
            for id in experiment.metrics
            if experiment.all_score_files(id)
        },
        "judgements_given": {
            testset: _below(experiment.corpora, map(Path, people))
            for testset in experiment.tests
            if (people := experiment.judgement_files(testset))
        },
        "not_repeatable": unrepeatable(folder, replicas),
        "files": files,
        "jobs": jobs,
    }
    places = {str(Path.cwd()): "."}
    home = os.path.expanduser("~")
    if len(Path(home).parts) > 1:
        places[home] = "~"
    for name in (str(experiment.corpora.resolve()), str(experiment.corpora)):
        if len(Path(name).parts) > 1 and Path(name).is_absolute():
            places[name] = "CORPORA"
    return portable(manifest, places)


def _below(corpora: Path, paths: Iterable[Path]) -> dict[str, str]:
    """sha256 of the files that exist, by their names relative to `corpora`."""
    return {os.path.relpath(path, corpora): sha256_file(path) for path in paths if path.exists()}


def unrepeatable(folder: Path, replicas: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The replicas, as `system replica`, that another run would not reproduce."""
    names = []
    for system, counts in replicas.items():
        for replica in replica_ids(counts):
            account = folder / "tuning" / system / replica.id / "model.json"
            if account.is_file() and not json.loads(read_text(account)).get("deterministic", True):
                names.append(f"{system} {replica.id}")
    return sorted(names)


def portable(value: Any, places: Mapping[str, str]) -> Any:
    """`value` with folders of this machine (the keys of `places`) renamed as `places` says, and any
    other absolute path without its folders: ``/data/x.txt`` becomes ``.../x.txt``."""
    if isinstance(value, Mapping):
        return {key: portable(item, places) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [portable(item, places) for item in value]
    if not isinstance(value, str):
        return value
    for place in sorted(places, key=len, reverse=True):
        for written in (place, json.dumps(place, ensure_ascii=False)[1:-1]):
            value = re.sub(re.escape(written) + r"(?=$|[/\s\"'\\])", places[place], value)
    return ABSOLUTE.sub(".../", value)


def _united(used: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """All versions that were used, by library."""
    versions: dict[str, set[str]] = {}
    for record in used:
        for name, version in record.items():
            versions.setdefault(name, set()).add(version)
    return {name: sorted(known) for name, known in versions.items()}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in `folder`; refuses one that names a file outside the folder."""
    path = folder / NAME
    require_results(folder)
    if not path.is_file():
        raise ReplituneError(
            "no manifest.json in this folder",
            file=folder,
            expected="the results of an experiment that has ended, or an unpacked archive",
        )
    try:
        manifest: dict[str, Any] = json.loads(read_text(path))
        known = msgspec.convert(manifest, Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise _damaged(path, str(error)) from None
    for name in (*known.files, *known.not_packed):
        if not stays_inside(name):
            raise _damaged(path, f"{name!r} is not a file of this folder")
    return manifest


def difference(path: Path, sha256: str) -> str | None:
    """Whether the file recorded with this hash is `missing` or `changed`; None if it is neither."""
    if not path.is_file():
        return "missing"
    return None if sha256_file(path) == sha256 else "changed"


def stays_inside(name: str) -> bool:
    """Whether a relative name, as it is written, stays below the folder that it starts in."""
    parts = PurePosixPath(name).parts
    plain = not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name)
    return plain and bool(parts) and not name.startswith("/") and ".." not in parts


def experiment_of(manifest: Mapping[str, Any], results: Path) -> Experiment:
    """The experiment of a manifest, validated, at the scale that was run."""
    given = manifest["outputs_given"]
    return Experiment(without_scales(manifest["settings"]), results, outputs=given)


def experiment_in(folder: Path) -> Experiment | None:
    """The experiment whose results are in `folder`, from its last run or else its manifest; None if
    it has neither."""
    if (run := read_run(folder)) is not None:
        return experiment_of_run(run, folder)
    if not (folder / NAME).exists():
        return None
    return experiment_of(read_manifest(folder), folder.parent).in_folder(folder)


def require_experiment(folder: Path) -> Experiment:
    """The same, but an error if it has neither."""
    require_results(folder)
    if (experiment := experiment_in(folder)) is not None:
        return experiment
    raise ReplituneError(
        "cannot tell which experiment this folder belongs to",
        file=folder,
        expected=f"{RUN}, which Snakemake writes when its first job starts, or {NAME}",
        fix="is it results/<experiment>? has its first job started?",
    )


def _damaged(path: Path, reason: str) -> ReplituneError:
    return ReplituneError(
        "the manifest is damaged",
        file=path,
        found=reason,
        expected="what the workflow wrote",
        fix="remove it and run the workflow again",
    )
