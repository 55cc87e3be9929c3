"""Tuning by Moses' own mert-moses.pl: MERT, `--batch-mira`, `--pairwise-ranked`.

Its optimisers take their seeds from the clock: runs that start in the same second are identical, and
no run can be repeated. With `--predictable-seeds` all replicas would be identical. So each replica
passes its own seed to the optimiser.
"""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replitune.backends.interface import ReplicaJob, needed, replica_seed, source_of
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.checkpoint import kept_folder
from replitune.running.files import read_lines, write_lines
from replitune.running.supervisor import run
from replitune.tuning.combination import get_objective
from replitune.tuning.history import Iteration, write_history
from replitune.tuning.settings import LoopSettings
from replitune.tuning.weights import WeightsFile, read_weights, write_weights

if TYPE_CHECKING:
    from replitune.backends.moses import Moses
    from replitune.corpus.testset import TestSet

MEGAM = "megam_i686.opt"
SEED = {
    "mert": ["--mertmertargs=-r {seed} "],
    "mira": ["--batch-mira", "--batch-mira-args=--random-seed {seed}"],
    "pro": ["--pairwise-ranked", "--proargs=--random-seed {seed}"],
}
"""Options for mode and seed by algorithm. Not --mertargs, because the extractor gets that, too, and
its -r means the references. The space at the end is there because some versions append their own
arguments without one."""


def tune_with_mert_moses(system: Moses, job: ReplicaJob) -> None:
    """Write the weights of the final moses.ini, and a history made from the files of the iterations."""
    seed = replica_seed(system.system, job.replica, job.seed, paired=job.paired)
    dev = needed(job.dev, "testset")
    if job.algorithm == "pro" and not (_mertdir(system) / MEGAM).exists():
        raise ReplituneError(
            f"without {MEGAM}, mert-moses.pl would fetch it from the network",
            file=_mertdir(system) / MEGAM,
            fix="put it there, or use `tuner: replitune`",
        )
    with kept_folder(job, system, "tune") as folder:
        if re.search(r"[^A-Za-z0-9_./+@%=:,-]", str(folder)):
            raise ReplituneError(
                "mert-moses.pl cannot work below a folder with such a name",
                file=folder,
                expected="letters, digits and . _ / + - only",
                fix="use `tuner: replitune`",
            )
        write_lines(folder / "dev.source", source_of(dev))
        for number, lines in enumerate(dev.references):
            write_lines(folder / f"dev.reference{number}", lines)
        ini = system.ini(job)
        work = folder / "mert-work"
        words: list[Any] = [
            system.program("mert-moses.pl"),
            folder / "dev.source",
            folder / "dev.reference",
            _full(system.program("moses")),
            ini,
            f"--working-dir={work}",
            f"--mertdir={_mertdir(system)}",
            f"--nbest={job.nbest}",
            f"--maximum-iterations={(job.loop or LoopSettings()).iterations}",
            "--no-filter-phrase-table",
            f"--decoder-flags={_flags(system, job)}",
        ]
        words += [word.format(seed=seed) for word in SEED[job.algorithm]]
        if job.algorithm == "mert" and job.threads > 1:
            words.append(f"--threads={job.threads}")
        if (work / "finished_step.txt").exists():
            words.append("--continue")
        run(
            [*words, *map(str, system.settings.mert_moses)],
            f"mert-moses.pl for {system.system} {job.replica.id}",
            threads=job.threads,
        )
        final = work / "moses.ini"
        if not final.exists():
            raise ReplicaError("mert-moses.pl wrote no moses.ini", file=final)
        weights = tuned_weights(final, system.start_weights(job))
        history = iterations(work, dev, job.nbest)
        best = _decoded_by(work, weights, len(history))
        if job.history is not None:
            write_history(job.history, tuple(history))
        write_weights(
            job.out,
            WeightsFile(
                weights,
                dev_score=None if best is None else history[best].dev_score,
                metric="bleu",
                algorithm=job.algorithm,
                seed=job.seed,
                iteration=len(history) if best is None else best,
            ),
        )


def tuned_weights(ini: Path, features: dict[str, list[float]]) -> dict[str, list[float]]:
    """The weights of `features` in an ini file; those that cannot be tuned stay in the model's own."""
    written = read_weights(ini)
    weights = {name: written.get(name, []) for name in features}
    for name, values in weights.items():
        if len(values) != len(features[name]) or not all(map(math.isfinite, values)):
            raise ReplicaError(
                f"the tuning of {name} diverged, or left it out",
                file=ini,
                found=" ".join(map(str, values)) or "no weights",
                expected=f"{len(features[name])} finite numbers",
            )
    return weights


def _decoded_by(work: Path, weights: dict[str, list[float]], decodings: int) -> int | None:
    """The last iteration that decoded with these weights; None if none did, as with the final ones."""
    for number in range(decodings, 0, -1):
        used = read_weights(work / f"run{number}.moses.ini")
        if all(used.get(name) == values for name, values in weights.items()):
            return number - 1
    return None


def iterations(work: Path, dev: TestSet, nbest: int) -> list[Iteration]:
    """One row per decoding, from the files run1.*, run2.* and so on. The dev score is our own, from the
    decoder's output; the pool is counted in lines of n-best lists; seconds are from file times."""
    metric = get_objective("bleu")
    prepared = metric.prepare(dev.references)
    segments = np.arange(dev.segments)
    rows: list[Iteration] = []
    pool = 0
    for number in range(1, 1000):
        ini, out = work / f"run{number}.moses.ini", work / f"run{number}.out"
        after = work / f"run{number + 1}.moses.ini"
        if not after.exists():
            after = work / "moses.ini"
        if not out.exists():
            break
        lines = read_lines(out)
        if len(lines) != dev.segments:
            raise ReplicaError(
                "moses gave a wrong number of translations of dev",
                file=out,
                found=f"{len(lines)} lines",
                expected=f"{dev.segments}",
            )
        sums = metric.segment_statistics(lines, segments, prepared).sum(axis=0)
        new = len(read_lines(work / f"run{number}.best{nbest}.out.gz"))
        pool += new
        times = [path.stat().st_mtime for path in (ini, out, after)]
        rows.append(
            Iteration(
                number - 1,
                float(metric.score(sums)),
                _pool_score(after),
                pool,
                new,
                None,
                times[2] - times[0],
                times[2] - times[1],
            )
        )
    return rows


def _pool_score(ini: Path) -> float | None:
    """The score that the optimiser reached, from ``# BLEU 0.3127 on dev ...`` in the file that it
    wrote; None for PRO, which does not say."""
    for line in read_lines(ini)[:10]:
        match = re.match(r"# BLEU (-?\d+\.?\d*(?:e-?\d+)?) on dev", line)
        if match:
            return 100 * float(match[1])
    return None


def _flags(system: Moses, job: ReplicaJob) -> str:
    words = ["-threads", str(job.threads), *map(str, system.settings.options)]
    bad = next((word for word in words if re.search(r"[\s\"'$`\\;&|<>*?]", word)), None)
    if bad is not None:
        raise ReplituneError(
            "mert-moses.pl hands options to a shell without quotes",
            found=bad,
            expected="options of plain words",
        )
    return " ".join(words)


def _mertdir(system: Moses) -> Path:
    """The folder of extractor, mert, kbmira, pro and evaluator, which must be in the same one."""
    return _full(system.program("extractor")).parent


def _full(program: str) -> Path:
    path = shutil.which(program)
    if path is None:
        raise ReplituneError(f"the program {program} is missing or cannot be run")
    return Path(path).absolute()
