from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from scipy import stats

from meta.meta_models import quality, scores
from replitune.errors import ReplituneError
from replitune.meta.analysis import evaluate
from replitune.meta.rows import FIELDS, MetaRow, MetaRun, MetaStudy
from replitune.meta.scores import Scores, human_scores
from replitune.meta.settings import MetaSettings
from replitune.metrics.base import MeanMetric
from replitune.results.rows import read_rows, write_rows
from replitune.significance.registry import TESTS
from replitune.statistics.segments import StoreMetadata
from replitune.statistics.store import write_store
from replitune.statistics.systems import SystemStatistics
from significance.exchange_models import Counts, counts, system
from support import Ran

S, N = 5, 40
SETTINGS = MetaSettings(
    human="da.csv", samples=300, ci_samples=100, methods=tuple(TESTS.entries(["riezler"]))
)
NAMES = [f"sys{s}" for s in range(S)]


def human(name: str = "human", noise: float = 0.4, seed: int = 1) -> Scores:
    return human_scores(name, NAMES, quality(S, N, seed, noise))


def study(metrics: list[Scores], humans: list[Scores] | None = None, **changed) -> MetaStudy:
    return evaluate(
        metrics,
        humans or [human()],
        np.arange(N, dtype=np.int32),
        MetaRun("test", 1, msgspec.structs.replace(SETTINGS, **changed)),
    )


def good(name: str = "good") -> Scores:
    return scores(name, quality(S, N, 1, 0.4) + np.random.default_rng(9).normal(0, 0.1, (S, N)))


def bad(name: str = "bad") -> Scores:
    return scores(name, quality(S, N, 5, 3.0))


def test_every_study_has_its_rows():
    found = study([good(), bad()])
    assert {row.study for row in found.rows} == set(FIELDS)
    assert len(found.rows_of("correlation")) == 2 * 3 * 3
    assert len(found.rows_of("comparison")) == 2 * 2 * 3
    assert len(found.rows_of("soft-pairwise")) == 2
    assert len(found.rows_of("agreement")) == 2 * 3
    assert len(found.rows_of("pair")) == 10 * (1 + 2)


def test_a_metric_like_people_beats_noise():
    found = study([good(), bad()])
    for method in ("williams", "perm-systems", "perm-both"):
        (better,) = found.rows_of("comparison", method=method, metric="good", level="segment")
        (worse,) = found.rows_of("comparison", method=method, metric="bad", level="segment")
        assert better.p < 0.05 < 0.95 < worse.p
        assert better.value == pytest.approx(-worse.value)
    accuracy = {row.metric: row.value for row in found.rows_of("soft-pairwise")}
    assert accuracy["good"] > 0.95 > accuracy["bad"]
    agreed = {row.metric: row.value for row in found.rows_of("agreement", alpha=0.05)}
    assert agreed["good"] > agreed["bad"]


def test_williams_rows_come_from_scipys_correlations():
    found, people = study([good(), bad()]), human()
    (row,) = found.rows_of("comparison", method="williams", metric="good", level="system")
    r12, r13, r23 = (
        stats.pearsonr(a.system, b.system).statistic
        for a, b in ((people, good()), (people, bad()), (good(), bad()))
    )
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    t = (r12 - r13) * np.sqrt((S - 1) * (1 + r23))
    t /= np.sqrt(2 * k * (S - 1) / (S - 3) + (r12 + r13) ** 2 * (1 - r23) ** 3 / 4)
    assert row.statistic == pytest.approx(t)
    assert row.p == pytest.approx(stats.t.sf(t, S - 3))
    assert row.n == S


def test_a_metric_where_lower_is_better_is_turned_round():
    x = quality(S, N, 1, 0.6)
    up = scores("m", x)
    down = scores("m", -x, MeanMetric("m", higher_is_better=False))
    one, other = (study([metric, bad()]) for metric in (up, down))
    for a, b in zip(one.rows, other.rows, strict=True):
        if a.study == "pair" and a.metric == "m":
            assert (a.value, a.p, a.outcome) == (-b.value, b.p, b.outcome)
        else:
            assert replace(a, value=0.0, ci_low=0, ci_high=0, statistic=0) == replace(
                b, value=0.0, ci_low=0, ci_high=0, statistic=0
            )
            assert a.value == pytest.approx(b.value)


def test_another_metric_changes_no_number_of_the_first():
    alone, both = study([good()]), study([bad(), good()])
    for row in alone.rows:
        assert row in both.rows


def test_fluency_decides_pairs_that_adequacy_leaves_open():
    open_ = human_scores("adequacy", NAMES, np.tile(np.arange(float(N)), (S, 1)))
    clear = human_scores("fluency", NAMES, 10 * np.arange(S)[:, None] + quality(S, N, 2))
    metric = scores("m", 10 * np.arange(S)[:, None] + quality(S, N, 3))
    found = study([metric], [open_, clear])
    shares = {row.criterion: row.value for row in found.rows_of("agreement", alpha=0.05)}
    assert shares == {"adequacy": 0.0, "fluency": 1.0, "combined": 1.0}


def test_the_level_for_people_can_be_another():
    close = human_scores("human", NAMES, quality(S, N, 1, 0.8))
    at_own = study([good()], [close], alphas=(0.001,)).rows_of("agreement")
    at_five = study([good()], [close], alphas=(0.001,), human_alpha=0.05).rows_of("agreement")
    outcomes = [row.p for row in study([good()], [close]).rows_of("pair", method="rank-sum")]
    assert sum(p <= 0.05 for p in outcomes) > sum(p <= 0.001 for p in outcomes)
    assert at_own[0].value != at_five[0].value


def test_a_test_that_cannot_reach_alpha_is_named():
    found = study([good()], samples=99)
    (row,) = found.rows_of("agreement", alpha=0.001)
    assert "cannot reach 0.001" in row.note
    assert found.rows_of("agreement", alpha=0.05)[0].note is None


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_systems_give_nulls_with_notes_and_no_warning(size: int):
    def first(given: Scores) -> Scores:
        return replace(given, statistics=given.statistics[:size])

    found = study([first(good()), first(bad())], [first(human())])
    row = found.rows_of("correlation", metric="good", level="system", method="pearson")[0]
    assert (row.value is None) == (size < 3)
    assert found.rows_of("comparison", method="williams", level="system")[0].p is None
    assert (found.rows_of("soft-pairwise")[0].value is None) == (size == 1)
    json.dumps(found.as_json(), allow_nan=False)
    for row in found.rows:
        assert row.value is not None or row.note


def test_a_constant_metric_gives_nulls_with_notes():
    found = study([good(), scores("flat", np.full((S, N), 0.1))])
    for row in found.rows:
        if "flat" in (row.metric, row.other) and row.study in ("correlation", "comparison"):
            assert row.p is None
            assert row.value is None
            assert row.note
    json.dumps(found.as_json(), allow_nan=False)


def test_rows_survive_parquet(tmp_path):
    rows = study([good(), bad()]).rows
    write_rows(tmp_path / "rows.parquet", rows, MetaRow)
    assert read_rows(tmp_path / "rows.parquet", MetaRow) == rows


def test_different_outputs_are_refused():
    other = human_scores("human", NAMES, quality(S, N + 1, 1))
    with pytest.raises(ReplituneError, match="not scores of the same outputs"):
        study([good()], [other])
    with pytest.raises(ReplituneError, match="nothing to compare"):
        study([], [human()])


# The command, on a store of two metrics.


@pytest.fixture
def store(tmp_path):
    """Folders of `ratio` (a corpus metric) and `error` (lower is better), two replicas each."""
    q = quality(S, N, 1, 0.4)
    bleu_like = MeanMetric("ratio")
    error = MeanMetric("error", higher_is_better=False)
    for s, name in enumerate(NAMES):
        for metric, values in ((bleu_like, q[s]), (error, -q[s] * 2)):
            noise = np.random.default_rng(s).normal(0, 0.3, (2, N))
            cells = np.stack([values + noise, np.ones((2, N))], axis=-1)
            better = str(metric.direction == 1).lower()
            write_store(
                tmp_path / "stats" / metric.id / f"{name}.parquet",
                [SystemStatistics(name, ("run-001", "run-002"), (None, None), cells)],
                metric,
                StoreMetadata(
                    f"mean:id={metric.id},higher_is_better={better}",
                    metric.id,
                    "aggregation:mean",
                    metric.direction,
                    "news",
                    "ref",
                    {},
                ),
            )
    rows = [f"{name},{i},{q[s, i]:.4f}" for s, name in enumerate(NAMES) for i in range(N)]
    (tmp_path / "da.csv").write_text("system,segment,score\n" + "\n".join(rows) + "\n")
    return tmp_path


FAST = ("--samples", 200, "--ci-samples", 50, "--methods", "riezler")


def test_the_command_prints_tables_of_100_columns(replitune: Callable[..., Ran], store):
    ran = replitune("meta", store / "stats", "--human", store / "da.csv", *FAST)
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 100
    for text in (
        "metrics and people on news (5 systems, 40 segments)",
        "human: 200 judged outputs",
        "correlation with human: systems",
        "SPA",
        "Williams' test",
        "PERM-BOTH",
        "agreement with human: % of 10 pairs",
        "which run was judged",
    ):
        assert text in ran.out
    assert "nan" not in ran.out.lower().replace("reference", "")


def test_the_command_writes_rows_and_json(replitune: Callable[..., Ran], store):
    outputs = []
    for name in ("a", "b"):
        ran = replitune(
            "meta",
            store / "stats",
            "--human",
            store / "da.csv",
            *FAST,
            "--json",
            store / f"{name}.json",
            "--out",
            store / f"{name}.parquet",
        )
        assert ran.code == 0, ran.err
        outputs.append([(store / f"{name}.{end}").read_bytes() for end in ("json", "parquet")])
    assert outputs[0] == outputs[1]
    found = json.loads(outputs[0][0])
    assert found["schema"] == 1
    assert found["meta"]["metrics"] == ["error", "ratio"]
    assert len(found["correlation"]) == 18
    assert len(read_rows(store / "a.parquet", MetaRow)) == sum(len(found[study]) for study in FIELDS)
    by = {(r["metric"], r["level"], r["method"]): r["value"] for r in found["correlation"]}
    # the error is minus twice the score: oriented, they are one metric
    assert by["error", "system", "pearson"] > 0.5


def test_judged_replicas_are_those_that_count(replitune: Callable[..., Ran], store):
    text = (store / "da.csv").read_text().replace("system,", "system,replica,")
    for name in NAMES:
        text = text.replace(f"{name},", f"{name},run-002,")
    (store / "one.csv").write_text(text)
    ran = replitune("meta", store / "stats", "--human", store / "one.csv", *FAST)
    assert ran.code == 0, ran.err
    assert "which run was judged" not in ran.out
    (store / "none.csv").write_text(text.replace("run-002", "run-007"))
    ran = replitune("meta", store / "stats", "--human", store / "none.csv", *FAST)
    assert ran.code == 2
    assert "no run 'run-007'" in ran.err


def test_systems_and_metrics_can_be_chosen(replitune: Callable[..., Ran], store):
    arguments = ("meta", store / "stats", "--human", store / "da.csv", *FAST)
    ran = replitune(*arguments, "--exclude", "sys0", "--metrics", "ratio")
    assert ran.code == 0, ran.err
    assert "4 systems" in ran.out
    assert "Williams" not in ran.out
    assert "systems left out as asked: sys0" in ran.out
    ran = replitune(*arguments, "--systems", "sys1", "sys3", "sys2")
    assert "3 systems" in ran.out
    assert replitune(*arguments, "--metrics", "blue").code == 2
    assert "did you mean 'sys0'" in replitune(*arguments, "--exclude", "sys00").err


def test_metrics_may_look_at_judged_segments_only(replitune: Callable[..., Ran], store):
    rows = (store / "da.csv").read_text().split("\n")
    kept = [r for r in rows if not re.match(r"sys\d,[0-9],|sys3,17,", r)]
    (store / "part.csv").write_text("\n".join(kept))
    arguments = ("meta", store / "stats", "--human", store / "part.csv", *FAST)
    assert "(5 systems, 40 segments)" in replitune(*arguments).out
    ran = replitune(*arguments, "--segments", "judged")
    assert ran.code == 0, ran.err
    assert "(5 systems, 29 segments)" in ran.out
    assert "29 of 40 segments, those that people judged" in ran.out
    alone = [r for r in kept[1:] if r and int(r[3]) == int(r.split(",")[1]) % 5]
    (store / "none.csv").write_text("\n".join([rows[0], *alone]))
    arguments = ("meta", store / "stats", "--human", store / "none.csv", *FAST)
    assert "every system were judged" in replitune(*arguments, "--segments", "judged").err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("sys4,", "sys9,"), "no system is called 'sys9'"),
        (lambda text: text.replace("sys4,39,", "sys4,40,"), "no segment 40"),
        (lambda text: "\n".join(r for r in text.split("\n") if "sys4" not in r), "of system sys4"),
    ],
)
def test_judgements_of_something_else_are_refused(replitune: Callable[..., Ran], store, change, message):
    (store / "wrong.csv").write_text(change((store / "da.csv").read_text()))
    ran = replitune("meta", store / "stats", "--human", store / "wrong.csv", *FAST)
    assert ran.code == 2
    assert message in ran.err
    assert "wrong.csv" in ran.err
    assert "Traceback" not in ran.err


def test_judgements_that_may_count_from_one_are_named(replitune: Callable[..., Ran], store):
    rows = [r for r in (store / "da.csv").read_text().split("\n") if ",0," not in r]
    (store / "hole.csv").write_text("\n".join(rows))
    ran = replitune("meta", store / "stats", "--human", store / "hole.csv", *FAST)
    assert ran.code == 0, ran.err
    assert "nobody judged segment 0" in ran.out


def test_wrong_options_are_refused(replitune: Callable[..., Ran], store):
    arguments = ("meta", store / "stats", "--human", store / "da.csv")
    assert "--samples is not allowed" in replitune(*arguments, "--samples", 0).err
    assert "less than 1" in replitune(*arguments, "--alphas", 1.5).err
    assert "exactly one test set" in replitune(*arguments, "--testset", "olds").err


def test_corpus_metrics_with_replicas():
    systems = tuple(system(f"sys{s}", counts(2, N, seed=s, gain=s / 20)) for s in range(S))
    found = study([Scores("counts", Counts(), systems), good()], methods=("koehn", "graham"))
    (row,) = found.rows_of("correlation", metric="counts", level="system", method="pearson")
    assert row.value > 0.5
    assert row.ci_low <= row.value <= row.ci_high
