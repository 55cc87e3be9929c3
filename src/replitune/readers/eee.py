"""Every Eval Ever: instance-level JSON lines (instance_level_eval 0.2), a sample a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.json_lines import JsonLines
from replitune.readers.records import Numbering, Records, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of

KEYS = ("model_id", "evaluation_name", "evaluation_id", "sample_id", "evaluation")


class EveryEvalEver(Reader):
    """A model is a system, an evaluation of it a run."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return beginning.has_keys("{", *KEYS[1:4])

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        rows = Records(path)
        runs: dict[tuple[str, str], Numbering] = {}
        for line, row in JsonLines.numbered(path):
            missing = [key for key in KEYS if key not in row]
            if missing:
                raise ReplituneError(
                    f"no {', '.join(missing)}",
                    file=path,
                    line=line,
                    found=", ".join(row)[:200],
                    expected="an instance of Every Eval Ever",
                )
            model, testset = str(row["model_id"]), str(row["evaluation_name"])
            known = runs.setdefault((model, testset), Numbering())
            score = of_kind(dict, row["evaluation"], path, line, "evaluation").get("score")
            rows.add(
                line,
                number_of(score),
                system=model,
                testset=testset,
                segment=row["sample_id"],
                replica=known[str(row["evaluation_id"])],
            )
        called = {
            "system": "model_id",
            "testset": "evaluation_name",
            "segment": "sample_id",
            "replica": "evaluation_id",
        }
        return rows.rows(called, ["samples of Every Eval Ever; each evaluation of a model is a run"])
