"""What an experiment would run, what that would cost, and whether its data is there."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replitune.backends.interface import Given
from replitune.corpus.settings import DEV, TRAIN, FilesCorpus
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of


@dataclass(frozen=True)
class Cost:
    """Jobs of one stage, and the CPU seconds that they would take."""

    stage: str
    jobs: int
    seconds: float | None
    """None where no earlier run tells."""


def count_jobs(experiment: Experiment) -> dict[str, int]:
    """The jobs of a run from nothing, by stage; with looks, the most that there may be."""
    return Counter(job.name.partition("/")[0] for job in jobs_of(experiment))


def costs(experiment: Experiment, results: Path) -> list[Cost]:
    """Jobs by stage with their cost by earlier manifests: of this experiment, or else of all in
    the same folder."""
    own = experiment.folder / "manifest.json"
    means = _mean_seconds([own] if own.exists() else sorted(results.glob("*/manifest.json")))
    return [
        Cost(stage, n, n * means[stage] if stage in means else None)
        for stage, n in count_jobs(experiment).items()
    ]


def _mean_seconds(manifests: list[Path]) -> dict[str, float]:
    """CPU seconds of a job, by stage."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for path in manifests:
        try:
            jobs = json.loads(path.read_text("utf-8"))["jobs"]
            for name, record in jobs.items():
                seconds[name.partition("/")[0]].append(float(record["cpu_seconds"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # of another version, or damaged: no estimate from it
    return {stage: sum(values) / len(values) for stage, values in seconds.items()}


def check_data(experiment: Experiment) -> Iterator[ReplituneError]:
    """All mistakes in the files of an experiment: those that are missing, are not text, or have
    another number of lines than what they belong to."""
    segments: dict[str, int] = {}
    for part in experiment.corpus_parts:
        yield from _caught(lambda part=part: segments.update({part: _segments(experiment, part)}))
    for system, testset in experiment.given_outputs:
        if segments.get(testset):
            backend = experiment.backends[system]
            assert isinstance(backend, Given)
            yield from _caught(backend.collect, testset, experiment.corpora, segments[testset])
    for id in experiment.metrics:
        for path in experiment.all_score_files(id):
            if not path.is_file():
                yield ReplituneError(f"no such file of scores of {id}", file=path)
    for testset in experiment.tests:
        for file in experiment.judgement_files(testset):
            if not Path(file).is_file():
                yield ReplituneError("no such file of judgements", file=file)


def _caught(look: Callable[..., Any], *given: Any) -> Iterator[ReplituneError]:
    try:
        look(*given)
    except ReplituneError as error:
        yield error


def _segments(experiment: Experiment, part: str) -> int:
    """The number of segments of a text, which is read as its job would."""
    from replitune.corpus.prepare import read_files, read_train

    corpus = experiment.settings.corpus
    if not isinstance(corpus, FilesCorpus):
        return 0  # made up, and of no file
    if part == TRAIN and corpus.train is not None:
        return len(read_train(corpus.train, experiment.corpora)[0])
    given = corpus.dev if part == DEV else corpus.tests[part]
    assert given is not None
    return read_files(part, given, experiment.corpora)[0].segments


def cautions(experiment: Experiment) -> list[str]:
    """What is allowed but seldom intended."""
    corpus = experiment.settings.corpus
    texts = []
    if isinstance(corpus, FilesCorpus) and corpus.dev is not None:
        dev = set(corpus.dev.reference_files)
        texts += [
            f"dev is also test set {name}: its scores are of the text that systems are tuned on"
            for name, given in corpus.tests.items()
            if dev & set(given.files)
        ]
    outside = [
        str(path)
        for id in experiment.metrics
        for path in experiment.all_score_files(id)
        if not _is_inside(path, experiment.corpora)
    ]
    outside += [
        file
        for testset in experiment.tests
        for file in experiment.judgement_files(testset)
        if not _is_inside(Path(file), experiment.corpora)
    ]
    if outside:
        texts.append(f"{outside[0]} lies outside the corpora: `replitune archive` will not pack it")
    return [*texts, *peeking(experiment)]


def peeking(experiment: Experiment) -> list[str]:
    """Replicas that are added after the tests of fewer have been seen."""
    if experiment.looks is not None:
        return []
    try:
        manifest = json.loads((experiment.folder / "manifest.json").read_text("utf-8"))
        names = [str(name).split("/") for name in manifest["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    testset = experiment.tests[0]
    grown = []
    for system in experiment.systems:
        before = sum(name[:3] == ["decodes", testset, system] for name in names)
        now = len(experiment.replicas(system))
        if 0 < before < now:
            grown.append(f"{system} ({before} to {now})")
    if not grown:
        return []
    return [
        f"replicas are added after the tests of fewer could be seen: {', '.join(grown)}. Unless "
        "that was planned, p is no longer at its level; `until: settled` plans it"
    ]


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
