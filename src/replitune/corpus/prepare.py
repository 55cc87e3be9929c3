"""The corpus stage: an experiment's `corpus` mapping -> the text that it really uses, on disk.

    corpus/train.source.txt  train.target.txt    training pairs, a segment a line
    corpus/<testset>.jsonl                       dev and every test set, see `testset`
    corpus/inputs.json                           every input file with its sha256; counts

A test set may have `parts`: test sets that are joined into one.

Each part is a job of its own (`prepare_train`, `prepare_testset`) and leaves an account of its
inputs, `corpus/<part>.inputs.json`; `write_inputs` joins them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.corpus.parts import take_names
from replitune.corpus.reader import read_testset
from replitune.corpus.sacrebleu_sets import PREFIX as SACREBLEU
from replitune.corpus.sacrebleu_sets import sacrebleu_files
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
from replitune.errors import ReplituneError, nearest
from replitune.running.files import atomic_open, read_lines, read_text, sha256_file, write_lines

TRAIN = "train"
DEV = "dev"
TESTSET_KEYS = ("references", "source", "documents", "format", "names", "columns")
PARTS = "parts"


def list_testsets(corpus: Mapping[str, Any]) -> list[str]:
    """dev, when there is one, and the test sets in the order of the experiment file."""
    tests = corpus.get("tests") or {}
    for name in (TRAIN, DEV):
        if name in tests:
            raise ReplituneError(
                f"a test set cannot be called {name}", fix="give it another name under corpus.tests"
            )
    return [*([DEV] if corpus.get(DEV) else []), *tests]


def has_train(corpus: Mapping[str, Any]) -> bool:
    """Whether the experiment has training data."""
    return bool(corpus.get(TRAIN))


def prepare_train(
    corpus: Mapping[str, Any], folder: str | Path, *, seed: int, base: str | Path = "."
) -> int:
    """Write the training pairs and their account; returns their number.

    Relative names of files start at `base`.
    """
    folder = Path(folder)
    if kind_of(corpus) == "synthetic":
        source, target = synthetic_train(seed, corpus[TRAIN])
        inputs: list[dict[str, Any]] = []
    else:
        train = _mapping(corpus[TRAIN], "corpus.train", ("source", "target"))
        sides = []
        for side in ("source", "target"):
            if side not in train:
                raise ReplituneError("training data with one side", expected=f"corpus.train.{side}")
            sides.append(_paths(train[side]))
        if len(sides[0]) != len(sides[1]):
            raise ReplituneError(
                "training data of unequal sides",
                found=f"{len(sides[0])} source files and {len(sides[1])} target files",
                expected="as many",
            )
        texts = [[read_lines(_place(path, base)) for path in paths] for paths in sides]
        for here, there, lines, others in zip(*sides, *texts, strict=True):
            require_equal_counts([(here, lines), (there, others)])
            require_segments(here, lines)
            require_line_text(here, lines)
            require_line_text(there, others)
        source, target = ([line for part in side for line in part] for side in texts)
        inputs = [
            _account(path, base, lines)
            for paths, parts in zip(sides, texts, strict=True)
            for path, lines in zip(paths, parts, strict=True)
        ]
    write_lines(folder / "train.source.txt", source)
    write_lines(folder / "train.target.txt", target)
    _write_json(folder / "train.inputs.json", {"segments": len(source), "inputs": inputs})
    return len(source)


def prepare_testset(
    corpus: Mapping[str, Any],
    name: str,
    folder: str | Path,
    *,
    seed: int,
    base: str | Path = ".",
) -> TestSet:
    """Write the prepared form of dev or a test set and its account; returns the test set."""
    folder = Path(folder)
    take_names(list_testsets(corpus), [name], "test set", "corpus")
    spec = corpus[DEV] if name == DEV else corpus["tests"][name]
    inputs: list[dict[str, Any]] = []
    if kind_of(corpus) == "synthetic":
        testset = synthetic_testset(seed, name, spec)
    else:
        testset, inputs = _read_given(
            spec, f"corpus.tests.{name}" if name != DEV else "corpus.dev", base
        )
    write_testset(testset, folder / f"{name}.jsonl")
    documents = len(set(testset.documents)) if testset.documents is not None else None
    _write_json(
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


def _read_given(given: Any, where: str, base: str | Path) -> tuple[TestSet, list[dict[str, Any]]]:
    """A test set as the experiment describes it, and the account of its files."""
    if isinstance(given, Mapping) and PARTS in given:
        named = _mapping(given, where, (PARTS,))[PARTS]
        if not isinstance(named, Mapping) or not named:
            raise ReplituneError(
                f"{where}.{PARTS}", found=repr(named), expected="a mapping from names to test sets"
            )
        read = {
            part: _read_given(spec, f"{where}.{PARTS}.{part}", base) for part, spec in named.items()
        }
        joined = join_testsets(where.rpartition(".")[2], {part: r[0] for part, r in read.items()})
        return joined, [account for r in read.values() for account in r[1]]
    spec = _mapping(given, where, TESTSET_KEYS)
    files = {key: _paths(spec[key]) for key in TESTSET_KEYS[:3] if spec.get(key)}
    if spec.get("format") == "sacrebleu":
        for key in ("references", "source"):
            files[key] = [SACREBLEU + name.removeprefix(SACREBLEU) for name in files.get(key, [])]
    places = {key: [_place(path, base) for path in paths] for key, paths in files.items()}
    for key in ("source", "documents"):
        if len(files.get(key, ())) > 1:
            raise ReplituneError(
                f"{where}: more than one file of {key}",
                found=", ".join(files[key]),
                expected="one file",
                fix=f"to join test sets, describe each under `{PARTS}`",
            )
    names = spec.get("names")
    testset = read_testset(
        places.get("references", []),
        *(places[key][0] if places.get(key) else None for key in ("source", "documents")),
        format=spec.get("format"),
        names=[names] if isinstance(names, str) else names,
        columns=spec.get("columns"),
    )
    paths = dict.fromkeys(path for listed in files.values() for path in listed)
    return testset, [_account(path, base) for path in paths]


def write_inputs(corpus: Mapping[str, Any], folder: str | Path, *, seed: int) -> list[str]:
    """Join the accounts of all parts into inputs.json; returns warnings.

    Segments of a test set that occur in the training data are counted. A source with its
    reference is warned of, and so are many sources or references (one in twenty): short ones
    occur twice by chance.
    """
    folder = Path(folder)
    parts = [*([TRAIN] if has_train(corpus) else []), *list_testsets(corpus)]
    account: dict[str, Any] = {"kind": kind_of(corpus), "seed": seed, "parts": {}}
    warnings = []
    train = (
        {side: read_lines(folder / f"train.{side}.txt") for side in ("source", "target")}
        if has_train(corpus)
        else {}
    )
    known = {side: set(lines) for side, lines in train.items()}
    pairs = set(zip(train["source"], train["target"], strict=True)) if train else set()
    for part in parts:
        entry = json.loads(read_text(folder / f"{part}.inputs.json"))
        if train and part != TRAIN:
            testset = read_prepared(folder / f"{part}.jsonl")
            counts = {"target": overlap(testset.references[0], known["target"]), "pair": 0}
            if testset.source is not None:
                counts["source"] = overlap(testset.source, known["source"])
                both = zip(testset.source, testset.references[0], strict=True)
                counts["pair"] = sum(1 for pair in both if pair in pairs and pair[0].strip())
            entry["in_training_data"] = counts
            if counts["pair"] or max(counts.values()) * 20 > testset.segments:
                warnings.append(
                    f"{part}: of {testset.segments} segments, {counts.get('source', 0)} sources, "
                    f"{counts['target']} references and {counts['pair']} whole pairs occur in the "
                    "training data"
                )
        account["parts"][part] = entry
    account["warnings"] = warnings
    _write_json(folder / "inputs.json", account)
    return warnings


def prepare(
    corpus: Mapping[str, Any], folder: str | Path, *, seed: int, base: str | Path = "."
) -> list[str]:
    """All parts, one after the other; returns warnings."""
    if has_train(corpus):
        prepare_train(corpus, folder, seed=seed, base=base)
    for name in list_testsets(corpus):
        prepare_testset(corpus, name, folder, seed=seed, base=base)
    return write_inputs(corpus, folder, seed=seed)


def kind_of(corpus: Mapping[str, Any]) -> str:
    """synthetic or files."""
    kind = corpus.get("kind")
    if kind not in ("synthetic", "files"):
        close = nearest(str(kind), ("synthetic", "files"))
        raise ReplituneError(
            "no such kind of corpus",
            found=str(kind),
            expected="synthetic or files",
            fix=f"did you mean {close}?" if close else None,
        )
    return str(kind)


def _mapping(value: Any, name: str, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ReplituneError(name, found=repr(value), expected=f"a mapping with {', '.join(known)}")
    for key in value:
        if key not in known:
            close = nearest(str(key), tuple(known))
            raise ReplituneError(
                f"{name}: unknown key",
                found=str(key),
                expected=f"one of {', '.join(known)}",
                fix=f"did you mean {close}?" if close else None,
            )
    return value


def _paths(value: Any) -> list[str]:
    paths = [value] if isinstance(value, str | Path) else value
    if not isinstance(paths, Sequence) or not all(isinstance(path, str | Path) for path in paths):
        raise ReplituneError("not a file name", found=repr(value), expected="a name, or a list")
    return [str(path) for path in paths]


def _place(path: str, base: str | Path) -> str:
    """Where a file named in the experiment is."""
    return path if path.startswith(SACREBLEU) else str(Path(base) / path)


def _account(path: str, base: str | Path, lines: Iterable[str] | None = None) -> dict[str, Any]:
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


def _write_json(path: Path, value: Any) -> None:
    with atomic_open(path) as handle:
        handle.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")
