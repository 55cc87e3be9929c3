"""What sacrebleu writes: for several systems an array with a row for each, whose scores are texts; for
one an object, or an array of objects, with the name of the metric, the score and the signature."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows, brief
from replitune.readers.names import runs_of_files
from replitune.readers.records import Records, json_of, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import score_of

TABLE = re.compile(r'\[\s*\{\s*"system":\s*"[^"]*",\s*"(?:BLEU|chrF\S*|TER)":\s*"')
ONE = re.compile(r'(?:\[\s*)?\{\s*"name":\s*"[^"]*",\s*"score":[^,"]*,\s*"signature":')


class Sacrebleu(Reader):
    """One score per run; systems and runs are taken from the names of the files of translations."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return any(form.match(beginning.text.lstrip()) for form in (TABLE, ONE))

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        content = json_of(path, "what sacrebleu writes with --format json")
        found = [
            of_kind(dict, row, path, n, "row")
            for n, row in enumerate(content if isinstance(content, list) else [content], start=1)
        ]
        rows, notes = Records(path), ["scores of sacrebleu, rounded as it prints them"]
        if "system" not in found[0]:
            for n, row in enumerate(found, start=1):
                rows.add(n, score_of(path, n, row.get("score")), metric=row.get("name"))
            return rows.rows({"metric": "name"}, notes)
        files = [str(row.pop("system", n)) for n, row in enumerate(found)]
        if twice := [file for file in files if files.count(file) > 1]:
            raise ReplituneError(
                "a system occurs twice",
                file=path,
                found=twice[0],
                expected="one row for each system",
                fix="give sacrebleu each file once",
            )
        runs = runs_of_files(files)
        for n, ((system, run), row) in enumerate(zip(runs.values(), found, strict=True), start=1):
            for metric, score in row.items():
                rows.add(n, score_of(path, n, score), metric=metric, system=system, replica=run)
        notes += [f"{file} is {system} run {run}" for file, (system, run) in runs.items()]
        return rows.rows({}, [f"{notes[0]}; {brief(notes[1:])}"])
