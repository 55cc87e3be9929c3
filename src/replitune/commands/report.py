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


def run(options: argparse.Namespace) -> None:
    from replitune.files import atomic_open
    from replitune.report.data import load_cell
    from replitune.report.figures import histogram, histogram_caption, save
    from replitune.report.methods import methods
    from replitune.report.page import Figure, write_page
    from replitune.report.tables import pairs_table, systems_table
    from replitune.report.verdict import verdict, warnings

    settings = json.loads(options.settings)
    folder = Path(options.folder)
    alpha, correction = settings["alpha"], settings["correction"]
    cells = [
        load_cell(folder, testset, metric, settings["systems"])
        for testset in settings["tests"]
        for metric in settings["metrics"]
    ]
    tables = [systems_table(cells), pairs_table(cells, alpha, correction)]
    for table in tables:
        for suffix, text in (
            ("csv", table.csv()),
            ("md", table.markdown()),
            ("tex", table.latex()),
        ):
            with atomic_open(folder / "tables" / f"{table.name}.{suffix}") as handle:
                handle.write(text)
    figures = []
    for cell in cells:
        name = f"{cell.testset}.{cell.metric}.replicas"
        save(name, folder / "figures", histogram(cell))
        figures.append(Figure(name, histogram_caption(cell)))
    verdicts = [
        verdict(cell, result, alpha, correction)
        for cell in cells
        for result in cell.tests
        if result.method == cell.lead_method
    ]
    said = [(f"{cell.testset}, {cell.metric}", warnings(cell, alpha)) for cell in cells]
    write_page(
        folder / "report.html",
        experiment=settings["experiment"],
        seed=settings["seed"],
        verdicts=verdicts,
        warnings=[(where, texts) for where, texts in said if texts],
        tables=tables,
        figures=figures,
        figure_folder=folder / "figures",
        methods=methods(cells, alpha, correction, settings["samples"]),
    )
