"""One test set under one metric: all results of the tests, from memory or from disk.

Everything that people read comes from here, and what they read about a pair from `answers`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from replitune.metrics.base import Direction
from replitune.notes import Note, note_text
from replitune.replicas import Replica
from replitune.results.answer import Answer, answers_of, verdict_word
from replitune.results.numbers import decimals_of, score, signed, signed_range
from replitune.results.wording import base_name, title, word_of
from replitune.significance.base import TestResult
from replitune.significance.multiple import Ranking, rank_systems
from replitune.significance.one_system import SystemSummary
from replitune.significance.run import histogram
from replitune.significance.variances import VarianceRow
from replitune.statistics.findings import Finding

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from replitune.results.rows import Histogram

SPREADS = ("s_sel", "s_dev", "s_test")
SYSTEM_FIELDS = ("n", "avg", "scores", *SPREADS, "median_replica", "next_run")
METADATA = (
    "testset",
    "metric",
    "word",
    "signature",
    "direction",
    "alpha",
    "lead_method",
    "suite",
    "missing",
    "findings",
)
"""Fields that are not in rows but in the metadata of the file of notes."""

METHOD_FIELDS = (
    "p",
    "p_adjusted",
    "correction",
    "p_min",
    "exact",
    "ci_low",
    "ci_high",
    "ci_level",
    "se",
    "df",
    "samples",
    "seed",
    "alternative",
    "unit",
    "aggregation",
    "pairing",
    "replica_a",
    "replica_b",
    "scope",
    "run_kind",
    "note",
)


@dataclass(frozen=True)
class Overlap:
    """How far the intervals of two systems overlap."""

    a: str
    b: str
    method: str
    """The interval's: riezler, clark, fu."""
    ratio: float | None
    notes: tuple[Note, ...] = ()

    @property
    def note(self) -> str | None:
        return note_text(self.notes)


@dataclass(frozen=True)
class Seen:
    """The answer about a system and a reference, in the sign of its score minus that of the reference."""

    answer: Answer
    word: str
    """``better``, ``open``, ``same`` ...: of the system."""
    delta: float
    low: float | None
    high: float | None
    text: str
    """``-0.62 (-1.11 to -0.13)``"""

    @property
    def decided(self) -> bool:
        return self.answer.decided


@dataclass(frozen=True)
class Result:
    """All systems on one test set under one metric."""

    testset: str
    metric: str
    """The metric's id."""
    word: str
    """The metric as it is given on a command line: ``ter:id=ter-norm,normalized=true``."""
    signature: str
    direction: Direction
    alpha: float
    """Level of the tests; intervals have confidence 1 - alpha."""
    lead_method: str
    """The test that leads (`significance.registry.leading`): it decides verdicts, ranks and looks."""
    systems: Mapping[str, SystemSummary]
    """The systems with outputs on this test set, by name, in order."""
    tests: tuple[TestResult, ...]
    """Pair by pair and, within a pair, method by method."""
    overlaps: tuple[Overlap, ...] = ()
    suite: Mapping[str, float] = field(default_factory=dict)
    """Weights of the test sets, if `testset` is the name of a suite."""
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Why replicas are missing, by system and replica."""
    findings: tuple[Finding, ...] = ()
    """What is wrong with the texts of the systems, and matters to the metric."""
    judged: bool = False
    """Whether people judged the outputs: they can say which is better of single outputs, too."""
    name: str = ""
    """The metric's name in print; by default what papers call it, or its id."""
    read_histograms: Mapping[tuple[str, str, str], Histogram] | None = field(
        default=None, repr=False, compare=False
    )
    """Of a result from disk, whose tests have no distributions; see `histograms`."""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", title(base_name(self.word)) or self.metric)

    # ---- pairs and tests

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The tested pairs (A, B)."""
        return list(dict.fromkeys((result.a, result.b) for result in self.tests))

    @cached_property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(result.method for result in self.tests))

    @cached_property
    def _tests(self) -> dict[tuple[tuple[str, str], str], TestResult]:
        return {((result.a, result.b), result.method): result for result in self.tests}

    def test(self, pair: tuple[str, str], method: str) -> TestResult | None:
        """The test of B against A, whichever way round the pair was tested."""
        found = self._tests.get((pair, method))
        turned = None if found else self._tests.get((pair[::-1], method))
        return turned.swapped() if turned else found

    def lead_test(self, pair: tuple[str, str]) -> TestResult | None:
        """What the lead test says about B against A."""
        return self.test(pair, self.lead_method)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer about each pair."""
        return answers_of(self)

    def answer(self, pair: tuple[str, str]) -> Answer | None:
        """The answer about a pair, given in either order."""
        return self._answers.get(frozenset(pair))

    @cached_property
    def _answers(self) -> dict[frozenset[str], Answer]:
        return {frozenset((one.a, one.b)): one for one in self.answers}

    def seen(self, system: str, reference: str) -> Seen | None:
        """The answer about a system and a reference, seen from the system; None if they were not
        compared."""
        one = self.answer((system, reference))
        if one is None:
            return None
        ahead = system == (one.b if one.ahead is None else one.ahead)
        turn = self.better_by(1.0 if ahead else -1.0)
        delta, word = turn * one.size, verdict_word(one, system, turn * one.size)
        # of single runs the interval says nothing about others, and without p it says nothing
        low, high = (one.low, one.high) if not one.single and one.state != "cannot" else (None, None)
        if low is not None and high is not None:
            low, high = (low, high) if turn > 0 else (-high, -low)
        text = signed(delta, self.decimals) if delta else score(0.0, self.decimals)
        if low is not None and high is not None:
            text += f" ({signed_range(low, high, self.decimals)})"
        return Seen(one, word, delta, low, high, text)

    def ahead_last(self, pair: tuple[str, str]) -> tuple[str, str]:
        """The pair, with the system that is ahead by its answer as B."""
        one = self.answer(pair)
        return pair if one is None or one.ahead != pair[0] else (pair[1], pair[0])

    def better_by(self, delta: float) -> float:
        """By how much B is better, given the difference B - A."""
        return self.sign * delta

    @property
    def closest(self) -> tuple[str, str] | None:
        """The pair with most to see: its p by the lead test is nearest to .05."""

        def distance(pair: tuple[str, str]) -> float:
            result = self.lead_test(pair)
            p = None if result is None else result.p
            return 100.0 if p is None else abs(math.log(max(p, 1e-6) / 0.05))

        return min(self.pairs, key=distance, default=None)

    @cached_property
    def histograms(self) -> Mapping[tuple[str, str, str], Histogram]:
        """Distributions of the tests that have one, by (a, b, method)."""
        if self.read_histograms is not None:
            return self.read_histograms
        by_pair: dict[tuple[str, str, str], Histogram] = {}
        for result in self.tests:
            counts, edges = histogram(result)
            if len(counts):
                by_pair[result.a, result.b, result.method] = (edges, counts)
        return by_pair

    def overlap(self, pair: tuple[str, str], method: str) -> float | None:
        """Overlap ratio of the two systems' intervals by one interval method."""
        return self._overlaps.get((frozenset(pair), method))

    @cached_property
    def _overlaps(self) -> dict[tuple[frozenset[str], str], float | None]:
        return {(frozenset((item.a, item.b)), item.method): item.ratio for item in self.overlaps}

    def doubts(self, systems: Collection[str]) -> list[Finding]:
        """Why nothing can be said about some of these systems."""
        return [one for one in self.findings if one.is_doubt and one.system in systems]

    @property
    def neutral(self) -> bool:
        """Whether neither more nor less is better."""
        return self.direction is None

    @property
    def sign(self) -> int:
        """-1 if lower is better."""
        return self.direction or 1

    def rankings(self) -> dict[str, Ranking]:
        """Order, wins and clusters of the systems by each method; none if more is not better, for
        single runs that nobody judged, or where nothing can be said about some system."""
        if self.neutral or self.doubts(self.systems):
            return {}
        return {
            method: rank_systems(
                [result for result in self.tests if result.method == method],
                self.standing,
                alpha=self.alpha,
                sign=self.sign,
            )
            for method in self.methods
            if self.judged
            or any(min(test.n_a, test.n_b) > 1 for test in self.tests if test.method == method)
        }

    # ---- systems

    @property
    def kind(self) -> str:
        """What one output of a system is: run, prompt, sample."""
        for test in self.tests:
            return "sample" if "samples_low_a" in test.details else word_of(test)
        return "run"

    @cached_property
    def one_mean(self) -> bool:
        """Whether each system has one mean that all its lead tests compare. Where people judged other
        segments of each system, each pair has means of its own."""
        if not self.judged and not any("judged" in test.details for test in self.tests):
            return True
        lead = [test for test in self.tests if test.method == self.lead_method]
        means = [pair for test in lead for pair in ((test.a, test.score_a), (test.b, test.score_b))]
        return all(math.isclose(self.systems[name].avg, mean, abs_tol=1e-9) for name, mean in means)

    def mean(self, system: str) -> float | None:
        """The mean score that tests compare; None if that differs from pair to pair."""
        return self.systems[system].avg if self.one_mean else None

    @cached_property
    def standing(self) -> dict[str, float]:
        """What systems are ranked by: their means; or else their mean advantage over the others."""
        if self.one_mean:
            return {name: summary.avg for name, summary in self.systems.items()}
        gains: dict[str, list[float]] = {name: [0.0] for name in self.systems}
        for test in self.tests:
            if test.method == self.lead_method:
                gains[test.b].append(test.delta)
                gains[test.a].append(-test.delta)
        return {name: math.fsum(own) / len(own) for name, own in gains.items()}

    def difference(self, pair: tuple[str, str]) -> float:
        """B's mean score minus A's, as the lead test has it where there is no one mean."""
        a, b = pair
        test = None if self.one_mean else self.lead_test(pair)
        return self.systems[b].avg - self.systems[a].avg if test is None else test.delta

    @cached_property
    def decimals(self) -> int:
        """How many decimals its scores and differences are printed with, everywhere."""
        systems = self.systems.values()
        return decimals_of(
            [summary.avg for summary in systems],
            s_sel=[summary.s_sel for summary in systems],
            s_test=[summary.s_test for summary in systems],
            se=[test.se for test in self.tests if test.method == self.lead_method],
        )

    @cached_property
    def ranked(self) -> list[str]:
        """The systems, best first."""
        return sorted(self.systems, key=lambda name: -self.sign * self.standing[name])

    def tuner_scores(self, system: str) -> dict[str, list[float]]:
        """Scores of the replicas by the tuner they came from; replicas of none, and samples of prompts,
        are left out."""
        scores: dict[str, list[float]] = {}
        if self.kind == "sample":
            return scores
        for id, value in self.systems[system].scores.items():
            group = Replica(id).group
            if group:
                scores.setdefault(group, []).append(value)
        return scores

    # ---- as something else

    def as_json(self) -> dict[str, Any]:
        """One of `metrics` in docs/compare.schema.json, numbers unrounded."""
        pairs: dict[tuple[str, str], dict[str, Any]] = {}
        for result in self.tests:
            pair = pairs.setdefault(
                (result.a, result.b),
                {"a": result.a, "b": result.b, "delta": None, "overlaps": {}, "methods": {}},
            )
            pair["methods"][result.method] = {
                "delta": result.delta,
                **{name: getattr(result, name) for name in METHOD_FIELDS},
                **result.columns,
                "variances": [vars(source) for source in result.variances],
                "notes": [msgspec.to_builtins(note) for note in result.notes],
            }
        for (a, b), pair in pairs.items():
            pair["delta"] = self.difference((a, b))
        for item in self.overlaps:
            pairs[item.a, item.b]["overlaps"][item.method] = item.ratio
        return {
            "signature": self.signature,
            "direction": self.direction,
            "lead": self.lead_method,
            "systems": {
                name: {
                    **{name: getattr(summary, name) for name in SYSTEM_FIELDS},
                    "ci": {
                        method: None if interval is None else list(interval)
                        for method, interval in summary.ci.items()
                    },
                    "notes": {statistic: note_text(notes) for statistic, notes in summary.notes.items()},
                }
                for name, summary in self.systems.items()
            },
            "pairs": list(pairs.values()),
            "rankings": {
                method: {
                    "systems": list(ranking.systems),
                    "wins": ranking.wins.tolist(),
                    "clusters": None
                    if ranking.clusters is None
                    else [list(names) for names in ranking.clusters],
                    "ranks": ranking.ranks,
                    "note": note_text(ranking.notes),
                }
                for method, ranking in self.rankings().items()
            },
        }

    def _tables(self) -> dict[str, tuple[list[dict[str, Any]], pa.Schema]]:
        """Rows and columns of each file, by what its name adds to that of the metric."""
        from replitune.results import rows

        tests = [{**vars(row), **row.columns, "note": row.note} for row in self.tests]
        systems = [row for summary in self.systems.values() for row in _system_rows(summary)]
        overlaps = [{**vars(item), "note": item.note} for item in self.overlaps]
        variances = [
            {"a": row.a, "b": row.b, "method": row.method, **vars(source)}
            for row in self.tests
            for source in row.variances
        ]
        return {
            "": (tests, rows.JUDGED_TESTS if any("judged" in row for row in tests) else rows.TESTS),
            ".systems": (systems, rows.SYSTEMS),
            ".overlaps": (overlaps, rows.OVERLAPS),
            ".variances": (variances, rows.VARIANCES),
            ".notes": (self._note_rows(), rows.NOTES),
            ".answers": (self._answer_rows(), rows.ANSWERS),
        }

    def _answer_rows(self) -> list[dict[str, Any]]:
        return [
            {**msgspec.structs.asdict(one), "answer": msgspec.json.encode(one).decode()}
            for one in self.answers
        ]

    def _note_rows(self) -> list[dict[str, Any]]:
        noted: list[tuple[dict[str, Any], tuple[Note, ...]]] = [
            ({"row": "test", "a": row.a, "b": row.b, "method": row.method}, row.notes) for row in self.tests
        ]
        for name, summary in self.systems.items():
            key = {"row": "system", "system": name}
            noted += [({**key, "statistic": s}, summary.notes.get(s, ())) for s in SPREADS]
            noted += [
                ({**key, "statistic": "ci", "method": m}, summary.notes.get(f"ci_{m}", ()))
                for m in summary.ci
            ]
        noted += [
            ({"row": "overlap", "a": item.a, "b": item.b, "method": item.method}, item.notes)
            for item in self.overlaps
        ]
        return [{**key, **msgspec.structs.asdict(note)} for key, notes in noted for note in notes]

    def frames(self) -> dict[str, pd.DataFrame]:
        """`tests`, `systems`, `overlaps`, `variances`, `notes` and `answers` with the columns of their
        files."""
        import pandas as pd

        return {
            suffix[1:] or "tests": pd.DataFrame(table, columns=schema.names)
            for suffix, (table, schema) in self._tables().items()
        }

    def write(self, folder: str | Path) -> None:
        """``<metric>.parquet`` and the files beside it, in a folder ``tests/<testset>``."""
        from replitune.results import rows

        metadata = msgspec.to_builtins({name: getattr(self, name) for name in METADATA})
        for suffix, (table, schema) in self._tables().items():
            extra = metadata if suffix == ".notes" else None
            rows.write_table(Path(folder) / f"{self.metric}{suffix}.parquet", table, schema, extra)
        rows.write_histograms(Path(folder) / f"{self.metric}.null.parquet", self.histograms)

    @classmethod
    def read(cls, folder: str | Path, metric: str) -> Result:
        """What `write` wrote."""
        from replitune.results import rows

        def path(suffix: str) -> Path:
            return Path(folder) / f"{metric}{suffix}.parquet"

        metadata = rows.read_metadata(path(".notes"), METADATA)
        metadata["findings"] = msgspec.convert(metadata["findings"], tuple[Finding, ...])
        notes_of = defaultdict(list)
        for row in rows.read_table(path(".notes"), rows.NOTES):
            key = (row["row"], row["a"], row["b"], row["system"], row["statistic"], row["method"])
            notes_of[key].append(Note(row["code"], row["text"], row["run"], tuple(row["systems"])))
        variances = defaultdict(list)
        for row in rows.read_table(path(".variances"), rows.VARIANCES):
            pair = tuple(row.pop(name) for name in ("a", "b", "method"))
            variances[pair].append(VarianceRow(**row))
        tests = []
        for row in rows.read_tests(path("")):
            del row["note"]
            notes = notes_of["test", row["a"], row["b"], None, None, row["method"]]
            sources = tuple(variances[row["a"], row["b"], row["method"]])
            tests.append(TestResult(**row, notes=tuple(notes), variances=sources))
        overlaps = []
        for row in rows.read_table(path(".overlaps"), rows.OVERLAPS):
            del row["note"]
            notes = notes_of["overlap", row["a"], row["b"], None, None, row["method"]]
            overlaps.append(Overlap(**row, notes=tuple(notes)))
        systems: dict[str, list[dict[str, Any]]] = {}
        for row in rows.read_table(path(".systems"), rows.SYSTEMS):
            systems.setdefault(row["system"], []).append(row)
        return cls(
            **metadata,
            tests=tuple(tests),
            systems={name: _summary(name, own, notes_of) for name, own in systems.items()},
            overlaps=tuple(overlaps),
            read_histograms=rows.read_histograms(path(".null")),
        )


def _system_rows(summary: SystemSummary) -> list[dict[str, Any]]:
    common = {"system": summary.name, "n": summary.n}
    notes = {field: note_text(notes) for field, notes in summary.notes.items()}
    median = summary.median_replica
    table = [
        {**common, "statistic": "avg", "value": summary.avg},
        *(
            {**common, "statistic": name, "value": getattr(summary, name), "note": notes.get(name)}
            for name in SPREADS
        ),
        {**common, "statistic": "median_replica", "value": summary.scores[median], "replica": median},
    ]
    if summary.next_run is not None:
        limits = dict(zip(("ci_low", "ci_high"), summary.next_run, strict=True))
        table.append({**common, "statistic": "next_run", "value": summary.avg, **limits})
    for method, interval in summary.ci.items():
        low, high = interval if interval is not None else (None, None)
        table.append(
            {
                **common,
                "statistic": "ci",
                "value": summary.avg,
                "method": method,
                "ci_low": low,
                "ci_high": high,
                "note": notes.get(f"ci_{method}"),
            }
        )
    common = {**common, "n": 1, "statistic": "score"}
    table += [{**common, "replica": id, "value": score} for id, score in summary.scores.items()]
    return table


def _summary(name: str, table: list[dict[str, Any]], notes_of: Mapping[Any, list[Note]]) -> SystemSummary:
    """A system from its rows."""
    first = {row["statistic"]: row for row in reversed(table)}
    intervals = {row["method"]: row for row in table if row["statistic"] == "ci"}
    notes = {
        f"ci_{row['method']}" if row["method"] else row["statistic"]: tuple(texts)
        for row in table
        if (texts := notes_of.get(("system", None, None, name, row["statistic"], row["method"])))
    }
    return SystemSummary(
        name=name,
        n=first["avg"]["n"],
        avg=first["avg"]["value"],
        scores={row["replica"]: row["value"] for row in table if row["statistic"] == "score"},
        **{statistic: first[statistic]["value"] for statistic in SPREADS},
        median_replica=first["median_replica"]["replica"],
        next_run=(first["next_run"]["ci_low"], first["next_run"]["ci_high"])
        if "next_run" in first
        else None,
        ci={
            method: None if row["ci_low"] is None else (row["ci_low"], row["ci_high"])
            for method, row in intervals.items()
        },
        notes=notes,
    )
