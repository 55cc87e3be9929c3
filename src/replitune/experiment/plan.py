"""What an experiment would run and what that would cost, and checks of its data."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

from replitune.backends.interface import Given
from replitune.corpus.settings import DEV, TRAIN, FilesCorpus
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.sizes import Sizes
from replitune.running.files import bytes_of, free_mb, memory

SAMPLE = 10_000
"""Lines of the training text from which its languages are learnt."""


@dataclass(frozen=True)
class Cost:
    """The jobs of one stage: the CPU seconds that they would take, and the memory and disk of the
    largest."""

    stage: str
    jobs: int
    seconds: float | None
    """None if no earlier run has such a job."""
    memory_mb: int
    largest: str
    """The name of the job that needs the most memory."""
    disk_mb: int = 0


def costs(experiment: Experiment, results: Path) -> list[Cost]:
    """The jobs of a run from the beginning, by stage; with looks, the most that there may be. Their CPU
    seconds are estimated from the manifest of this experiment, or else from all in the same folder."""
    own = experiment.folder / "manifest.json"
    means = _mean_seconds([own] if own.exists() else sorted(results.glob("*/manifest.json")))
    needs: dict[str, list[tuple[int, str]]] = defaultdict(list)
    disk: dict[str, int] = defaultdict(int)
    sizes = Sizes(experiment)
    for job in jobs_of(experiment):
        name, stage = job.name.partition("/")[0], experiment.stage(job.stage, **job.names)
        # as its system or metric says, or else estimated from the sizes of its texts
        asked = experiment.asked(job.names).get("mem_mb") or stage.memory_mb(sizes)
        needs[name].append((asked, job.name))
        disk[name] = max(disk[name], stage.disk_mb(sizes))
    return [
        Cost(name, len(jobs), len(jobs) * means[name] if name in means else None, *max(jobs), disk[name])
        for name, jobs in needs.items()
    ]


def check_disk(stages: Sequence[Cost], folder: Path) -> Iterator[str]:
    """Warnings about jobs that need more disk space than is free for results (they may be done already)."""
    free = free_mb(folder)
    for cost in stages:
        if cost.disk_mb > free:
            yield (
                f"a job of {cost.stage} needs about {cost.disk_mb:,} MB on the disk while it runs; "
                f"{folder} has {free:,} MB free"
            )


def check_memory(stages: Sequence[Cost]) -> Iterator[ReplituneError]:
    """Errors for jobs that do not fit into the memory of this machine."""
    there = memory() >> 20
    for cost in stages:
        if cost.memory_mb > there:
            yield ReplituneError(
                f"{cost.largest} would take more memory than there is",
                found=f"about {cost.memory_mb:,} MB",
                expected=f"at most {there:,} MB, what this machine or the container has",
                fix="take a part of the text (`subset`), run it on a larger machine or a cluster "
                "(--profile slurm), or set `resources: {mem_mb: N}` if you know better",
            )


def _mean_seconds(manifests: list[Path]) -> dict[str, float]:
    """Mean CPU seconds of a job, by stage."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for path in manifests:
        try:
            jobs = json.loads(bytes_of(path))["jobs"]
            for name, record in jobs.items():
                seconds[name.partition("/")[0]].append(float(record["cpu_seconds"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # damaged, or from another version: not used
    return {stage: sum(values) / len(values) for stage, values in seconds.items()}


def check_data(experiment: Experiment) -> Iterator[ReplituneError]:
    """All mistakes in the files of an experiment: files that are missing, are not text, have a different
    number of lines than their test set, or are in the wrong language."""
    texts: dict[str, Text] = {}
    for part in experiment.corpus_parts:
        try:
            texts[part] = _text(experiment, part)
        except ReplituneError as error:
            yield error
    yield from mixed_up(texts)
    known = {part: text for part, text in texts.items() if text.target}
    for system, testset in experiment.given_outputs:
        if testset in known:
            yield from _caught(_look_at_outputs, experiment, system, testset, known[testset])
    for what, path in experiment.numbers_given:
        if not path.is_file():
            yield ReplituneError(f"no such file of {what}", file=path)
    for id in experiment.metrics:
        for testset in experiment.testsets:
            if testset in known:
                yield from _look_at_scores(experiment, id, testset, len(known[testset].target))


def _caught(look: Callable[..., Any], *given: Any) -> Iterator[ReplituneError]:
    try:
        look(*given)
    except ReplituneError as error:
        yield error


class Text(NamedTuple):
    """The lines of a part of the corpus."""

    source: Sequence[str] | None
    references: Sequence[Sequence[str]]
    """Of the training text, its target side."""

    @property
    def target(self) -> Sequence[str]:
        return self.references[0]


def _text(experiment: Experiment, part: str) -> Text:
    """A text, read as its job would read it; a synthetic text has no file, and so no lines here."""
    from replitune.corpus.prepare import read_files, read_train

    corpus = experiment.settings.corpus
    if not isinstance(corpus, FilesCorpus):
        return Text(None, [[]])
    if part == TRAIN and corpus.train is not None:
        source, target, *_ = read_train(corpus.train, experiment.corpora)
        return Text(source, [target])
    given = corpus.dev if part == DEV else corpus.tests[part]
    assert given is not None
    testset = read_files(part, given, experiment.corpora)[0]
    return Text(testset.source, testset.references)


def _look_at_outputs(experiment: Experiment, system: str, testset: str, text: Text) -> None:
    """Refuse outputs that do not belong to the test set."""
    from replitune.results.texts import notes_of
    from replitune.statistics.outputs import read_outputs
    from replitune.statistics.texts import TextChecks

    backend, (source, references) = experiment.backends[system], text
    assert isinstance(backend, Given)
    segments = len(references[0])
    replicas = backend.collect(testset, experiment.corpora, segments)
    if not backend.gives_texts:
        _look_at_given(experiment, f"{testset}: {system}", replicas.values(), references[0])
        return
    whole = {replica.id: lines for replica, lines in replicas.items() if len(lines) == segments}
    found = TextChecks(references, source).findings(
        system, [*whole], read_outputs(whole.values(), segments)
    )
    doubts = notes_of([("", one) for one in found if one.is_doubt], {})
    if doubts:
        raise ReplituneError(
            f"{testset}: {'; '.join(one.text for one in doubts)}",
            fix="check the names and the lines of the files",
        )


def _look_at_given(
    experiment: Experiment, what: str, replicas: Iterable[Sequence[str]], ids: Sequence[str]
) -> None:
    """Refuse scores of other segments or metrics, as the job that reads them would."""
    import numpy as np

    from replitune.metrics.given import Given as GivenScores
    from replitune.metrics.registry import get_metric

    for metric in (get_metric(experiment.metric(id)) for id in experiment.metrics):
        if isinstance(metric, GivenScores):
            try:
                for lines in replicas:
                    metric.segment_statistics(lines, np.arange(len(ids)), ids)
            except ReplituneError as error:
                raise ReplituneError(
                    f"{what}: {error.message}", found=error.found, expected=error.expected, fix=error.fix
                ) from None


def _look_at_scores(
    experiment: Experiment, id: str, testset: str, segments: int
) -> Iterator[ReplituneError]:
    """What the jobs would refuse in files of segment scores."""
    from replitune.metrics.external import External
    from replitune.metrics.registry import get_metric

    systems = experiment.decoding(testset)
    files = {name: experiment.score_files(id, testset, name) for name in systems}
    if not experiment.scored(id, testset) or not all(
        path.is_file() for of in files.values() for path in of
    ):
        return
    metric = get_metric(experiment.metric_on(id, testset))
    if isinstance(metric, External):
        for name in systems:
            replicas = [replica.id for replica in experiment.replicas(name)]
            yield from _caught(metric.system_statistics, name, replicas, segments)


def mixed_up(texts: Mapping[str, Text]) -> Iterator[ReplituneError]:
    """Errors for texts whose source and target are equal, or exchanged (by comparison with the training
    text)."""
    from replitune.statistics.texts import Language

    for part, text in texts.items():
        equal = sum(map(eq, text.source or (), text.target))
        if equal > len(text.target) / 2:
            yield ReplituneError(
                f"{part}: source and target are the same text",
                found=f"{equal} of {len(text.target)} lines are equal",
                fix="check the names of the files",
            )
    train = texts.get(TRAIN)
    if train is None or not train.source or not train.target:
        return
    of_source, of_target = (Language(lines[-SAMPLE:]) for lines in (train.source, train.target))
    for part, text in texts.items():
        if part == TRAIN or not text.source:
            continue
        of_lines = [
            (of_source.likeness(lines), of_target.likeness(lines)) for lines in (text.source, text.target)
        ]
        if of_lines[0][0] < of_lines[0][1] and of_lines[1][0] > of_lines[1][1]:
            yield ReplituneError(
                f"{part}: source and reference are exchanged",
                found=f"a source such as {text.source[0]!r}, a reference such as {text.target[0]!r}",
                expected="the languages of the training text",
            )


def check_storage(experiment: Experiment) -> Iterator[ReplituneError]:
    """Errors for what needs a folder shared by all machines, when results are in a Snakemake storage."""
    needs = {
        "`until: settled`: Snakemake reads every look, to plan what comes after it": experiment.looks,
        "systems whose outputs are on disk": experiment.outputs,
        "files of scores or judgements": [*experiment.numbers_given],
    }
    for what, there in needs.items():
        if there:
            yield ReplituneError(
                f"this needs a folder that all machines share: {what}",
                fix="leave out --default-storage-provider, and start in such a folder (NFS, Lustre), or "
                "run the whole experiment as one job",
            )


def cautions(experiment: Experiment) -> list[str]:
    """Warnings about what is allowed but rarely intended."""
    corpus = experiment.settings.corpus
    texts = []
    if isinstance(corpus, FilesCorpus) and corpus.dev is not None:
        dev = set(corpus.dev.reference_files)
        texts += [
            f"dev is also test set {name}: systems are tuned on the text that scores them"
            for name, given in corpus.tests.items()
            if dev & set(given.files)
        ]
    corpora = experiment.corpora.resolve()
    outside = [path for _, path in experiment.numbers_given if not path.resolve().is_relative_to(corpora)]
    if outside:
        texts.append(f"{outside[0]} lies outside the corpora: `replitune archive` will not pack it")
    return [*texts, *same_systems(experiment), *peeking(experiment)]


def same_systems(experiment: Experiment) -> list[str]:
    """Warnings about systems that differ only in their names."""
    named: dict[str, list[str]] = defaultdict(list)
    for name, settings in experiment.settings.systems.items():
        named[repr(settings)].append(name)
    return [
        f"{' and '.join(names)} have the same settings: any difference between them is chance"
        for names in named.values()
        if len(names) > 1
    ]


def peeking(experiment: Experiment) -> list[str]:
    """A warning about replicas that are added after tests with fewer of them have been seen."""
    if experiment.looks is not None:
        return []
    try:
        manifest = json.loads(bytes_of(experiment.folder / "manifest.json"))
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
        f"runs were added after tests with fewer runs could be seen: {', '.join(grown)}. Unless this "
        "was planned, p-values no longer hold their level; `until: settled` plans it"
    ]
