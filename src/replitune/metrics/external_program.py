"""Metrics that another program computes: any command, or COMET and BLEURT by pymarian.

A program gets the texts as files, one segment a line, and writes one score a line. It scores each
distinct (source, hypothesis, references) of all replicas once, in batches. The scores of a batch are
kept by the content of its texts, so other replicas, other experiments and a resumed run reuse them.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplicaError, ReplituneError
from replitune.extras import to_install
from replitune.metrics.base import HigherIsBetter, MeanMetric
from replitune.readers.table import number_of
from replitune.running.files import atomic_open, read_lines, write_lines
from replitune.running.programs import filled, uses
from replitune.running.resources import Resources
from replitune.running.supervisor import Program
from replitune.settings import about, check_arguments

PLACES = ("source", "hypothesis", "reference", "references", "output", "threads")
CACHE = "REPLITUNE_CACHE"
"""Environment variable: the folder in which scores are kept."""

Texts = tuple[str, ...]
"""Source (empty if it is not read), hypothesis, references."""

Batch = Annotated[int, about("How many segments the program is given at a time.", ge=1)]
CacheFolder = Annotated[
    str | None, about("Folder in which scores are kept; by default one in the user's cache folder.")
]
Asked = Annotated[Resources | None, about("Resources of its jobs in the workflow. They change no score.")]


class ProgramMetric(MeanMetric):
    """The mean of the scores that a program gives to segments."""

    needs_text = True
    has_kernels = False

    def __init__(
        self,
        id: str | None,
        higher_is_better: bool,
        batch: int,
        cache: str | None,
        resources: Resources | None,
    ) -> None:
        super().__init__(id, higher_is_better)
        self.batch = batch
        self.cache = Path(cache) if cache else default_cache()
        self.threads = (resources.threads if resources else None) or 1

    # ---- programs

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that determines a score, except the texts."""

    @property
    @abstractmethod
    def reads_source(self) -> bool:
        """Whether the program also reads the source."""

    @abstractmethod
    def command(self, files: Mapping[str, Any]) -> str:
        """The shell command. `files` has a value for each name in `PLACES`. The scores of a command that
        does not use `output` are read from its standard output."""

    def explain(self, error: ReplituneError) -> ReplituneError:
        """The error of a failed program, with advice where there is some."""
        return error

    # ---- metrics

    def signature(self) -> str:
        return f"{super().signature()}|program:{_sha256(self.identity)[:16]}"

    def prepare(self, refs: Sequence[Sequence[str]]) -> Any:
        return self.prepare_texts(refs, None)

    def prepare_texts(
        self, refs: Sequence[Sequence[str]], source: Sequence[str] | None
    ) -> tuple[Sequence[str] | None, Sequence[Sequence[str]]]:
        if self.reads_source and source is None:
            raise ReplituneError(
                f"metric {self.id} reads the source, and this test set has none",
                fix="name it as --source, or as `source` of the test set in an experiment",
            )
        return source if self.reads_source else None, refs

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: Any
    ) -> NDArray[Any]:
        source, refs = prepared
        texts = [
            ("" if source is None else source[i], hyp, *(stream[i] for stream in refs))
            for hyp, i in zip(hyps, segments.tolist(), strict=True)
        ]
        keys = [_sha256("\n".join(text)) for text in texts]
        known = self._known()
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        missing = list(wanted.items())
        for start in range(0, len(missing), self.batch):
            known |= self._scored(missing[start : start + self.batch])
        out = np.ones((len(hyps), 2))
        out[:, 0] = [known[key] for key in keys]
        return out

    @property
    def folder(self) -> Path:
        """Where the scores by this program with these settings are kept."""
        return self.cache / _sha256(self.identity)[:32]

    def _known(self) -> dict[str, float]:
        """The kept scores by the hash of their texts; damaged lines are left out."""
        scores: dict[str, float] = {}
        for path in sorted(self.folder.glob("*.tsv")):
            for line in read_lines(path):
                key, _, score = line.partition("\t")
                value = number_of(score)
                if len(key) == 64 and value is not None:
                    scores[key] = value
        return scores

    def _scored(self, batch: Sequence[tuple[str, Texts]]) -> dict[str, float]:
        """Run the program, and save its scores at once."""
        scores = self._run([texts for _, texts in batch])
        by_key = {key: score for (key, _), score in zip(batch, scores, strict=True)}
        name = _sha256("\n".join(by_key))[:32]
        with atomic_open(self.folder / f"{name}.tsv") as handle:
            handle.write("".join(f"{key}\t{score!r}\n" for key, score in by_key.items()))
        return by_key

    def _run(self, texts: Sequence[Texts]) -> list[float]:
        with tempfile.TemporaryDirectory(prefix="replitune-metric-") as temporary:
            folder = Path(temporary)
            columns = list(zip(*texts, strict=True))
            names = ["source", "hypothesis", *(f"reference.{r}" for r in range(len(columns) - 2))]
            for name, lines in zip(names, columns, strict=True):
                write_lines(folder / name, lines)
            references = [folder / name for name in names[2:]]
            files = {
                "source": folder / "source",
                "hypothesis": folder / "hypothesis",
                "reference": references[0],
                "references": references,
                "output": folder / "output",
                "threads": self.threads,
            }
            command = self.command(files)
            try:
                self._call(command, folder / "output")
            except ReplicaError as error:
                raise self.explain(error) from None
            return self._read(folder / "output", len(texts))

    def _call(self, command: str, output: Path) -> None:
        """Run the command to its end; its messages go to standard error."""
        words = ["bash", "-euo", "pipefail", "-c", command]
        with contextlib.ExitStack() as stack:
            prints = str(output) not in command
            printed = stack.enter_context(open(output, "wb")) if prints else subprocess.PIPE
            stderr = subprocess.PIPE if prints else subprocess.STDOUT
            program = stack.enter_context(
                Program(words, self.id, threads=self.threads, stdout=printed, stderr=stderr)
            )
            program.check(program.follow(lambda line: print(line, file=sys.stderr)))

    def _read(self, path: Path, expected: int) -> list[float]:
        lines = read_lines(path) if path.exists() else []
        if len(lines) != expected:
            raise ReplituneError(
                f"metric {self.id}: the program gave a wrong number of scores",
                found=f"{len(lines)} lines",
                expected=f"{expected}, one for each segment",
            )
        scores = []
        for number, line in enumerate(lines, start=1):
            score = number_of(line.strip())
            if score is None:
                raise ReplituneError(
                    f"metric {self.id}: the program gave no score",
                    line=number,
                    found=repr(line[:60]),
                    expected="a finite number on each line",
                )
            scores.append(score)
        return scores


class CommandMetric(ProgramMetric):
    """Any program that a shell can call."""

    name = "command"

    @check_arguments
    def __init__(
        self,
        command: Annotated[
            str,
            about(
                "The program: {hypothesis}, {reference} (or {references}, all of them) and "
                "{source} are files with one segment a line; it writes one score a line to {output}, or "
                "prints them. {threads} is the number of threads to use.",
                min_length=1,
            ),
        ],
        id: str | None = None,
        higher_is_better: HigherIsBetter = True,
        batch: Batch = 4096,
        revision: Annotated[
            str | int | float | None,
            about("Change it when the program has changed, so that scores are computed again."),
        ] = None,
        cache: CacheFolder = None,
        resources: Asked = None,
    ) -> None:
        super().__init__(id, higher_is_better, batch, cache, resources)
        self.template, self.revision = command, revision
        filled(command, dict.fromkeys(PLACES, "x"), f"metric {self.id}")
        if not uses(command, "hypothesis"):
            raise ReplituneError(
                f"metric {self.id}: the program does not get the hypotheses",
                found=command,
                expected="a place {hypothesis}",
            )

    @property
    def identity(self) -> str:
        return f"command\n{self.template}\n{self.revision}"

    @property
    def reads_source(self) -> bool:
        return uses(self.template, "source")

    def command(self, files: Mapping[str, Any]) -> str:
        return filled(self.template, files, f"metric {self.id}")


FIELDS = {
    "comet": ("source", "hypothesis", "reference"),
    "comet-qe": ("source", "hypothesis"),
    "bleurt": ("hypothesis", "reference"),
}
"""The inputs of each type of model."""

Like = Literal["comet", "comet-qe", "bleurt"]
Model = Annotated[
    str,
    about(
        "A name that pymarian knows, such as wmt22-comet-da, which it fetches once, or the file of "
        "a model (.npz, .bin)."
    ),
]
Vocab = Annotated[
    str | None, about("The vocabulary of a model that is a file; by default vocab.spm beside it.")
]


class MarianMetric(ProgramMetric):
    """A neural metric computed by Marian's evaluator, in the package pymarian (extra `nmt`)."""

    def __init__(
        self,
        id: str | None,
        model: str,
        vocab: str | None,
        like: str,
        batch: int,
        cache: str | None,
        resources: Resources | None,
    ) -> None:
        super().__init__(id, True, batch, cache, resources)
        self.model, self.vocab, self.like = model, vocab, like
        self.gpus = (resources.gpu if resources else None) or 0
        self.is_file = Path(model).suffix in (".npz", ".bin")

    @property
    def identity(self) -> str:
        kept = [self.name, self.like, self.model]
        if self.is_file:
            kept[2] = hashlib.sha256(Path(self.model).read_bytes()).hexdigest()
        return "\n".join(kept)

    @property
    def reads_source(self) -> bool:
        return "source" in FIELDS[self.like]

    def command(self, files: Mapping[str, Any]) -> str:
        words: list[object] = [*program(), "--model", self.model]
        if self.is_file:
            words += ["--like", self.like]
            words += ["--vocab", self.vocab] if self.vocab else []
        options = {"source": "--src", "hypothesis": "--mt", "reference": "--ref"}
        for field in FIELDS[self.like]:
            words += [options[field], files[field]]
        words += ["--out", files["output"], "--width", DIGITS]
        if self.gpus:
            words += ["--devices", *range(self.gpus)]
        else:
            words += ["--cpu-threads", self.threads]
        return shlex.join(map(str, words))

    def explain(self, error: ReplituneError) -> ReplituneError:
        """The cause is mostly a model that could not be fetched."""
        if self.is_file:
            return error
        return ReplituneError(
            f"metric {self.id}: the model {self.model} could not be used",
            found=error.found,
            fix="it is fetched once from the hub of Hugging Face, which needs the network (or a "
            "mirror, HF_ENDPOINT); models with a licence (cometkiwi, xcomet) need an account that "
            "has accepted it, and HF_TOKEN; or give a file: model=FILE.bin,vocab=FILE.spm",
        )


DIGITS = 6
"""Decimals of each score."""

PROGRAM = "REPLITUNE_PYMARIAN_EVAL"
"""Environment variable: a program to run in place of pymarian-eval, with the same options."""


def program() -> list[str]:
    """The command of pymarian-eval, which is a module of the package."""
    if PROGRAM in os.environ:
        return shlex.split(os.environ[PROGRAM])
    if importlib.util.find_spec("pymarian") is None:
        raise ReplituneError(
            "the package pymarian, which computes COMET and BLEURT, is missing",
            fix=f"{to_install('nmt')} (x86-64 Linux, Python 3.11 or 3.12), or let another "
            "program do it: metric `command`; or compare its scores: --scores FILE",
        )
    return [sys.executable, "-P", "-m", "pymarian.eval"]


class Comet(MarianMetric):
    """COMET (Rei et al. 2020, 2022) and COMETKiwi."""

    name = "comet"

    @check_arguments
    def __init__(
        self,
        id: str | None = None,
        model: Model = "wmt22-comet-da",
        vocab: Vocab = None,
        like: Annotated[Like | None, about("The type of a model that is a file.")] = None,
        batch: Batch = 4096,
        cache: CacheFolder = None,
        resources: Asked = None,
    ) -> None:
        reads = like or ("comet-qe" if "qe" in model or "kiwi" in model else "comet")
        super().__init__(id, model, vocab, reads, batch, cache, resources)


class Bleurt(MarianMetric):
    """BLEURT-20 (Sellam et al. 2020, Pu et al. 2021)."""

    name = "bleurt"

    @check_arguments
    def __init__(
        self,
        id: str | None = None,
        model: Model = "bleurt-20",
        vocab: Vocab = None,
        batch: Batch = 4096,
        cache: CacheFolder = None,
        resources: Asked = None,
    ) -> None:
        super().__init__(id, model, vocab, "bleurt", batch, cache, resources)


def default_cache() -> Path:
    """REPLITUNE_CACHE, or the user's folder of caches."""
    given = os.environ.get(CACHE)
    if given:
        return Path(given) / "scores"
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "replitune" / "scores"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
