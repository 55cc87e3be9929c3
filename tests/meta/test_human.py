from __future__ import annotations

import gzip

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.meta.human import read_human
from replitune.meta.human_cells import cell_means, standardise

SYSTEMS = ("A", "B")
NUMBERS = np.arange(3)


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "human.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def means(path, criterion="human", systems=SYSTEMS, **more) -> list:
    found = cell_means(read_human(path), criterion, systems, NUMBERS, **more)
    return [[None if np.isnan(x) else x for x in row] for row in found.tolist()]


WANTED = [[70.0, 75.0, None], [40.0, None, 50.0]]
"""A has two judgements of segment 1: 90 and 60."""


@pytest.mark.parametrize(
    "text",
    [
        "system,segment,score\nA,0,70\nA,1,90\nA,1,60\nB,0,40\nB,2,50\n",
        "lp\tsegment\tscore\tsystem\nx\t0\t70\tA\nx\t1\t90\tA\nx\t1\t60\tA\nx\t0\t40\tB\nx\t2\t50\tB\n",
        "SYS SID RAW.SCR N \nA 0 70 1 \nA 1 90 1 \nA 1 60 1 \nB 0 40 1 \nB 2 50 1 \n",
        'System,"Seg Id",score,text\nA,0,70,"a, b"\nA,1,90,"two\nlines"\nA,1,60,\n\nB,0,40,x\nB,2,50,\n',
        "system,segment,score\r\nA,0,70\r\nA,1,90\r\nA,1,60\r\nA,2,\r\nB,0,40\r\nB,1,NA\r\nB,2,50\r\n",
    ],
    ids=["csv", "tsv", "wmt", "quoted", "empty-scores"],
)
def test_every_format_says_the_same(write, text):
    assert means(write(text)) == WANTED


def test_gzip_and_mt_metrics_eval(tmp_path):
    path = tmp_path / "en-de.mqm.seg.score.gz"
    path.write_bytes(gzip.compress(b"A\t70\nA\t75\nA\tNone\nB 40\nB None\nB 50\n"))
    assert means(path) == WANTED


def test_rows_without_a_score_are_counted(write):
    found = read_human(write("system,segment,score\nA,0,70\nA,1,\nB,0,none\n"))
    assert len(found.judgements["human"]) == 1
    assert found.notes[0].endswith("2 rows without a score")


def test_standardised_scores_are_preferred_to_raw_ones(write):
    path = write("SYS SID RAW.SCR Z.SCR N\nA 0 70 .5 1\nB 0 40 -.5 1\n")
    assert means(path) == [[0.5, None, None], [-0.5, None, None]]
    raw = read_human(path, score="RAW.SCR").judgements["human"]
    assert [row.score for row in raw] == [70, 40]


def test_quality_control_is_left_out_and_counted(write):
    path = write(
        "HITId WorkerId Input.item sys_id type sid score\n"
        "h\tw1\tad\tA\tSYSTEM\t0\t1.0\nh\tw1\tad\tA\tBAD_REF\t0\t-9\nh\tw1\tad\tB\tREF\t0\t-9\n"
        "h\tw2\tad\tA\tREPEAT\t0\t2.0\nh\tw1\tad\tB\tBAD_REF\t0\t-9\nh\tw1\tad\tB\tSYSTEM\t0\t.5\n"
    )
    found = read_human(path)
    assert means(path, "adequacy") == [[1.5, None, None], [0.5, None, None]]
    assert found.notes[0].endswith("quality control are left out: 2 BAD_REF, 1 REF")
    assert found.judgements["adequacy"][1].annotator == "w2"


def test_adequacy_and_fluency_in_columns_or_in_rows(write):
    columns = read_human(write("system,segment,adequacy,fluency\nA,0,70,\nB,0,40,60\n", "c.csv"))
    rows = read_human(write("system,segment,criterion,score\nA,0,ad,70\nB,0,adequacy,40\nB,0,Fluency,60\n"))
    for found in (columns, rows):
        assert {name: len(values) for name, values in found.judgements.items()} == {
            "adequacy": 2,
            "fluency": 1,
        }


def test_replicas_are_known_when_every_row_says_so(write):
    path = write("system,replica,segment,score\nA,run-002,0,1\nA,run-001,0,1\nB,run-003,0,1\n")
    judged = {(row.system, row.replica) for row in read_human(path).rows}
    assert judged == {("A", "run-001"), ("A", "run-002"), ("B", "run-003")}
    (row,) = read_human(write("system,segment,score\nA,0,1\n")).rows
    assert row.replica is None


def test_standardising_by_annotator(write):
    path = write(
        "system,segment,score,annotator\nA,0,10,x\nB,0,20,x\nA,1,30,x\nA,0,90,y\nB,0,94,y\nB,2,7,z\n"
    )
    found = standardise(read_human(path))
    assert [round(row.score, 6) for row in found.judgements["human"]] == [
        -1.0,
        0.0,
        1.0,
        -0.707107,
        0.707107,
    ]
    assert found.notes[-1].endswith("left out 1 judgements by annotators whose scores do not vary")
    sampled = "system,segment,score,annotator,probability\nA,0,1,x,0.5\nB,0,2,x,0.5\n"
    assert [row.probability for row in standardise(read_human(write(sampled))).rows] == [0.5, 0.5]
    with pytest.raises(ReplituneError, match="not known who gave them"):
        standardise(read_human(write("system,segment,score\nA,0,1\n")))


def test_a_file_that_counts_from_one(write):
    path = write("system,segment,score\nA,1,70\nA,3,5\nB,2,40\n")
    assert means(path, first=1) == [[70.0, None, 5.0], [None, 40.0, None]]
    with pytest.raises(ReplituneError) as caught:
        means(path)
    assert caught.value.line == 3
    assert caught.value.found == "segment 3 of system A"
    assert caught.value.expected == "segments 0 to 2"
    assert caught.value.fix == "the file seems to count from 1: use --first-segment 1"


def test_segments_keep_their_numbers(write):
    path = write("system,segment,score\nA,10,70\nB,30,5\n")
    found = cell_means(read_human(path), "human", SYSTEMS, np.array([10, 20, 30]))
    assert found[0, 0] == 70
    assert found[1, 2] == 5
    assert np.isnan(found).sum() == 4


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "no header", 1),
        ("A,0,5\nB,0,4\n", "no column of the system or the segment or the score", 1),
        ("system,segment\nA,0\n", "no column of the score", 1),
        ("sys,sysid,segment,score\nA,A,0,5\n", "several columns could be the system", None),
        ("system,segment,score\nA,0,5\nA,1\n", "too few or too many columns", 3),
        ("system,segment,score\nA,0,5\nA,1,good\n", "the score is not a finite number", 3),
        ("system,segment,score\nA,0,inf\n", "the score is not a finite number", 2),
        ("system,segment,score\nA,0.5,5\n", "not a whole number", 2),
        ("system,segment,score\nA,doc::3,5\n", "not a whole number", 2),
        ("system,segment,criterion,score\nA,0,style,5\n", "an unknown criterion", 2),
        ("system,segment,score\n", "no judgement in this file", None),
        ("A 5\nA x\n", "not a system and its score", 2),
        ("system,segment,score\nA,0,5\nC,1,5\n", "no system is called 'C'", 3),
        ("system,segment,score\nA,0,5\nA,7,5\n", "no segment 7 in this test set", 3),
        ("system,segment,score\nA,0,5\n", "no human judgement of system B", None),
    ],
)
def test_mistakes_are_named_with_their_line(write, text, message, line):
    with pytest.raises(ReplituneError) as caught:
        means(write(text))
    assert message in caught.value.message
    assert caught.value.line == line
    assert caught.value.file is not None


def test_systems_that_are_not_wanted_may_be_there(write):
    path = write("system,segment,score\nA,0,5\nB,0,6\nHUMAN,0,99\n")
    assert means(path, others=["HUMAN"]) == [[5.0, None, None], [6.0, None, None]]
