"""Validate an experiment file and print what it would do.

  replitune check config/config.yaml --data

All mistakes are reported at once. With --data its files are checked, too: whether they exist, are
text, and have the right number of lines. The jobs that would run are listed with their cost,
judging by earlier runs, and with the memory that they take, judging by the sizes of the texts. This
machine must have that memory, unless the profile (--profile, as of `run`) sends jobs elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from replitune.cli.run import DEFAULTS, experiment_file
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from replitune.experiment.yaml_file import ExperimentError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment",
        nargs="?",
        metavar="EXPERIMENT.yaml",
        help=f"the experiment (default {', or '.join(DEFAULTS)})",
    )
    parser.add_argument("--scale", metavar="NAME", help="one of the file's scales")
    parser.add_argument("--corpora", metavar="DIR", help="folder of downloaded corpora")
    parser.add_argument("--data", action="store_true", help="check its files, too, and list what would run")
    parser.add_argument("--profile", metavar="P", help="as of `run`: where the jobs are to run")
    parser.add_argument(
        "--results",
        default="results",
        metavar="DIR",
        help="where the results of earlier runs are (default %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    file = experiment_file(options.experiment)
    settings = load(file, scale=options.scale, corpora=options.corpora)
    experiment = Experiment(settings, options.results)
    from replitune.experiment.plan import cautions, check_data, check_memory, costs
    from replitune.workflow.places import executor, profile_of

    errors = experiment.missing(experiment.systems)
    stages = costs(experiment, Path(options.results)) if options.data else []
    if options.data:
        errors += check_data(experiment)
        if executor(profile_of(file, options.profile)) == "local":
            errors += check_memory(stages)
    if errors:
        raise ExperimentError(errors)
    for caution in cautions(experiment):
        print(f"warning: {caution}", file=sys.stderr)
    replicas = {name: str(len(experiment.replicas(name))) for name in experiment.systems}
    if experiment.looks is not None:
        for name, n in experiment.plan.first.items():
            first = sum(experiment.plan.counts(name, n).values())
            if str(first) != replicas[name]:
                replicas[name] = f"{first} to {replicas[name]}"
    print(f"{file}: experiment {experiment.name} is fine")
    print(f"  systems:   {', '.join(f'{name} ({n} replicas)' for name, n in replicas.items())}")
    print(f"  test sets: {', '.join(experiment.testsets)}")
    print(f"  metrics:   {', '.join(entry.word for entry in settings.metrics)}")
    print(f"  tests:     {', '.join(entry.word for entry in settings.tests.methods)}")
    if experiment.looks is not None:
        plan = experiment.plan
        sizes = sorted({n for sizes in plan.sizes.values() for n in sizes})
        print(f"  looks:     at {', '.join(map(str, sizes))}, by {plan.metric} on {plan.testset}")
    if options.data:
        print("\n  stage         jobs   CPU seconds   MB of a job")
        for cost in stages:
            seconds = "?" if cost.seconds is None else f"{cost.seconds:,.0f}"
            print(f"  {cost.stage:<12} {cost.jobs:>5}   {seconds:>11}   {cost.memory_mb:>11,}")
        known = [cost.seconds for cost in stages if cost.seconds is not None]
        total = f"{sum(known):>11,.0f}" if known else "          ?"
        print(f"  {'in all':<12} {sum(cost.jobs for cost in stages):>5}   {total}")
        if experiment.looks is not None:
            print("  the most that is possible: looks may ask for less")
        if len(known) < len(stages):
            print("  ?: no earlier run in the results tells what these jobs cost")
