"""Keep a small part of an experiment's results: tables as CSV, some figures, manifest, costs.

    python scripts/collect_results.py results/X docs/results/X [--figures KIND ...]

Paths of this machine are removed from the manifest: the folder of corpora becomes CORPORA.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

LIMIT = 900_000
"""The most bytes for one experiment."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--figures", nargs="*", default=[], metavar="KIND", help="as in overlap")
    parser.add_argument("--without", nargs="*", default=[], metavar="TABLE", help="not these")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    for table in sorted((options.results / "tables").glob("*.csv")):
        text = table.read_text("utf-8")
        if text.count("\n") > 1 and table.stem not in options.without:
            (options.out / table.name).write_text(text, "utf-8")
    for kind in options.figures:
        for figure in sorted((options.results / "figures").glob(f"*.{kind}.png")):
            shutil.copy(figure, options.out / figure.name)
    manifest = json.loads((options.results / "manifest.json").read_text("utf-8"))
    (options.out / "costs.csv").write_text(costs(manifest["jobs"]), "utf-8")
    text = json.dumps(portable(manifest), ensure_ascii=False, separators=(",", ":"))
    text = text.replace('},"', '},\n"')
    for path in re.findall(r'"(/[^"]*)"', text):
        raise SystemExit(f"a path of the machine is left in the manifest: {path}")
    packed = gzip.compress(f"{text}\n".encode(), mtime=0)
    (options.out / "manifest.json.gz").write_bytes(packed)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {size:,} bytes")
    if size > LIMIT:
        raise SystemExit(f"more than {LIMIT:,} bytes: leave figures or tables out")


def costs(jobs: dict[str, dict[str, Any]]) -> str:
    """For each stage its CPU seconds, the mean of a job, and its share of the whole, as CSV."""
    stages: dict[str, list[float]] = defaultdict(list)
    for name, record in jobs.items():
        stages[name.partition("/")[0]].append(record["cpu_seconds"])
    whole = sum(map(sum, stages.values()))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["stage", "jobs", "cpu_seconds", "mean", "share"])
    for stage, seconds in stages.items():
        used = sum(seconds)
        row = [f"{used:.1f}", f"{used / len(seconds):.2f}", f"{used / whole:.4f}"]
        writer.writerow([stage, len(seconds), *row])
    writer.writerow(["all", len(jobs), f"{whole:.1f}", "", "1.0000"])
    return buffer.getvalue()


def portable(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without this machine's folders, and with versions once instead of in every job."""
    corpora = manifest["settings"].get("corpora")

    def without(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(corpora, "CORPORA") if corpora else value
        if isinstance(value, list):
            return [without(item) for item in value]
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items()}
        return value

    jobs = {
        name: {
            "command": " ".join(record["command"]),
            **{key: record[key] for key in ("started", "seconds", "cpu_seconds", "peak_rss_mb")},
        }
        for name, record in manifest["jobs"].items()
    }
    return without({**manifest, "jobs": jobs})


if __name__ == "__main__":
    main()
