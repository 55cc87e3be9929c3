"""`backend: command`: any system that can be called from a shell. Imports little; see docs/backends.md."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from replitune.backends.interface import (
    Backend,
    Complain,
    DecodeJob,
    Job,
    ReplicaJob,
    TrainJob,
    Tunable,
    needed,
    replica_seed,
    source_of,
)
from replitune.backends.settings import SystemSettings, Text
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.checkpoint import kept_folder, listing
from replitune.running.files import new_folder
from replitune.running.programs import Value, filled, missing_file, missing_program, uses
from replitune.running.supervisor import run_shell
from replitune.settings import about
from replitune.tuners import TUNERS, list_tuners

TEXT = ("source", "target")
DEV = ("dev_source", "dev_reference", "dev_references")
PLACES = {
    "train": (*TEXT, *DEV, "output", "seed", "threads", "system"),
    "tune": (*TEXT, *DEV, "output", "seed", "threads", "system", "model", "work", "replica", "number"),
    "decode": (
        "source",
        "output",
        "seed",
        "threads",
        "system",
        "model",
        "trained",
        "weights",
        "replica",
        "number",
        "testset",
    ),
    "nbest": ("source", "nbest", "size", "threads", "system", "model", "weights", "replica"),
}
"""The places that each template may have; docs/backends.md describes them."""

SHARED = ("programs", "files", "revision")
USED = {
    "train": ("train", *SHARED),
    "tune": ("nbest", "weights", "weights_format", *SHARED),
    "train_replica": ("train", "tune", *SHARED),
    "decode": ("train", "tune", "decode", "nbest", "weights", "weights_format", *SHARED),
}
"""The settings that each stage uses; later stages need to know whether `train` or `tune` is given."""


class CommandSettings(SystemSettings):
    """Any system that can be called from a shell. Templates have named places, such as {source},
    whose values are filled in with quotes; docs/backends.md lists them, with examples."""

    train: Annotated[
        Text | None, about("Makes the folder {output}, which all runs share, from {source} and {target}.")
    ] = None
    tune: Annotated[
        Text | None,
        about("Makes one run, the folder {output}, with {seed}: a training, or a tuner of its own."),
    ] = None
    decode: Annotated[
        Text | None,
        about(
            "Required. Translates {source} line by line into {output}; without that place, prints "
            "the translation."
        ),
    ] = None
    nbest: Annotated[
        Text | None,
        about(
            "Writes the {size} best translations of each line of {source} under {weights} to "
            "{nbest}, in Moses' format: with `weights`, replitune's tuners tune on them."
        ),
    ] = None
    weights: Annotated[
        dict[str, float | Annotated[list[float], about(min_length=1)]] | None,
        about(
            "Weights to start tuning from, by feature, in the order of the n-best lists: `{LM0: "
            "0.5, TranslationModel0: [0.2, 0.2]}`.",
            min_length=1,
        ),
    ] = None
    weights_format: Annotated[
        Literal["ini", "json"], about("Form of the file {weights}: lines `Name= v v`, or weights.json.")
    ] = "ini"
    programs: Annotated[tuple[Text, ...], about("Programs that must be there before anything runs.")] = ()
    files: Annotated[tuple[Text, ...], about("Files that must be there before anything runs.")] = ()
    revision: Annotated[
        str | int | float | None,
        about("Change it when programs or files have changed: the system is made again."),
    ] = None

    def has(self, key: str) -> bool:
        """Whether a setting (a template, or `weights`) is given."""
        return getattr(self, key) is not None


class Command(Backend):
    """Templates of shell commands; where a template is not given, the system lacks that stage."""

    name = "command"
    Settings = CommandSettings
    settings: CommandSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        if self.settings.has("tune") and self.settings.replicas:
            # the system tunes itself; the experiment's general numbers are for replitune's tuners
            return ("seeds", *TUNERS.names)
        return list_tuners() if self.settings.has("weights") else ("seeds",)

    @property
    def tuned_here(self) -> bool:
        """Whether our tuners tune its weights."""
        return self.settings.has("weights") and not self.settings.has("tune")

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        model = ["model"] if self.settings.has("train") else []
        stages: dict[str, Sequence[str]] = {}
        if self.settings.has("train"):
            stages["train"] = self._texts("train")
        if self.settings.has("tune"):
            stages["train_replica"] = [*self._texts("tune"), *model]
        elif self.tuned_here:
            stages["tune"] = ["dev", *model]
        tuned = ["tuned"] if len(stages) > len(model) else []
        stages["decode"] = [*model, *tuned, "source"]
        return stages

    def _texts(self, template: str) -> list[str]:
        """The parts of the corpus that a template uses."""
        text = getattr(self.settings, template)
        parts = {"train": TEXT, "dev": DEV}
        return [part for part, names in parts.items() if any(uses(text, name) for name in names)]

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        return {k: v for k, v in self.chosen_settings(USED[stage]).items() if v is not None}

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        where = ("systems", self.system)
        if not self.settings.has("decode"):
            complain(where, f"key `decode` is missing in {'.'.join(where)}")
        for template, names in PLACES.items():
            if not self.settings.has(template):
                continue
            try:
                there = [name for name in names if self._has(template, name)]
                filled(getattr(self.settings, template), dict.fromkeys(there, "x"), template)
            except ReplituneError as error:
                complain((*where, template), error.message, **error.details)
        if self.settings.has("tune") and self.settings.has("weights"):
            complain(
                (*where, "weights"),
                f"system {self.system} would be tuned twice",
                found="both `tune` and `weights`",
                expected="`tune`, a command that makes a run; or `nbest` and `weights`, for "
                "replitune's tuners",
            )
        elif self.settings.has("weights") and not self.settings.has("nbest"):
            complain(
                (*where, "weights"),
                f"system {self.system} has weights to tune and no n-best lists to tune them on",
                fix="give the command that writes them as `nbest`",
            )

    def _has(self, template: str, place: str) -> bool:
        """Whether this system has a place that the template may name."""
        if place == "model":
            return self.settings.has("train")
        if place == "trained":
            return self.settings.has("tune")
        if place == "weights" and template == "decode":
            return self.tuned_here
        return True

    def missing(self) -> list[ReplituneError]:
        errors = missing_program("bash", "install bash")
        for name in self.settings.programs:
            errors += missing_program(name, f"install it, or correct `programs` of system {self.system}")
        for name in self.settings.files:
            errors += missing_file(
                name,
                f"get it, or correct `files` of system {self.system}; a relative name starts "
                f"at {Path.cwd()}",
            )
        return errors

    # ---- work

    def train(self, job: TrainJob) -> None:
        from replitune.streams import seed_sequence

        seed = seed_sequence(job.seed, "train", self.system, "program").generate_state(1)[0]
        with _texts(job) as texts, new_folder(job.out) as output:
            places = {**texts, "output": output, "seed": int(seed) % (2**31 - 1) + 1}
            self._run("train", places, job)

    def train_replica(self, job: ReplicaJob) -> None:
        with _texts(job) as texts, kept_folder(job, self) as work, new_folder(job.out) as output:
            places: dict[str, Value] = {**texts, "output": output, "work": work}
            self._run("tune", {**places, **self._replica(job)}, job)

    def tunable(self, job: ReplicaJob) -> Tunable:
        from replitune.backends.nbest_decoder import tunable_by_nbest

        start = {
            name: [float(x) for x in (values if isinstance(values, list) else [values])]
            for name, values in (self.settings.weights or {}).items()
        }

        def write(weights: Mapping[str, list[float]], source: Path, nbest: Path) -> None:
            self._nbest(weights, source, nbest, job.nbest, job)

        inputs = {"settings": self.stage_settings("tune"), "model": listing(job.model)}
        return tunable_by_nbest(job, start, write, inputs)

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.running.files import read_lines, write_lines
        from replitune.tuning.weights import read_weights

        with TemporaryDirectory(prefix="replitune-decode-") as name:
            folder = Path(name)
            source, output = folder / "source.txt", folder / "output.txt"
            write_lines(source, job.source)
            places: dict[str, Value] = {"source": source, "output": output, "testset": job.name}
            weights = read_weights(needed(job.tuned, "weights")) if self.tuned_here else None
            if weights is not None:
                places["weights"] = self._weights_file(weights, folder)
            elif job.tuned is not None:
                places["trained"] = job.tuned.absolute()
            self._run("decode", {**places, **self._replica(job)}, job, stdout=output)
            if not output.exists():
                raise ReplicaError(
                    f"decode of system {self.system} wrote no file {{output}}", found=self.settings.decode
                )
            try:
                lines = read_lines(output)
            except ReplituneError as error:
                raise ReplicaError(
                    f"the translations of {job.name} by {self.system} {job.replica.id}: {error.message}",
                    line=error.line,
                    found=error.found,
                    expected=error.expected,
                ) from None
            if job.nbest is not None and job.nbest_out is not None:
                if not self.settings.has("nbest") or weights is None:
                    raise ReplituneError(
                        f"system {self.system} writes no n-best lists", fix="give it `nbest`"
                    )
                self._nbest(weights, source, job.nbest_out.absolute(), job.nbest, job)
            return lines

    def _nbest(
        self,
        weights: Mapping[str, list[float]],
        source: Path,
        nbest: Path,
        size: int,
        job: ReplicaJob | DecodeJob,
    ) -> None:
        with TemporaryDirectory(prefix="replitune-weights-") as name:
            places: dict[str, Value] = {"source": source, "nbest": nbest, "size": size}
            places["weights"] = self._weights_file(weights, Path(name))
            self._run("nbest", {**places, "replica": job.replica.id}, job)

    def _weights_file(self, weights: Mapping[str, list[float]], folder: Path) -> Path:
        from replitune.tuning.weights import WeightsFile, write_weights

        path = folder / f"weights.{self.settings.weights_format}"
        write_weights(path, WeightsFile(weights))
        return path

    def _replica(self, job: ReplicaJob | DecodeJob) -> dict[str, Value]:
        seed = replica_seed(self.system, job.replica, job.seed, paired=job.paired)
        return {"replica": job.replica.id, "number": job.replica.index, "seed": seed}

    def _run(
        self, template: str, places: Mapping[str, Value], job: Job, stdout: Path | None = None
    ) -> None:
        """Fill in a template and run it. If it does not name {output}, what it prints goes to `stdout`."""
        text = getattr(self.settings, template)
        general: dict[str, Value] = {"threads": job.threads, "system": self.system}
        if job.model is not None:
            general["model"] = job.model.absolute()
        command = filled(text, {**general, **places}, template)
        what = f"{template} of system {self.system}"
        if stdout is None or uses(text, "output"):
            run_shell(command, what, threads=job.threads)
            return
        with open(stdout, "wb") as handle:
            run_shell(command, what, stdout=handle, threads=job.threads)


@contextlib.contextmanager
def _texts(job: Job) -> Iterator[dict[str, Value]]:
    """The texts of a job as files with one segment per line, by place."""
    from replitune.running.files import write_lines

    places: dict[str, Value] = {}
    if job.train is not None:
        places = dict(zip(TEXT, (side.absolute() for side in job.train), strict=True))
    with TemporaryDirectory(prefix="replitune-dev-") as name:
        if job.dev is not None:
            source = Path(name, "dev.source.txt")
            write_lines(source, source_of(job.dev))
            references = [Path(name, f"dev.reference{i}.txt") for i in range(len(job.dev.references))]
            for path, lines in zip(references, job.dev.references, strict=True):
                write_lines(path, lines)
            places |= dict(zip(DEV, (source, references[0], references), strict=True))
        yield places
