"""`--fail-unless`: exit codes and one line of JSON for machines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import yaml

from support import ROOT, Ran


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A base, one like it, one far better and one far worse: four runs of 60 segments."""
    rng = np.random.default_rng(4)
    effect = rng.normal(0, 1, 60)
    rows = [
        (system, run, i, effect[i] + shift + rng.normal(0, 0.02) + noise)
        for system, shift in (("base", 5), ("like", 5.001), ("good", 5.5), ("bad", 4.5))
        for run in range(4)
        for noise in [rng.normal(0, 0.005)]
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["system", "run", "segment", "score"]).to_csv(path, index=False)
    return path


def decide(replitune: Callable[..., Ran], table: Path, system: str, *words: object) -> Ran:
    return replitune(
        "compare",
        "--scores",
        table,
        "--pairs",
        f"base:{system}",
        "--methods",
        "crossed",
        "--intervals",
        "--fail-unless",
        *words,
    )


@pytest.mark.parametrize(
    ("rule", "margin", "codes"),
    [
        ("better", (), {"good": 0, "like": 3, "bad": 3}),
        ("not-worse", ("--margin", 0.2), {"good": 0, "like": 0, "bad": 3}),
        ("same", ("--margin", "score=0.2"), {"good": 3, "like": 0, "bad": 3}),
    ],
)
def test_exit_codes(replitune: Callable[..., Ran], table: Path, rule: str, margin: tuple, codes: dict):
    for system, code in codes.items():
        ran = decide(replitune, table, system, rule, *margin)
        assert ran.code == code, (system, ran.out, ran.err)
        said = json.loads(ran.out.splitlines()[-1])
        assert said["rule"] == rule
        assert said["ok"] is (code == 0)
        (pair,) = said["pairs"]
        assert (pair["a"], pair["b"], pair["metric"]) == ("base", system, "score")
        assert pair["ok"] is said["ok"]
        assert (pair["p"] <= 0.05) or not pair["ok"]


def test_a_test_of_these_outputs_decides_nothing_and_says_so(replitune: Callable[..., Ran], table: Path):
    ran = replitune(
        *("compare", "--scores", table, "--pairs", "base:good", "--methods", "clark", "--intervals"),
        *("--fail-unless", "better"),
    )
    assert ran.code == 3
    (pair,) = json.loads(ran.out.splitlines()[-1])["pairs"]
    assert pair["p"] <= 0.05
    (refused,) = pair["refused"]
    assert "looks at these outputs alone" in refused
    assert refused.endswith("use the test `crossed`, which generalises to new runs")


def test_all_systems_must_be_so(replitune: Callable[..., Ran], table: Path):
    ran = replitune(
        "compare",
        "--scores",
        table,
        "--baseline",
        "base",
        "--methods",
        "crossed",
        "--intervals",
        "--fail-unless",
        "not-worse",
        "--margin",
        0.2,
    )
    assert ran.code == 3
    said = json.loads(ran.out.splitlines()[-1])
    assert {pair["b"]: pair["ok"] for pair in said["pairs"]} == {"like": True, "good": True, "bad": False}


def test_junit_says_what_json_says(replitune: Callable[..., Ran], table: Path, tmp_path: Path):
    file = tmp_path / "gate.xml"
    words = ["--methods", "crossed", "--intervals", "--fail-unless", "better", "--junit", file]
    ran = replitune("compare", "--scores", table, "--baseline", "base", *words)
    said = json.loads(ran.out.splitlines()[-1])
    root = ElementTree.parse(file).getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "3", "2")
    (suite,) = root
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("testset.score", "3", "2")
    assert {case.get("name"): case.find("failure") is None for case in suite} == {
        f"{pair['b']} is better against base": pair["ok"] for pair in said["pairs"]
    }
    for case, pair in zip(suite, said["pairs"], strict=True):
        text = case.findtext("system-out") or ""
        assert f"delta {pair['delta']}, " in text
        assert f"p {pair['p']}, method crossed" in text


ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


@pytest.mark.parametrize(("rule", "code"), [("better", 3), ("not-worse", 0), ("equal", 2)])
def test_the_action_runs_on_a_shell(table: Path, tmp_path: Path, rule: str, code: int):
    """The step of action.yml, as GitHub runs it: `bash -e -o pipefail`."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "gate"]
    assert {*step["env"]} == {"ARGUMENTS", "RULE", "JUNIT"}
    given = {
        "ARGUMENTS": "--scores t.c?v --pairs base:like --methods crossed --margin 0.2",
        "RULE": rule,
        "JUNIT": "gate.xml",
        "GITHUB_STEP_SUMMARY": "summary.md",
        "GITHUB_OUTPUT": "output",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **given}, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert (tmp_path / "gate.xml").exists() is (code != 2)
    if code == 2:
        assert not (tmp_path / "output").exists()
        return
    values = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert values["ok"] == str(code == 0).lower()
    assert json.loads(values["decision"])["ok"] is (code == 0)
    assert "base scored 0.006 score above like" in (tmp_path / "summary.md").read_text()


def test_the_gates_of_the_page_run(table: Path, tmp_path: Path):
    page = (ROOT / "docs" / "compare.md").read_text("utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    (action,) = [block[0] for block in blocks if isinstance(block, list) and "uses" in block[0]]
    assert {*action["with"]} <= {*ACTION["inputs"]}
    rows = pd.read_csv(table)
    for folder, suffix in (("main", "jsonl"), ("results", "jsonl"), ("scores", "csv")):
        (tmp_path / folder).mkdir()
        for system, name in (("base", "released"), ("like", "new")):
            own = rows[rows.system == system].drop(columns="system")
            if suffix == "csv":
                own.to_csv(tmp_path / folder / f"{name}.csv", index=False)
            elif (folder, name) in (("main", "released"), ("results", "new")):
                own.to_json(tmp_path / folder / "s.jsonl", orient="records", lines=True)
    run = next(block[0]["run"] for block in blocks if isinstance(block, list) and "run" in block[0])
    hook = next(block for block in blocks if isinstance(block, dict))["repos"][0]["hooks"][0]["entry"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for line in (run, hook):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 3), done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["rule"] == "not-worse"
    assert (tmp_path / "replitune.xml").exists()


def test_a_run_unlike_all_others_decides_nothing_unless_that_is_allowed(
    replitune: Callable[..., Ran], tmp_path: Path
):
    """Six runs with an odd one in the base, which is far worse all the same."""
    rng = np.random.default_rng(5)
    rows = [
        (system, run, i, shift + rng.normal(0, 0.02) - 0.5 * ((system, run) == ("base", 2)))
        for system, shift in (("base", 5), ("good", 8))
        for run in range(6)
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["system", "run", "segment", "score"]).to_csv(path, index=False)
    for more, code in (((), 3), (("--allow-odd-runs",), 0)):
        ran = decide(replitune, path, "good", "better", *more)
        assert ran.code == code
        (pair,) = json.loads(ran.out.splitlines()[-1])["pairs"]
        assert pair["p"] <= 0.05
        assert len(pair["refused"]) == (code == 3)
        assert "robust standard deviations" in "".join(pair["refused"]) or code == 0


@pytest.mark.parametrize(
    ("runs", "documents", "unit", "allow", "said"),
    [
        (2, 60, "auto", "--allow-two-runs", "Two runs: p is approximate"),
        (4, 10, "segment", "--allow-ignored-documents", "The segments of 10 documents are taken as"),
        (4, 1, "auto", "--allow-small-text", "Only 1 document: too few for an answer about new text"),
    ],
)
def test_what_makes_p_approximate_decides_nothing_unless_that_is_allowed(
    replitune: Callable[..., Ran],
    tmp_path: Path,
    runs: int,
    documents: int,
    unit: str,
    allow: str,
    said: str,
):
    rng = np.random.default_rng(6)
    rows = [
        (system, run, f"d{i % documents}", i, shift + rng.normal(0, 0.02))
        for system, shift in (("base", 5), ("good", 8))
        for run in range(runs)
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    columns = ["system", "run", "document", "segment", "score"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    for more, code in (((), 3), ((allow,), 0)):
        ran = decide(replitune, path, "good", "better", "--unit", unit, *more)
        assert ran.code == code
        assert f"! {said}" in ran.out, "in the block of the sentence"
        (pair,) = json.loads(ran.out.splitlines()[-1])["pairs"]
        assert (pair["refused"] == []) == (code == 0)
        if code:
            assert pair["refused"][0].startswith(said)
            assert allow in pair["refused"][0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pairs", "base:like", "--fail-unless", "same"], "`same` needs a margin for score"),
        (["--fail-unless", "better"], "--fail-unless needs a baseline, or pairs"),
        (["--pairs", "base:like", "--fail-unless", "same", "--margin", "-1"], "margin"),
        (["--pairs", "base:like", "--fail-unless", "equal"], "invalid choice"),
        (["--junit", "x.xml"], "--junit writes a decision, but none is asked for"),
    ],
)
def test_mistakes_are_two(replitune: Callable[..., Ran], table: Path, words: list[str], message: str):
    ran = replitune("compare", "--scores", table, "--methods", "crossed", "--intervals", *words)
    assert ran.code == 2
    assert message in ran.err
