"""Train a system on parallel text, into a folder that all its runs share.

  replitune train --source train.de --target train.en --out model --set lm_order=5

This trains a phrase-based system; `replitune train --settings-help` lists its settings. For other
systems: --backend NAME --settings JSON.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.cli.options import add_seed, assignments
from replitune.cli.systems import add_system_options, chosen_system, parallel_text, path_of


class _SettingsHelp(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from replitune.phrase.settings import PhraseSettings
        from replitune.settings import settings_of

        for setting in settings_of(PhraseSettings).values():
            print(f"{setting.name}={setting.default}\n    {setting.description}")
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_system_options(parser)
    parser.add_argument("--source", metavar="FILE", help="source side of the text, one segment a line")
    parser.add_argument("--target", metavar="FILE", help="its target side")
    parser.add_argument("--dev", metavar="FILE", help="prepared dev set, where it is needed")
    parser.add_argument(
        "--subset",
        default="all",
        metavar="NAME",
        help="train on all, top, bottom, odd, even, or random half rand1, rand2, ...",
    )
    parser.add_argument("--lm-text", metavar="FILE", help="more text for the language model")
    parser.add_argument("--lm-arpa", metavar="FILE", help="a ready language model")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings")
    parser.add_argument("--settings-help", nargs=0, action=_SettingsHelp, help="list the settings")
    add_seed(parser)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the model")


def run(options: argparse.Namespace) -> None:
    from replitune.backends.interface import TrainJob
    from replitune.backends.registry import BACKENDS
    from replitune.corpus.reader import read_testset
    from replitune.phrase.settings import PhraseSettings

    training = assignments(options.set, PhraseSettings, "--set")
    # the texts that the model is to translate are not known yet
    tables = "full" if "tables" in BACKENDS[options.backend].Settings.__struct_fields__ else None
    backend = chosen_system(options, {"subset": options.subset, "tables": tables, "training": training})
    backend.train(
        TrainJob(
            seed=options.seed,
            threads=options.threads,
            train=parallel_text(options.source, options.target, ("source", "target")),
            dev=read_testset([options.dev]) if options.dev else None,
            out=Path(options.out),
            lm_text=path_of(options.lm_text),
            lm_arpa=path_of(options.lm_arpa),
        )
    )
