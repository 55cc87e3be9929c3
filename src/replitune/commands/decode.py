"""Translations, one line per segment, by one of these:

--model DIR --weights FILE   a phrase-based system, to the file --out
--corruption JSON            one replica made by seeded errors in the references, to --out
--outputs JSON               files on disk, all replicas at once, checked and copied to the
                             folder --out

replitune decode --model model --weights weights.json --source test.de --out test.en
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from replitune import words
from replitune.errors import ReplituneError
from replitune.experiment import output_files
from replitune.files import read_lines, write_lines
from replitune.progress import Progress

BLOCK = 500
"""Lines between two reports of progress; sentences are translated one by one, so it changes no
translation."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    made = parser.add_mutually_exclusive_group(required=True)
    made.add_argument("--model", metavar="DIR", help="folder of a trained model")
    made.add_argument("--corruption", metavar="JSON", help="errors and spread")
    made.add_argument("--outputs", metavar="JSON", help="patterns of files on disk")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--source", metavar="FILE", help="source text, one segment a line")
    text.add_argument("--testset", metavar="FILE", help="prepared test set")
    parser.add_argument("--weights", metavar="FILE", help="weights.json or moses.ini lines")
    parser.add_argument("--features", nargs="+", metavar="GROUP", help="feature groups in use")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=VALUE",
        help="search settings: search, stack, pop_limit, beam, distortion_limit, options",
    )  # fmt: skip
    parser.add_argument("--nbest", type=int, metavar="N", help="n best distinct translations")
    parser.add_argument("--nbest-out", metavar="FILE", help="in Moses' format")
    parser.add_argument("--system", default="system", metavar="NAME")
    parser.add_argument("--replica", metavar="ID", help="such as seed-001")
    parser.add_argument("--name", default="testset", metavar="NAME", help="of the test set")
    parser.add_argument("--base", default=".", metavar="DIR", help="where the patterns start")
    parser.add_argument("--seed", type=int, default=2011, help="the experiment's seed")
    parser.add_argument("--out", required=True, metavar="PATH")


def run(options: argparse.Namespace) -> None:
    if options.model is not None:
        _translate(options)
        return
    if options.testset is None:
        raise ReplituneError("references are needed: give --testset")
    from replitune.corpus.testset import read_prepared

    testset = read_prepared(options.testset)
    if options.outputs is not None:
        _take_over(options, testset.segments)
        return
    from replitune.backends.corruption import corrupted_replica

    settings = json.loads(options.corruption)
    lines = corrupted_replica(
        testset.references[0],
        errors=settings["errors"],
        spread=settings["spread"],
        seed=options.seed,
        system=options.system,
        replica=options.replica,
        testset=options.name,
    )
    write_lines(options.out, lines)


def source_lines(source: str | None, testset: str | None) -> list[str]:
    """The text to translate."""
    if source is not None:
        return read_lines(source)
    from replitune.corpus.testset import read_prepared

    prepared = read_prepared(str(testset))
    if prepared.source is None:
        raise ReplituneError(
            "this test set has no source text to translate", file=testset,
            fix="name it as `source` in the experiment's corpus",
        )  # fmt: skip
    return prepared.source


def _translate(options: argparse.Namespace) -> None:
    if (options.nbest is None) != (options.nbest_out is None):
        raise ReplituneError("--nbest and --nbest-out go together")
    if options.weights is None:
        raise ReplituneError("--model needs --weights", fix="tune some, or write them by hand")
    from replitune.backends.phrase.decoder import Settings
    from replitune.backends.phrase.system import PhraseSystem
    from replitune.tuners.weights import read_weights

    settings = Settings(**words.settings_words(options.set, Settings))
    lines = source_lines(options.source, options.testset)
    system = PhraseSystem(options.model, options.features, settings)
    weights = system.layout.vector(read_weights(options.weights))
    found: list[str] = []
    with Progress("decode", len(lines), "lines") as done:
        for start in range(0, len(lines), BLOCK):
            found += system.translate(lines[start : start + BLOCK], weights, options.threads)
            done(len(found))
    write_lines(options.out, found)
    if options.nbest is not None:
        lists, _ = system.nbest(lines, weights, options.nbest, options.threads)
        lists.write(options.nbest_out)


def _take_over(options: argparse.Namespace, segments: int) -> None:
    """All files are read and checked before the first one is written."""
    what = f"system {options.system}, test set {options.name}"
    files = output_files(what, json.loads(options.outputs), Path(options.base))
    outputs: dict[str, list[str]] = {}
    for replica, file in files.items():
        lines = read_lines(file)
        if len(lines) != segments:
            raise ReplituneError(
                f"line counts differ: output of system {options.system} on {options.name}",
                file=file,
                found=f"{len(lines)} lines in {file}",
                expected=f"{segments} lines, one per segment of {options.testset}",
                fix="give the output on the whole test set, one line per segment",
            )
        outputs[replica.id] = lines
    for name, lines in outputs.items():
        write_lines(Path(options.out) / f"{name}.txt", lines)
