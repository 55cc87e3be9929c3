"""Tables, figures and report.html of an experiment whose tests are done."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from replitune.cli import words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RESULTS", help="results/<experiment>")
    parser.add_argument(
        "--settings", required=True, metavar="JSON", help="what the report needs to know"
    )


def inputs(options: argparse.Namespace) -> list[Path]:
    """What it reads: the tests, and of the systems that were tested texts and statistics."""
    settings, folder = json.loads(options.settings), Path(options.folder)
    found = [folder / "corpus" / "inputs.json"]
    for testset in settings["tests"]:
        found.append(folder / "corpus" / f"{testset}.jsonl")
        for metric in settings["metrics"]:
            for suffix in ("", ".systems", ".overlaps", ".null", ".notes"):
                found.append(folder / "tests" / testset / f"{metric}{suffix}.parquet")
        for system in settings["systems"]:
            lead = settings["metrics"][0]
            found.append(folder / "stats" / testset / lead / f"{system}.parquet")
    for study, cells in settings.get("studies", {}).items():
        found += [folder / "studies" / study / t / f"{metric}.parquet" for t, metric in cells]
    found += [folder / "studies" / "meta" / f"{t}.parquet" for t in settings.get("judged", [])]
    for system in settings["systems"]:
        found += sorted((folder / "tuning" / system).glob("*/history.parquet"))
    return [path for path in found if path.exists()]


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.manifest import unrepeatable
    from replitune.report import contents
    from replitune.report.drawing import render
    from replitune.report.page import page
    from replitune.report.reading import read_material
    from replitune.running.files import atomic_open
    from replitune.running.folders import new_folder

    settings, folder = json.loads(options.settings), Path(options.folder)
    methods = words.tests_by_label(settings.get("methods", []))
    material = read_material(folder, settings, methods, unrepeatable(folder))
    tables, figures, links = contents.tables(material), {}, {}
    with new_folder(folder / "tables") as out:
        for name, table in tables.items():
            for suffix, text in (
                ("csv", table.csv()),
                ("md", table.markdown()),
                ("tex", table.latex()),
            ):
                (out / f"{name}.{suffix}").write_text(text, "utf-8", newline="")
        for part in material.segments:
            links[part.testset] = f"tables/segments.{part.testset}.tsv"
            (out / f"segments.{part.testset}.tsv").write_text(part.tsv(), "utf-8", newline="")
    with new_folder(folder / "figures") as out:
        for name, figure in contents.figures(material).items():
            drawn = render(name, figure, ("svg", "png"))
            for suffix, content in drawn.items():
                (out / f"{name}.{suffix}").write_bytes(content)
            figures[name] = (figure, drawn["svg"].decode("utf-8"))
    with atomic_open(folder / "report.html") as handle:
        handle.write(page(material, tables, figures, links))
