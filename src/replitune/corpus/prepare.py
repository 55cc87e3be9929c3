"""The corpus stage: the settings of an experiment's `corpus` -> the text that it really uses, on
disk.

    corpus/train.source.txt  train.target.txt    training pairs, a segment a line
    corpus/<testset>.jsonl                       dev and every test set, see `testset`
    corpus/inputs.json                           every input file with its sha256; counts

Each text is a job of its own (`prepare_train`, `prepare_testset`) and leaves an account of its
inputs, `corpus/<text>.inputs.json`; `write_inputs` joins them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from replitune.corpus.content import require_names
from replitune.corpus.reader import read_testset, sacrebleu_files
from replitune.corpus.settings import (
    DEV,
    SACREBLEU,
    TRAIN,
    Corpus,
    TestSetFiles,
    TrainFiles,
    as_list,
    list_testsets,
    list_texts,
    read_corpus,
)
from replitune.corpus.subsets import overlap
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.corpus.testset import (
    TestSet,
    join_testsets,
    read_prepared,
    require_equal_counts,
    require_line_text,
    require_segments,
    write_testset,
)
from replitune.errors import ReplituneError
from replitune.running.files import read_lines, read_text, sha256_file, write_json, write_lines

Account = dict[str, Any]
"""What identifies a file's content."""


def prepare_train(
    given: Corpus | Mapping[str, Any], folder: str | Path, *, seed: int, base: str | Path = "."
) -> int:
    """Write the training pairs and their account; returns their number.

    Relative names of files start at `base`.
    """
    folder = Path(folder)
    train = read_corpus(given).train
    if train is None:
        raise ReplituneError("no training data", fix="name it as corpus.train")
    inputs: list[Account] = []
    if isinstance(train, TrainFiles):
        source, target, inputs = read_train(train, base)
    else:
        source, target = synthetic_train(seed, train)
    write_lines(folder / "train.source.txt", source)
    write_lines(folder / "train.target.txt", target)
    write_json(folder / "train.inputs.json", {"segments": len(source), "inputs": inputs})
    return len(source)


def prepare_testset(
    given: Corpus | Mapping[str, Any], name: str, folder: str | Path, *, seed: int, base: str | Path = "."
) -> TestSet:
    """Write the prepared form of dev or a test set and its account; returns the test set."""
    folder = Path(folder)
    corpus = read_corpus(given)
    require_names(list_testsets(corpus), [name], "test set", "corpus")
    described = corpus.dev if name == DEV else corpus.tests[name]
    inputs: list[Account] = []
    if isinstance(described, TestSetFiles):
        testset, inputs = read_files(name, described, base)
    else:
        testset = synthetic_testset(seed, name, described or 0)
    write_testset(testset, folder / f"{name}.jsonl")
    documents = len(set(testset.documents)) if testset.documents is not None else None
    write_json(
        folder / f"{name}.inputs.json",
        {
            "segments": testset.segments,
            "documents": documents,
            "references": len(testset.references),
            "source": testset.source is not None,
            **({"parts": dict(Counter(testset.parts))} if testset.parts is not None else {}),
            "inputs": inputs,
        },
    )
    return testset


def read_train(train: TrainFiles, base: str | Path) -> tuple[list[str], list[str], list[Account]]:
    """Both sides of the parallel text, and the account of its files."""
    sides = (train.sources, train.targets)
    texts = [[read_lines(_place(file, base)) for file in files] for files in sides]
    for here, there, lines, others in zip(*sides, *texts, strict=True):
        require_equal_counts([(here, lines), (there, others)])
        require_segments(here, lines)
        require_line_text(here, lines)
        require_line_text(there, others)
    accounts = [
        _account(file, base, lines)
        for files, contents in zip(sides, texts, strict=True)
        for file, lines in zip(files, contents, strict=True)
    ]
    source, target = ([line for lines in contents for line in lines] for contents in texts)
    return source, target, accounts


def read_files(name: str, given: TestSetFiles, base: str | Path) -> tuple[TestSet, list[Account]]:
    """A test set, its parts joined, and the account of its files."""
    if given.parts is not None:
        parts = {part: read_files(part, own, base) for part, own in given.parts.items()}
        joined = join_testsets(name, {part: testset for part, (testset, _) in parts.items()})
        return joined, [account for _, accounts in parts.values() for account in accounts]
    source, documents = (
        None if file is None else _place(file, base) for file in (given.source_file, given.documents)
    )
    testset = read_testset(
        [_place(file, base) for file in given.reference_files],
        source,
        documents,
        format=given.format,
        names=as_list(given.names) or None,
        columns=given.columns,
    )
    return testset, [_account(file, base) for file in given.files]


def write_inputs(given: Corpus | Mapping[str, Any], folder: str | Path, *, seed: int) -> list[str]:
    """Join the accounts of all texts into inputs.json; returns warnings.

    Segments of a test set that occur in the training data are counted. There is a warning when a source
    occurs there with its reference, or when more than one in twenty sources or references do: short
    ones may by chance.
    """
    folder = Path(folder)
    corpus = read_corpus(given)
    account: dict[str, Any] = {"kind": corpus.kind, "seed": seed, "parts": {}}
    warnings = []
    train = (
        {side: read_lines(folder / f"train.{side}.txt") for side in ("source", "target")}
        if corpus.train is not None
        else {}
    )
    known = {side: set(lines) for side, lines in train.items()}
    pairs = set(zip(train["source"], train["target"], strict=True)) if train else set()
    for text in list_texts(corpus):
        entry = json.loads(read_text(folder / f"{text}.inputs.json"))
        if train and text != TRAIN:
            testset = read_prepared(folder / f"{text}.jsonl")
            counts = {"target": overlap(testset.references[0], known["target"]), "pair": 0}
            if testset.source is not None:
                counts["source"] = overlap(testset.source, known["source"])
                both = zip(testset.source, testset.references[0], strict=True)
                counts["pair"] = sum(1 for pair in both if pair in pairs and pair[0].strip())
            entry["in_training_data"] = counts
            if counts["pair"] or max(counts.values()) * 20 > testset.segments:
                warnings.append(
                    f"{text}: of {testset.segments} segments, {counts.get('source', 0)} sources, "
                    f"{counts['target']} references and {counts['pair']} whole pairs occur in the "
                    "training data"
                )
        account["parts"][text] = entry
    account["warnings"] = warnings
    write_json(folder / "inputs.json", account)
    return warnings


def corpus_warnings(inputs: str | Path) -> list[str]:
    """The warnings in an account of the inputs; none before there is an account."""
    return list(json.loads(read_text(inputs))["warnings"]) if Path(inputs).is_file() else []


def _place(path: str, base: str | Path) -> str:
    """Where a file named in the experiment is."""
    return path if path.startswith(SACREBLEU) else str(Path(base) / path)


def _account(path: str, base: str | Path, lines: Iterable[str] | None = None) -> Account:
    """A file as the experiment names it, with what identifies its content."""
    place = _place(path, base)
    if place.startswith(SACREBLEU):
        from importlib.metadata import version

        fields = sacrebleu_files(place)
        return {
            "path": path,
            "sacrebleu": version("sacrebleu"),
            "sha256": {field: sha256_file(file) for field, file in fields.items()},
            "lines": len(read_lines(fields["src"])),
        }
    count = len(list(lines)) if lines is not None else len(read_lines(place))
    return {"path": path, "sha256": sha256_file(place), "lines": count}
