"""Packs results into one file to publish, with an experiment that makes them again.

The archive holds what reviewers ask for: settings, manifest, prepared test sets, weights,
translations, statistics, tests, tables, figures and the page. Its `experiment.yaml` has backend
`outputs` over the archive's own translations and keeps the ids of the replicas, so that scoring,
testing and reporting again gives the same statistics, tests and tables, byte for byte. Training
text and models are left out; their hashes stay in the manifest.

The same results give the same archive, byte for byte: names are sorted, times and owners left out.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.ledger.manifest import NAME, difference, experiment_of, read_manifest, stays_inside
from replitune.ledger.records import PAGE, remove_remains
from replitune.replicas import Replica
from replitune.running.files import atomic_open, open_regular
from replitune.settings import plain

PACKED = ("answers", "decodes", "derivations", "looks", "stats", "tests", "studies", "tables", "figures")
WEIGHTS = ("weights.json", "history.parquet")
"""Files of each tuning run that are packed; models are not."""

KEPT = ("experiment", "seed", "metrics", "tests", "studies", "allow_missing_replicas")
"""Settings that are copied into the archived experiment."""


def write_archive(folder: Path, out: Path, corpora: Path = Path(".")) -> list[str]:
    """Pack the results in `folder`; returns the names of the members. Names of score files are
    relative to `corpora`."""
    manifest = read_manifest(folder)
    experiment = experiment_of(manifest, folder.parent).in_folder(folder).after_looks()
    files = {name: folder / name for name in manifest["files"] if is_packed(name)}
    for name, path in files.items():
        _require(
            path,
            manifest["files"][name],
            "not the file that the manifest records",
            f"`replitune verify` lists all such files; restore {name}, or run again",
        )
    packed = {
        **manifest,
        "files": {name: manifest["files"][name] for name in files},
        "not_packed": {
            **{name: h for name, h in manifest["files"].items() if name not in files},
            **manifest.get("not_packed", {}),
        },
    }
    texts = {
        NAME: json.dumps(packed, indent=1, ensure_ascii=False) + "\n",
        "config.yaml": _yaml(manifest["settings"]),
        "experiment.yaml": _yaml(archived_experiment(folder, experiment)),
        "README.md": readme(experiment, manifest),
    }
    members: dict[str, Path | bytes] = {
        **files,
        **{name: text.encode() for name, text in texts.items()},
        **dict(_score_files(manifest, corpora)),
    }
    with (
        atomic_open(out, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed_file,
        tarfile.open(mode="w", fileobj=packed_file, format=tarfile.GNU_FORMAT) as tar,
    ):
        for name in sorted(members):
            _add(tar, f"{experiment.name}/{name}", members[name])
    remove_remains(out)
    return sorted(members)


def is_packed(name: str) -> bool:
    """Whether a result is published. Training text, models, their tables and lists of local inputs
    are not."""
    first, _, rest = name.partition("/")
    if first == "corpus":
        return rest.endswith(".jsonl")
    if first == "tuning":
        return rest.rpartition("/")[2] in WEIGHTS
    return name == PAGE or first in PACKED


def _require(path: Path, sha256: str, message: str, fix: str) -> None:
    if what := difference(path, sha256):
        raise ReplituneError(
            message,
            file=path,
            expected=f"sha256 {sha256}",
            fix=fix,
            found="no such file" if what == "missing" else "another content",
        )


def _add(tar: tarfile.TarFile, name: str, content: Path | bytes) -> None:
    """Add a member without time or owner."""
    member = tarfile.TarInfo(name)
    member.mode = 0o644
    if isinstance(content, bytes):
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
        return
    member.size = content.stat().st_size
    with open_regular(content) as handle:
        tar.addfile(member, handle)


def archived_experiment(folder: Path, experiment: Experiment) -> dict[str, Any]:
    """The experiment over the archive's own files; its paths are relative to the archive."""
    decoded = {system: _replicas(folder, experiment, system) for system in experiment.systems}
    used = [t for t in experiment.testsets if any(t in by_testset for by_testset in decoded.values())]
    texts = {testset: {"references": f"corpus/{testset}.jsonl"} for testset in used}
    corpus: dict[str, Any] = {"kind": "files"}
    if "dev" in texts:
        corpus["dev"] = texts.pop("dev")
    return {
        **{key: experiment.plain[key] for key in KEPT},
        "replicas": {"design": experiment.design, **_looks(experiment)},
        "corpus": {**corpus, "tests": texts},
        "systems": {
            system: {
                "backend": "outputs",
                "files": {
                    testset: _groups(f"decodes/{testset}/{system}", replicas)
                    for testset, replicas in by_testset.items()
                },
            }
            for system, by_testset in decoded.items()
        },
    }


def _looks(experiment: Experiment) -> dict[str, Any]:
    """The settings of looks, which are repeated at the archive's translations."""
    if experiment.record is None:
        return {}
    settings = plain(experiment.looks, sparse=True)
    return {**settings, "record": f"looks/{experiment.last_look}.json"}


def _replicas(folder: Path, experiment: Experiment, system: str) -> dict[str, list[Replica]]:
    """The replicas by test set, including those that could not be made."""
    from replitune.statistics.store import read_metadata

    by_testset = {}
    for testset in experiment.testsets:
        places = (folder / "stats" / testset / metric for metric in experiment.metrics)
        paths = (place / f"{system}.parquet" for place in places)
        path = next((path for path in paths if path.is_file()), None)
        metadata = None if path is None else read_metadata(path)
        if metadata is not None:
            ids = [*metadata.decode_sha256[system], *metadata.missing.get(system, {})]
            by_testset[testset] = [Replica(id) for id in sorted(ids)]
    if not by_testset:
        raise ReplituneError(
            f"no statistics of system {system}", file=folder, fix="run the workflow to its end"
        )
    return by_testset


def _groups(place: str, replicas: list[Replica]) -> dict[str, list[str]]:
    """Files by the prefix of the replica's id, in order, so that each replica keeps its id."""
    groups: dict[str, list[str]] = {}
    for replica in replicas:
        of_prefix = groups.setdefault(replica.id.rpartition("-")[0], [])
        of_prefix.append(f"{place}/{replica.id}.txt")
        if replica.index != len(of_prefix):
            raise ReplituneError(
                "the numbers of the runs have a gap", found=replica.id, expected=f"number {len(of_prefix)}"
            )
    return groups


def _score_files(manifest: Mapping[str, Any], corpora: Path) -> Iterator[tuple[str, Path]]:
    """Score files of metrics and human judgements, under the names that the experiment gives them."""
    given = [*manifest.get("scores_given", {}).values(), *manifest.get("judgements_given", {}).values()]
    for files in given:
        for name, sha256 in files.items():
            if not stays_inside(name) or name.startswith(("~", "...")):
                raise ReplituneError(
                    "a file of scores is outside the corpora, so it cannot be archived",
                    found=name,
                    expected="a relative name",
                    fix="move the file there, change the experiment, and run it again",
                )
            _require(
                corpora / name,
                sha256,
                "not the scores that were read",
                "say with --corpora where relative names of inputs start",
            )
            yield name, corpora / name


def _yaml(value: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(
        json.loads(json.dumps(value)), sort_keys=False, allow_unicode=True, width=100
    )
    return text


def readme(experiment: Experiment, manifest: Mapping[str, Any]) -> str:
    """The README of the archive."""
    name = experiment.name
    made_by = manifest.get("replitune", __version__)
    return f"""# {name}

Results of an experiment of replitune {made_by}: translations, segment statistics, significance
tests, tables and figures (`report.html` shows them), weights of tuned systems, the prepared
test sets. `config.yaml` has the settings of the experiment, `manifest.json` the sha256 of every
file, the versions and commands that made it, and the sha256 of what is not here (`not_packed`:
training text and models).

Are these files what the manifest says, and do the tests follow from the statistics?

    replitune verify {name}

Score, test and report again, from the translations that are here:

    cd {name}
    replitune run
    replitune verify results/{name} --against .

With replitune {made_by} and its lock file, on a processor of the same type, that gives the same
bytes. (`report.html` has no curves of tuning, and counts words in the references; the manifest has
times.)
"""
