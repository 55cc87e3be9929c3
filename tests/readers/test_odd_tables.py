"""Tables as people have them: each is read as what it is, or refused with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import replitune as r
from readers.tables import frame
from replitune.readers.names import replicas_of
from support import Ran

FAST: dict[str, Any] = {"samples": 99, "methods": ["crossed"], "intervals": [], "threads": 1}

TABLE = frame(3, 10).rename(columns={"system": "model", "replica": "seed", "segment": "item"})
RIGHT = TABLE.assign(acc=TABLE.score > 0.75).drop(columns="score")
FIRST = TABLE[TABLE.seed == 1]
BY_RUN = TABLE.pivot(index=["model", "item"], columns="seed", values="score")
BY_MODEL = FIRST.pivot(index="item", columns="model", values="score")


def means(table: pd.DataFrame, score: str = "score") -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for (model, seed), mean in table.groupby(["model", "seed"])[score].mean().items():
        found.setdefault(model, {})[f"-{seed:03d}"] = mean
    return found


def written(text: Callable[[], str], name: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(text())
        return folder / name

    return write


RECORDS = TABLE.to_dict("records")
READ: dict[str, tuple[Callable[[], str], str, dict[str, Any], Any]] = {
    "a column for each run": (
        lambda: BY_RUN.add_prefix("seed").reset_index().to_csv(index=False),
        "t.csv",
        {},
        TABLE,
    ),
    "and an index": (lambda: BY_RUN.add_prefix("run_").reset_index().to_csv(), "t.csv", {}, TABLE),
    "columns of runs, named": (
        lambda: BY_RUN.set_axis(["x", "y", "z"], axis=1).reset_index().to_csv(index=False),
        "t.csv",
        {"columns": {"replica": "x,y,z"}},
        None,
    ),
    "a column for each system": (BY_MODEL.to_csv, "t.csv", {"columns": {"system": "base,new"}}, FIRST),
    "whose segments are an index": (
        lambda: BY_MODEL.reset_index(drop=True).to_csv(),
        "t.csv",
        {"columns": {"system": "base,new"}},
        FIRST,
    ),
    "True and False": (lambda: RIGHT.to_csv(index=False), "t.csv", {}, RIGHT),
    "the index of pandas": (lambda: TABLE.rename(columns={"score": "acc"}).to_csv(), "t.csv", {}, TABLE),
    "decimal commas": (lambda: TABLE.to_csv(index=False, sep=";", decimal=","), "t.csv", {}, TABLE),
    "decimal commas, tabs": (
        lambda: TABLE.rename(columns={"score": "acc"}).to_csv(index=False, sep="\t", decimal=","),
        "t.tsv",
        {},
        TABLE,
    ),
    "decimal commas, and a column of ids with points": (
        lambda: TABLE.assign(version="3.5").to_csv(index=False, sep=";", decimal=","),
        "t.csv",
        {},
        TABLE,
    ),
    "a column of texts that are numbers with commas": (
        lambda: TABLE.assign(answer="1,000")[["answer", *TABLE]].to_csv(index=False, sep="\t"),
        "t.tsv",
        {},
        TABLE,
    ),
    "a JSON array over many lines": (lambda: json.dumps(RECORDS, indent=2), "t.json", {}, TABLE),
    "JSON objects over many lines": (
        lambda: "\n".join(json.dumps(row, indent=2) for row in RECORDS),
        "t.jsonl",
        {},
        TABLE,
    ),
    "one JSON object that holds the table": (
        lambda: json.dumps({"config": {"n": 1}, "results": RECORDS}, indent=1),
        "t.json",
        {},
        TABLE,
    ),
    "what pandas' to_json writes": (TABLE.to_json, "t.json", {}, TABLE),
    "for people": (lambda: TABLE.to_json(indent=2), "t.json", {}, TABLE),
    "a JSON table of pandas": (lambda: TABLE.to_json(orient="table", index=False), "t.json", {}, TABLE),
}


@pytest.mark.parametrize("what", READ)
def test_tables_that_are_read(tmp_path: Path, what: str):
    text, name, options, expected = READ[what]
    (result,) = r.scores(written(text, name)(tmp_path), **FAST, **options).results
    found = {
        system: {run.lstrip("seadrun"): score for run, score in of.scores.items()}
        for system, of in result.systems.items()
    }
    if expected is None:
        assert [*found["new"]] == ["x", "y", "z"]
        return
    right = means(expected, expected.columns[-1])
    assert {s: pytest.approx(runs) for s, runs in right.items()} == found


def counted(correct: int, count: int) -> str:
    rows = [f"{model},{item},{correct},{count}" for model in "ab" for item in range(3)]
    return "\n".join(["model,item,correct,count", *rows])


REFUSED: dict[str, tuple[Callable[[], str], str, tuple[str, ...]]] = {
    "a column for each system": (
        BY_MODEL.to_csv,
        "t.csv",
        ("which column is the score?", 'as systems columns={"system": "base,new"}'),
    ),
    "columns that may be runs": (
        lambda: BY_RUN.set_axis(["x", "y", "z"], axis=1).reset_index().to_csv(index=False),
        "t.csv",
        ('as metrics metrics=["x", "y", "z"]', 'as runs columns={"replica": "x,y,z"}'),
    ),
    "decimal commas between commas": (
        lambda: TABLE.assign(score=[f"{x}".replace(".", ",") for x in TABLE.score]).to_csv(index=False),
        "t.csv",
        ("t.csv:2: a cell of the wrong type", "with a decimal point, 0.75"),
    ),
    "JSON that ends early": (
        lambda: json.dumps(RECORDS, indent=2)[:-30],
        "t.json",
        ("incomplete or damaged JSON", "an object on each line"),
    ),
    "JSON with two tables": (
        lambda: json.dumps({"a": RECORDS, "b": RECORDS}, indent=1),
        "t.json",
        ("which part of this JSON is the table?", """jq -c '.["a"][]' t.json > scores.jsonl"""),
    ),
    "more right than there are": (
        lambda: counted(4, 3),
        "t.csv",
        ("t.csv:2: `correct` is not between 0 and `count`",),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_tables_that_are_refused(tmp_path: Path, what: str):
    text, name, parts = REFUSED[what]
    with pytest.raises(r.ReplituneError) as error:
        r.scores(written(text, name)(tmp_path), **FAST)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "memory"])
def test_correct_of_so_many_is_a_score(tmp_path: Path, kind: str):
    table = pd.DataFrame(
        [(m, i, i % 3 + (m == "b"), 4 + i % 2) for m in "ab" for i in range(12)],
        columns=["model", "item", "n_correct", "n"],
    )
    given: Any = table
    if kind != "memory":
        given = tmp_path / f"t.{kind}"
        given.write_text(
            table.to_csv(index=False) if kind == "csv" else table.to_json(orient="records", lines=True)
        )
    report = r.scores(given, **FAST)
    (result,) = report.results
    right = (table.n_correct / table.n).groupby(table.model).mean()
    assert {s: of.scores["run-001"] for s, of in result.systems.items()} == pytest.approx(dict(right))
    assert "score is `n_correct` / `n`" in report.read_as[0]
    assert result.metric == "score"


def test_files_in_folders_of_runs_are_these_runs(tmp_path: Path):
    for seed in (1, 2, 3):
        (tmp_path / f"seed{seed}").mkdir()
        for model, own in TABLE[TABLE.seed == seed].groupby("model"):
            own[["item", "score"]].to_csv(tmp_path / f"seed{seed}" / f"{model}.csv", index=False)
    report = r.scores(sorted(tmp_path.glob("*/*.csv")), **FAST)
    (result,) = report.results
    right = means(TABLE)
    assert {s: [*of.scores.values()] for s, of in result.systems.items()} == {
        s: pytest.approx([*runs.values()]) for s, runs in right.items()
    }


def test_files_of_one_name_that_have_runs_are_systems(tmp_path: Path):
    for model, own in TABLE.groupby("model"):
        (tmp_path / str(model)).mkdir()
        own.drop(columns="model").to_csv(tmp_path / str(model) / "scores.csv", index=False)
    (result,) = r.scores(sorted(tmp_path.glob("*/scores.csv")), **FAST).results
    assert [name[-len("base/scores.csv") :].split("/")[-2] for name in result.systems] == ["base", "new"]


@pytest.mark.parametrize(
    ("files", "ids"),
    [
        (["seed1/out.txt", "seed2/out.txt"], ["seed-001", "seed-002"]),
        (["x/new.seed-10.gz", "x/new.seed-11.gz"], ["seed-010", "seed-011"]),
        (["new.run7.txt"], ["run-007"]),
        (["a.seed0.txt", "a.seed1.txt"], ["seed-000", "seed-001"]),
        (["new.1.txt", "new.2.txt"], ["run-001", "run-002"]),
        (["seed2/out.txt", "seed1/out.txt"], ["run-001", "run-002"]),
        (["seed1/out.txt", "run2/out.txt"], ["run-001", "run-002"]),
        (["seed1/a.1", "seed1/a.2"], ["run-001", "run-002"]),
        (["a.seed1234", "a.seed1235"], ["run-001", "run-002"]),
        ([["a line"], ["a line"]], ["run-001", "run-002"]),
    ],
)
def test_replicas_are_called_as_their_files_or_folders(files: list[Any], ids: list[str]):
    assert [replica.id for replica in replicas_of(files, len(files))] == ids


def test_outputs_in_folders_of_seeds_keep_their_seeds(replitune: Callable[..., Ran], tmp_path: Path):
    (tmp_path / "ref").write_text("the cat sat on a mat\n" * 12)
    for seed in (0, 4, 11):
        (tmp_path / f"seed{seed}").mkdir()
        for name in "ab":
            lines = ["the cat sat on a mat " + "x " * ((i + seed) % 4 + (name == "a")) for i in range(12)]
            (tmp_path / f"seed{seed}" / name).write_text("\n".join(lines) + "\n")
    outputs = {name: [tmp_path / f"seed{seed}" / name for seed in (0, 4, 11)] for name in "ab"}
    stats, words = tmp_path / "stats", ("--samples", 99, "--methods", "crossed")
    system = ("--system", f"b={outputs['b'][0]}", *outputs["b"][1:])
    given = ("--baseline", *outputs["a"], *system, "--metrics", "chrf", "--stats-dir", stats)
    ran = replitune("compare", "--refs", tmp_path / "ref", *given, *words, "--json", tmp_path / "c.json")
    assert ran.code == 0, ran.err
    metric = json.loads((tmp_path / "c.json").read_text())["metrics"]["chrf"]
    runs = [*metric["systems"]["b"]["scores"]]
    assert runs == ["seed-000", "seed-004", "seed-011"]
    again = replitune("test", stats, "--pairs", "baseline:b", *words)
    assert again.code == 0, again.err
    rows = [[x.split() for x in one.out.splitlines() if " over " in x] for one in (ran, again)]
    assert rows[0][0][3] == rows[1][0][3], "the same difference"
    assert rows[0][0][-1] == rows[1][0][-1], "and p"
