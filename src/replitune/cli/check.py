"""Validate an experiment file and say what it would do."""

from __future__ import annotations

import argparse

from replitune.errors import ReplituneError
from replitune.experiment.configuration import load
from replitune.experiment.experiment import Experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT.yaml", help="the experiment file")
    parser.add_argument("--scale", metavar="NAME", help="one of the file's scales")
    parser.add_argument("--corpora", metavar="DIR", help="folder of downloaded corpora")


def run(options: argparse.Namespace) -> None:
    from replitune.metrics.registry import get_metric
    from replitune.significance.registry import TESTS

    settings = load(options.experiment, scale=options.scale, corpora=options.corpora)
    experiment = Experiment(settings)
    for id in experiment.metrics:
        get_metric(experiment.metric(id))
    TESTS.entries(experiment.methods)
    missing = experiment.missing(experiment.systems)
    if missing:
        raise ReplituneError("\n".join(map(str, missing)))
    replicas = {name: len(experiment.replicas(name)) for name in experiment.systems}
    print(f"{options.experiment}: experiment {experiment.name} is fine")
    print(f"  systems:   {', '.join(f'{name} ({n} replicas)' for name, n in replicas.items())}")
    print(f"  test sets: {', '.join(experiment.testsets)}")
    print(f"  metrics:   {', '.join(experiment.metrics)}")
    print(f"  tests:     {', '.join(experiment.methods)}")
