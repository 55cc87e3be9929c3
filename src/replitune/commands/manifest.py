"""manifest.json: an experiment's settings, the sha256 of every file, and what made it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from replitune import __version__

FOLDERS = (
    "corpus",
    "models",
    "tuning",
    "decodes",
    "stats",
    "tests",
    "studies",
    "tables",
    "figures",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RESULTS", help="results/<experiment>")
    parser.add_argument("--settings", required=True, metavar="JSON", help="the experiment")
    parser.add_argument("--out", required=True, metavar="FILE")


def run(options: argparse.Namespace) -> None:
    from replitune.experiment import Experiment
    from replitune.files import atomic_open, sha256_file
    from replitune.records import check_results

    folder = Path(options.folder)
    check_results(folder.absolute())
    settings = json.loads(options.settings)
    experiment = Experiment(settings, results=folder.parent)
    records = {
        path.relative_to(folder / "logs").with_suffix("").as_posix(): json.loads(path.read_text())
        for path in sorted((folder / "logs").rglob("*.json"))
    }
    inputs = folder / "corpus" / "inputs.json"
    manifest: dict[str, Any] = {
        "replitune": __version__,
        "experiment": experiment.name,
        "seed": experiment.seed,
        "settings": settings,
        "cpu_types": sorted({record["cpu"] for record in records.values()}),
        "versions": _united([record["versions"] for record in records.values()]),
        "inputs": json.loads(inputs.read_text("utf-8"))["parts"],
        "outputs_given": {
            system: {
                testset: {
                    replica.id: {"path": str(path), "sha256": sha256_file(path)}
                    for replica, path in files.items()
                    if path.exists()
                }
                for testset, files in testsets.items()
            }
            for system, testsets in experiment.outputs.items()
        },
        "files": {
            path.relative_to(folder).as_posix(): sha256_file(path)
            for path in [
                *(p for name in FOLDERS for p in sorted((folder / name).rglob("*"))),
                folder / "report.html",
            ]
            if path.is_file() and not path.name.startswith(".")
        },
        "jobs": records,
    }
    with atomic_open(options.out) as handle:
        json.dump(manifest, handle, indent=1, ensure_ascii=False)
        handle.write("\n")


def _united(found: list[dict[str, str]]) -> dict[str, list[str]]:
    """Every version that took part, by library."""
    names = dict.fromkeys(name for versions in found for name in versions)
    return {
        name: sorted({versions[name] for versions in found if name in versions}) for name in names
    }
