"""Tables, figures and report.html of an experiment whose tests are done."""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.experiment import stages


def job(job: stages.Report, options: argparse.Namespace) -> None:
    from replitune.ledger.manifest import unrepeatable
    from replitune.report import contents
    from replitune.report.drawing import render
    from replitune.report.page import page
    from replitune.report.reading import read_material
    from replitune.running.files import atomic_open, new_folder

    material = read_material(job, unrepeatable(Path(job.folder), job.systems))
    tables, figures, links = contents.tables(material), {}, {}
    with new_folder(Path(job.at.tables)) as out:
        for name, table in tables.items():
            for suffix, text in (("csv", table.csv()), ("md", table.markdown()), ("tex", table.latex())):
                (out / f"{name}.{suffix}").write_text(text, "utf-8", newline="")
        for part in material.segments:
            links[part.testset] = f"tables/segments.{part.testset}.tsv"
            (out / f"segments.{part.testset}.tsv").write_text(part.tsv(), "utf-8", newline="")
    with new_folder(Path(job.at.figures)) as out:
        for name, figure in contents.figures(material).items():
            drawn = render(name, figure, ("svg", "png", "pdf"))
            for suffix, content in drawn.items():
                (out / f"{name}.{suffix}").write_bytes(content)
            figures[name] = (figure, drawn["svg"].decode("utf-8"))
    with atomic_open(job.at.page) as handle:
        handle.write(page(material, tables, figures, links))
