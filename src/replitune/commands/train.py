"""Train a phrase-based system on parallel text: one folder with everything that decoding needs.

  replitune train --source train.de --target train.en --out model --set lm_order=5

The settings and their defaults: `replitune train --settings-help`.
"""

from __future__ import annotations

import argparse

from replitune import words
from replitune.files import read_lines
from replitune.progress import Steps


class _SettingsHelp(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from dataclasses import fields

        from replitune.backends.phrase.train_settings import PhraseSettings

        for field in fields(PhraseSettings):
            print(f"{field.name}={field.default}")
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", required=True, metavar="FILE")
    parser.add_argument("--target", required=True, metavar="FILE")
    parser.add_argument(
        "--subset", default="all", metavar="NAME",
        help="train on all, top, bottom, odd, even, or random half rand1, rand2, ...",
    )  # fmt: skip
    parser.add_argument("--lm-text", metavar="FILE", help="more text for the language model")
    parser.add_argument("--lm-arpa", metavar="FILE", help="a ready language model")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings")
    parser.add_argument("--settings-help", nargs=0, action=_SettingsHelp, help="list the settings")
    parser.add_argument("--seed", type=int, default=2011, help="for random subsets")
    parser.add_argument("--out", required=True, metavar="DIR")


def run(options: argparse.Namespace) -> None:
    from replitune.backends.phrase.model import PhraseModel
    from replitune.backends.phrase.train import train_phrase_system
    from replitune.backends.phrase.train_settings import PhraseSettings
    from replitune.corpus.subsets import subset, take

    settings = PhraseSettings(**words.settings_words(options.set, PhraseSettings))
    source, target = read_lines(options.source), read_lines(options.target)
    if options.subset != "all":
        chosen = subset(options.subset, len(source), options.seed)
        print(f"subset {options.subset}: {len(chosen)} of {len(source)} pairs")
        source, target = take(source, chosen), take(target, chosen)
    train_phrase_system(
        source,
        target,
        settings,
        options.out,
        threads=options.threads,
        progress=Steps(),
        lm_text=read_lines(options.lm_text) if options.lm_text else (),
        lm_arpa=options.lm_arpa,
    )
    PhraseModel.load(options.out).save_queries(options.out)
