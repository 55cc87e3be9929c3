"""An argument parser that lists its options, which argparse keeps private. Imports little."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from replitune.errors import ReplituneError, did_you_mean


class Parser(argparse.ArgumentParser):
    def __init__(self, **given: Any) -> None:
        self.options: list[argparse.Action] = []
        super().__init__(**given)

    def add_argument(self, *names: Any, **given: Any) -> argparse.Action:
        self.options.append(super().add_argument(*names, **given))
        return self.options[-1]

    def add_one_of(self, *options: tuple[str, dict[str, Any]]) -> None:
        """Add options of which exactly one must be given."""
        group = self.add_mutually_exclusive_group(required=True)
        self.options += [group.add_argument(name, **given) for name, given in options]

    def error(self, message: str) -> NoReturn:
        """One message instead of the whole usage."""
        _, unknown, words = message.partition("unrecognized arguments: ")
        typed = next((word for word in words.split() if word.startswith("--")), "")
        known = [name for one in self.options for name in one.option_strings]
        see = f"see `{self.prog} --help`"
        if unknown and not typed:
            see = f"name the option that they belong to: {see}"
        raise ReplituneError(
            f"no option {typed}" if typed else message,
            fix=did_you_mean(typed.partition("=")[0], known, "{}") or see,
        )
