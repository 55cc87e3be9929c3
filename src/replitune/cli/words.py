"""Command-line words that several commands take."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from replitune.backends.outputs import expand
from replitune.errors import ReplituneError, nearest
from replitune.experiment.configuration import schema


def system_files(words: Sequence[str], option: str) -> tuple[str, list[str]]:
    """``NAME=FILE FILE ...``: the name ends at the first `=`.

    A shell does not see that FILE begins after the `=`: of ``NAME=run*.txt`` it leaves the
    pattern, which is matched here, and of ``NAME=run{1,2}.txt`` it makes ``NAME=run1.txt
    NAME=run2.txt``, so the name may stand before each.
    """
    name, equals, first = words[0].partition("=")
    if not equals or not first:
        raise ReplituneError(
            f"{option} needs a name", found=words[0], expected=f"{option} NAME=FILE [FILE ...]"
        )
    rest = [word.removeprefix(f"{name}=") for word in words[1:]]
    return checked_name(name, option), [file for word in (first, *rest) for file in _matched(word)]


def _matched(word: str) -> list[str]:
    """The files of a pattern in natural order; a word that is no pattern, or a file, as it is."""
    if not any(character in word for character in "*?[") or Path(word).exists():
        return [word]
    paths = expand(word, Path())
    if not paths:
        raise ReplituneError(f"no file matches {word}", fix="check the pattern")
    return [str(path) for path in paths]


def checked_name(name: str, what: str) -> str:
    """A name that does as a file name."""
    import re

    rule = schema()["$defs"]["name"]
    if not re.fullmatch(rule["pattern"], name):
        raise ReplituneError(
            f"{what}: not allowed as a name", found=repr(name), expected=rule["description"]
        )
    return name


def method_word(word: str) -> str | dict[str, Any]:
    """A test and its options: ``clark:pairing=index,id=clark-index``."""
    name, colon, rest = word.partition(":")
    if not colon:
        return word
    options: dict[str, Any] = {"name": name}
    for item in rest.split(","):
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ReplituneError(
                f"method {word!r}: {item!r} is not an option", expected="NAME:key=value,key=value"
            )
        options[key] = _value(value)
    return options


def tests_by_label(words: Sequence[str]) -> dict[str, str]:
    """The test behind each label: ``clark:pairing=index,id=ci`` is called ci."""
    from replitune.significance.methods import get_method

    methods = [get_method(method_word(word)) for word in words]
    return {method.label: method.name for method in methods}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def pair_words(words: Sequence[str]) -> tuple[str | list[tuple[str, str]], str | None]:
    """``all``, ``baseline=NAME`` or ``A:B ...`` as (pairs, baseline)."""
    if list(words) == ["all"]:
        return "all", None
    if len(words) == 1 and words[0].startswith("baseline="):
        return "baseline", words[0].partition("=")[2]
    pairs = []
    for word in words:
        a, colon, b = word.partition(":")
        if not colon or not a or not b:
            raise ReplituneError(
                f"{word!r} is not a pair", expected="all, baseline=NAME, or A:B C:D ..."
            )
        pairs.append((a, b))
    return pairs, None


def add_store_options(parser: argparse.ArgumentParser, *, pairs: bool = True) -> None:
    """What every study of one test set takes."""
    parser.add_argument(
        "store", metavar="STORE", help="segment statistics: a file, or a folder of any depth"
    )
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these, in this order")
    if pairs:
        parser.add_argument(
            "--pairs", nargs="+", default=["all"], metavar="A:B",
            help="all, baseline=NAME, or pairs",
        )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, default=2011, help="the only source of randomness (default 2011)"
    )


def add_test_options(parser: argparse.ArgumentParser, methods: Sequence[str]) -> None:
    """Options of everything that runs significance tests."""
    parser.add_argument(
        "--methods",
        nargs="+",
        default=list(methods),
        metavar="TEST",
        help="tests, with options as TEST:key=value,... (default: %(default)s)",
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=10_000,
        metavar="R",
        help="resamples of each resampling test (default %(default)s)",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="level of the tests (default %(default)s)"
    )
    parser.add_argument(
        "--correction",
        default="holm",
        choices=("holm", "bh", "none"),
        help="for all pairs within one metric and test (default %(default)s)",
    )
    parser.add_argument(
        "--paired-replicas",
        action="store_true",
        help="replica k of every system shares its seed",
    )
    parser.add_argument(
        "--seed", type=int, default=2011, help="the only source of randomness (default 2011)"
    )


def check_test_options(options: argparse.Namespace) -> None:
    if options.samples < 1:
        raise ReplituneError(
            "--samples is not allowed", found=str(options.samples), expected="at least 1"
        )
    if not 0 < options.alpha < 1:
        raise ReplituneError(
            "--alpha is not allowed", found=str(options.alpha), expected="between 0 and 1"
        )
    if options.seed < 0:
        raise ReplituneError(
            "--seed is not allowed", found=str(options.seed), expected="at least 0"
        )


def assignments(words: Sequence[str], option: str) -> dict[str, Any]:
    """``key=value ...`` with values as in YAML."""
    import yaml

    settings: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key:
            raise ReplituneError(f"{option}: {word!r} is not a setting", expected="KEY=VALUE")
        settings[key] = yaml.safe_load(text)
    return settings


def settings_words(words: Sequence[str], known: type, option: str = "--set") -> dict[str, Any]:
    """``key=value ...`` as settings of the dataclass `known`; values as in YAML."""
    return checked_settings(assignments(words, option), known, option)


def checked_settings(
    given: Mapping[str, Any], known: type, option: str = "--set"
) -> dict[str, Any]:
    """Settings of the dataclass `known`, with the types that it has."""
    kinds = get_type_hints(known)
    settings: dict[str, Any] = {}
    for key, value in given.items():
        if key not in kinds:
            close = nearest(key, list(kinds))
            raise ReplituneError(
                f"{option}: no setting {key!r}",
                expected=", ".join(kinds),
                fix=f"did you mean {close}=...?" if close else None,
            )
        kind = kinds[key]
        plain = kind if isinstance(kind, type) else tuple
        if plain is tuple and isinstance(value, list):
            value = tuple(value)
        if plain is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, plain) or (isinstance(value, bool) and plain is int):
            raise ReplituneError(
                f"{option} {key}: not allowed", found=str(value), expected=plain.__name__
            )
        settings[key] = value
    return settings


def replica_words(words: Sequence[str]) -> Mapping[str, int]:
    """``mert=20 mira=20`` as numbers of replicas."""
    counts: dict[str, int] = {}
    for word in words:
        prefix, equals, number = word.partition("=")
        if not equals or not number.isdigit() or int(number) < 1:
            raise ReplituneError(
                f"--replicas: {word!r} is not a number of replicas", expected="such as mert=20"
            )
        counts[checked_name(prefix, "--replicas")] = int(number)
    return counts
