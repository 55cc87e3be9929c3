"""Write a folder with a new experiment, ready to run.

  replitune new DIR --from quickstart
  replitune new DIR --from own-outputs --refs ref.txt --system old=old.*.txt --system new=new.*.txt

The folder gets experiment.yaml with comments, the schema by which editors complete keys, a profile
of Snakemake and a .gitignore; `replitune run` in it does the rest. On a terminal the command asks
for what the options leave out. own-outputs comes with made-up outputs if you give none.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from replitune.cli.options import system_files
from replitune.errors import ReplituneError
from replitune.extras import missing, to_install
from replitune.workflow.templates import (
    EXPERIMENT,
    TEMPLATES,
    Given,
    seen_from,
    write_example,
    write_experiment,
)

OWN = "own-outputs"


THREADS = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "; ".join(f"{name}: {template.about}" for name, template in TEMPLATES.items())
    parser.add_argument("folder", metavar="DIR", help="where to write it")
    parser.add_argument("--from", dest="template", choices=tuple(TEMPLATES), help=text)
    parser.add_argument("--refs", nargs="+", metavar="R", help="references of outputs you have")
    parser.add_argument(
        "--system",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME=H",
        help="a system and the outputs of its runs; the first one is the baseline",
    )


def run(options: argparse.Namespace) -> None:
    folder = Path(options.folder)
    given = options.refs or options.system
    template = options.template or (OWN if given else _asked_template())
    if given and template != OWN:
        raise ReplituneError(
            f"--refs and --system give outputs, but {template} makes its own", fix=f"--from {OWN}"
        )
    outputs = None
    if template == OWN:
        if (folder / EXPERIMENT).exists():
            raise ReplituneError("already exists", file=folder / EXPERIMENT, fix="choose another folder")
        words = [system_files(words, "--system") for words in options.system]
        outputs = _outputs(folder, options.refs, words)
    write_experiment(folder, template, outputs)
    print(f"{folder / EXPERIMENT}: {TEMPLATES[template].about}\n\nto run it:")
    for line in _to_do(folder, template):
        print(f"  {line}")


def _to_do(folder: Path, template: str) -> list[str]:
    chosen = TEMPLATES[template]
    lacks = [extra for extra in ("workflow", *chosen.extras) if missing(extra)]
    return [
        *([to_install(*lacks)] if lacks else []),
        *([f"cd {shlex.quote(str(folder))}"] if folder.resolve() != Path.cwd() else []),
        *([chosen.first] if chosen.first else []),
        "replitune run",
    ]


def _asked_template() -> str:
    names = list(TEMPLATES)
    if not _can_ask():
        raise ReplituneError("--from is missing", expected=", ".join(names))
    print("What do you want to begin with?")
    for number, name in enumerate(names, 1):
        print(f"  {number}  {name:<12} {TEMPLATES[name].about}")
    answer = input(f"Number or name [{names[0]}]: ").strip() or names[0]
    if answer.isdigit() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer not in TEMPLATES:
        raise ReplituneError(f"no template {answer!r}", expected=", ".join(names))
    return answer


def _outputs(folder: Path, references: list[str] | None, systems: list[tuple[str, list[str]]]) -> Given:
    """References and outputs: given as options, typed on the terminal, or made up."""
    if not references and not systems and _can_ask():
        references = _typed("References, one segment a line [made-up example]: ")
        question = "Outputs of system {}, NAME=FILE ... [no more]: "
        while references and (words := _typed(question.format(len(systems) + 1))):
            systems.append(system_files(words, "a system"))
    if not references and not systems:
        return write_example(folder)
    if not references or len(systems) < 2:
        raise ReplituneError(
            "too little is given to compare",
            found=f"{len(references or ())} references, {len(systems)} systems",
            expected="--refs, and at least two --system",
        )
    for name in [*references, *(file for _, files in systems for file in files)]:
        if not Path(name.partition("#")[0]).is_file():
            raise ReplituneError("no such file", file=name)
    return Given(seen_from(folder, references), {name: seen_from(folder, files) for name, files in systems})


def _typed(question: str) -> list[str]:
    """The words of an answer, with quotes as in a shell."""
    try:
        return shlex.split(input(question))
    except ValueError as error:
        raise ReplituneError("the answer cannot be split into words", found=str(error)) from None


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
