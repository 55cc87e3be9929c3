"""Tables of scores: all formats say the same, and what is wrong is said with its line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import replitune as r
from readers.tables import frame, write
from replitune.readers.coding import coded, natural
from replitune.report.report import ComparisonReport
from support import Ran

FAST = {"samples": 99, "methods": ["crossed", "clark"], "threads": 1}

KINDS = ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.csv.gz", "t.jsonl.gz", "no-suffix"]


@pytest.mark.parametrize("name", KINDS)
def test_every_format_gives_the_same_numbers(tmp_path: Path, name: str):
    expected = r.scores(frame(), **FAST)
    found = r.scores(write(frame(), tmp_path / name), **FAST)
    said = found.to_json()
    sha256 = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert said["summary"]["provenance"].pop("inputs") == {str(tmp_path / name): sha256}
    of_frame = expected.to_json()
    assert of_frame["summary"]["provenance"].pop("inputs") == {}
    assert said == of_frame
    assert found.read_as == ()


def test_a_direction_that_no_name_tells_is_told_with_the_answer():
    table = frame().rename(columns={"score": "mqm"})  # some count errors, some subtract them
    guessed = r.scores(table, columns={"score": "mqm"}, **FAST).summary
    assert [caveat.code for caveat in guessed.grave] == ["guessed"]
    assert guessed.headlines[0].tone == "amber"
    assert "! It is not known whether higher or lower mqm is better" in "\n".join(guessed.lines)
    told = r.scores(table, columns={"score": "mqm"}, higher_is_better=["mqm"], **FAST)
    assert not told.summary.grave


def test_the_mean_of_a_run_is_that_of_its_scores():
    table = frame()
    report = r.scores(table, **FAST)
    means = table.groupby(["system", "replica"]).score.mean()
    (result,) = report.results
    for system, summary in result.systems.items():
        for replica, score in summary.scores.items():
            assert score == pytest.approx(means[system, int(replica[-3:])], abs=1e-12)


def test_neither_the_order_of_rows_nor_ids_as_text_change_a_number():
    expected = r.scores(frame(), baseline="base", **FAST).to_json()
    table = frame().sample(frac=1, random_state=4)
    table["segment"] = table["segment"].astype(str)
    table["replica"] = pd.Categorical(table["replica"].astype(str))
    assert r.scores(table, baseline="base", **FAST).to_json() == expected


def test_all_ways_of_giving_a_table_in_memory_are_the_same():
    table = frame()
    expected = r.scores(table, **FAST).to_json()
    others = [
        pa.Table.from_pandas(table),
        {name: table[name].tolist() for name in table},
        table.set_index(["system", "replica", "segment"]),
    ]
    for other in others:
        assert r.scores(other, **FAST).to_json() == expected
    cube = table.score.to_numpy().reshape(2, 3, 40)
    found = r.test(cube, systems=["base", "new"], **FAST).to_json()
    assert found == expected
    assert r.test({"base": cube[0], "new": cube[1]}, **FAST).to_json() == expected


def test_guessed_columns_are_said_and_given_ones_are_not(tmp_path: Path):
    table = frame().rename(
        columns={"system": "Model", "replica": "seed", "segment": "sample_id", "score": "comet"}
    )
    path = write(table, tmp_path / "t.csv")
    report = r.scores(path, **FAST)
    assert report.read_as == (
        f"{path}: system is `Model`, run is `seed`, segment is `sample_id`, score is `comet`",
    )
    (result,) = report.results
    assert result.metric == "comet"
    assert list(result.systems["base"].scores) == ["seed-001", "seed-002", "seed-003"]
    assert "training runs" in str(report)
    columns = {"system": "Model", "replica": "seed", "segment": "sample_id", "score": "comet"}
    assert r.scores(path, columns=columns, **FAST).read_as == ()


def test_metrics_test_sets_languages_and_documents(tmp_path: Path):
    table = frame()
    table["document"] = "d" + (table["segment"] // 4).astype(str)
    lower = table.assign(metric="ter", score=100 - 100 * table["score"])
    both = pd.concat([table.assign(metric="comet"), lower])
    sets = pd.concat(
        [both.assign(test_set=name, lang="de-en") for name in ("wmt22", "wmt23")], ignore_index=True
    )
    sets = sets.rename(columns={"test_set": "testset"})
    report = r.scores(sets, testset="wmt23.de-en", lower_is_better=["ter"], **FAST)
    comet, ter = report.results
    assert (comet.testset, comet.metric, ter.metric) == ("wmt23.de-en", "comet", "ter")
    assert ter.direction == -1
    assert comet.tests[0].p == pytest.approx(ter.tests[0].p, abs=1e-9)
    assert comet.tests[0].documents == 10
    assert len(report.table("documents").rows) == 10
    chosen = r.scores(sets, testset="wmt22.de-en", metrics=["ter"], **FAST)
    assert [result.metric for result in chosen.results] == ["ter"]
    assert "ter: lower is better, by its name" in chosen.read_as[-1]


def test_segments_may_be_numbered_anew_in_each_document():
    table = frame()
    table["document"] = "d" + (table["segment"] // 4).astype(str)
    expected = r.scores(table, **FAST).to_json()["metrics"]["score"]["pairs"]
    table["segment"] %= 4
    assert r.scores(table, **FAST).to_json()["metrics"]["score"]["pairs"] == expected


def test_one_score_for_each_run_speaks_of_new_runs():
    runs = frame().groupby(["system", "replica"]).score.mean().reset_index()
    report = r.scores(runs, samples=99)
    (test,) = report.results[0].tests
    assert (test.method, test.unit) == ("crossed", "replica")
    assert test.scope == "runs"
    assert "one score for each run" in report.read_as[-1]
    assert "one score for each run; next: " in str(report.summary)
    assert report.results[0].systems["base"].s_sel is None
    # a t-test of two samples, by scipy
    from scipy.stats import ttest_ind

    a, b = (runs[runs.system == name].score for name in ("base", "new"))
    assert test.se == pytest.approx(np.sqrt(a.var() / 3 + b.var() / 3))
    assert test.p == pytest.approx(ttest_ind(b, a, equal_var=False).pvalue, rel=0.5)
    with pytest.raises(r.ReplituneError, match="test clark needs scores of segments"):
        r.scores(runs, methods=["clark"])


def test_files_without_a_system_are_systems(tmp_path: Path):
    table = frame()
    paths = []
    for name, rows in table.groupby("system"):
        paths.append(write(rows.drop(columns="system"), tmp_path / f"{name}.jsonl"))
    report = r.scores(paths, **FAST)
    (said,) = report.read_as
    assert said.endswith(
        "each file is a system: base, new (if they are runs of one system: NAME=FILE FILE ...)"
    )
    assert report.to_json()["metrics"] == r.scores(table, **FAST).to_json()["metrics"]


def test_incomplete_segments_are_left_out_where_that_is_asked_for():
    table = frame()
    table.loc[[3, 50], "score"] = np.nan
    holes = table.drop(index=[100])
    report = r.scores(holes, allow_missing=True, **FAST)
    kept = table[~table.segment.isin([3, 10, 20])]
    assert report.to_json()["metrics"] == r.scores(kept, **FAST).to_json()["metrics"]
    (warning,) = report.warnings
    assert warning == (
        "3 of 40 segments left out, because some run has no score of them; missing are 3 of 240 "
        "scores: 2 without a number (row 3; row 50); 1 not there (base run-003, segment 20)"
    )
    assert report.comparison.inputs == (warning,)


def test_ids_are_sorted_by_the_numbers_in_them():
    names = ["run-10", "run-9", "b", "run-2"]
    assert sorted(names, key=natural) == ["b", "run-2", "run-9", "run-10"]
    column = pa.chunked_array([["10", "9"], ["2", "9"]])
    found = coded([column])
    assert (found.names, found.codes.tolist()) == (["2", "9", "10"], [2, 1, 0, 1])
    assert coded([pa.chunked_array([["01", "1"]])]).distinct == 2


# ---- what is wrong


def lines(edit: Callable[[list[str]], list[str]], kind: str = "csv") -> Callable[[Path], Path]:
    """The table with its lines edited; the header is line 0 of CSV."""

    def make(folder: Path) -> Path:
        path = write(frame(), folder / f"t.{kind}")
        path.write_text("\n".join(edit(path.read_text().split("\n"))))
        return path

    return make


def rows(edit: Callable[[pd.DataFrame], pd.DataFrame], kind: str) -> Callable[[Path], Path]:
    return lambda folder: write(edit(frame()), folder / f"t.{kind}")


def put(at: int, text: str) -> Callable[[list[str]], list[str]]:
    return lambda given: [*given[:at], text, *given[at + 1 :]]


MISTAKES = {
    "a run lacks segments": (
        rows(lambda t: t.drop(index=[4, 5, 6, 7]), "csv"),
        None,
        [
            "scores are missing",
            "4 of 240",
            "base run-001, segment 4; base run-001, segment 5; base run-001, segment 6 and 1 more",
            "--allow-missing",
        ],
    ),
    "a segment is there twice": (
        lines(lambda g: [*g[:5], g[4], *g[5:]]),
        6,
        ["occurs twice", "segment 3 (line 6, as on line 5)"],
    ),
    "twice in Parquet": (
        rows(lambda t: pd.concat([t, t[:2]]), "parquet"),
        241,
        ["occurs twice", "line 241, as on line 1"],
    ),
    "systems have other segments": (
        rows(lambda t: t.assign(segment=t.segment + 10 * (t.system == "new")), "jsonl"),
        None,
        ["segments of base and new differ: 30 in both, 10 in base only, 10 in new only"],
    ),
    "NaN": (lines(put(3, "base,1,2,NaN")), 4, ["1 without a number (line 4)"]),
    "null in JSON": (
        lines(put(2, '{"system":"base","replica":1,"segment":2,"score":null}'), "jsonl"),
        3,
        ["1 without a number (line 3)"],
    ),
    "infinite": (lines(put(3, "base,1,2,inf")), 4, ["not finite"]),
    "words for scores": (
        lines(lambda g: [*g[:3], *(f"base,1,{i},high" for i in range(2, 7)), *g[8:]]),
        4,
        ["line 4: score is 'high'; line 5: score is 'high'; line 6: score is 'high' and 2 more"],
    ),
    "text for a score in JSON": (
        lines(put(2, '{"system":"base","replica":1,"segment":2,"score":"0.7"}'), "jsonl"),
        3,
        ["line 3: score is '0.7'"],
    ),
    "texts for scores in Parquet": (
        rows(lambda t: t.assign(score=t.score.astype(str)), "parquet"),
        None,
        ["the scores are not numbers", "column `score` of "],
    ),
    "ids of two kinds": (
        lines(put(2, '{"system":"base","replica":1,"segment":"2","score":0.7}'), "jsonl"),
        3,
        ["line 3: segment is '2'"],
    ),
    "no id": (
        lines(put(2, '{"system":"base","replica":1,"score":0.7}'), "jsonl"),
        3,
        ["an empty cell in column `segment`"],
    ),
    "a header that lies": (
        lines(lambda g: ["score,segment,replica,system", *g[1:]]),
        2,
        ["score is 'base'", "and 237 more"],
    ),
    "a short row": (lines(put(3, "base,1,2")), 4, ["too few or too many columns", "3 columns"]),
    "half a line": (lines(lambda g: [*g[:20], g[20][:25]], "jsonl"), 21, ["not a line of JSON", "cut off"]),
    "test sets in one table": (
        rows(lambda t: pd.concat([t.assign(dataset=d) for d in "xy"]), "csv"),
        None,
        ["2 test sets in one table", "x; y", "--testset x"],
    ),
    "two columns for one thing": (
        rows(lambda t: t.rename(columns={"segment": "id"}).assign(seg=1), "csv"),
        None,
        ["several columns could be the segment", "--columns segment=id"],
    ),
    "no system": (rows(lambda t: t.drop(columns="system"), "csv"), None, ["no column for the system"]),
    "no score": (rows(lambda t: t.drop(columns="score"), "csv"), None, ["which column is the score?"]),
    "no segment": (
        rows(lambda t: t.drop(columns="segment"), "csv"),
        3,
        ["no column says of which segment", "line 3, as on line 2"],
    ),
    "no rows": (lines(lambda g: g[:1]), None, ["a table without rows"]),
    "nothing": (lines(lambda g: []), None, ["not a file of scores"]),
    "no UTF-8": (
        lambda folder: _bytes(folder, b"system,replica,segment,score\nb\xff,1,1,0.5\n"),
        2,
        ["invalid UTF-8"],
    ),
    "no UTF-8 in JSON": (
        lambda folder: _bytes(
            folder, b'{"system":"b","segment":1,"score":0.5}\n{"system":"b\xff","segment":1,"score":0.5}\n'
        ),
        2,
        ["invalid UTF-8"],
    ),
    "no UTF-8 in Parquet": (
        lambda folder: _parquet_of(folder, [b"b", b"b\xff"]),
        None,
        ["cannot be read", "Invalid UTF8 sequence at string index 1"],
    ),
    "no UTF-8 at once in Parquet": (
        lambda folder: _parquet_of(folder, [b"b\xff", b"b"]),
        None,
        ["not a readable Parquet file", "invalid start byte"],
    ),
    "damaged Parquet": (
        lambda folder: _bytes(folder, b"PAR1 and then nothing"),
        None,
        ["not a readable Parquet"],
    ),
    "no table": (lambda folder: _bytes(folder, bytes(range(256))), None, ["not a file of scores"]),
}


def _bytes(folder: Path, data: bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(data)
    return path


def _parquet_of(folder: Path, systems: list[bytes]) -> Path:
    """With names that are no texts, as only other programs write them."""
    names = pa.array(systems, pa.binary()).view(pa.string())
    path = folder / "t.parquet"
    pq.write_table(pa.table({"system": names, "segment": [1, 1], "score": [0.5, 0.5]}), path)
    return path


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_wrong_is_said_with_file_and_line(
    replitune: Callable[..., Ran], tmp_path: Path, mistake: str
):
    make, line, words = MISTAKES[mistake]
    path = make(tmp_path)
    ran = replitune("compare", "--scores", path, "--samples", 99)
    assert ran.code == 2, ran.out
    where = f"{path}:{line}: " if line else f"{path}: "
    assert ran.err.startswith(f"replitune: {where}"), ran.err
    for word in words:
        assert word in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_mistakes_in_memory_name_rows():
    table = frame().astype({"score": object})
    table.loc[7, "score"] = "high"
    with pytest.raises(r.ReplituneError, match=r"several kinds(.|\n)*row 7: 'high'"):
        r.scores(table)
    table = frame()
    table.loc[7, "score"] = np.inf
    with pytest.raises(r.ReplituneError, match="row 7"):
        r.scores(table)
    with pytest.raises(r.ReplituneError, match="DataFrame"):
        r.scores(3)
    for wrong in (np.zeros(3), {"a": np.zeros((2, 3)), "b": np.zeros((2, 4))}, [["x", "y"]] * 2):
        with pytest.raises(r.ReplituneError):
            r.test(wrong)


def plain(report: ComparisonReport) -> dict:
    """As JSON has it."""
    return json.loads(json.dumps(report.to_json()))


def test_the_command_says_what_the_functions_do(replitune: Callable[..., Ran], tmp_path: Path):
    path = write(frame(), tmp_path / "t.parquet")
    given = ["compare", "--scores", path, "--baseline", "base", "--samples", 99]
    ran = replitune(
        *given,
        "--json",
        tmp_path / "c.json",
        "--html",
        tmp_path / "p.html",
        "--latex",
        tmp_path / "t.tex",
        "--stats-dir",
        tmp_path / "stats",
        "--sentence-scores",
        tmp_path / "s",
    )
    assert ran.code == 0, ran.err
    report = r.scores(frame(), baseline="base", samples=99)
    assert ran.out == f"{report}\n"
    written, here = json.loads((tmp_path / "c.json").read_text()), plain(report)
    for one in (written, here):
        one["summary"].pop("provenance")  # the command, and the file
    assert written == here
    assert (tmp_path / "t.tex").read_text() == report.to_latex()
    assert report.answers()[0].sentence in (tmp_path / "p.html").read_text("utf-8")
    tested = replitune("test", tmp_path / "stats", "--samples", 99, "--json", tmp_path / "2.json")
    assert tested.code == 0, tested.err
    again = json.loads((tmp_path / "2.json").read_text())
    assert again["metrics"] == plain(report)["metrics"]
    power = replitune("power", tmp_path / "stats", "--delta", "0.01")
    assert power.code == 0, power.err
    assert "3 runs" in power.out
    ranked = replitune(*given, "--rank", tmp_path / "rank")
    assert ranked.code == 2
    assert "no texts" in ranked.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--refs", "x"], "--refs and --scores together"),
        (["--baseline", "base", "new"], "name of one system"),
        (["--baseline", "bsae"], "did you mean 'base'"),
        (["--columns", "score=scor"], "--columns score=score"),
        (["--columns", "scor=score"], "did you mean"),
        (["--metrics", "comet"], "no metric is called 'comet'"),
        (["--lower-is-better", "comet"], "no metric is called 'comet'"),
    ],
)
def test_options_that_do_not_go_together(
    replitune: Callable[..., Ran], tmp_path: Path, words: list[str], message: str
):
    path = write(frame(), tmp_path / "t.csv")
    ran = replitune("compare", "--scores", path, *words)
    assert ran.code == 2
    assert message in ran.err


def test_names_that_are_no_names_of_files_are_refused_where_files_are_written(tmp_path: Path):
    table = frame().replace({"system": {"new": "org/new"}})
    report = r.scores(table, **FAST)
    assert "org/new" in str(report)
    with pytest.raises(r.ReplituneError, match="name of a file"):
        report.write_store(tmp_path)
