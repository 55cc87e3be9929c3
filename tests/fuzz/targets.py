"""What reads files of others, each as a function of bytes.

A target may refuse its input (`ReplituneError`: exit code 2 and a message); what it accepts it
must have read right, by a rule that is not its own. Anything else is a bug. hypothesis and atheris
call the same targets.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from phrase_models import write_arpa
from replitune.corpus.reader import read_testset
from replitune.corpus.testset import read_prepared, write_testset
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from replitune.ledger.manifest import read_manifest, stays_inside
from replitune.meta.human import read_human
from replitune.metrics.external import segment_scores
from replitune.phrase.arpa import read_arpa
from replitune.readers.coding import in_rows
from replitune.readers.registry import read_file
from replitune.readers.settings import ColumnNames
from replitune.running.files import read_lines
from replitune.statistics.store import read_stores
from replitune.tuning.nbest_files import read_nbest
from replitune.tuning.weights import WeightsFile, read_weights, write_weights

from . import seeds


@dataclass(frozen=True)
class Target:
    """A reader, the name that its file has, and inputs to start from."""

    run: Callable[[Path], None]
    file: str
    seeds: tuple[bytes, ...]

    def __call__(self, data: bytes, folder: Path) -> bool:
        """Whether the input was accepted; raises when neither accepted nor refused."""
        path = folder / self.file
        path.write_bytes(data)
        try:
            self.run(path)
        except ReplituneError as error:
            message = str(error)
            assert message
            assert len(message) < 20_000, "a message for people"
            message.encode("utf-8", "backslashreplace")
            return False
        return True


def text(path: Path) -> None:
    lines = read_lines(path)
    for line in lines:
        assert "\n" not in line
        assert "\0" not in line
        line.encode("utf-8")
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        plain = data.decode("utf-8-sig")
        assert len(lines) == plain.count("\n") + (not plain.endswith("\n") and plain != "")


def _testset(path: Path) -> None:
    """What was read can be written, and read back as it was."""
    found = read_testset(path)
    again = path.with_name("again.jsonl")
    write_testset(found, again)
    assert read_prepared(again) == found


def tsv(path: Path) -> None:
    _testset(path)
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        rows = data.decode("utf-8-sig").split("\n")
        rows = rows[:-1] if rows[-1] == "" else rows
        assert read_testset(path).segments == len(rows) - 1


def nbest(path: Path) -> None:
    lists = read_nbest([path], 2)
    assert np.isfinite(lists.features).all()
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return
    lines = data.decode("utf-8-sig").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    assert len(lists.texts) == len(lines)
    for line, segment, row in zip(lines, lists.segments, lists.features, strict=True):
        assert int(line.split("|||")[0]) == segment
        words = line.split()
        named = [i for i, w in enumerate(words) if w == f"{lists.layout.names[0]}="]
        if len(named) == 1:
            first = float(words[named[0] + 1])
            assert row[0] == first or math.isclose(row[0], first, rel_tol=1e-15)


def arpa(path: Path) -> None:
    folder = path.with_name("lm")
    folder.mkdir(exist_ok=True)
    model = read_arpa(path, folder)
    assert len(set(model.words)) == len(model.words)
    for n, (grams, probs, rests) in enumerate(
        zip(model.ngrams, model.logprobs, model.backoffs, strict=True), start=1
    ):
        assert grams.shape == (len(probs), n) == (len(rests), n)
        assert np.isfinite(probs).all()
        assert np.isfinite(rests).all()
        assert ((grams >= 0) & (grams < len(model.words))).all()
    again = path.with_name("again.arpa")
    write_arpa(model, again)
    written = [p.tobytes() for p in model.logprobs]
    assert [p.tobytes() for p in read_arpa(again, folder).logprobs] == written


def weights(path: Path) -> None:
    found = read_weights(path)
    assert found
    for values in found.values():
        assert all(isinstance(v, float) and math.isfinite(v) for v in values)
    again = path.with_name("again.json")
    write_weights(again, WeightsFile(found))
    assert read_weights(again) == found


def scores(path: Path) -> None:
    for replicas in segment_scores(path).values():
        for segments, found in replicas.values():
            assert (segments >= 0).all()
            assert not np.isinf(found).any()


def rows(path: Path) -> None:
    found = read_file(path, ColumnNames())
    assert found.rows
    assert all(len(column) == found.rows for column in found.columns.values())
    assert np.isfinite(in_rows([found.columns["score"].drop_null()])).all()
    assert all(line >= 1 for line in found.line([0, found.rows - 1]))


def judgements(path: Path) -> None:
    for rows in read_human(path).judgements.values():
        for row in rows:
            assert row.segment >= 0
            assert math.isfinite(row.score)
            assert row.line >= 1


def store(path: Path) -> None:
    for item in read_stores(path):
        for system in item.systems.values():
            assert system.statistics.shape == (system.n, item.segments, len(item.metric.statistic_names))
            assert np.isfinite(system.statistics).all()
            assert np.isfinite(item.metric.score(system.sums)).all()


def experiment(path: Path) -> None:
    settings = load(path)
    plan = Experiment(settings)
    json.dumps(plan.plain, allow_nan=False)
    assert plan.folder.parts == ("results", plan.name)
    for name in (*plan.systems, *plan.testsets, *plan.metrics):
        assert stays_inside(name)
        assert "/" not in name
        assert name == name.strip()
        assert name.isprintable()
    for system in plan.systems:
        if settings.systems[system].backend != "outputs":
            assert plan.replicas(system)


def manifest(path: Path) -> None:
    assert all(map(stays_inside, read_manifest(path.parent)["files"]))


TARGETS: dict[str, Target] = {
    "text": Target(text, "t.txt", (seeds.TEXT, seeds.GZIP)),
    "tsv": Target(tsv, "t.tsv", (seeds.TSV,)),
    "jsonl": Target(_testset, "t.jsonl", (seeds.JSONL,)),
    "xml": Target(_testset, "t.xml", (seeds.XML, seeds.BOMB)),
    "sgm": Target(_testset, "t.sgm", (seeds.SGM,)),
    "nbest": Target(nbest, "n.best", (seeds.NBEST,)),
    "arpa": Target(arpa, "l.arpa", (seeds.ARPA,)),
    "weights-json": Target(weights, "w.json", (seeds.WEIGHTS,)),
    "weights-ini": Target(weights, "w.ini", (seeds.INI,)),
    "scores-tsv": Target(scores, "s.tsv", (seeds.SCORES,)),
    "scores-jsonl": Target(scores, "s.jsonl", (seeds.SCORE_LINES,)),
    "scores-csv": Target(scores, "s.csv", (seeds.SCORES.replace(b"\t", b","),)),
    "scores-of-programs": Target(
        rows,
        "s.json",
        (
            seeds.LM_EVAL,
            seeds.EVERY_EVAL_EVER,
            seeds.PROMPTFOO,
            seeds.WMT_SCORES,
            seeds.WMT_JUDGED,
            seeds.INSPECT,
            seeds.INSPECT_LOG,
            seeds.SEG_SCORE,
            seeds.NUMBERS,
            seeds.GENERATIONS,
            seeds.ARRAY,
            seeds.COMET,
            seeds.HELM,
            seeds.DEEPEVAL,
            seeds.TERMINAL_BENCH,
        ),
    ),
    "judgements": Target(judgements, "h.csv", (seeds.JUDGEMENTS, seeds.RANKED, seeds.BY_ORDER)),
    "parquet": Target(store, "s.parquet", (seeds.parquet(),)),
    "experiment": Target(experiment, "x.yaml", (seeds.EXPERIMENT, seeds.ALIASES)),
    "manifest": Target(manifest, "manifest.json", (seeds.MANIFEST,)),
}
