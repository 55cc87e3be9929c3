"""Options of commands, made from declared settings, and arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from replitune.errors import ReplituneError
from replitune.registry import Name, SystemName
from replitune.settings import SEED, Reading, Setting, from_text, members_of, opened, read, settings_of

TEST_SETTINGS = (
    "methods",
    "intervals",
    "samples",
    "alpha",
    "correction",
    "family",
    "margin",
    "paired_replicas",
)
"""Settings of the tests that `compare` and `test` take."""

LISTS = (list, tuple, Sequence)

OPTIONS = {"documents": "docs", "controls": "with"}
"""Settings whose options have other names."""


def option_of(name: str) -> str:
    """The option of a setting."""
    return f"--{OPTIONS.get(name, name).replace('_', '-')}"


def add_settings(
    parser: argparse.ArgumentParser,
    declared: Any,
    *names: str,
    help: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> None:
    """Add options for some settings of a class or a function, with the sentences and defaults that it
    declares; `help` replaces some sentences, `more` follows them."""
    known = settings_of(declared)
    for name in names:
        setting = known[name]
        hint, default = bare(setting.type), setting.default
        words: dict[str, Any] = {"default": None, "dest": name}
        text = (help or {}).get(name, setting.description)
        if hint is bool:
            words["action"] = "store_true"
        else:
            words["metavar"] = metavar(setting)
            if is_list(hint) or is_mapping(hint):
                alone = setting.may_be_empty or bool in members_of(hint)
                words["nargs"] = "*" if alone else "+"
            if default is not Parameter.empty and default not in (None, (), {}):
                text = f"{text.rstrip('.')} (default {shown_default(default)})."
        text = " ".join(filter(None, (text, (more or {}).get(name))))
        parser.add_argument(option_of(name), help=text.replace("%", "%%"), **words)


def bare(hint: Any) -> Any:
    """A type without its annotations; for `X | None`, X."""
    hint, *_ = opened(hint)
    members = [member for member in members_of(hint) if member is not type(None)]
    return bare(members[0]) if len(members) == 1 else hint


def is_list(hint: Any) -> bool:
    """Whether a type takes a list; one that takes paths takes a file instead."""
    members = members_of(hint) or (hint,)
    return Path not in members and any(get_origin(bare(member)) in LISTS for member in members)


def is_mapping(hint: Any) -> bool:
    return get_origin(hint) in (dict, Mapping)


def metavar(setting: Setting) -> str:
    hint = bare(setting.type)
    if get_origin(hint) is Literal:
        return "|".join(map(str, get_args(hint)))
    if is_mapping(hint):
        return "NAME=X" if get_args(hint)[1] is not str else "WHAT=NAME"
    if Path in members_of(hint):
        return "FILE"
    if setting.name in ("controls", "lower_is_better", "higher_is_better"):
        return "METRIC"
    return {int: "N", float: "X"}.get(hint, setting.name.upper().rstrip("S"))


def shown_default(default: Any) -> str:
    values = default if isinstance(default, (list, tuple)) else [default]
    return " ".join(str(getattr(value, "word", value)) for value in values)


def given_settings(options: argparse.Namespace, declared: Any, *names: str) -> dict[str, Any]:
    """The checked values of the options that were given, by the names of their settings."""
    known = settings_of(declared)
    reading = Reading()
    values = {}
    for name in names:
        text = getattr(options, name)
        if text is None or (text is False and bare(known[name].type) is bool):
            continue
        hint, option = known[name].type, option_of(name)
        plain, value = bare(hint), text
        if is_mapping(plain):
            of_value = get_args(plain)[1]
            if len(text) == 1 and "=" not in text[0] and of_value is not str:
                # one value for all names
                hint, value = of_value, from_text(float, text[0])
            else:
                value = named_values(text, of_value, option)
        elif isinstance(text, list):
            value = True if not text and bool in members_of(plain) else [typed(hint, word) for word in text]
        elif isinstance(text, str):
            value = from_text(hint, text)
        values[name] = reading.read(hint, value, (option,))
    if reading.mistakes:
        raise reading.mistakes[0].error()
    return values


def named_values(words: Sequence[str], hint: Any, option: str) -> dict[str, Any]:
    """``NAME=X ...`` as a mapping."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.rpartition("=")
        if not equals or not name:
            raise ReplituneError(f"{option}: {word!r} has no value", expected="NAME=X")
        if name in values:
            raise ReplituneError(f"{option}: {name!r} is given twice")
        values[name] = from_text(hint, text)
    return values


def typed(hint: Any, word: str) -> Any:
    """One word of a list, as a number if the list's items are numbers."""
    hint = bare(hint)
    for member in members_of(hint) or [hint]:
        if get_origin(bare(member)) in LISTS:
            item = get_args(bare(member))[0]
            return word if bare(item) not in (int, float) else from_text(item, word)
    return word


def assignments(words: Sequence[str], declared: Any, option: str) -> dict[str, Any]:
    """``key=value ...`` as values of declared settings."""
    known = settings_of(declared)
    reading = Reading()
    values: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ReplituneError(f"{option}: {word!r} is not a setting", expected="KEY=VALUE")
        if key not in known:
            reading.unknown(key, list(known), (option,))
        else:
            hint = known[key].type
            values[key] = reading.read(hint, from_text(hint, text), (option, key))
    if reading.mistakes:
        raise reading.mistakes[0].error()
    return values


def metric_words(words: Sequence[str] | None) -> list[str]:
    """``bleu chrf`` or ``bleu,chrf``: a comma is followed by another metric, or by another option
    ``key=value`` of the same one."""
    metrics: list[str] = []
    for word in words or ():
        for number, part in enumerate(word.split(",")):
            if number and "=" in part.partition(":")[0]:
                metrics[-1] += f",{part}"
            elif part:
                metrics.append(part)
    return metrics


def pairs_of(words: Sequence[str]) -> Any:
    """``all``, ``baseline=NAME`` or ``A:B ...``, converted to the form of an experiment file."""
    if list(words) == ["all"]:
        return "all"
    if len(words) == 1 and words[0].startswith("baseline="):
        return {"baseline": words[0].partition("=")[2]}
    pairs = []
    for word in words:
        a, colon, b = word.partition(":")
        if not colon or not a or not b:
            raise ReplituneError(f"{word!r} is not a pair", expected="all, baseline=NAME, or A:B C:D ...")
        pairs.append([a, b])
    return pairs


def system_files(words: Sequence[str], option: str) -> tuple[str, list[str]]:
    """``NAME=FILE FILE ...``: the name ends at the first `=`.

    A shell does not know that FILE begins after the `=`. It leaves ``NAME=run*.txt`` as it is, so the
    pattern is matched here; and it turns ``NAME=run{1,2}.txt`` into ``NAME=run1.txt NAME=run2.txt``,
    so the name may be repeated before each file.
    """
    name, equals, first = words[0].partition("=")
    if not equals or not first:
        raise ReplituneError(
            f"{option} needs a name", found=words[0], expected=f"{option} NAME=FILE [FILE ...]"
        )
    rest = [word.removeprefix(f"{name}=") for word in words[1:]]
    return safe_name(name, option, SystemName), [file for word in (first, *rest) for file in matches(word)]


def matches(word: str) -> list[str]:
    """The files that match a pattern, in natural order. A word that is not a pattern, or that names a
    file, is returned as it is."""
    if not any(character in word for character in "*?[") or Path(word).exists():
        return [word]
    from replitune.corpus.outputs import expand

    paths = expand(word, Path())
    if not paths:
        raise ReplituneError(f"no file matches {word}", fix="check the pattern")
    return [str(path) for path in paths]


def safe_name(name: str, what: str, kind: Any = Name) -> str:
    """The name, checked to be usable as a file name."""
    checked: str = read(kind, name, what)
    return checked


def replica_words(words: Sequence[str]) -> dict[str, int]:
    """``mert=20 mira=20`` as numbers of replicas."""
    counts: dict[str, int] = {}
    for word in words:
        prefix, equals, number = word.partition("=")
        if not equals or not number.isdigit() or int(number) < 1:
            raise ReplituneError(
                f"--replicas: {word!r} is not a number of runs", expected="such as mert=20"
            )
        counts[safe_name(prefix, "--replicas")] = int(number)
    return counts


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the argument that `results_folder` reads: the folder of an experiment."""
    parser.add_argument(
        "folder", nargs="?", metavar="RESULTS", help="results/<experiment> (default: the last one that ran)"
    )


def results_folder(options: argparse.Namespace) -> Path:
    from replitune.ledger.runs import newest

    return newest(Path("results")) if options.folder is None else Path(options.folder)


def add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=whole, default=SEED, help="the only source of randomness (default %(default)s)"
    )


def whole(text: str) -> int:
    """A whole number, 0 or more; argparse reports anything else."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number
