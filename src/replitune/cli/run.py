"""Run an experiment by Snakemake, from its texts to the report.

  replitune run experiment.yaml --cores 8
  replitune run -- --dry-run

On a terminal one line shows the progress; elsewhere, and with --plain, every step is a line. What
Snakemake prints goes to results/<experiment>/logs/snakemake.log; the output of a dry run is shown at
the end. Ctrl-C stops everything, and the same command continues from there. Words after `--` are
passed to Snakemake.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.running.failures import last_message

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.workflow.display import Display
    from replitune.workflow.engine import Engine

THREADS = None
TAKES_REST = True
"""Words after `--` become `options.rest`."""
OURS = {
    "--configfile": "FILE",
    "--configfiles": "FILE",
    "--workflow-profile": "--profile",
    "-d": "cd",
    "--directory": "cd",
}
"""Options of Snakemake that `run` sets itself, or that would move its results, and what to use
instead."""
DEFAULTS = ("experiment.yaml", "config/config.yaml")
SHOWN = 5
"""How many lost results are listed by name."""
PERIOD = 0.3
"""Seconds between two updates of the display."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help=f"the experiment (default {', or '.join(DEFAULTS)})"
    )
    parser.add_argument("--cores", metavar="N", help="cores to use, or `all` (default: the profile's)")
    parser.add_argument("--scale", metavar="NAME", help="one of the file's scales")
    parser.add_argument("--corpora", metavar="DIR", help="folder in which relative names of texts start")
    parser.add_argument(
        "--profile",
        metavar="P",
        help="workstation, slurm, or a folder with a profile of Snakemake (default: `profile` "
        "beside the experiment, or else workstation)",
    )
    parser.add_argument("--plain", action="store_true", help="a line for every step, on a terminal, too")


def run(options: argparse.Namespace) -> int:
    needs("workflow")
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.reading import load
    from replitune.workflow.engine import Engine
    from replitune.workflow.places import stores_elsewhere

    for word in options.rest:
        if (instead := OURS.get(word.partition("=")[0])) is not None:
            raise ReplituneError(f"`run` does not pass {word} on to Snakemake", fix=f"use {instead}")
    file = experiment_file(options.file)
    given = {"scale": options.scale, "corpora": options.corpora}
    experiment = Experiment(load(file, **given))
    profile = _profile(options.profile, file)
    engine = Engine(
        file,
        profile,
        experiment.folder,
        [f"{key}={value}" for key, value in given.items() if value is not None],
        options.cores,
        options.rest,
        _limits(profile, experiment.folder, options.rest),
    )
    if stores_elsewhere(profile, options.rest):
        raise ReplituneError(
            "`run` cannot show or repair results that are in a storage",
            fix="start Snakemake itself: "
            + shlex.join(["snakemake", *engine.command[engine.command.index("--configfile") :]]),
        )
    engine.release()
    engine = _with_losses(engine, experiment)
    log = experiment.folder / "logs" / "snakemake.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    draft = log.with_name(f".{log.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(draft, "wb") as handle:
            return _watched(engine, experiment, options.plain, handle, log)
    finally:
        draft.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a run that did nothing leaves no empty folders
            for folder in (log.parent, *log.parents[1:3]):
                folder.rmdir()


def _with_losses(engine: Engine, experiment: Experiment) -> Engine:
    """The engine, told to make results again that have been lost since they were made."""
    from replitune.ledger.losses import find_losses

    if not (lost := find_losses(experiment)):
        return engine
    rest = f", and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    shown = [f"{name} ({why})" for name, why in lost.items()][:SHOWN]
    print(f"results that are made again: {', '.join(shown)}{rest}", flush=True)
    options = list(engine.options)
    asked = [i for i, word in enumerate(options, 1) if word in ("-R", "--forcerun")]
    place = asked[-1] if asked else len(options)
    options[place:place] = lost if asked else ["--forcerun", *lost]
    return replace(engine, options=options)


def _watched(engine: Engine, experiment: Experiment, plain: bool, handle: IO[bytes], log: Path) -> int:
    """Run Snakemake to its end, and show its progress and how it ended. Its messages are moved to `log`
    when its run begins: until then, another run may be at work, or this one may run no job."""
    from replitune.workflow.display import Display
    from replitune.workflow.engine import interrupt
    from replitune.workflow.events import file_of
    from replitune.workflow.progress import Progress

    progress = Progress(experiment, os.fstat(handle.fileno()).st_mtime_ns)  # jobs' files are newer
    display = Display(progress, plain=plain)
    draft = Path(handle.name)

    def look() -> None:
        display.update()
        if (
            draft.exists()
            and progress.run is not None
            and progress.run.process.number == program.process.pid
        ):
            draft.rename(log)

    with engine.start(handle.fileno()) as program:
        try:
            while program.process.poll() is None:
                look()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    program.process.wait(PERIOD)
            look()
        except (KeyboardInterrupt, SystemExit) as stopped:
            display.close()
            print("replitune: stopping what runs ...", file=sys.stderr, flush=True)
            interrupt(program)
            if isinstance(stopped, SystemExit):
                raise
            print(f"replitune: stopped; to go on: {_again()}", file=sys.stderr)
            return 130
    display.close()
    code, events = program.process.returncode, file_of(experiment.folder, program.process.pid)
    if draft.exists():
        return _did_nothing(display, code, events, draft)
    if code != 0:
        print(f"replitune: {last_message(log)}\n  log:      {log}", file=sys.stderr)
        return 1
    display.finish()
    return 0


def _did_nothing(display: Display, code: int, events: Path, log: Path) -> int:
    """Report on a Snakemake that ran no job: it answered a question, found nothing to do, or refused."""
    from replitune.running import locks
    from replitune.workflow.events import ERROR, EXECUTES, read_events

    heard = read_events(events)
    events.unlink(missing_ok=True)
    if code == 0 and {"event": EXECUTES} in heard:
        display.finish()
    elif code != 0 and locks.is_held(events.with_name(locks.RUN)):
        raise ReplituneError(
            "another run is at work in this folder", file=Path.cwd(), fix="wait for it, or end it"
        )
    elif {"event": ERROR, "exception": "LockException"} in heard:
        raise ReplituneError(
            "Snakemake is at work in this folder, or was killed",
            file=Path.cwd(),
            fix="wait for it; if there is none: replitune run -- --unlock",
        )
    elif {"event": EXECUTES} in heard:
        print(f"replitune: {last_message(log)}", file=sys.stderr)
    else:
        text = log.read_text("utf-8", errors="replace")
        print(text, end="", file=sys.stderr if code else sys.stdout)
    return 1 if code else 0


def _again() -> str:
    return shlex.join(["replitune", *sys.argv[1:]])


def experiment_file(given: str | None) -> Path:
    if given is not None:
        return Path(given)
    for name in DEFAULTS:
        if Path(name).is_file():
            return Path(name)
    raise ReplituneError(
        "no experiment here",
        file=Path.cwd(),
        expected=" or ".join(DEFAULTS),
        fix="name one, or make one: replitune new DIR",
    )


def _profile(given: str | None, file: Path) -> Path:
    """The folder of a profile; its executor must be installed."""
    from replitune.workflow.places import executor, profile_of

    folder = profile_of(file, given)
    if executor(folder) == "slurm":
        needs("slurm")
    return folder


def _limits(profile: Path, folder: Path, rest: Sequence[str]) -> list[str]:
    """The memory and disk that jobs on this machine may take together, unless the user set limits."""
    from replitune.experiment.yaml_file import read_yaml
    from replitune.running.files import free_mb, memory
    from replitune.workflow.places import executor

    said = any(word.startswith(("mem_mb=", "mem_mib=", "mem=")) for word in rest)
    if said or executor(profile) != "local" or "resources" in read_yaml(profile / "config.yaml")[0]:
        return []
    return [f"mem_mb={memory() >> 20}", f"disk_mb={free_mb(folder)}"]
