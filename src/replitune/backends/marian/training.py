"""Trains one replica in rounds, and translates dev after each, until its score stops improving.

In a round, Marian runs from the checkpoint of the round before, with a seed of its own. Marian's own
validation would need another process for every score, and a killed Marian continues only from its
last save, with different numbers. Rounds begin at the same places whether or not the training was
interrupted, so a training that was killed and continued ends with the same bytes.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from replitune.backends.marian.program import Translator, run
from replitune.backends.marian.settings import TrainingSettings
from replitune.corpus.testset import TestSet
from replitune.errors import ReplicaError
from replitune.metrics.base import Metric
from replitune.running.checkpoint import Checkpoint
from replitune.running.files import flush, put
from replitune.running.progress import say
from replitune.streams import seed_sequence

MODEL = "model.npz"
SIDES = ("train.source.txt", "train.target.txt")
"""Files in a model's folder if the system is trained on a part of the parallel text."""
SHOWN = re.compile(r"Up\. ([\d,]+) .*? Cost (\S+)")
"""A line of Marian's progress: the update, and the cost per word since the line before."""
ABSURD = 10.0
"""A training whose cost is this many times that of random guessing has diverged."""


@dataclass(frozen=True)
class Round:
    """One row of ``history.parquet``."""

    iteration: int
    update: int
    epoch: int
    """Number of complete epochs."""
    dev_score: float
    cost: float
    """Training cost per target word, as Marian last showed it."""
    seconds: float
    dev_seconds: float
    """The part of `seconds` spent on translating and scoring dev."""


@dataclass(frozen=True)
class Best:
    """The model with the best dev score."""

    model: Path
    dev_score: float
    iteration: int
    history: tuple[Round, ...]


@dataclass(frozen=True)
class Training:
    """One replica's training in a locked checkpoint folder."""

    sides: Sequence[Path]
    dev: TestSet
    metric: Metric
    options: Mapping[str, Any]
    settings: TrainingSettings
    translator: Translator
    seed: int
    """The experiment's seed."""
    stream: Sequence[str | int]
    """The names of the replica's random streams."""

    def run(self, checkpoint: Checkpoint) -> Best:
        """Train to the end, starting from the state in `checkpoint`."""
        state: dict[str, Any] = checkpoint.load() or {"rounds": [], "best": None}
        folder = checkpoint.folder
        if state["rounds"]:
            say(f"going on after round {len(state['rounds'])}")
        while (until := self._next(state)) is not None:
            number = len(state["rounds"]) + 1
            began = time.perf_counter()
            running = folder / "running"
            shutil.rmtree(running, ignore_errors=True)
            if number > 1:
                shutil.copytree(folder / f"round-{number - 1:04d}", running)
            else:
                running.mkdir()
            progress, cost = self._train(running, number, until)
            translating = time.perf_counter()
            score = self._score(running / MODEL)
            now = time.perf_counter()
            row = Round(
                number,
                int(progress["batches"]),
                int(progress["epochs"]) - 1,
                score,
                cost,
                now - began,
                now - translating,
            )
            state["rounds"].append(asdict(row))
            done = folder / f"round-{number:04d}"
            shutil.rmtree(done, ignore_errors=True)
            best = state["best"]
            sign = self.metric.sign
            better = best is None or (sign * (score - best["dev_score"]) > self.settings.min_gain)
            if better:
                state["best"] = {"dev_score": score, "iteration": number}
                flush(Path(shutil.copy(running / MODEL, folder / f"best-{number:04d}.npz")))
            put(running, done)
            # The state must name only complete files, so it is saved last.
            checkpoint.save_state(state)
            self._clear(folder, number, state["best"]["iteration"])
            say(
                f"round {number}: update {row.update:,}, epoch {row.epoch}, cost {cost:.4f}, "
                f"dev {self.metric.id} {score:.2f}"
                + (" (best)" if better else "")
                + f", {row.seconds:.1f} s"
            )
        best = state["best"]
        return Best(
            folder / f"best-{best['iteration']:04d}.npz",
            best["dev_score"],
            best["iteration"],
            tuple(Round(**row) for row in state["rounds"]),
        )

    def _next(self, state: Mapping[str, Any]) -> str | None:
        """Where the next round ends; None when training is done."""
        done = len(state["rounds"])
        if state["best"] and done - state["best"]["iteration"] >= self.settings.patience:
            return None
        return self.settings.end_of(done + 1)

    def _train(self, running: Path, number: int, until: str) -> tuple[dict[str, Any], float]:
        """Train for one round; returns Marian's progress file and the last cost that it showed."""
        program = self.translator.program
        sequence = seed_sequence(self.seed, "tune", *self.stream, "round", number)
        seed = int(sequence.generate_state(1)[0])
        config = {
            **self.options,
            "model": str(running / MODEL),
            "train-sets": [str(path) for path in self.sides],
            "vocabs": [str(path) for path in self.translator.vocabularies],
            "seed": seed % (2**31 - 1) + 1,
            "after": until,
            "overwrite": True,
            "save-freq": "1000000000u",
            "cpu-threads": program.threads,
            "data-threads": 1,
            "tempdir": str(running),
        }
        (running / "config.yml").write_text(json.dumps(config), encoding="utf-8")
        costs: list[float] = []

        def watch(line: str) -> None:
            shown = SHOWN.search(line)
            if shown is None:
                return
            say(line[line.find("Ep.") :])
            costs.append(float(shown[2]))
            self._refuse_divergence(costs[-1], int(shown[1].replace(",", "")))

        run(
            program.binary,
            ["train", "--config", str(running / "config.yml")],
            threads=program.threads,
            each_line=watch,
        )
        written = (running / f"{MODEL}.progress.yml").read_text(encoding="utf-8")
        progress: dict[str, Any] = yaml.load(written, yaml.CSafeLoader)
        if progress["cost-count"]:
            since = float(progress["cost-sum"]) / float(progress["cost-count"])
            self._refuse_divergence(since, int(progress["batches"]))
            costs = costs or [since]  # the round was too short for a line of progress
        return progress, costs[-1]

    def _refuse_divergence(self, cost: float, update: int) -> None:
        """Stop a training that has diverged, since it would only produce nonsense."""
        guessing = math.log(self._size)
        if not cost < ABSURD * guessing:
            raise ReplicaError(
                f"training diverged at update {update}",
                found=f"a cost of {cost:g} for each target word",
                expected=f"less than {guessing:.2f}, which guessing costs",
                fix="lower learn-rate, or raise lr-warmup",
            )

    @cached_property
    def _size(self) -> int:
        """Number of pieces of the larger vocabulary."""
        import sentencepiece

        return max(
            sentencepiece.SentencePieceProcessor(model_file=str(path)).get_piece_size()
            for path in self.translator.vocabularies
        )

    @cached_property
    def _prepared(self) -> Any:
        return self.metric.prepare(self.dev.references)

    def _score(self, model: Path) -> float:
        assert self.dev.source is not None
        lines = self.translator.translate(model, self.dev.source)
        segments = np.arange(self.dev.segments)
        statistics = self.metric.segment_statistics(lines, segments, self._prepared)
        return float(self.metric.score(statistics.sum(axis=0)))

    @staticmethod
    def _clear(folder: Path, number: int, best: int) -> None:
        """Remove files that are needed neither to resume nor for the result."""
        for path in folder.glob("round-*"):
            if path.name != f"round-{number:04d}":
                shutil.rmtree(path)
        for path in folder.glob("best-*.npz"):
            if path.name != f"best-{best:04d}.npz":
                path.unlink()
