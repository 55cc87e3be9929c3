"""Scores the outputs of systems, for `replitune score` and the jobs of that name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.metrics.given import Given
from replitune.replicas import Replica
from replitune.running.failures import read_failure
from replitune.statistics.findings import Finding, copies, matter_to
from replitune.statistics.outputs import read_outputs
from replitune.statistics.scoring import Scorer
from replitune.statistics.store import write_store
from replitune.statistics.texts import TextChecks, unmatched


def score_systems(
    systems: Mapping[str, Mapping[Replica, str]],
    scorers: Sequence[Scorer],
    out: Path,
    references: str,
    *,
    allow_missing: bool = False,
    take_over: bool = True,
    made: Sequence[Path] = (),
    may_be_empty: bool = False,
) -> list[tuple[str, Finding]]:
    """Score outputs by system and replica. `out` is a folder, or with one metric a .parquet file.
    Rows of unchanged replicas are taken over from the files `made`, and with `take_over` from what is
    in `out`. With `may_be_empty` a system may have lost all its replicas. Returns
    what is wrong with the texts, with the metrics to which it matters."""
    one_file = out.suffix == ".parquet"
    testset = scorers[0].testset
    collected = []
    told: list[tuple[str, Finding]] = []
    hashes: dict[str, dict[str, str]] = {}
    checks = TextChecks(testset.references, testset.source)
    of_texts = not any(isinstance(scorer.metric, Given) for scorer in scorers)
    for name, given in systems.items():
        files, missing = _available(name, given, allow_missing, may_be_empty)
        outputs = read_outputs(files.values(), testset.segments, references)
        found = checks.findings(name, [replica.id for replica in files], outputs) if of_texts else []
        if of_texts and (words := unmatched(outputs, testset.references)):
            print(f"note: {name}: {words}")
        for scorer in scorers:
            path = out if one_file else out / scorer.metric.id / f"{name}.parquet"
            previous = [*made, *([path] if take_over else [])]
            scored = scorer.score(name, list(files), outputs, previous=previous)
            scored = replace(scored, missing=missing, texts=found)
            told += [(scorer.metric.id, one) for one in matter_to(scorer.metric, scorer.entry.word, found)]
            print(
                f"{scorer.metric.id}: {name}: {len(files)} runs of {testset.segments} "
                f"segments; {scored.computed} distinct outputs scored, rows of {scored.taken_over} "
                f"runs taken over"
                + (f"; {scored.unscored} segments have no score" if scored.unscored else "")
            )
            if one_file:
                collected.append(scored)
            else:
                write_store(
                    path, [scored.system], scorer.metric, scorer.metadata([scored]), testset.documents
                )
    if one_file:
        write_store(
            out,
            [scored.system for scored in collected],
            scorers[0].metric,
            scorers[0].metadata(collected),
            testset.documents,
        )
    return [*told, *((scorer.metric.id, one) for scorer in scorers for one in copies(hashes))]


def _available(
    name: str, files: Mapping[Replica, str], allow_missing: bool, may_be_empty: bool
) -> tuple[dict[Replica, str], dict[str, str]]:
    """The outputs that could be made, and why the others could not."""
    failures = {replica: read_failure(file) for replica, file in files.items()}
    missing = {r.id: f"{f.stage}: {f.reason}" for r, f in failures.items() if f is not None}
    for replica, failure in failures.items():
        if failure is not None and not allow_missing:
            raise failure.error(files[replica])
    if missing:
        print(
            f"warning: {name}: {len(missing)} of {len(files)} runs are missing: " + ", ".join(missing),
            file=sys.stderr,
        )
    if len(missing) == len(files) and not may_be_empty:
        raise ReplituneError(f"no run of system {name} could be made", found=next(iter(missing.values())))
    return {r: file for r, file in files.items() if failures[r] is None}, missing
