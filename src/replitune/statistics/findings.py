"""What may be wrong with the texts of a test set, as data; `replitune.results.texts` says it in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from replitune.metrics.base import Metric
from replitune.metrics.registry import METRICS
from replitune.notes import NOTES

Span = tuple[float, float]
"""In the run with least of something, and in that with most."""

ASPECTS = {"lower-cased": "case", "tokenised": "spaces", "marks": "marks"}
"""To what metrics may be indifferent, by the code of a finding."""
FITTING = {"lower-cased": ("lowercase", "true"), "tokenised-twice": ("tokenize", "none")}
"""The setting that makes a metric indifferent."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that is wrong with the texts of a system."""

    code: str
    """That of a note (`replitune.notes`). Where the references are odd, and not the outputs, it ends so."""
    system: str
    runs: tuple[str, ...] = ()
    """Which runs, if not all."""
    here: Span = (0.0, 0.0)
    """How much of it there is on the side that is odd: a share, or a number of lines."""
    there: Span = (0.0, 0.0)
    """The same on the other side."""
    lines: int = 0
    mark: str = ""
    """The mark of a tokeniser that was found, or one of them."""
    marks: str = ""
    """What kind of marks."""
    other: str = ""
    """Of outputs that two systems share: the other system."""
    fitting: str = ""
    """The metric as it would be given to be indifferent to this, if it can be."""
    testset: str = ""

    @property
    def is_doubt(self) -> bool:
        """Whether nothing can be said about the system."""
        return NOTES[self.code].doubt


def span(spans: Iterable[Span]) -> Span:
    """From the least of all to the most."""
    least, most = zip(*spans, strict=True)
    return min(least), max(most)


def copies(sha256: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Outputs that runs share, by the hashes of their lines, for each system and run. A system whose runs
    are all the same is not told of here: the tests notice that."""
    found: list[Finding] = []
    owner: dict[str, tuple[str, str]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for system, hashes in sha256.items():
        runs_of: dict[str, list[str]] = {}
        for run, digest in hashes.items():
            runs_of.setdefault(digest, []).append(run)
            other, same = owner.setdefault(digest, (system, run))
            if other != system:
                shared.setdefault((other, system), []).append(same if same == run else f"{same} = {run}")
        found += [
            Finding("copied-runs", system, runs=tuple(runs))
            for runs in runs_of.values()
            if 1 < len(runs) < len(hashes)
        ]
    return found + [
        Finding("copied", system, runs=tuple(runs), other=other) for (other, system), runs in shared.items()
    ]


def matter_to(metric: Metric, word: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings that this metric is not indifferent to. `word`: the metric as it is given."""
    tokenizer = getattr(metric, "tokenizer", None)
    for one in findings:
        again = one.code != "tokenised-twice" or (tokenizer is not None and tokenizer.signature == "13a")
        kind = one.code.removesuffix("-references")
        if not again or ASPECTS.get(kind) in metric.ignores:
            continue
        option, value = FITTING.get(kind, ("", ""))
        known = option in METRICS.settings(metric.name)
        fitting = f"{word}{',' if ':' in word else ':'}{option}={value}" if known else ""
        yield msgspec.structs.replace(one, fitting=fitting)
