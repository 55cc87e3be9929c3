"""Find what is wrong with an experiment file, and say what it would do.

  replitune check config/config.yaml --data

All mistakes are reported at once. With --data the texts are checked, too: that they exist, are
text, and have the right numbers of lines. The jobs that would run are listed with their cost,
estimated from earlier runs, and with the memory and disk that they take, estimated from the sizes
of the texts. This machine must have that memory, unless the profile (--profile, as for `run`) sends
jobs elsewhere.
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
    parser.add_argument("--data", action="store_true", help="check the texts, too, and list what would run")
    parser.add_argument("--profile", metavar="P", help="as for `run`: where the jobs are to run")
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
    from replitune.experiment.plan import (
        cautions,
        check_data,
        check_disk,
        check_memory,
        check_storage,
        costs,
    )
    from replitune.workflow.places import executor, profile_of, stores_elsewhere

    errors = experiment.missing(experiment.systems)
    profile = profile_of(file, options.profile)
    if stores_elsewhere(profile):
        errors += check_storage(experiment)
    stages = costs(experiment, Path(options.results)) if options.data else []
    if options.data:
        errors += check_data(experiment)
        if executor(profile) == "local":
            errors += check_memory(stages)
    if errors:
        raise ExperimentError(errors)
    for caution in [*cautions(experiment), *check_disk(stages, experiment.folder)]:
        print(f"warning: {caution}", file=sys.stderr)
    replicas = {name: str(len(experiment.replicas(name))) for name in experiment.systems}
    if experiment.looks is not None:
        for name, n in experiment.plan.first.items():
            first = sum(experiment.plan.counts(name, n).values())
            if str(first) != replicas[name]:
                replicas[name] = f"{first} to {replicas[name]}"
    print(f"{file}: experiment {experiment.name} is fine")
    runs = (f"{name} ({n} run{'' if n == '1' else 's'})" for name, n in replicas.items())
    print(f"  systems:   {', '.join(runs)}")
    print(f"  test sets: {', '.join(experiment.testsets)}")
    print(f"  metrics:   {', '.join(entry.word for entry in settings.metrics)}")
    print(f"  tests:     {', '.join(entry.word for entry in settings.tests.methods)}")
    if experiment.looks is not None:
        plan = experiment.plan
        sizes = sorted({n for sizes in plan.sizes.values() for n in sizes})
        print(f"  looks:     at {', '.join(map(str, sizes))}, by {plan.metric} on {plan.testset}")
    if options.data:
        print("\n  stage         jobs   CPU seconds   MB of a job   on the disk")
        for cost in stages:
            seconds = "?" if cost.seconds is None else f"{cost.seconds:,.0f}"
            disk = f"   {cost.disk_mb:>11,}" if cost.disk_mb else ""
            print(f"  {cost.stage:<12} {cost.jobs:>5}   {seconds:>11}   {cost.memory_mb:>11,}{disk}")
        known = [cost.seconds for cost in stages if cost.seconds is not None]
        total = f"{sum(known):>11,.0f}" if known else "          ?"
        print(f"  {'in all':<12} {sum(cost.jobs for cost in stages):>5}   {total}")
        if experiment.looks is not None:
            print("  this is the most that is possible: looks may ask for less")
        if len(known) < len(stages):
            print("  ?: nothing in the results says what these jobs cost")
