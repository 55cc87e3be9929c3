"""`backend: scores`: systems that have scores but no texts. The files are as in
`replitune compare --scores`; the test set is `format: scores`, the metrics are `given`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from replitune.backends.interface import Complain, Given
from replitune.backends.outputs import Files, output_files, require_known
from replitune.backends.settings import SystemSettings, Text
from replitune.errors import ReplituneError
from replitune.readers.names import split_part
from replitune.readers.settings import ColumnNames
from replitune.registry import Name
from replitune.replicas import Replica, replica_ids
from replitune.running.resources import Resources
from replitune.settings import about
from replitune.tuners import TUNERS


class ScoreSettings(SystemSettings):
    """Scores on disk: tables, or files that programs write (docs/compare.md)."""

    files: Annotated[
        dict[Name, Files],
        about(
            "For each test set the files: a pattern or a list. With `replicas`, tables that name "
            "the runs; without, each file is a run. `table.csv#TESTSET` is one of several test "
            "sets."
        ),
    ] = msgspec.field(default_factory=dict)
    called: Annotated[
        Text | None, about("The system's name in tables of several systems; by default the same as here.")
    ] = None
    columns: Annotated[ColumnNames, about("Names of the columns; those not given are guessed.")] = (
        ColumnNames()
    )

    def __post_init__(self) -> None:
        if self.resources != Resources():
            raise ReplituneError("a system of scores has no `resources`")


class ScoreFiles(Given):
    """Reads a table once for each system and test set."""

    name = "scores"
    gives_texts = False
    Settings = ScoreSettings
    settings: ScoreSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return ("seeds", "sample", "prompt", *TUNERS.names)

    @property
    def testsets(self) -> list[str]:
        return list(self.settings.files)

    def testset_settings(self, testset: str) -> Mapping[str, Any]:
        own = self.settings
        settings: dict[str, Any] = {"files": {testset: own.files[testset]}, "columns": own.columns}
        settings |= {} if own.called is None else {"called": own.called}
        return settings | ({} if own.replicas is None else {"replicas": own.replicas})

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        here = ("systems", self.system)
        tests = list(experiment["corpus"]["tests"])
        require_known([("files", name, name) for name in self.testsets], tests, self.system, complain)
        for testset in tests:
            if testset not in self.testsets:
                complain(
                    (*here, "files"),
                    f"system {self.system} has no files for test set {testset}",
                    fix="name them, or remove the test set",
                )

    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        what = f"system {self.system}, test set {testset}"
        named = output_files(what, self.settings.files[testset], corpora)
        paths = [split_part(path, ending="")[0] for path in named.values()]
        if self.settings.replicas is None:
            return dict(zip(named, paths, strict=True))
        replicas = replica_ids(self.kinds(self.settings.replicas))
        if len(paths) > len(replicas):
            raise ReplituneError(
                f"more files than runs: {what}",
                found=f"{len(paths)} files",
                expected=f"at most {len(replicas)}",
            )
        return {replica: paths[min(i, len(paths) - 1)] for i, replica in enumerate(replicas)}

    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        from replitune.metrics.given import score_line
        from replitune.readers.registry import read_file, runs_in_order
        from replitune.statistics.given import arrange

        what = f"system {self.system}, test set {testset}"
        given = output_files(what, self.settings.files[testset], corpora)
        _, chosen = split_part(next(iter(given.values())), ending="")
        replicas = list(self.files(testset, corpora))
        paths = list(dict.fromkeys(split_part(path, ending="")[0] for path in given.values()))
        called = self.settings.called or self.system
        tables = [read_file(path, self.settings.columns) for path in paths]
        own = [
            rows.only("system", called) if "system" in rows.columns else rows.of_system(called)
            for rows in tables
        ]
        scores = arrange(runs_in_order(own), testset=chosen)
        (system,) = scores.stores[0].systems
        runs = scores.stores[0].systems[system].replicas
        if len(runs) != len(replicas) or len(scores.segments) != segments:
            raise ReplituneError(
                f"other scores than declared: {what}",
                file=paths[0],
                found=f"{len(runs)} runs of {len(scores.segments)} segments",
                expected=f"{len(replicas)} runs of {segments} segments",
                fix="`replicas: {seeds: N}` says how many runs the tables have; the test set is "
                "read from a table of the same segments",
            )
        ids = [line.rpartition("\t")[2] for line in scores.segments]
        by_metric = {store.metric.id: store.systems[system].statistics[..., 0] for store in scores.stores}
        return {
            replica: [
                score_line(id, {name: float(s[r, i]) for name, s in by_metric.items()})
                for i, id in enumerate(ids)
            ]
            for r, replica in enumerate(replicas)
        }
