"""Completion of commands and options in a shell, made from the parsers.

eval "$(replitune --completion bash)"
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from replitune.cli.parser import Parser
from replitune.errors import ReplituneError


@dataclass(frozen=True)
class Option:
    """One option of a command, or a positional argument, which has no names."""

    names: tuple[str, ...]
    help: str
    takes: bool
    """Whether a value follows."""
    choices: tuple[str, ...]
    """If there are none, files are offered."""


def options_of(parser: Parser) -> list[Option]:
    return [
        Option(
            tuple(action.option_strings),
            " ".join((action.help or "").replace("%(default)s", str(action.default)).split()),
            action.nargs != 0,
            tuple(map(str, action.choices or ())),
        )
        for action in parser.options
    ]


def completion(shell: str, commands: Mapping[str, str], parsers: Mapping[str, Parser]) -> str:
    """The script for a shell to read; `commands` maps each command to its description."""
    if shell not in SHELLS:
        raise ReplituneError(f"no completion for {shell!r}", expected=", ".join(SHELLS))
    options = {name: options_of(parser) for name, parser in parsers.items()}
    return SHELLS[shell](commands, options)


def bash(commands: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    """Complete a command's words, and the values of an option that has choices; otherwise bash offers
    files."""
    cases, values = [], []
    for name, own in options.items():
        words = [option for each in own for option in each.names]
        words += [choice for each in own if not each.names for choice in each.choices]
        cases.append(f"    {name}) words={shlex.quote(' '.join(words))} ;;")
        for each in own:
            if each.names and each.takes:
                after = "|".join(f"{name}:{option}" for option in each.names)
                values.append(f"    {after}) words={shlex.quote(' '.join(each.choices))} ;;")
    return "\n".join(
        [
            "_replitune() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" words=',
            '  local before="${COMP_WORDS[COMP_CWORD-1]}"',
            "  if [ $COMP_CWORD -eq 1 ]; then",
            f"    words={shlex.quote(' '.join([*commands, *TOP]))}",
            "  else",
            '    case "${COMP_WORDS[1]}:$before" in',
            *values,
            '    *) case "${COMP_WORDS[1]}" in',
            *cases,
            "    esac ;;",
            "    esac",
            "  fi",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            "}",
            "complete -o bashdefault -o default -F _replitune replitune",
            "",
        ]
    )


def zsh(commands: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    cases = []
    for name, own in options.items():
        rows = []
        for each in own:
            value = f":value:({' '.join(each.choices)})" if each.choices else ":file:_files"
            for option in each.names:
                text = each.help.translate(str.maketrans("[]:", "() "))
                rows.append(shlex.quote(f"*{option}[{text}]{value if each.takes else ''}"))
            if not each.names:
                rows.append(shlex.quote(f"*{value}"))
        rows = rows if any(not each.names for each in own) else [*rows, "'*:file:_files'"]
        cases.append(f"    {name}) _arguments {' '.join(rows)} ;;")
    described = [
        shlex.quote(f"{name}:{text.replace(':', ' ')}") for name, text in {**commands, **TOP}.items()
    ]
    return "\n".join(
        [
            "#compdef replitune",
            "_replitune() {",
            "  if (( CURRENT == 2 )); then",
            f"    local -a subcommands=({' '.join(described)})",
            "    _describe command subcommands",
            "    return",
            "  fi",
            "  local name=$words[2]",
            "  shift words; (( CURRENT-- ))",
            "  case $name in",
            *cases,
            "  esac",
            "}",
            "compdef _replitune replitune",
            "",
        ]
    )


def fish(commands: Mapping[str, str], options: Mapping[str, list[Option]]) -> str:
    rows = [
        f"complete -c replitune -n __fish_use_subcommand -f -a {name} -d {_fish(text)}"
        for name, text in commands.items()
    ]
    for option, text in TOP.items():
        rows.append(f"complete -c replitune -n __fish_use_subcommand -l {option[2:]} -d {_fish(text)}")
    for name, own in options.items():
        begin = f"complete -c replitune -n '__fish_seen_subcommand_from {name}'"
        for each in own:
            choices = f"-a {_fish(' '.join(each.choices))}" if each.choices else ""
            value = f" {'-x' if choices else '-r'}" if each.takes else ""
            words = [
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in each.names
            ]
            if words or choices:
                rest = f"{value if words else ''} {choices}".rstrip()
                rows.append(f"{begin} {' '.join(words)}{rest} -d {_fish(each.help)}")
    return "\n".join([*rows, ""])


def _fish(text: str) -> str:
    """The text in quotes, within which fish knows only two escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


TOP = {
    "--help": "list the commands",
    "--version": "print the version",
    "--completion": "print a completion script for bash, zsh or fish",
}
SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
