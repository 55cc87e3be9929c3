"""Beside pyproject.toml: a wheel holds the workflow, which in the repository is at the top."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SCRIPTS = ("fetch_multi30k.py", "train_transformers.py", "translate_transformers.py")
WORKFLOW = ("Snakefile", "workflow", "config", "envs", *(f"scripts/{name}" for name in SCRIPTS))
"""Goes to replitune/workflow/files, where replitune.workflow.places looks for it."""


class BuildWithWorkflow(build_py):
    def workflow_files(self) -> list[str]:
        found = [path for name in WORKFLOW for path in (Path(name), *Path(name).rglob("*"))]
        return sorted(str(path) for path in found if path.is_file())

    def place(self, name: str) -> Path:
        return Path(self.build_lib, "replitune", "workflow", "files", name)

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        shutil.rmtree(self.place(""), ignore_errors=True)  # what an earlier build left
        for name in self.workflow_files():
            self.place(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(name, self.place(name))

    def get_source_files(self) -> list[str]:
        """What a source distribution has to hold."""
        return [*super().get_source_files(), *self.workflow_files()]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        made = [] if self.editable_mode else map(str, map(self.place, self.workflow_files()))
        return [*super().get_outputs(include_bytecode), *made]


# the same files are the same wheel, whenever it is built: all are of the year in which zip's time begins
os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")

setup(cmdclass={"build_py": BuildWithWorkflow})
