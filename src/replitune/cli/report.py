"""Tables, figures and report.html of an experiment whose tests are done."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


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
    from replitune.report import build
    from replitune.report.data import load_cell, with_names
    from replitune.report.documents import load_documents
    from replitune.report.figure import save
    from replitune.report.figures_tuning import read_histories
    from replitune.report.names import registered_names
    from replitune.report.segments import load_segments
    from replitune.report.studies import load_studies
    from replitune.running.files import atomic_open, read_text

    settings = json.loads(options.settings)
    folder = Path(options.folder)
    cells = with_names(
        [
            load_cell(folder, testset, metric, settings["systems"])
            for testset in settings["tests"]
            for metric in settings["metrics"]
        ]
    )
    lead = [cell for cell in cells if cell.metric == settings["metrics"][0]]
    segments = [load_segments(folder, cell) for cell in lead]
    documents = [(cell, load_documents(folder, cell)) for cell in lead]
    keys = ("experiment", "seed", "alpha", "correction", "samples", "baseline")
    methods = registered_names(settings.get("methods", []))
    material = build.Material(
        settings=build.Settings(**{key: settings[key] for key in keys}, methods=methods),
        cells=cells,
        segments=segments,
        documents=[(cell, *found) for cell, each in documents for found in each],
        histories=read_histories(folder, settings["systems"]),
        corpus=json.loads(read_text(folder / "corpus" / "inputs.json"))["warnings"],
        unrepeatable=unrepeatable(folder),
        studies=load_studies(folder, settings, cells),
    )
    tables = build.tables(material)
    for table in tables:
        for suffix, text in (
            ("csv", table.csv()),
            ("md", table.markdown()),
            ("tex", table.latex()),
        ):
            with atomic_open(folder / "tables" / f"{table.name}.{suffix}") as handle:
                handle.write(text)
    links = {}
    for part in segments:
        links[part.testset] = f"tables/segments.{part.testset}.tsv"
        with atomic_open(folder / links[part.testset]) as handle:
            handle.write(part.tsv())
    # what the experiment's settings promise is written even when its numbers leave nothing to draw
    wanted = set(settings["figures"])
    figures = [figure for figure in build.figures(material) if figure.name in wanted]
    for figure in build.without_data(settings["figures"], figures):
        save(figure, folder / "figures")
    page = build.page(
        material,
        tables,
        figures,
        lambda figure: save(figure, folder / "figures"),
        links,
    )
    with atomic_open(folder / "report.html") as handle:
        handle.write(page)
