"""Files as programs write them, made after their documented form: lm-evaluation-harness 0.4
(evaluator.py: what `log_samples` keeps of each document) and COMET 2 (cli/score.py)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import replitune as r
from support import Ran

FAST = {"samples": 99, "methods": ["crossed"], "threads": 1}


def sample(doc: int, right: bool, *, answers: int = 1, filter: str = "strict-match") -> dict:
    """What lm-evaluation-harness keeps of one document."""
    return {
        "doc_id": doc,
        "doc": {"question": f"{doc} + 1?", "answer": f"{doc + 1}"},
        "target": f"{doc + 1}",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {doc} + 1?"}},
        "resps": [[f"It is {doc + right}."] * answers],
        "filtered_resps": [f"{doc + right}"],
        "filter": filter,
        "metrics": ["exact_match"],
        "doc_hash": "0a",
        "prompt_hash": "0b",
        "target_hash": "0c",
        "exact_match": float(right),
    }


def harness(folder: Path, model: str, runs: int, level: float, **more: Any) -> list[Path]:
    paths = []
    for run in range(runs):
        draw = random.Random(f"{model} {run}")
        path = folder / model / f"samples_gsm8k_2026-01-0{run + 1}T10-00-00.123456.jsonl"
        path.parent.mkdir(exist_ok=True)
        rows = [sample(i, draw.random() < level, **more) for i in range(60)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(path)
    return paths


def test_samples_of_the_harness(replitune: Callable[..., Ran], tmp_path: Path):
    base = harness(tmp_path, "org__small", 3, 0.5)
    new = harness(tmp_path, "org__large", 2, 0.8)
    report = r.scores([*base, *new], **FAST)
    (result,) = report.results
    assert (result.testset, result.metric) == ("gsm8k", "exact_match.strict-match")
    assert {name: s.n for name, s in result.systems.items()} == {"org__small": 3, "org__large": 2}
    first = [json.loads(line)["exact_match"] for line in base[0].read_text().splitlines()]
    scores = result.systems["org__small"].scores
    assert list(scores) == ["run-001", "run-002", "run-003"]
    assert scores["run-001"] == pytest.approx(sum(first) / len(first))
    named = replitune(
        "compare",
        "--scores",
        f"a={tmp_path}/org__small/samples_*.jsonl",
        f"b={new[0]}",
        new[1],
        "--samples",
        99,
        "--baseline",
        "a",
    )
    assert named.code == 0, named.err
    assert "b - a" in named.out
    assert "system is" not in named.err


def test_answers_beyond_the_first_and_metrics_without_numbers_are_said(tmp_path: Path):
    paths = [*harness(tmp_path, "one", 2, 0.5, answers=4), *harness(tmp_path, "two", 2, 0.6, answers=4)]
    row = json.loads(paths[0].read_text().splitlines()[0])
    row["metrics"].append("bleu")
    row["bleu"] = ["a", "b"]
    lines = [json.dumps(row), *paths[0].read_text().splitlines()[1:]]
    paths[0].write_text("\n".join(lines) + "\n")
    said = "\n".join(r.scores(paths, **FAST).read_as)
    assert "up to 4 answers to a question" in said
    assert "the first alone" in said
    assert "bleu left out where it is not a number: 1 of the samples" in said


def test_several_filters_and_choices_are_metrics_of_their_own(tmp_path: Path):
    for model in ("one", "two"):
        draw = random.Random(model)
        rows = [
            sample(i, draw.random() < 0.5, filter=name)
            for i in range(30)
            for name in ("strict-match", "flexible-extract")
        ]
        choice = [[[-1.0, False]], [[-2.0, False]]]
        for row in rows:
            row["resps"] = choice
        (tmp_path / model).mkdir()
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / model / "samples_arc_2026-01-01T10-00-00.1.jsonl").write_text(text)
    report = r.scores(sorted(tmp_path.glob("*/*")), **FAST)
    assert [result.metric for result in report.results] == [
        "exact_match.strict-match",
        "exact_match.flexible-extract",
    ]
    assert not any("answers" in text for text in report.read_as)


def segments(level: float, run: int) -> list[dict]:
    draw = random.Random(f"{level} {run}")
    return [
        {"src": f"s{i}", "mt": f"t{i}", "ref": f"r{i}", "COMET": level + draw.gauss(0, 0.05)}
        for i in range(40)
    ]


FILES = {
    "out/base.run1.txt": segments(0.7, 1),
    "out/base.run2.txt": segments(0.7, 2),
    "out/new.run1.txt": segments(0.8, 1),
    "out/new.run2.txt": segments(0.8, 2),
}


def test_comets_json_and_lines_are_the_same(tmp_path: Path):
    (tmp_path / "c.json").write_text(json.dumps(FILES, indent=4))
    (tmp_path / "line.json").write_text(json.dumps(FILES))
    lines = []
    for file, rows in FILES.items():
        lines += [f"{file}\tSegment {i}\tscore: {row['COMET']:.4f}" for i, row in enumerate(rows)]
        lines.append(f"{file}\tscore: {sum(row['COMET'] for row in rows) / len(rows):.4f}")
    (tmp_path / "c.txt").write_text("\n".join(lines) + "\n")
    names = ("c.json", "line.json", "c.txt")
    exact, line, printed = (r.scores(tmp_path / name, **FAST) for name in names)
    (result,), (rounded,) = exact.results, printed.results
    assert line.results[0].systems == result.systems
    assert result.metric == "comet"
    assert {name: list(s.scores) for name, s in result.systems.items()} == {
        "base": ["run-001", "run-002"],
        "new": ["run-001", "run-002"],
    }
    expected = sum(row["COMET"] for row in FILES["out/new.run2.txt"]) / 40
    assert result.systems["new"].scores["run-002"] == pytest.approx(expected, abs=1e-12)
    assert rounded.systems["new"].avg == pytest.approx(result.systems["new"].avg, abs=1e-4)
    assert "out/base.run1.txt is base run 1" in exact.read_as[0]


def test_what_sacrebleu_writes_is_read_as_it_is(tmp_path: Path):
    """By sacrebleu's own program, of texts, several files and one."""
    pytest.importorskip("sacrebleu")
    (tmp_path / "ref.txt").write_text("a b c d e\nf g h i j\n")
    files = {"base.run1.txt": "a b c d x\nf g h i j\n", "base.run2.txt": "a b c d e\nf g h y j\n"}
    files |= {f"new.run{i}.txt": "a b c d e\nf g h i j k" + " l" * i + "\n" for i in (1, 2)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    def printed(*names: str) -> str:
        command = [sys.executable, "-m", "sacrebleu", "ref.txt", "-i", *names, "-m", "bleu", "ter"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    (tmp_path / "all.json").write_text(printed(*files))
    report = r.scores(tmp_path / "all.json", **FAST)
    assert [(result.metric, result.sign > 0) for result in report.results] == [
        ("BLEU", True),
        ("TER", False),
    ]
    told = {name: list(system.scores.values()) for name, system in report.results[0].systems.items()}
    assert "base.run2.txt is base run 2" in report.read_as[0]
    for name in files:
        (tmp_path / f"{name}.json").write_text(printed(name))
    by_file = {
        system: [tmp_path / f"{system}.run{i}.txt.json" for i in (1, 2)] for system in ("base", "new")
    }
    (alone, _) = r.scores(by_file, **FAST).results
    assert told == {name: list(system.scores.values()) for name, system in alone.systems.items()}
    assert told["base"][0] == float(json.loads((tmp_path / "base.run1.txt.json").read_text())[0]["score"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "results.json",
            '{"results": {"gsm8k": {"alias": "gsm8k", "acc,none": 0.5, "acc_stderr,none": 0.1}}}',
            "run lm_eval with --log_samples",
        ),
        ("b.json", '[{"system": "a", "BLEU": "1.5"}, {"system": "b", "BLEU": "?"}]', "not a finite number"),
        ("b.json", '[{"system": "a", "BLEU": "1"}, {"system": "a", "BLEU": "2"}]', "a system occurs twice"),
        ("c.json", json.dumps(FILES, indent=4)[:-200], "incomplete or damaged JSON"),
        ("c.json", json.dumps(FILES, indent=4).replace('"COMET"', '"BLEU"', 3), "a segment without COMET"),
        ("c.txt", "a\tSegment 0\tscore: 0.5\nwhat\n", "c.txt:2: not a line of comet-score"),
        ("c.txt", "a\tSegment 0\tscore: nan\n", "c.txt:1: a score that is not finite"),
        ("s.jsonl", f"{json.dumps(sample(1, True))}\n{{}}\n", "s.jsonl:2: no `doc_id`"),
        ("s.jsonl", f"{json.dumps(sample(1, True))}\n{{\n", "s.jsonl:2: not a line of JSON"),
        ("s.jsonl", f"{json.dumps(sample(1, True) | {'metrics': ['x']})}\n", "no metric has a number"),
    ],
)
def test_what_is_wrong_with_a_program_s_file_is_said(tmp_path: Path, name: str, text: str, message: str):
    (tmp_path / name).write_text(text)
    with pytest.raises(r.ReplituneError) as caught:
        r.scores(tmp_path / name, **FAST)
    assert message in str(caught.value)


def test_a_folder_is_not_a_file_of_scores(tmp_path: Path):
    with pytest.raises(r.ReplituneError, match=r"is a folder\n.*name the files of scores in it"):
        r.scores(tmp_path, **FAST)


def test_a_table_with_systems_takes_no_name(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("system,replica,segment,score\na,1,1,0.5\nb,1,1,0.5\n")
    with pytest.raises(r.ReplituneError, match="column of systems"):
        r.scores({"a": [path], "b": [path]}, **FAST)
