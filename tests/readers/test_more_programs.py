"""Files of more programs, made after their documented schemas: Inspect (samples_df and logs), Every
Eval Ever (instance_level_eval 0.2.1), promptfoo (EvaluateResult), mt-metrics-eval (README), WMT25
(wmt25-general-mt), HELM (PerInstanceStats), DeepEval (TestRun), terminal-bench (BenchmarkResults),
pymarian-eval (a number a line), and generations with n samples a prompt."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import replitune as r
from support import Ran

FAST = {"samples": 99, "methods": ["crossed"], "intervals": [], "threads": 1}
MODELS, ITEMS, EPOCHS = ("small", "large"), 30, 3


def answers() -> Iterator[tuple[str, int, int, bool]]:
    """Model, epoch, item, and whether it was right."""
    for m, model in enumerate(MODELS):
        for epoch in range(1, EPOCHS + 1):
            draw = random.Random(f"{model} {epoch}")
            for item in range(ITEMS):
                yield model, epoch, item, draw.random() < 0.4 + 0.3 * m


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def expected() -> dict[str, dict[str, float]]:
    sums: dict[str, dict[str, float]] = {}
    for model, epoch, _, right in answers():
        samples = sums.setdefault(model, {})
        samples[f"sample-{epoch:03d}"] = samples.get(f"sample-{epoch:03d}", 0.0) + right / ITEMS
    return sums


def scores_of(report: Any, metric: str | None = None) -> dict[str, dict[str, float]]:
    chosen = next(res for res in report.results if metric in (None, res.metric))
    return {name: dict(summary.scores) for name, summary in chosen.systems.items()}


def same(report: Any, metric: str | None = None, kind: str = "sample") -> None:
    found, right = scores_of(report, metric), expected()
    assert found.keys() == right.keys()
    for name, outputs in right.items():
        named = {id.replace("sample", kind): score for id, score in outputs.items()}
        assert found[name] == pytest.approx(named), name


def samples_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sample_id": f"u{model}{epoch}{item}",
            "eval_id": f"e{model}",
            "model": model,
            "task_name": "gsm8k",
            "id": str(item),
            "epoch": epoch,
            "input": '1 + 1, "two"?',
            "target": "2",
            "score_match": "C" if right else "I",
            "score_judge": 0.5 + right / 4,
            "total_time": 1.5,
        }
        for model, epoch, item, right in answers()
    )


@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.jsonl"])
def test_sample_tables_of_inspect(tmp_path: Path, name: str):
    table = samples_table()
    if name == "s.csv":
        table.to_csv(tmp_path / name)
    elif name == "s.jsonl":
        table.to_json(tmp_path / name, orient="records", lines=True)
    else:
        table.to_parquet(tmp_path / name)
    report = r.scores(tmp_path / name, **FAST)
    same(report, "match")
    assert [result.metric for result in report.results] == ["match", "judge"]
    assert report.results[0].testset == "gsm8k"
    assert "each epoch of each evaluation is a sample" in report.read_as[0]


def test_several_evaluations_of_a_model_are_several_runs(tmp_path: Path):
    table = samples_table()
    table["eval_id"] += (table.epoch == 3).map({True: "b", False: "a"})
    table.loc[table.epoch == 3, "epoch"] = 1
    table.to_csv(tmp_path / "s.csv", index=False)
    found = scores_of(r.scores(tmp_path / "s.csv", metrics=["match"], **FAST))
    assert {name: sorted(runs.values()) for name, runs in found.items()} == {
        name: pytest.approx(sorted(runs.values())) for name, runs in expected().items()
    }


def log_of(model: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    header = {
        "version": 2,
        "status": "success",
        "eval": {"run_id": "r", "task": "gsm8k", "task_id": "t", "model": model},
    }
    samples = [
        {
            "id": item,
            "epoch": epoch,
            "input": "?",
            "target": "2",
            "scores": {"match": {"value": "C" if right else "I"}, "parts": {"value": {"a": 1}}},
        }
        for name, epoch, item, right in answers()
        if name == model
    ]
    return header, samples


def with_zstandard(path: Path) -> bytes:
    """The same archive packed as Inspect packs now, which Python itself cannot write."""
    buffer, sizes = io.BytesIO(), {}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, pa.compress(data, "zstd", asbytes=True))
            sizes[name] = len(data)
        places = [(info.header_offset, info.filename) for info in new.infolist()]
    packed = bytearray(buffer.getvalue())
    central = packed.index(b"PK\x01\x02")
    for start, name in places:
        packed[start + 8 : start + 10] = (93).to_bytes(2, "little")
        packed[start + 22 : start + 26] = sizes[name].to_bytes(4, "little")
        packed[central + 10 : central + 12] = (93).to_bytes(2, "little")
        packed[central + 24 : central + 28] = sizes[name].to_bytes(4, "little")
        central += 46 + len(name)
    return bytes(packed)


def test_logs_of_inspect(tmp_path: Path):
    for model in MODELS:
        header, samples = log_of(model)
        text = json.dumps({**header, "samples": samples}, indent=2)
        (tmp_path / f"{model}.json").write_text(text)
        with zipfile.ZipFile(tmp_path / f"{model}.eval", "w") as packed:
            packed.writestr("header.json", json.dumps(header))
            packed.writestr("summaries.json", json.dumps(samples))
    for kind in ("json", "eval"):
        report = r.scores(sorted(tmp_path.glob(f"*.{kind}"), reverse=True), **FAST)
        same(report, "match")
        assert any(
            "parts left out where it is not a number: 90 of the samples" in said for said in report.read_as
        )
    for model in MODELS:
        (tmp_path / f"{model}.eval").write_bytes(with_zstandard(tmp_path / f"{model}.eval"))
    same(r.scores(sorted(tmp_path.glob("*.eval"), reverse=True), **FAST), "match")
    (tmp_path / "small.eval").write_bytes((tmp_path / "small.eval").read_bytes()[:-30])
    with pytest.raises(r.ReplituneError, match="an incomplete or damaged log of Inspect"):
        r.scores(sorted(tmp_path.glob("*.eval")), **FAST)


def test_instances_of_every_eval_ever(tmp_path: Path):
    rows = [
        {
            "schema_version": "0.2.1",
            "evaluation_id": f"gsm8k/{model}/{epoch}",
            "model_id": model,
            "evaluation_name": "GSM8K",
            "sample_id": f"gsm8k_{item:04d}",
            "interaction_type": "single_turn",
            "input": {"raw": "1 + 1?", "reference": ["2"]},
            "output": {"raw": ["2"]},
            "answer_attribution": [],
            "evaluation": {"score": float(right), "is_correct": right},
        }
        for model, epoch, item, right in answers()
    ]
    report = r.scores(jsonl(tmp_path / "s.jsonl", rows), **FAST)
    same(report, kind="run")
    assert report.results[0].testset == "GSM8K"
    del rows[1]["evaluation"]
    with pytest.raises(r.ReplituneError, match=r"s.jsonl:2: no evaluation"):
        r.scores(jsonl(tmp_path / "s.jsonl", rows), **FAST)


def promptfoo(rows: list[tuple[str, str, int, bool]]) -> dict[str, Any]:
    """Repeated tests have other numbers and the same variables."""
    results = [
        {
            "promptIdx": 0,
            "testIdx": number,
            "vars": {"q": f"{item} + 1?"},
            "provider": {"id": f"org:{model}", "label": model},
            "prompt": {"raw": f"{prompt} {{{{q}}}}", "label": prompt},
            "response": {"output": "2"},
            "success": right,
            "score": float(right),
            "failureReason": 0,
            "namedScores": {"length": 3.0},
        }
        for number, (model, prompt, item, right) in enumerate(rows)
    ]
    return {"evalId": "eval-abc", "results": {"version": 3, "results": results}, "config": {}}


def test_results_of_promptfoo(tmp_path: Path):
    rows = [(model, "short", item, right) for model, _, item, right in answers()]
    content = promptfoo(rows)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content, indent=2))
    report = r.scores(path, **FAST)
    same(report, "score")
    assert [result.metric for result in report.results] == ["score", "length"]
    content["results"]["results"][4] |= {"failureReason": 2, "score": 0}
    path.write_text(json.dumps(content))
    with pytest.raises(r.ReplituneError, match="scores are missing"):
        r.scores(path, **FAST)
    rows = [("m", "short" if model == "small" else "long", i, ok) for model, _, i, ok in answers()]
    path.write_text(json.dumps(promptfoo(rows)))
    assert list(scores_of(r.scores(path, **FAST))) == ["m short", "m long"]


def test_folders_of_mt_metrics_eval(tmp_path: Path):
    root = tmp_path / "wmt30"
    (root / "metric-scores" / "en-de").mkdir(parents=True)
    (root / "human-scores").mkdir()
    (root / "documents").mkdir()
    (root / "documents" / "en-de.docs").write_text(
        "".join(f"news\tdoc{item // 5}\n" for item in range(ITEMS))
    )
    lines = [f"{model}\t{int(right)}\n" for model, e, _, right in answers() if e == 1]
    (root / "metric-scores" / "en-de" / "COMET-refA.seg.score").write_text("".join(lines))
    human = [line.replace("\t0", "\tNone") if n % 7 == 0 else line for n, line in enumerate(lines)]
    (root / "human-scores" / "en-de.mqm.seg.score").write_text("".join(human))
    report = r.scores(root, metrics=["COMET-refA"], **FAST)
    (result,) = report.results
    assert (result.testset, result.metric) == ("wmt30.en-de", "COMET-refA")
    assert report.stores[0].n_documents == 6
    assert result.systems["large"].scores["run-001"] == pytest.approx(expected()["large"]["sample-001"])
    one = r.scores(root / "metric-scores" / "en-de" / "COMET-refA.seg.score", **FAST)
    assert scores_of(one) == scores_of(report)
    assert one.results[0].metric == "COMET-refA"
    both = r.scores(root, allow_missing=True, **FAST)
    assert [result.metric for result in both.results] == ["COMET-refA", "human.mqm"]


def test_scores_of_each_system_by_lines(replitune: Callable[..., Ran], tmp_path: Path):
    for model in MODELS:
        for epoch in (1, 2, 3):
            right = [ok for name, e, _, ok in answers() if (name, e) == (model, epoch)]
            lines = [f"{0.25 + ok / 2:.4f}" for ok in right]
            mean = sum(map(float, lines)) / len(lines)
            path = tmp_path / f"{model}.run{epoch}.score"
            path.write_text("\n".join([*lines, f"{mean:.4f}"]) + "\n")
    paths = sorted(tmp_path.glob("*.score"), reverse=True)
    report = r.scores(paths, **FAST)
    found = scores_of(report)
    assert found["large"]["run-002"] == pytest.approx(0.25 + expected()["large"]["sample-002"] / 2)
    assert report.stores[0].segments == ITEMS
    assert any("the last line is the mean" in said for said in report.read_as)
    ran = replitune(
        "compare",
        "--scores",
        f"A={tmp_path}/small.run*.score",
        f"B={tmp_path}/large.run*.score",
        "--samples",
        99,
    )
    assert ran.code == 0, ran.err
    assert "B over A" in ran.out


def test_scores_and_judgements_of_wmt(tmp_path: Path):
    for model in MODELS:
        right = [float(ok) for name, e, _, ok in answers() if (name, e) == (model, 1)]
        rows = [
            {
                "language_pair": "en-cs_CZ",
                "domain": "news",
                "document_id": f"d{d}",
                "metric_scores": {
                    "XCOMET-XL": right[5 * d : 5 * d + 5],
                    "chrF++": [50.0 + s for s in right[5 * d : 5 * d + 5]],
                },
            }
            for d in range(ITEMS // 5)
        ]
        jsonl(tmp_path / f"{model}.jsonl", rows)
    report = r.scores([tmp_path / "small.jsonl", tmp_path / "large.jsonl"], **FAST)
    assert [result.metric for result in report.results] == ["XCOMET-XL", "chrF++"]
    assert report.results[0].testset == "en-cs_CZ"
    assert report.stores[0].n_documents == 6
    assert scores_of(report)["large"]["run-001"] == pytest.approx(expected()["large"]["sample-001"])
    said = {name: dict[int, bool]() for name in MODELS}
    for name, epoch, item, ok in answers():
        if epoch == 1:
            said[name][item] = ok
    rows = [
        {
            "doc_id": f"en-cs_CZ_#_news_#_doc{item // 5}_#_{item}",
            "src_text": "s",
            "tgt_text": dict.fromkeys(MODELS, "t"),
            "scores": {name: {"human": float(said[name][item]), "errors": []} for name in MODELS},
        }
        for item in range(ITEMS)
    ]
    judged = r.scores(jsonl(tmp_path / "human.jsonl", rows), **FAST)
    assert judged.results[0].metric == "human"
    assert judged.stores[0].n_documents == 6
    assert scores_of(judged) == scores_of(report, "XCOMET-XL")


def helm(path: Path, model: str, epochs: tuple[int, ...]) -> Path:
    """As HELM writes it: an entry for each metric's statistics, perturbed instances, another split."""
    path.mkdir()
    rows = [
        {
            "instance_id": f"id{item}",
            "train_trial_index": epoch - 1,
            "stats": [
                {"name": {"name": "num_prompt_tokens", "split": "test"}, "count": 1, "mean": 718.0},
                {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": float(right)},
            ],
        }
        for name, epoch, item, right in answers()
        if name == model and epoch in epochs
    ]
    stat = {"name": {"name": "exact_match", "split": "valid"}, "count": 1, "mean": 1.0}
    rows.append({"instance_id": "id99", "train_trial_index": 0, "stats": [stat]})
    rows.append({**rows[0], "perturbation": {"name": "typos"}})
    (path / "per_instance_stats.json").write_text(json.dumps(rows, indent=2))
    return path / "per_instance_stats.json"


def test_statistics_of_helm(tmp_path: Path):
    paths = [helm(tmp_path / f"mmlu:subject=law,model={model}", model, (1, 2, 3)) for model in MODELS]
    report = r.scores(paths, **FAST)
    same(report, kind="run")
    assert [(result.testset, result.metric) for result in report.results] == [
        ("mmlu:subject=law", "exact_match")
    ]
    said = " ".join(report.read_as)
    for part in ("split test", "other splits left out: valid", "perturbed instances left out (1)"):
        assert part in said
    spec = {"name": "mmlu:model=x,subject=tax", "adapter_spec": {"model": "org/small"}}
    paths[0].with_name("run_spec.json").write_text(json.dumps(spec))
    paths[1].with_name("run_spec.json").write_text(json.dumps({**spec, "adapter_spec": {"model": "b"}}))
    report = r.scores(paths, metrics=["num_prompt_tokens"], **FAST)
    assert scores_of(report)["org/small"]["run-001"] == 718
    assert report.results[0].testset == "mmlu,subject=tax"


def test_test_runs_of_deepeval(tmp_path: Path):
    for model in MODELS:
        cases = [
            {
                "name": f"case_{item}",
                "input": "?",
                "success": right,
                "metricsData": [
                    {"name": "Faithfulness", "score": float(right), "threshold": 0.5, "success": right},
                    {
                        "name": "Tone [GEval]",
                        "score": 0.5 if item else None,
                        "error": None if item else "x",
                    },
                ],
            }
            for name, _, item, right in answers()
            if name == model
        ]
        run = {"testCases": cases, "conversationalTestCases": [], "metricsScores": []}
        (tmp_path / f"{model}.json").write_text(json.dumps({"testRunData": run}))
    report = r.scores([tmp_path / f"{model}.json" for model in MODELS], metrics=["Faithfulness"], **FAST)
    same(report)
    every = r.scores([tmp_path / f"{m}.json" for m in MODELS], allow_missing=True, **FAST)
    assert [result.metric for result in every.results] == ["Faithfulness", "Tone [GEval]"]
    assert every.stores[0].segments == ITEMS - 1
    small = json.loads((tmp_path / "small.json").read_text())["testRunData"]
    for run in (1, 2):
        cases = [case for n, case in enumerate(small["testCases"]) if n // ITEMS == run]
        (tmp_path / f"again.run{run}.json").write_text(json.dumps({**small, "testCases": cases}))
    files = {
        "a": [tmp_path / f"again.run{run}.json" for run in (1, 2)],
        "b": [tmp_path / "again.run1.json"],
    }
    runs = scores_of(r.scores(files, metrics=["Faithfulness"], **FAST))["a"]
    assert [*runs.values()] == pytest.approx([expected()["small"][f"sample-00{run + 1}"] for run in (1, 2)])


def tbench(
    path: Path, model: str, trials: Callable[[int, int], bool], about: dict[str, Any] | None
) -> Path:
    path.mkdir()
    results = [
        {
            "trial_name": f"task{item}.{epoch}-of-3.{path.name}",
            "task_id": f"task{item}",
            "is_resolved": right or (None if item % 2 else False),
            "uuid": f"{path.name} {item} {epoch}",
        }
        for name, epoch, item, right in reversed([*answers()])
        if name == model and trials(epoch, item)
    ]
    (path / "results.json").write_text(json.dumps({"results": results, "accuracy": 0.5}))
    if about is not None:
        (path / "run_metadata.json").write_text(json.dumps(about))
    return path / "results.json"


def test_trials_of_terminal_bench_are_samples_and_so_are_those_of_another_file(tmp_path: Path):
    paths = []
    for model in MODELS:
        about = {"agent_name": "A", "model_name": model, "dataset_name": "core"}
        paths.append(tbench(tmp_path / f"{model}-1", model, lambda epoch, _: epoch < 3, about))
        paths.append(tbench(tmp_path / f"{model}-2", model, lambda epoch, _: epoch == 3, about))
    report = r.scores(paths, **FAST)
    assert {name[2:]: runs for name, runs in scores_of(report).items()} == {
        name: pytest.approx(runs) for name, runs in expected().items()
    }
    assert (report.results[0].testset, report.results[0].metric) == ("core", "resolved")
    assert any("trials without a verdict count as not resolved" in said for said in report.read_as)
    with pytest.raises(r.ReplituneError, match="a segment of a run occurs twice"):
        r.scores([*paths, paths[0]], **FAST)
    for path in paths:
        path.with_name("run_metadata.json").write_text('{"agent_name": "A", "model_name": null}')
    assert len(scores_of(r.scores(paths, **FAST))) == 4, "an agent without its model is no system"


def test_the_mean_of_unequally_many_trials_is_the_score(tmp_path: Path):
    paths = {m: [tbench(tmp_path / m, m, lambda e, i: (e, i) != (3, 7), None)] for m in MODELS}
    report = r.scores(paths, **FAST)
    assert "segments have 2 to 3 trials; their mean is the score" in report.read_as[0]
    for model, runs in scores_of(report).items():
        own = pd.DataFrame(
            [(i, ok) for name, e, i, ok in answers() if name == model and (e, i) != (3, 7)],
            columns=["item", "ok"],
        )
        assert runs == {"run-001": pytest.approx(own.groupby("item").ok.mean().mean())}


def test_another_log_of_one_task_and_model_is_another_run(tmp_path: Path):
    for model in MODELS:
        header, samples = log_of(model)
        for epoch in (1, 2, 3):
            own = [{**sample, "epoch": 1} for sample in samples if sample["epoch"] == epoch]
            about = {**header["eval"], "eval_id": f"{model} {epoch}"}
            (tmp_path / f"{epoch}{model}.json").write_text(
                json.dumps({**header, "eval": about, "samples": own})
            )
    paths = sorted(tmp_path.glob("*.json"))
    same(r.scores(paths, metrics=["match"], **FAST), "match")
    with pytest.raises(r.ReplituneError, match="a segment of a run occurs twice"):
        r.scores([*paths, paths[0]], metrics=["match"], **FAST)


def test_generations_with_n_samples_a_prompt(tmp_path: Path):
    by_item: dict[tuple[str, int], list[bool]] = {}
    for model, _, item, right in answers():
        by_item.setdefault((model, item), []).append(right)
    rows = [
        {"model": model, "id": f"q{item}", "samples": ["2"] * EPOCHS, "correct": right}
        for (model, item), right in by_item.items()
    ]
    report = r.scores(jsonl(tmp_path / "g.jsonl", rows), design="samples", **FAST)
    same(report)
    assert report.results[0].metric == "correct"
    rows[3]["correct"] = [True]
    with pytest.raises(r.ReplituneError, match=r"g.jsonl:4: not 3 samples"):
        r.scores(jsonl(tmp_path / "g.jsonl", rows), **FAST)


def wide() -> pd.DataFrame:
    return pd.DataFrame(
        {"system": model, "run": epoch, "id": item, "bleu": 20.0 + right, "comet": float(right)}
        for model, epoch, item, right in answers()
    )


def test_several_columns_are_several_metrics(replitune: Callable[..., Ran], tmp_path: Path):
    table = wide()
    table.to_csv(tmp_path / "w.csv", index=False)
    report = r.scores(tmp_path / "w.csv", metrics=["comet", "bleu"], **FAST)
    same(report, "comet", kind="run")
    assert [result.metric for result in report.results] == ["comet", "bleu"]
    of_table = r.scores(table, metrics=["comet", "bleu"], **FAST)
    assert of_table.to_json()["metrics"] == report.to_json()["metrics"]
    assert len(r.scores(table, metrics=["bleu"], **FAST).results) == 1
    ran = replitune("compare", "--scores", tmp_path / "w.csv")
    assert ran.code == 2
    assert "--metrics bleu comet" in ran.err
    table.loc[3, "bleu"] = float("nan")
    with pytest.raises(r.ReplituneError, match="row 3"):
        r.scores(table, metrics=["comet", "bleu"], **FAST)


def test_an_array_of_records_is_a_table(tmp_path: Path):
    table = wide()
    table.to_json(tmp_path / "w.json", orient="records", indent=1)
    same(r.scores(tmp_path / "w.json", columns={"score": "comet"}, **FAST), kind="run")
    (tmp_path / "w.json").write_text('[{"system": "a", "id": 1, "score": 0.5}, 3]')
    with pytest.raises(r.ReplituneError, match=r"w.json:2: not a JSON object"):
        r.scores(tmp_path / "w.json", **FAST)
