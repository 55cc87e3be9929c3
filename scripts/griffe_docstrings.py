"""For mkdocs: the docstrings of the Python reference as they are at run time, with the sentences of
declared settings, and parameters with their plain types."""

from __future__ import annotations

from typing import Any

import griffe

import replitune
from replitune.settings import opened, settings_of


class RuntimeDocstrings(griffe.Extension):
    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        if func.name not in replitune.__all__ or func.path != f"replitune.api.{func.name}":
            return
        function = getattr(replitune, func.name)
        assert func.docstring is not None
        func.docstring.value = function.__doc__
        for name, setting in settings_of(function).items():
            func.parameters[name].annotation = str(opened(setting.type)[0]).replace("typing.", "")
