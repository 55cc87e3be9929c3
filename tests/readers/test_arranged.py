"""One arrangement of rows, whatever they come in, and messages in the words of who reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import replitune as r
from readers.tables import frame
from replitune.errors import ReplituneError, option, told_to
from replitune.readers.arranged import Arranged
from replitune.readers.memory import rows_in_memory
from replitune.readers.settings import ColumnNames
from support import Ran

FAST: dict[str, Any] = {"samples": 99, "methods": ["crossed"], "threads": 1}


def records() -> Iterator[dict[str, Any]]:
    yield from frame().to_dict("records")


@pytest.mark.parametrize("give", [list, tuple, iter, lambda rows: (row for row in rows)])
def test_records_say_the_same_as_a_frame(give: Callable[[Any], Any]):
    wanted = r.scores(frame(), **FAST).results[0]
    assert r.scores(give(records()), **FAST).results[0].tests == wanted.tests


def test_columns_may_be_generators_and_records_may_lack_keys():
    table = frame()
    wanted = r.scores(table, **FAST).results[0]
    columns = {name: (x for x in table[name].tolist()) for name in table}
    assert r.scores(columns, **FAST).results[0].tests == wanted.tests
    rows = list(records())
    del rows[7]["score"]
    with pytest.raises(ReplituneError, match=r"1 without a number \(row 7\)"):
        r.scores(rows, **FAST)
    with pytest.raises(ReplituneError, match="row 1: 'x'"):
        r.scores([rows[0], "x"], **FAST)


def test_paths_of_a_glob_are_in_natural_order(tmp_path: Path):
    table = frame()
    for system, own in table.groupby("system"):
        for run in (10, 9):
            path = tmp_path / f"{system}-{run}.csv"
            own[own.replica == own.replica.iloc[0]].drop(columns=["system", "replica"]).assign(
                score=lambda t, run=run: t.score * run
            ).to_csv(path, index=False)
    found = {s: tmp_path.glob(f"{s}-*.csv") for s in table.system.unique()}
    listed = {s: [tmp_path / f"{s}-9.csv", tmp_path / f"{s}-10.csv"] for s in table.system.unique()}
    assert r.scores(found, **FAST).results[0].tests == r.scores(listed, **FAST).results[0].tests
    assert len(r.scores(tmp_path.glob("*-9.csv"), **FAST).results[0].systems) == len(listed)


def test_texts_may_be_generators_and_globs(tmp_path: Path):
    refs = [f"a b c {i} d e f" for i in range(30)]
    texts = {name: [[f"{line} {name}{k}" for line in refs] for k in (9, 10)] for name in "xy"}
    for name, runs in texts.items():
        for k, lines in zip((9, 10), runs, strict=True):
            (tmp_path / f"{name}{k}.txt").write_text("".join(f"{line}\n" for line in lines))
    wanted = r.compare(refs, texts, ["chrf"], **FAST).results[0].tests
    given = {name: ((line for line in run) for run in runs) for name, runs in texts.items()}
    assert r.compare((line for line in refs), given, ["chrf"], **FAST).results[0].tests == wanted
    globs = {name: tmp_path.glob(f"{name}*.txt") for name in texts}
    assert r.compare(refs, globs, ["chrf"], **FAST).results[0].tests == wanted


def test_an_option_is_written_as_its_reader_writes_it():
    said = (
        ("columns", {"system": "NAME"}),
        ("metrics", ["a", "b"]),
        ("testset", "x"),
        ("allow_missing", True),
    )
    assert [option(*one) for one in said] == [
        'columns={"system": "NAME"}',
        'metrics=["a", "b"]',
        'testset="x"',
        "allow_missing=True",
    ]
    with told_to("command"):
        assert [option(*one) for one in said] == [
            "--columns system=NAME",
            "--metrics a b",
            "--testset x",
            "--allow-missing",
        ]
        with told_to("experiment"):
            assert [option(*one) for one in said] == ["columns: {system: NAME}", "", "", ""]
        assert option("testset", "x") == "--testset x"


def test_messages_speak_python_in_python_and_options_at_a_command_line(
    replitune: Callable[..., Ran], tmp_path: Path
):
    table = frame().rename(columns={"score": "x"}).assign(y=1.0)
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ReplituneError) as caught:
        r.scores(tmp_path / "t.csv", **FAST)
    assert 'columns={"score": "x"}' in str(caught.value)
    assert "--" not in str(caught.value)
    ran = replitune("compare", "--scores", tmp_path / "t.csv")
    assert "--columns score=x" in ran.err
    assert "columns=" not in ran.err
    with pytest.raises(ReplituneError, match="columns="):
        r.scores(tmp_path / "t.csv", **FAST)


def test_what_is_told_does_not_depend_on_what_is_asked_first():
    table = frame().rename(columns={"replica": "sample"})
    table["prompt"] = table["segment"].astype(str)

    def arranged() -> Arranged:
        return Arranged([rows_in_memory(table, ColumnNames())])

    one, other = arranged(), arranged()
    other.testset(None), other.metrics_of(slice(None)), other.systems
    other.grid(other.metrics.names, slice(None))
    assert one.read_as == other.read_as
    assert len(one.read_as) == 3
    with pytest.raises(ReplituneError, match="no column for the system"):
        _ = Arranged([rows_in_memory(table.drop(columns="system"), ColumnNames())]).systems


def test_the_order_of_rows_changes_no_number():
    table = frame()
    shuffled = pd.concat(
        [part for _, part in table.sample(frac=1, random_state=3).groupby("system", sort=False)]
    )
    assert r.scores(table, **FAST).results[0].tests == r.scores(shuffled, **FAST).results[0].tests
