"""``per_instance_stats.json`` of HELM: the statistics of each instance in each trial.
``run_spec.json`` beside it, or the name of the folder, says what was run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.records import Records, json_of, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of

NO_SCORES = re.compile(
    r"(?:num|finish_reason|training|inference|estimated|predicted)_.*|.*_runtime|batch_size|prompt_truncated"
    r"|max_prob|logprob|logprob_per_byte|perplexity|bits_per_byte"
)
"""Statistics of how a run went, which are read only if they are asked for."""


class Helm(Reader):
    """The model is the system, the scenario the test set, a draw of training examples a run."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return beginning.has_keys("[", "instance_id", "train_trial_index", "stats")

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        rows = Records(path)
        splits: Counter[str] = Counter()
        found: list[tuple[int, str, int, str, str, float | None]] = []
        perturbed = 0
        for number, item in enumerate(
            of_kind(list, json_of(path, "HELM's statistics"), path, 1, "file"), 1
        ):
            instance = of_kind(dict, item, path, number, "instance")
            if instance.get("perturbation"):
                perturbed += 1
                continue
            id = str(instance.get("instance_id"))
            run = int(number_of(instance.get("train_trial_index")) or 0) + 1
            for item in of_kind(list, instance.get("stats"), path, number, "stats"):
                stat = of_kind(dict, item, path, number, "stat")
                about = of_kind(dict, stat.get("name"), path, number, "name")
                name, split = str(about.get("name")), str(about.get("split"))
                if name in metrics or not (metrics or NO_SCORES.fullmatch(name)):
                    value = number_of(stat.get("mean")) if stat.get("count", 1) else None
                    found.append((number, id, run, name, split, value))
                    splits[split] += 1
        split = "test" if "test" in splits else max(splits, default="")
        for number, id, run, name, of, value in found:
            if of == split:
                rows.add(number, value, segment=id, replica=run, metric=name)
        notes = [f"statistics of HELM, split {split}"]
        if len(splits) > 1:
            notes.append(f"other splits left out: {', '.join(sorted({*splits} - {split}))}")
        if perturbed:
            notes.append(f"perturbed instances left out ({perturbed:,})")
        called = {"segment": "instance_id", "replica": "train_trial_index", "metric": "name"}
        return rows.rows(called, notes, _about(path), evaluation=str(path.absolute()))


def _about(path: Path) -> dict[str, str]:
    """System and test set, from a name such as `mmlu:subject=philosophy,model=openai_gpt2`."""
    spec = path.with_name("run_spec.json")
    run = path.absolute().parent.name
    model = re.search(r"\bmodel=([^,]+)", run)
    system = model[1] if model else None
    if spec.exists():
        content = of_kind(dict, json_of(spec, "HELM's run_spec.json"), spec, 1, "file")
        adapter = of_kind(dict, content.get("adapter_spec"), spec, 1, "adapter_spec")
        run, system = str(content.get("name", run)), adapter.get("model") or system
    if system is None:
        return {}
    return {"system": str(system), "testset": re.sub(r"[,:-]?\bmodel=[^,]+", "", run)}
