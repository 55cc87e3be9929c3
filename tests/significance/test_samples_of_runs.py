"""Samples of runs: a run counts by the mean of its samples, wherever and however it is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import replitune as r
from replitune.errors import ReplituneError
from support import Ran

N = 40
FAST: dict[str, Any] = {"threads": 1, "samples": 99, "intervals": []}
SHAPES = {"balanced": (4, 4, 4), "unbalanced": (1, 2, 12)}


def table(shape: tuple[int, ...], seed: int = 5) -> pd.DataFrame:
    """Systems a and b, prompts that differ, and samples of each prompt."""
    rng = np.random.default_rng(seed)
    rows = []
    for system in "ab":
        for p, samples in enumerate(shape, start=1):
            of_prompt = rng.normal(0, 0.5)
            for k in range(1, samples + 1):
                score = rng.normal(of_prompt, 1.0, N)
                rows += [(system, p, k, i, float(x)) for i, x in enumerate(score)]
    return pd.DataFrame(rows, columns=["system", "prompt", "sample", "item", "score"])


def means(scores: pd.DataFrame) -> pd.DataFrame:
    """Each prompt as one run, with the mean of its samples."""
    mean = scores.groupby(["system", "prompt", "item"], as_index=False).score.mean()
    return mean.rename(columns={"prompt": "run"})


def named(scores: pd.DataFrame, form: str) -> pd.DataFrame:
    ids = [form.format(p=p, k=k) for p, k in zip(scores["prompt"], scores["sample"], strict=True)]
    return scores.drop(columns=["prompt", "sample"]).assign(run=ids)


def same_test(found: Any, wanted: Any) -> None:
    for key in ("delta", "p", "se", "df", "ci_low", "ci_high", "n_a", "n_b", "score_a", "score_b"):
        assert getattr(found, key) == pytest.approx(getattr(wanted, key), rel=1e-9), key


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_samples_count_by_the_mean_of_their_run(shape: tuple[int, ...]):
    scores = table(shape)
    (wanted,) = r.scores(means(scores), methods=["crossed"], **FAST).results[0].tests
    ways = [
        r.scores(scores, **FAST),
        r.scores(scores.rename(columns={"prompt": "engine"}), columns={"group": "engine"}, **FAST),
        r.scores(scores.rename(columns={"prompt": "model_seed", "sample": "epoch"}), **FAST),
        r.scores(scores.rename(columns={"prompt": "run", "sample": "trial"}), **FAST),
        *(
            r.scores(named(scores, form), design="nested", **FAST)
            for form in ("p{p}-{k:03d}", "p{p}_s{k}", "long prompt {p}.{k}", "prompt{p:03d}/{k}")
        ),
    ]
    for report in ways:
        (result,) = report.results
        (found,) = result.tests
        same_test(found, wanted)
        for name, system in result.systems.items():
            assert system.avg == pytest.approx(wanted.score_a if name == "a" else wanted.score_b)


def test_arrays_have_an_axis_of_samples():
    x = np.random.default_rng(2).normal(size=(2, 3, 5, N))
    wanted = r.test(x.mean(axis=2), methods=["crossed"], **FAST).results[0].tests[0]
    for arrays in (x, dict(zip("AB", x, strict=True))):
        report = r.test(arrays, **FAST)
        same_test(report.results[0].tests[0], wanted)
        assert report.answers()[0].counts.runs == "3 runs x 5 samples each"


def test_the_answer_says_what_is_counted():
    balanced, unbalanced = (r.scores(table(shape), **FAST) for shape in SHAPES.values())
    assert balanced.answers()[0].counts.runs == "3 prompts x 4 samples each"
    assert unbalanced.answers()[0].counts.runs == "3 prompts of 1 to 12 samples each"
    assert "3 + 3 prompts x 4 samples" in balanced.answers()[0].detail
    assert "new segments and new prompts" in str(balanced)
    assert "each prompt is a run, and the samples of a prompt are its samples" in balanced.read_as


def test_one_prompt_is_no_ground_for_a_verdict():
    scores = table((10,))
    scores.loc[scores.system == "b", "score"] += 5
    for report in (r.scores(scores, **FAST), r.scores(named(scores, "p{p}-{k}"), design="nested", **FAST)):
        (answer,) = report.answers()
        assert answer.p is None
        assert answer.state == "these-outputs"
    assert "One prompt of each system" in r.scores(scores, **FAST).answers()[0].text


@pytest.mark.parametrize("form", ["{k}", "run-{k:03d}", "seed{k}", "sample-{k}"])
def test_samples_of_unknown_runs_are_refused(form: str):
    with pytest.raises(ReplituneError, match="which samples of a belong together"):
        r.scores(named(table((6,)), form), design="nested", **FAST)


def test_tests_that_would_count_each_sample_are_refused():
    with pytest.raises(ReplituneError, match="fu-ar would count each sample as a run"):
        r.scores(table((3, 3, 3)), methods=["crossed", "fu-ar"], **FAST)


def test_a_column_that_describes_items_tells_no_runs_apart():
    scores = table((1,)).drop(columns=["prompt", "sample"])
    plain = r.scores(scores, **FAST)
    described = r.scores(scores.assign(prompt=[f"question {i}" for i in scores["item"]]), **FAST)
    assert described.results[0].tests == plain.results[0].tests
    assert "`prompt` is the same in all rows of a segment: not used" in described.read_as


@pytest.mark.parametrize("name", ["sample", "epoch", "trial", "repeat", "attempt"])
@pytest.mark.parametrize(
    ("item", "score"), [("task_id", "reward"), ("item", "resolved"), ("item", "correct")]
)
def test_columns_of_harnesses_are_found(name: str, item: str, score: str):
    scores = (
        table((5,)).drop(columns="prompt").rename(columns={"sample": name, "item": item, "score": score})
    )
    report = r.scores(scores, **FAST)
    assert report.comparison.design == "samples"
    assert report.results[0].tests[0].scope == "samples"
    assert f'{name}s are samples (if they are runs: design="runs")' in report.read_as
    as_runs = r.scores(scores, columns={"replica": name}, **FAST)
    assert as_runs.comparison.design == "runs"
    assert as_runs.answers()[0].counts.runs == "5 runs each"


def test_with_samples_nothing_speaks_of_runs(tmp_path: Path):
    scores = table((5,)).drop(columns="prompt")
    report = r.scores(scores, threads=1)
    report.write_html(tmp_path / "x.html")
    report.write_latex(tmp_path / "x.tex")
    report.write_methods_paragraph(tmp_path / "m.txt")
    page = (tmp_path / "x.html").read_text()
    page = re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", page, flags=re.S)
    about = [page, (tmp_path / "x.tex").read_text(), (tmp_path / "m.txt").read_text(), str(report)]
    about += [answer.text + answer.next for answer in report.answers()]
    for text in about:
        assert not re.search(r".{0,40}\b(runs?|train\w+|tuned)\b.{0,40}", text)


def test_stores_name_their_groups_in_a_column_or_in_names(replitune: Callable[..., Ran], tmp_path: Path):
    scores = table((4, 4, 4))
    (wanted,) = r.scores(means(scores), methods=["crossed"], **FAST).results[0].tests
    for form in ("p{p}-{k:03d}", "p{p}_s{k}"):
        rows = named(scores, form).rename(columns={"run": "replica", "item": "segment"})
        rows.to_parquet(tmp_path / "s.parquet")
        ran = replitune("test", tmp_path / "s.parquet", "--design", "nested", "--json", tmp_path / "x.json")
        assert ran.code == 0, ran.err
        ((result,),) = [json.loads((tmp_path / "x.json").read_text())["metrics"].values()]
        assert result["pairs"][0]["methods"]["crossed"]["p"] == pytest.approx(wanted.p)
    rows["replica"] = rows.groupby("system").cumcount() // N
    rows.to_parquet(tmp_path / "s.parquet")
    ran = replitune("test", tmp_path / "s.parquet", "--design", "nested")
    assert ran.code == 2
    assert "which samples of a belong together" in ran.err


def test_files_of_samples_are_samples_of_their_file(replitune: Callable[..., Ran], tmp_path: Path):
    rng = np.random.default_rng(4)
    refs = [" ".join(rng.choice(list("abcdefgh"), 8)) for _ in range(30)]
    (tmp_path / "ref.txt").write_text("".join(f"{line}\n" for line in refs))
    texts: dict[str, dict[str, list[list[str]]]] = {}
    for system in ("old", "new"):
        for p in (1, 2, 3):
            outputs = [
                [" ".join(w if rng.random() < 0.8 else "x" for w in line.split()) for line in refs]
                for _ in range(4)
            ]
            texts.setdefault(system, {})[f"prompt{p}"] = outputs
            rows = enumerate(zip(*outputs, strict=True))
            texts_of = [json.dumps({"id": i, "samples": row}) + "\n" for i, row in rows]
            (tmp_path / f"{system}.prompt{p}.jsonl").write_text("".join(texts_of))
            for k, lines in enumerate(outputs):
                (tmp_path / f"{system}.prompt{p}.s{k}.txt").write_text("".join(f"{x}\n" for x in lines))
    (wanted,) = r.compare(refs, texts, ["chrf"], **FAST).answers()
    assert wanted.counts.runs == "3 prompts x 4 samples each"
    for pattern, options in (("*.jsonl", []), ("*.txt", ["--design", "nested"])):
        ran = replitune(
            *("compare", "--refs", tmp_path / "ref.txt", "--metrics", "chrf", "--samples", 99, *options),
            *("--system", f"old={tmp_path}/old.prompt{pattern}", "--json", tmp_path / "x.json"),
            *("--system", f"new={tmp_path}/new.prompt{pattern}", "--intervals"),
        )
        assert ran.code == 0, ran.err
        answer = json.loads((tmp_path / "x.json").read_text())["answers"][0]
        assert (answer["p"], answer["detail"]) == (wanted.p, wanted.detail)
    (tmp_path / "old.txt").write_text((tmp_path / "ref.txt").read_text())
    ran = replitune(
        *("compare", "--refs", tmp_path / "ref.txt", "--design", "nested"),
        *("--system", f"old={tmp_path}/old.txt", "--system", f"new={tmp_path}/old.txt"),
    )
    assert ran.code == 2
    assert "which samples of old belong together" in ran.err
