"""A parser that can be asked for its options, which argparse's own keeps to itself. Light."""

from __future__ import annotations

import argparse
from typing import Any


class Parser(argparse.ArgumentParser):
    def __init__(self, **given: Any) -> None:
        self.options: list[argparse.Action] = []
        super().__init__(**given)

    def add_argument(self, *names: Any, **given: Any) -> argparse.Action:
        self.options.append(super().add_argument(*names, **given))
        return self.options[-1]

    def add_one_of(self, *options: tuple[str, dict[str, Any]]) -> None:
        """Options of which exactly one is to be given."""
        group = self.add_mutually_exclusive_group(required=True)
        self.options += [group.add_argument(name, **given) for name, given in options]
