"""A command line of multeval, translated for `replitune compare`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

OPTIONS = {
    "--refs": "--refs",
    "--metrics": "--metrics",
    "--latex": "--latex",
    "--rankDir": "--rank",
    "--sentLevelDir": "--sentence-scores",
    "--threads": "--threads",
    "--boot-samples": "--samples",
    "--ar-shuffles": "--samples",
}


def translate(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The line for `compare`, and the options of multeval that it leaves out."""
    given: dict[str, list[str]] = {}
    option = ""
    for word in arguments[1:]:
        if word.startswith("--"):
            option = word
            given.setdefault(option, [])
        else:
            given.setdefault(option, []).append(word)
    line, left_out = ["replitune", "compare"], []
    samples = max(
        (
            int(number)
            for name in ("--boot-samples", "--ar-shuffles")
            for number in given.get(name, ())
            if number.isdecimal()
        ),
        default=None,
    )
    for name, words in given.items():
        if name == "--hyps-baseline":
            line += ["--baseline", *words]
        elif name.startswith("--hyps-") and words:
            line += ["--system", f"{name.removeprefix('--hyps-')}={words[0]}", *words[1:]]
        elif name == "--metrics":
            line += [name, *(_metric(word, given) for word in words)]
        elif OPTIONS.get(name) == "--samples":
            continue
        elif name in OPTIONS:
            line += [OPTIONS[name], *words]
            line += ["--latex-style", "multeval"] if name == "--latex" else []
        elif not name.startswith(("--meteor.", "--bleu.", "--ter.")):
            left_out.append(name)
    if samples is not None:
        line += ["--samples", str(samples)]
    return shlex.join(line), left_out


def _metric(word: str, given: dict[str, list[str]]) -> str:
    """The metric as multeval computes it: texts count as tokenised, and METEOR gets its language."""
    if word in ("bleu", "length"):
        return f"{word}:tokenize=none"
    language = given.get("--meteor.language")
    return f"{word}:language={language[0]}" if word == "meteor" and language else word
