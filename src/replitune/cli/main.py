"""The command `replitune`: finds the subcommand, and turns errors into exit codes.

0: done; 2: the user's input is wrong, or something is missing; 1: any other failure; 128 + the number
of a signal. Only the module of the chosen subcommand is imported.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import faulthandler
import importlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from replitune import __version__
from replitune.cli.parser import Parser
from replitune.errors import ReplituneError, did_you_mean, machine_trouble, told_to
from replitune.running.start import prepare_cache, start_lightly

COMMANDS = {
    "compare": "compare systems whose outputs you have: scores, spread, significance",
    "score": "compute and keep segment statistics of outputs, as Parquet",
    "test": "test differences between systems on segment statistics",
    "power": "what difference n runs and N segments would detect",
    "next": "how many more runs each system needs, by the rule of adaptive replication",
    "replication": "what fewer runs could have shown, by draws from those you have",
    "calibrate": "how often each test finds a difference where there is none",
    "meta": "how well metrics agree with people, and which agrees better",
    "new": "write a folder with a new experiment, ready to run",
    "run": "run an experiment, from its texts to the report",
    "watch": "follow a run on the terminal or as a page",
    "check": "find what is wrong with an experiment file; with --data, with its texts, too",
    "train": "train a phrase-based system on parallel text",
    "tune": "tune the weights of a system, or weights on n-best lists of any decoder",
    "decode": "translate one test set with one system",
    "verify": "check that results are still what the workflow made",
    "archive": "pack results into one file to publish, which can be run again",
    "clean": "list or remove files that no longer belong to the experiment",
    "doctor": "say what is installed, and what is missing for each kind of work",
    "job": "run one job of the workflow; Snakemake's rules call this",
}
OF_EXPERIMENTS = [[name] for name in ("new", "run", "watch", "check", "verify", "archive", "clean", "job")]
"""Commands whose options are in the file of an experiment."""
SHELLS = ("bash", "zsh", "fish")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may support only ASCII
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)
    if "REPLITUNE_RUN" in os.environ:  # a job: it ends with the run that started it
        from replitune.running.supervisor import watch

        watch()
    try:
        with told_to("experiment" if arguments[:1] in OF_EXPERIMENTS else "command"):
            return _reported(_run, arguments)
    except BrokenPipeError:
        # the program that read our output has ended, so nothing more is written to it
        _say_no_more()
        return 141


def _reported(command: Callable[..., int], *given: Any) -> int:
    """The exit code of a command. An error that is not the program's fault is printed as one message."""
    try:
        code = command(*given)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would end the last words
        code, text = _fault(error)
        if text is None:
            raise
        print(f"replitune: {text}", file=sys.stderr)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _say_no_more()
        return code


def _fault(error: BaseException) -> tuple[int, str | ReplituneError | None]:
    """The exit code for an error, and its message to the user; None if the program is at fault."""
    if isinstance(error, ReplituneError):
        return 2, error
    if isinstance(error, MemoryError):
        return 2, "this machine has too little memory for this input"
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(error, OSError):
        return 1, machine_trouble(error)
    from replitune.extras import without
    from replitune.registry import blamed

    return 2, without(error) or blamed(error)


def _say_no_more() -> None:
    """Discard output that could not be written, so that Python does not try again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(f"replitune {__version__}")
        return 0
    if arguments[0] == "--completion":
        print(completion("".join(arguments[1:2])))
        return 0
    name = arguments[0]
    if name == "eval" or (name == "compare" and any(w.startswith("--hyps-") for w in arguments)):
        raise _from_multeval(arguments)
    if name not in COMMANDS:
        raise ReplituneError(
            f"no command {name!r}",
            expected=", ".join(COMMANDS),
            fix=did_you_mean(name, COMMANDS, "`replitune {}`") or "see `replitune --help`",
        )
    _limit_threads(arguments)
    start_lightly()
    prepare_cache()
    module = importlib.import_module(f"replitune.cli.{name}")
    parser = parser_of(name)
    given, rest = arguments[1:], []
    if hasattr(module, "TAKES_REST") and "--" in given:
        where = given.index("--")
        given, rest = given[:where], given[where + 1 :]
    options = parser.parse_args(given)
    options.rest = rest
    options.line = ["replitune", *arguments]
    if options.log is None:
        return _recorded(module, options, arguments)
    with contextlib.ExitStack() as stack:
        log = _opened(options.log, stack)
        stack.enter_context(_logging_to(log))
        try:
            return _reported(_recorded, module, options, arguments)
        except Exception:
            traceback.print_exc()
            return 1


def _from_multeval(arguments: list[str]) -> ReplituneError:
    from replitune.cli.multeval import translate

    line, left_out = translate(arguments)
    missing = f"{', '.join(left_out)}: not available here" if left_out else None
    return ReplituneError("this is a command line of multeval", found=missing, fix=f"type: {line}")


def completion(shell: str) -> str:
    """A script that makes a shell complete commands, options and values: ``eval "$(replitune --completion
    bash)"``."""
    import shtab

    if shell not in SHELLS:
        raise ReplituneError(f"no completion for {shell!r}", expected=", ".join(SHELLS))
    every = Parser(prog="replitune")
    every.add_argument("--version", action="store_true", help="print the version")
    every.add_argument("--completion", choices=SHELLS, help="print a completion script")
    commands = every.add_subparsers()
    for name, text in COMMANDS.items():
        for option in parser_of(name, partial(commands.add_parser, name, help=text)).options:
            if option.nargs != 0 and not option.choices:
                option.complete = shtab.FILE  # type: ignore[attr-defined]
    return shtab.complete(every, shell)


def parser_of(name: str, make: Callable[..., Parser] = Parser) -> Parser:
    """The options of one command; docs/commands.md is made from them."""
    module = importlib.import_module(f"replitune.cli.{name}")
    parser = make(
        prog=f"replitune {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    # 1 by default, as rules expect; all cores for commands that people wait for; None: no such option
    threads = getattr(module, "THREADS", 1)
    if threads is not None:
        shown = "all" if hasattr(module, "THREADS") else "1"
        parser.add_argument(
            "--threads",
            type=_positive,
            default=threads,
            metavar="N",
            help=f"threads to use (default {shown})",
        )
    parser.add_argument("--log", metavar="FILE", help="also write messages to this file")
    return parser


def _recorded(module: Any, options: argparse.Namespace, arguments: list[str]) -> int:
    options.pieces = None
    if getattr(options, "record", None) is None:
        return int(module.run(options) or 0)
    from replitune.ledger.records import recording

    inputs, outputs = module.inputs(options), module.outputs(options)
    with recording(options.record, command=arguments, inputs=inputs, outputs=outputs) as options.pieces:
        return int(module.run(options) or 0)


def _opened(log: str, stack: contextlib.ExitStack) -> TextIO:
    """The log, opened under a lock, so that no other process can do this job at the same time."""
    try:
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        from replitune.running.locks import only_one

        stack.enter_context(only_one(log))
        return stack.enter_context(open(log, "w", encoding="utf-8"))
    except OSError as error:
        if machine_trouble(error) is not None:
            raise
        raise ReplituneError(
            "the log cannot be written", file=log, found=error.strerror, fix="give it another name"
        ) from None


@contextlib.contextmanager
def _logging_to(log: TextIO) -> Iterator[None]:
    """Standard output goes to `log`, standard error to the log and the terminal; a crash writes its
    stack to the log."""
    faulthandler.enable(log)
    try:
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(_Both(log)):
            yield
    finally:
        faulthandler.disable()


class _Both(io.TextIOBase):
    """Standard error, copied to a log."""

    def __init__(self, log: TextIO) -> None:
        self.log, self.terminal = log, sys.stderr

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):  # a full disk is reported on the terminal
            self.log.write(text)
            self.log.flush()
        return self.terminal.write(text)

    def flush(self) -> None:
        self.terminal.flush()


def usage() -> str:
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: replitune COMMAND ...",
            "",
            "Replicated tuning experiments for machine translation. `new` and `run` are for whole",
            "experiments; most other commands work on files that you have.",
            "",
            *rows,
            "",
            "replitune COMMAND --help says more; --version prints the version, --completion a",
            "completion script for bash, zsh or fish.",
        ]
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _limit_threads(arguments: list[str]) -> None:
    """Set the variables that thread pools read once, when their libraries are imported."""
    threads = "1"
    for position, word in enumerate(arguments):
        if word == "--threads" and position + 1 < len(arguments):
            threads = arguments[position + 1]
        elif word.startswith("--threads="):
            threads = word.partition("=")[2]
    if threads.isdigit() and threads != "0":
        for variable in THREAD_VARIABLES:
            # sums in BLAS depend on its number of threads, so it always gets one
            os.environ[variable] = "1" if variable == "OPENBLAS_NUM_THREADS" else threads


if __name__ == "__main__":
    sys.exit(main())
