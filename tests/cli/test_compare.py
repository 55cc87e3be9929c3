from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

from replitune.results.result import Result
from replitune.significance.registry import PEOPLE, TESTS
from support import Ran, validate

METHODS = [name for name in TESTS.names if name != PEOPLE]
REFERENCE = [
    "the cat sat on the mat .",
    "a dog ran through the park",
    "it is raining in the city today",
    "she reads a long book about the sea",
    "they did not come back",
    "we saw the old bridge",
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A reference, a worse system with three runs and a better one with two."""
    texts = {
        "ref": REFERENCE,
        "a1": [line.replace("the", "a") for line in REFERENCE],
        "a2": [line.replace("the", "one") for line in REFERENCE],
        "a3": [line.rsplit(" ", 2)[0] for line in REFERENCE],
        "b1": [line.replace("long", "short") for line in REFERENCE],
        "b2": [line.replace("cat", "dog") for line in REFERENCE],
    }
    paths = {}
    for name, lines in texts.items():
        paths[name] = tmp_path / f"{name}.txt"
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def compare(replitune: Callable[..., Ran], files: dict[str, Path], *more: object) -> Ran:
    return replitune(
        "compare",
        "--refs",
        files["ref"],
        "--baseline",
        files["a1"],
        files["a2"],
        files["a3"],
        "--system",
        f"b={files['b1']}",
        files["b2"],
        "--samples",
        99,
        *more,
    )


def strict(text: str) -> dict:
    """JSON without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def test_scores_are_sacrebleus(replitune: Callable[..., Ran], files: dict, tmp_path: Path):
    out = tmp_path / "c.json"
    ran = compare(replitune, files, "--json", out)
    assert ran.code == 0, ran.err
    said = strict(out.read_text())
    bleu = said["metrics"]["bleu"]
    for name, run, key in (
        ("baseline", "run-001", "a1"),
        ("baseline", "run-003", "a3"),
        ("b", "run-002", "b2"),
    ):
        hyps = files[key].read_text().splitlines()
        expected = sacrebleu.corpus_bleu(hyps, [REFERENCE]).score
        assert bleu["systems"][name]["scores"][run] == pytest.approx(expected, abs=1e-9)
    pair = bleu["pairs"][0]
    assert (pair["a"], pair["b"]) == ("baseline", "b")
    assert pair["delta"] == pytest.approx(bleu["systems"]["b"]["avg"] - bleu["systems"]["baseline"]["avg"])


@pytest.mark.parametrize("runs", [1, 2])
def test_json_is_as_documented_whatever_is_missing(
    replitune: Callable[..., Ran], files: dict, tmp_path: Path, runs: int
):
    out = tmp_path / "c.json"
    systems = [f"b={files['b1']}", files["b2"]][:runs]
    ran = replitune(
        "compare",
        "--refs",
        files["ref"],
        "--baseline",
        files["a1"],
        "--system",
        *systems,
        "--metrics",
        "bleu",
        "length",
        "--methods",
        *METHODS,
        "--samples",
        99,
        "--json",
        out,
    )
    assert ran.code == 0, ran.err
    said = strict(out.read_text())
    validate(said)
    assert said["metrics"]["bleu"]["systems"]["baseline"]["s_test"] is None
    (note,) = said["metrics"]["bleu"]["systems"]["baseline"]["notes"]["s_test"]
    assert "one run" in note["text"]
    crossed = said["metrics"]["bleu"]["pairs"][0]["methods"]["crossed"]
    assert crossed["p"] is None
    assert crossed["notes"]
    whose = "each system" if runs == 1 else "baseline"
    assert f"! One run of {whose}: luck in tuning or training" in " ".join(ran.out.split())


def test_the_table_fits_and_is_plain_in_a_pipe(replitune: Callable[..., Ran], files: dict):
    ran = compare(replitune, files, "--methods", *METHODS)
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 100
    assert "\033" not in ran.out


def test_identical_systems_have_p_one(replitune: Callable[..., Ran], files: dict, tmp_path: Path):
    out = tmp_path / "c.json"
    runs = [files["a1"], files["a2"], files["a3"]]
    ran = replitune(
        "compare",
        "--refs",
        files["ref"],
        "--baseline",
        *runs,
        "--system",
        f"same={runs[0]}",
        *runs[1:],
        "--methods",
        *METHODS,
        "--samples",
        99,
        "--json",
        out,
    )
    assert ran.code == 0, ran.err
    methods = strict(out.read_text())["metrics"]["bleu"]["pairs"][0]["methods"]
    assert {name: row["p"] for name, row in methods.items()} == dict.fromkeys(METHODS, 1.0)
    assert "identical outputs" in " ".join(ran.out.split())


def test_compare_and_score_then_test_agree_to_the_last_digit(
    replitune: Callable[..., Ran], files: dict, tmp_path: Path
):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    methods = ["--methods", "crossed", "clark", "riezler", "graham", "--seed", 5]
    assert compare(replitune, files, "--json", one, *methods).code == 0
    store = tmp_path / "stats"
    scored = replitune(
        "score",
        "--refs",
        files["ref"],
        "--hyps",
        f"baseline={files['a1']}",
        files["a2"],
        files["a3"],
        "--hyps",
        f"b={files['b1']}",
        files["b2"],
        "--out",
        store,
    )
    assert scored.code == 0, scored.err
    tested = replitune(
        "test", store, "--systems", "baseline", "b", "--samples", 99, "--json", two, *methods
    )
    assert tested.code == 0, tested.err
    a, b = strict(one.read_text()), strict(two.read_text())
    assert a["metrics"] == b["metrics"]
    rows = tmp_path / "rows"
    replitune("test", store, "--pairs", "baseline:b", "--samples", 99, "--out", rows, *methods)
    for row in Result.read(rows, "bleu").tests:
        assert row.p == a["metrics"]["bleu"]["pairs"][0]["methods"][row.method]["p"]


def test_another_metric_or_method_or_system_changes_no_number(
    replitune: Callable[..., Ran], files: dict, tmp_path: Path
):
    def pair(*more: object) -> dict:
        out = tmp_path / "c.json"
        assert compare(replitune, files, "--json", out, *more).code == 0
        return strict(out.read_text())["metrics"]["bleu"]["pairs"][0]["methods"]["clark"]

    alone = pair("--methods", "clark")
    assert pair("--methods", "riezler", "clark", "--metrics", "length", "bleu") == alone
    more = pair("--methods", "clark", "--system", f"c={files['a1']}")
    family = {"p_adjusted": None, "note": None, "notes": None}
    assert {**more, **family} == {**alone, **family}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "a1", "--system", "b"], "--system NAME=FILE"),
        (["a1", "b1"], "expected: --refs FILE --baseline FILE ... --system NAME=FILE ..."),
        (["--docs", "a1", "b1"], "name the option that they belong to: see `replitune compare --help`"),
        (["--baseline", "a1", "--system", "../b=b1"], "a safe file name"),
        (["--baseline", "a1", "--system", "b=none"], "no such file"),
        (["--baseline", "a1", "--system", "b=b1", "--samples", "-1"], "at least 1"),
        (["--baseline", "a1", "--system", "b=b1", "--methods", "clrk"], "did you mean `clark`"),
        (["--baseline", "a1", "--system", "b=b1", "--metrics", "bleuu"], "did you mean"),
        (["--baseline", "a1", "--system", "b=b1", "--metrics", "bleu", "bleu"], "bleu"),
    ],
)
def test_mistakes_exit_two_with_one_message(
    replitune: Callable[..., Ran], files: dict, arguments: list[str], message: str
):
    words = []
    for word in arguments:
        name, equals, key = word.rpartition("=")
        words.append(f"{name}{equals}{files[key]}" if key in files and key != "b" else word)
    ran = replitune("compare", "--refs", files["ref"], *words)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_unequal_line_counts_name_both_files_and_counts(
    replitune: Callable[..., Ran], files: dict, tmp_path: Path
):
    short = tmp_path / "short.txt"
    short.write_text("one line\n")
    ran = replitune("compare", "--refs", files["ref"], "--baseline", short, "--system", f"b={files['b1']}")
    assert ran.code == 2
    for part in ("short.txt", "ref.txt", "1 line", "6 lines"):
        assert part in ran.err


@pytest.mark.realdata
def test_multevals_example_gives_multevals_table(replitune: Callable[..., Ran], data: Path, tmp_path: Path):
    """multeval 0.5.1 prints 18.5/18.8/18.5, s_sel 0.3/0.3/0.3, s_opt 0.1/0.3/0.1; and calls the
    two identical systems different."""
    folder, out = data / "multeval-example", tmp_path / "c.json"

    def runs(name: str) -> list[str]:
        return sorted(str(p) for p in folder.glob(f"hyps.lc.tok.en.{name}.opt*.gz"))

    one, two = runs("sys1"), runs("sys2")
    ran = replitune(
        "compare",
        "--refs",
        folder / "refs.test2010.lc.tok.en.0.gz",
        "--baseline",
        *runs("baseline"),
        "--system",
        f"sys1={one[0]}",
        *one[1:],
        "--system",
        f"sys2={two[0]}",
        *two[1:],
        "--metrics",
        "bleu:tokenize=none",
        "--json",
        out,
    )
    assert ran.code == 0, ran.err
    bleu = strict(out.read_text())["metrics"]["bleu"]
    printed = {
        name: tuple(f"{system[key]:.1f}" for key in ("avg", "s_sel", "s_test"))
        for name, system in bleu["systems"].items()
    }
    assert printed == {
        "baseline": ("18.5", "0.3", "0.1"),
        "sys1": ("18.8", "0.3", "0.3"),
        "sys2": ("18.5", "0.3", "0.1"),
    }
    same = next(pair for pair in bleu["pairs"] if pair["b"] == "sys2")
    assert {row["p"] for row in same["methods"].values()} == {1.0}


def test_patterns_behind_a_name_are_matched(replitune: Callable[..., Ran], files: dict):
    """As shells leave ``b=b?.txt``, and as they make it of ``b=b{1,2}.txt``."""
    folder = files["ref"].parent
    given = ["compare", "--refs", files["ref"], "--baseline", files["a1"], "--samples", 99]
    pattern = replitune(*given, "--system", f"b={folder}/b?.txt")
    assert pattern.code == 0, pattern.err
    repeated = replitune(*given, "--system", f"b={files['b1']}", f"b={files['b2']}")
    assert pattern.out == repeated.out
    nothing = replitune(*given, "--system", f"b={folder}/c*.txt")
    assert nothing.code == 2
    assert "no file matches" in nothing.err
