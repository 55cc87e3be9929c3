"""`backend: outputs`: translations on disk, one file for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from replitune.backends.interface import Complain, Given
from replitune.backends.settings import SystemSettings, Text
from replitune.corpus.outputs import expand, read_output, require_countable
from replitune.errors import ReplituneError, did_you_mean
from replitune.readers.names import split_part
from replitune.registry import Name
from replitune.replicas import Replica
from replitune.running.failures import read_failure
from replitune.running.resources import Resources
from replitune.settings import about

Files = Text | Annotated[list[Text], about(min_length=1)]
Groups = Annotated[dict[Name, Files], about(min_length=1)]


class OutputSettings(SystemSettings):
    """Translations that are already on disk; each file is one run."""

    files: Annotated[
        dict[Name, Files | Groups],
        about(
            "For each test set (and `dev`, if you have it) the files, one per run: a pattern, "
            "a list, or a mapping from tuner to these. `*` and `?` match files on the disk; `{1..20}` "
            "and `{a,b}` are written out; files are numbered in natural order. Of WMT XML or SGM with "
            "several systems, `file.xml#SYSTEM` is one of them; of TSV, `file.tsv#COLUMN` (name, or "
            "number from 1) is a column; of JSON lines, `file.jsonl#PART` is a system, or a sample."
        ),
    ] = msgspec.field(default_factory=dict)
    like: Annotated[
        dict[Name, Text],
        about(
            "For test sets read from a different WMT file than the outputs: that file; the outputs are "
            "put into its order of segments."
        ),
    ] = msgspec.field(default_factory=dict)
    without: Annotated[
        tuple[Name, ...],
        about(
            "Test sets that the system has no translations of; it is not compared on them. For "
            "experiments with several language pairs. Needs `pairs: all`."
        ),
    ] = ()

    def __post_init__(self) -> None:
        for key in ("replicas", "resources"):
            if getattr(self, key) not in (None, Resources()):
                raise ReplituneError(
                    f"a system of outputs has no `{key}`", expected="its files are its runs"
                )


class OutputFiles(Given):
    """For each test set a pattern, a list of files, or a mapping from group to these."""

    name = "outputs"
    Settings = OutputSettings
    settings: OutputSettings

    @property
    def testsets(self) -> list[str]:
        return list(self.settings.files)

    def testset_settings(self, testset: str) -> Mapping[str, Any]:
        like = self.settings.like
        return {
            "files": {testset: self.settings.files[testset]},
            "like": {testset: like[testset]} if testset in like else {},
        }

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        """Check that files are given for every test set, and only for test sets that exist."""
        here = ("systems", self.system)
        tests = list(experiment["corpus"]["tests"])
        if not self.testsets:
            complain(here, f"key `files` is missing in {'.'.join(here)}")
            return
        named: list[tuple[str, str | int, str]] = [("files", t, t) for t in self.testsets]
        named += [("like", t, t) for t in self.settings.like]
        named += [("without", number, t) for number, t in enumerate(self.settings.without)]
        require_known(named, [*tests, "dev"], self.system, complain)
        for testset, files in self.settings.files.items():
            if experiment["replicas"].get("design") == "nested" and not isinstance(files, Mapping):
                complain(
                    (*here, "files", testset),
                    f"`design: nested`, but it is not known which files of {self.system} belong together",
                    expected="a mapping from run to files, such as `prompt1: out/p1.*.txt`",
                )
        for testset in tests:
            if testset not in (*self.testsets, *self.settings.without):
                complain(
                    (*here, "files"),
                    f"system {self.system} has no files for test set {testset}",
                    fix="name them, name the test set under `without`, or remove it",
                )
            if testset in self.testsets and testset in self.settings.without:
                complain(
                    (*here, "without"),
                    f"system {self.system} has files for test set {testset} and names it under `without`",
                )

    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        return {replica: file for replica, (file, _) in self._named(testset, corpora).items()}

    def _named(self, testset: str, corpora: Path) -> dict[Replica, tuple[Path, str | None]]:
        """The file of each run, and the part of it that is the output."""
        what = f"system {self.system}, test set {testset}"
        paths = output_files(what, self.settings.files[testset], corpora)
        return {replica: split_part(path) for replica, path in paths.items()}

    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        like = self.settings.like.get(testset)
        outputs = {}
        for replica, (path, part) in self._named(testset, corpora).items():
            lines = read_output(path, part, None if like is None else corpora / like)
            # the record of a replica that could not be made is copied as it is, for the scoring stage
            if len(lines) != segments and read_failure(path) is None:
                raise ReplituneError(
                    f"line counts differ: output of system {self.system} on {testset}",
                    file=path,
                    found=f"{len(lines)} lines in {path}",
                    expected=f"{segments} lines, one per segment of test set {testset}",
                    fix="give the output on the whole test set, one line per segment",
                )
            outputs[replica] = lines
        return outputs


def require_known(
    named: Sequence[tuple[str, str | int, str]], known: list[str], system: str, complain: Complain
) -> None:
    """Complain about test sets that do not exist; `named` has (setting, place in it, test set)."""
    for key, place, testset in named:
        if testset not in known:
            complain(
                ("systems", system, key, place),
                f"unknown test set {testset!r} in system {system}",
                expected=", ".join(known),
                fix=did_you_mean(testset, known),
            )


def output_files(what: str, given: Any, base: Path) -> dict[Replica, Path]:
    """The files of a system on one test set, given as a pattern, a list, or {group: these}."""
    groups = given if isinstance(given, Mapping) else {"run": given}
    files: dict[Replica, Path] = {}
    for prefix, patterns in groups.items():
        listed = [patterns] if isinstance(patterns, str) else patterns
        paths = [path for pattern in listed for path in expand(pattern, base)]
        if not paths:
            raise ReplituneError(
                f"no file for {what}",
                found=f"no match for {', '.join(listed)}",
                fix=f"check the pattern; it starts at {base.resolve()}",
            )
        require_countable(what, len(paths))
        for number, path in enumerate(paths, 1):
            files[Replica(f"{prefix}-{number:03d}")] = path
    return files
