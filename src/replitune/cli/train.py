"""Train a system on parallel text: one folder with everything that its replicas share.

  replitune train --source train.de --target train.en --out model --set lm_order=5

trains a phrase-based system; its settings and their defaults: `replitune train --settings-help`.
Another one: --backend NAME --settings JSON.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.cli import words
from replitune.cli.jobs import add_backend_options, chosen_backend


class _SettingsHelp(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from dataclasses import fields

        from replitune.phrase.train_settings import PhraseSettings

        for field in fields(PhraseSettings):
            print(f"{field.name}={field.default}")
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_backend_options(parser)
    parser.add_argument("--source", metavar="FILE", help="parallel text, one segment a line")
    parser.add_argument("--target", metavar="FILE", help="target side of the training pairs")
    parser.add_argument("--dev", metavar="FILE", help="prepared dev set, where it is needed")
    parser.add_argument(
        "--subset", default="all", metavar="NAME",
        help="train on all, top, bottom, odd, even, or random half rand1, rand2, ...",
    )  # fmt: skip
    parser.add_argument("--lm-text", metavar="FILE", help="more text for the language model")
    parser.add_argument("--lm-arpa", metavar="FILE", help="a ready language model")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings")
    parser.add_argument("--settings-help", nargs=0, action=_SettingsHelp, help="list the settings")
    parser.add_argument("--seed", type=int, default=2011, help="for random subsets")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the model")


def run(options: argparse.Namespace) -> None:
    from replitune.backends.interface import TrainJob, needed
    from replitune.corpus.reader import read_testset

    backend = chosen_backend(
        options,
        {
            "subset": options.subset,
            "training": words.assignments(options.set, "--set"),
            "lm_text": options.lm_text,
            "lm_arpa": options.lm_arpa,
        },
    )
    train = None
    if options.source or options.target:
        sides = needed(options.source, "source"), needed(options.target, "target")
        train = Path(sides[0]), Path(sides[1])
    backend.train(
        TrainJob(
            seed=options.seed,
            threads=options.threads,
            train=train,
            dev=read_testset([options.dev]) if options.dev else None,
            out=Path(options.out),
        )
    )
