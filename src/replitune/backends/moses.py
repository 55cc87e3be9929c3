"""`backend: moses`: the user's own Moses. Imports little; docs/backends.md says how to run it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import msgspec

from replitune.backends.interface import (
    Backend,
    Complain,
    DecodeJob,
    Job,
    ReplicaJob,
    TrainJob,
    Tunable,
    needed,
)
from replitune.backends.settings import SystemSettings, Text
from replitune.errors import ReplituneError
from replitune.running.checkpoint import listing
from replitune.running.files import new_folder
from replitune.running.programs import missing_file, missing_program
from replitune.running.supervisor import run
from replitune.settings import Settings, about
from replitune.tuners import list_tuners

PROGRAMS = ("moses", "programs", "revision")
USED = {
    "train": (*PROGRAMS, "training"),
    "tune": (*PROGRAMS, "ini", "options", "tuner", "mert_moses"),
    "decode": (*PROGRAMS, "ini", "options"),
}
INSTALL = "build Moses (statmt.org/moses) and name the folder of its programs as `moses`"
TRAINING = ("train-model.perl", "lmplz")
TUNING = {"mert": "mert", "mira": "kbmira", "pro": "pro"}
"""The optimiser that mert-moses.pl runs for each prefix of replicas."""


class MosesTraining(Settings):
    """How train-model.perl trains the model."""

    lm_order: Annotated[int, about("Order of the language model that lmplz makes.", ge=1)] = 5
    lmplz: Annotated[tuple[str, ...], about("More options of lmplz.")] = ()
    alignment: Annotated[str, about("Symmetrisation of the alignments.")] = "grow-diag-final-and"
    reordering: Annotated[str, about("Lexicalised reordering.")] = "msd-bidirectional-fe"
    aligner: Annotated[str | None, about("Folder of GIZA++ or mgiza, as -external-bin-dir.")] = None
    options: Annotated[tuple[str, ...], about("More options of train-model.perl, such as -mgiza.")] = ()


class MosesSettings(SystemSettings):
    """Your own Moses, with a ready moses.ini or one that its scripts train on the corpus, and tuned by
    replitune's tuners around `moses -n-best-list` or by mert-moses.pl. See docs/backends.md."""

    moses: Annotated[
        Text | None,
        about(
            "Folder of Moses' programs, such as mosesdecoder/bin; its scripts are looked for in "
            "../scripts. Without it programs are looked for on the PATH."
        ),
    ] = None
    programs: Annotated[
        dict[str, Text],
        about(
            "Single programs that are elsewhere, of moses, lmplz, train-model.perl, mert-moses.pl, "
            "extractor: `{lmplz: /opt/kenlm/bin/lmplz}`."
        ),
    ] = msgspec.field(default_factory=dict)
    ini: Annotated[Text | None, about("A ready moses.ini. Without it the model is trained.")] = None
    training: Annotated[MosesTraining, about("How train-model.perl trains the model.")] = MosesTraining()
    options: Annotated[
        tuple[str | int | float, ...],
        about("More options of moses, in tuning and decoding: `[-s, 200, -dl, 6]`."),
    ] = ()
    tuner: Annotated[
        Literal["replitune", "mert-moses"],
        about(
            "Who tunes: replitune's tuners, or mert-moses.pl (for `mira` with --batch-mira, for "
            "`pro` with --pairwise-ranked), each run with its own seed."
        ),
    ] = "replitune"
    mert_moses: Annotated[
        tuple[str | int | float, ...], about("More options of mert-moses.pl, such as --return-best-dev.")
    ] = ()
    revision: Annotated[
        str | int | float | None,
        about("Change it when Moses or its model has changed: the system is made again."),
    ] = None


class Moses(Backend):
    """A ready moses.ini, or one that Moses' own scripts train; tuned by our tuners around
    `moses -n-best-list`, or by mert-moses.pl."""

    name = "moses"
    Settings = MosesSettings
    settings: MosesSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return list_tuners() if self.uses_our_tuners else tuple(TUNING)

    @property
    def trains(self) -> bool:
        return self.settings.ini is None

    @property
    def uses_our_tuners(self) -> bool:
        return self.settings.tuner == "replitune"

    @property
    def same_bytes(self) -> bool:
        return self.uses_our_tuners

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        model = ["model"] if self.trains else []
        train = {"train": ["train"]} if self.trains else {}
        return {**train, "tune": ["dev", *model], "decode": [*model, "tuned", "source"]}

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        return self.chosen_settings(USED[stage])

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        metric = experiment["tuning"]["metric"]
        if not self.uses_our_tuners and metric.partition(":")[0] != "bleu":
            complain(
                ("systems", self.system, "tuner"),
                "mert-moses.pl tunes for its own BLEU",
                found=f"tuning.metric {metric}",
                expected="tuning.metric bleu, or `tuner: replitune`",
            )

    def program(self, name: str) -> str:
        """The path of one of Moses' programs or scripts."""
        if name in self.settings.programs:
            return self.settings.programs[name]
        folder = self.settings.moses
        if folder is None:
            return name
        script = {"mert-moses.pl": "../scripts/training", "train-model.perl": "../scripts/training"}
        return str(Path(folder, script.get(name, ""), name))

    def missing(self) -> list[ReplituneError]:
        wanted = ["moses"]
        if self.trains:
            wanted += TRAINING
        if not self.uses_our_tuners:
            wanted += ["mert-moses.pl", "extractor", "evaluator", *TUNING.values()]
        errors = [error for name in wanted for error in missing_program(self.program(name), INSTALL)]
        if self.settings.ini is not None:
            errors += missing_file(self.settings.ini, f"correct `ini` of system {self.system}")
        return errors

    # ---- work

    def train(self, job: TrainJob) -> None:
        """Run lmplz, then train-model.perl. The paths in moses.ini become those of the final folder."""
        import shutil

        from replitune.running.files import atomic_open, read_text

        training = self.settings.training
        source, target = needed(job.train, "source")
        what = f"training of {self.system}"
        with new_folder(job.out) as folder, TemporaryDirectory(prefix="replitune-moses-") as text:
            for side, path in (("source", source), ("target", target)):
                shutil.copyfile(path, Path(text, f"train.{side}"))
            lm = folder / "lm.arpa"
            order = training.lm_order
            words = ["-o", order, "--text", target.absolute(), "--arpa", lm, "-T", text]
            self._run("lmplz", [*words, *training.lmplz], what, job)
            words = ["-root-dir", folder, "-corpus", Path(text, "train"), "-f", "source", "-e", "target"]
            words += ["-alignment", training.alignment, "-reordering", training.reordering]
            words += ["-lm", f"0:{order}:{lm}:8", "-cores", job.threads]
            words += ["-external-bin-dir", training.aligner] if training.aligner else []
            self._run("train-model.perl", [*words, *training.options], what, job)
            made = folder / "model" / "moses.ini"
            if not made.exists():
                raise ReplituneError(f"{what}: train-model.perl wrote no moses.ini", file=made)
            ini = read_text(made).replace(str(folder), str(job.out.absolute()))
            with atomic_open(folder / "moses.ini") as handle:
                handle.write(ini)

    def tune(self, job: ReplicaJob) -> None:
        if not self.uses_our_tuners:
            from replitune.backends.moses_tuning import tune_with_mert_moses

            tune_with_mert_moses(self, job)
            return
        super().tune(job)

    def tunable(self, job: ReplicaJob) -> Tunable:
        from replitune.backends.nbest_decoder import tunable_by_nbest

        def write(weights: Mapping[str, list[float]], source: Path, nbest: Path) -> None:
            self.translate(job, weights, source, nbest, job.nbest)

        inputs = {
            "settings": self.stage_settings("tune"),
            "model": listing(job.model),
            "ini": self.ini(job).read_text("utf-8"),
        }
        return tunable_by_nbest(job, self.start_weights(job), write, inputs)

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.running.files import read_lines, write_lines
        from replitune.tuning.weights import read_weights

        weights = read_weights(needed(job.tuned, "weights"))
        with TemporaryDirectory(prefix="replitune-moses-") as folder:
            source = Path(folder, "source.txt")
            write_lines(source, job.source)
            nbest = None if job.nbest_out is None else job.nbest_out.absolute()
            return read_lines(self.translate(job, weights, source, nbest, job.nbest or 1))

    def ini(self, job: Job) -> Path:
        if self.settings.ini is not None:
            return Path(self.settings.ini).absolute()
        return needed(job.model, "model").absolute() / "moses.ini"

    def start_weights(self, job: Job) -> dict[str, list[float]]:
        """The weights of tunable features by `moses -show-weights`, in the order of n-best lists."""
        with TemporaryDirectory(prefix="replitune-moses-") as folder:
            shown = Path(folder, "weights.txt")
            words = ["-f", self.ini(job), "-show-weights"]
            self._run("moses", words, f"weights of {self.system}", job, shown)
            return shown_weights(shown)

    def translate(
        self, job: Job, weights: Mapping[str, Sequence[float]], source: Path, nbest: Path | None, size: int
    ) -> Path:
        """Run moses on a file; returns the path of the translations, which are put beside the source."""
        out = source.with_name("output.txt")
        words = ["-f", self.ini(job), "-i", source, "-threads", job.threads]
        words += ["-weight-overwrite", overwritten(weights)]
        if nbest is not None:
            words += ["-n-best-list", nbest, size, "distinct"]
        self._run("moses", [*words, *self.settings.options], f"moses for {self.system}", job, out)
        return out

    def _run(
        self, program: str, words: Sequence[object], what: str, job: Job, out: Path | None = None
    ) -> None:
        """Run one of Moses' programs; what it prints goes to `out`, or to the log."""
        with contextlib.nullcontext() if out is None else open(out, "wb") as handle:
            run([self.program(program), *map(str, words)], what, stdout=handle, threads=job.threads)


def overwritten(weights: Mapping[str, Sequence[float]]) -> str:
    """Weights as the argument of -weight-overwrite: ``Name= v v Name= v``."""
    return " ".join(f"{name}= {' '.join(map(repr, values))}" for name, values in weights.items())


def shown_weights(path: Path) -> dict[str, list[float]]:
    """The lines ``Name= v v`` of -show-weights; features marked UNTUNEABLE have no values."""
    from replitune.running.files import read_lines

    weights = {}
    for number, line in enumerate(read_lines(path), 1):
        name, equals, rest = line.partition("= ")
        if not equals or not name or " " in name:
            continue
        try:
            weights[name] = [float(word) for word in rest.split()]
        except ValueError:
            raise ReplituneError("moses -show-weights: not a weight", line=number, found=line) from None
    if not weights:
        raise ReplituneError("moses -show-weights named no feature with weights", file=path)
    return weights
