"""Systems, runs and language pairs taken from names and ids, where a file does not state them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.replicas import SAMPLE, UNGROUPED, Design, Replica, replica_ids, ungrouped

RUN = re.compile(r"(.+?)[._-](?:(?:run|seed|epoch|sample)[._-]?(\d+)|(0\d+))", re.ASCII)
"""The name of a system, and the number of a run. A bare number is that of a run only if it begins with
0; otherwise it may be part of the name of a model."""

RUN_FOLDER = re.compile(r"(run|seed|epoch|sample)[._-]?(\d+)", re.ASCII | re.IGNORECASE)
"""A folder of the outputs of one run."""

REPLICA = re.compile(r"(?:.*[._-])?(seed|run)[._-]?(\d{1,3})", re.ASCII | re.IGNORECASE)

ENDS = re.compile(r"(?:\.(?:txt|out|hyp|mt|gz|scores?|seg|json|jsonl|csv|tsv|parquet|eval|[a-z]{2}))+$")

SEVERAL = r"\.(?:xml|sgml?|tsv|jsonl)(?:\.gz)?"
"""How the name of a file ends that may hold several outputs."""


def system_and_run(file: str) -> tuple[str, str | None]:
    """``out/new.run2.txt`` and ``run2/new.txt`` are run 2 of new."""
    *folders, name = file.replace("\\", "/").rstrip("/").split("/")
    stem = ENDS.sub("", name) or name
    match = RUN.fullmatch(stem)
    if match:
        return match[1], match[2] or match[3]
    run = next(filter(None, map(RUN_FOLDER.fullmatch, reversed(folders))), None)
    return stem, run[2] if run else None


def replicas_of(outputs: Sequence[object], count: int) -> list[Replica]:
    """The replicas of `count` runs: named as their files or folders number them (``seed7/out.txt`` is
    seed-007), if all do, in rising order; otherwise run-001, run-002, ..."""
    named = []
    for output in outputs:
        *folders, name = str(output).split("/") if isinstance(output, str | Path) else [""]
        words = [ENDS.sub("", name), *(word for word in reversed(folders) if RUN_FOLDER.fullmatch(word))]
        named.append(next(filter(None, map(REPLICA.fullmatch, words)), None))
    ids = [Replica(f"{one[1].lower()}-{int(one[2]):03d}") for one in named if one is not None]
    rising = all(a < b and a.prefix == b.prefix for a, b in itertools.pairwise(ids))
    return ids if len(ids) == len(outputs) == count and rising else replica_ids({"run": count})


def named_outputs(
    system: str, runs: Sequence[object], counts: Sequence[int], of: Sequence[str], design: Design | None
) -> tuple[list[Replica], Design]:
    """The replicas of a system, and what they seem to be. `counts`: how many outputs each file has; several
    are samples. `of`: what each is a sample of, where it is known. With ``design: nested``, the
    names of files say it: ``new.prompt2.s1.txt`` and ``prompt2/s1.txt`` are samples of prompt2."""
    several = min(counts) > 1
    if design in ("nested", None) and (of or (several and len(runs) > 1)):
        names = of or short([stem(Path(str(run))) for run in runs])
    elif design == "nested":
        names = [_sampled(run) for run in runs]
        if not all(names):
            said = [str(run) if isinstance(run, str | Path) else "lines of text" for run in runs]
            raise ungrouped(system, [one for one, name in zip(said, names, strict=True) if not name])
        names = short(names)
    elif several and design is None:
        return replica_ids({"sample": sum(counts)}), "samples"
    else:
        return replicas_of(runs, sum(counts)), "runs"
    given = [name for name, count in zip(names, counts, strict=True) for _ in range(count)]
    numbers: Counter[str] = Counter()
    replicas = []
    for name in given:
        numbers[name] += 1
        replicas.append(Replica(f"{name}-{numbers[name]:03d}"))
    return replicas, "nested"


def _sampled(output: object) -> str:
    """What an output is a sample of, by the name of its file or of its folder; empty if they do not say."""
    if not isinstance(output, str | Path):
        return ""
    path = Path(output)
    for name in (stem(path), f"{path.parent.name}-{stem(path)}"):
        sample = SAMPLE.fullmatch(name)
        if sample and sample[1].lower() not in UNGROUPED:
            return sample[1]
    return ""


def short(names: Sequence[str]) -> list[str]:
    """Names without the words that all of them begin with: p1 and p2 for ``new.p1`` and ``new.p2``."""
    parts = [re.split(r"(?<=[._ -])", name) for name in names]
    while all(len(words) > 1 and words[1][:1].isalpha() and words[0] == parts[0][0] for words in parts):
        parts = [words[1:] for words in parts]
    return ["".join(words) for words in parts]


def natural(name: str) -> tuple[list[tuple[int, int | str]], str]:
    """Sort key that puts run2 before run10, and run02 before run2."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts], name


def listed(given: Any) -> Any:
    """What an iterator gives, as a list; the paths that `Path.glob()` finds are in natural order."""
    if not isinstance(given, Iterator):
        return given
    items = list(given)
    paths = all(isinstance(item, Path) for item in items)
    return sorted(items, key=lambda path: natural(str(path))) if paths else items


def runs_of_files(files: Sequence[str]) -> dict[str, tuple[str, str]]:
    """System and run of each file; if two files would have the same, each file is a system."""
    read = {file: system_and_run(file) for file in files}
    runs = {file: (system, run or "1") for file, (system, run) in read.items()}
    if len(set(runs.values())) < len(files):
        return {file: (file, "1") for file in files}
    return runs


def split_part(path: str | Path, ending: str = SEVERAL) -> tuple[Path, str | None]:
    """Split ``file.xml#PART`` in two, unless a file has the whole name."""
    match = re.fullmatch(rf"(.*{ending})#(.*)", str(path), re.I | re.S)
    return (Path(path), None) if match is None or Path(path).exists() else (Path(match[1]), match[2])


def stem(path: Path) -> str:
    """The name of a file without the suffixes for its kind and language."""
    return ENDS.sub("", path.name) or path.name


WMT25, WMT26 = "_#_", "_###_"
"""What separates the parts of a document's id: ``en-cs_CZ_#_news_#_d1``, and
``WMT26_###_news_###_eng_Latn_###_isl_Latn_###_d1``."""


def language_pair(row: Mapping[str, Any], id: str) -> str:
    """The language pair of a WMT document, from its id or its fields; outputs have it only in the id."""
    if WMT25 in id:
        return id.partition(WMT25)[0]
    source, target = ([*id.split(WMT26), "", "", "", ""])[2:4]
    source, target = row.get("src_lang") or source, row.get("tgt_lang") or target
    return f"{source}-{target}" if source and target else ""
