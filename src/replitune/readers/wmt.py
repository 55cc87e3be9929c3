"""JSON lines of WMT25: a document a line, with the scores of each of its paragraphs under
each metric (``automatic_scores/SYSTEM.jsonl``); or a segment a line, with the human judgements of each
system (``wmt25-genmt-humeval.jsonl``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.json_lines import JsonLines
from replitune.readers.names import WMT25, stem
from replitune.readers.records import Records, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of


class Wmt(Reader):
    """The language pair is the test set."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        by_people = beginning.has_keys("{", "tgt_text", "scores") and WMT25 in beginning.text
        return by_people or beginning.has_keys("{", "metric_scores", "document_id")

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        rows, by_people = Records(path), False
        seen: Counter[str] = Counter()
        for line, row in JsonLines.numbered(path):
            if "metric_scores" in row:
                _add_document(rows, line, row)
                continue
            by_people = True
            id = str(row.get("doc_id"))
            language, *rest = id.split(WMT25)
            # `doc_id` is that of a document or of a segment in it, whose id has more parts
            document = WMT25.join(rest[:2]) or id
            seen[id] += 1
            segment = id if seen[id] == 1 else f"{id}#{seen[id]}"
            for system, scores in of_kind(dict, row.get("scores"), path, line, "scores").items():
                for metric, score in of_kind(dict, scores, path, line, system).items():
                    if isinstance(score, float | int) and not isinstance(score, bool):
                        rows.add(
                            line,
                            number_of(score),
                            system=system,
                            segment=segment,
                            document=document,
                            metric=metric,
                            language=language,
                        )
        if by_people:
            return rows.rows({"segment": "doc_id", "metric": "scores"}, ["judgements of WMT"])
        system = stem(path)
        called = {"segment": "metric_scores", "metric": "metric_scores", "document": "document_id"}
        said_of = f"scores of WMT, a document a line; system is the file, `{system}`"
        return rows.rows(called, [said_of], {"system": system})


def _add_document(rows: Records, line: int, row: dict[str, Any]) -> None:
    document, language = row.get("document_id"), row.get("language_pair")
    if document is None or language is None:
        raise ReplituneError(
            "no `document_id` or no `language_pair`", file=rows.path, line=line, found=", ".join(row)[:200]
        )
    for metric, scores in of_kind(dict, row["metric_scores"], rows.path, line, "metric_scores").items():
        for i, score in enumerate(scores if isinstance(scores, list) else [scores]):
            rows.add(
                line, number_of(score), segment=f"{i}", document=document, metric=metric, language=language
            )
