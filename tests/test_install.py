"""scripts/install.sh, by which the Makefile makes .venv: which Python it takes, and the one message of a
machine that has none that will do. Nothing is installed here; the Pythons are made up."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from support import ROOT

GOOD, NO_VENV = "exit 0", "exit 1"


class Machine:
    """A folder that is all of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("dirname", "id"):
            (folder / name).symlink_to(shutil.which(name) or name)

    def has(self, name: str, script: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.folder / name).chmod(0o755)

    def has_python(self, name: str, version: str, modules: str = GOOD) -> None:
        self.has(name, f'case "$2" in *platform*) echo {version} ;; *) {modules} ;; esac')

    def find(self, **variables: str) -> tuple[int, str, str]:
        """Which Python would be taken."""
        ran = subprocess.run(
            [shutil.which("bash") or "bash", ROOT / "scripts" / "install.sh", "--find"],
            env={"PATH": str(self.folder), **variables},
            capture_output=True,
            text=True,
        )
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_python_that_can_be_used_is_taken(machine: Machine):
    machine.has("python3.11", "exit 127")  # as pyenv has it of versions that are not chosen
    machine.has_python("python3.12", "3.12.3", NO_VENV)
    machine.has_python("python3.13", "3.13.0")
    assert machine.find() == (0, "python3.13\n", "")
    machine.has_python("python3.11", "3.11.7")
    assert machine.find() == (0, "python3.11\n", "")
    assert machine.find(PYTHON="python3.13") == (0, "python3.13\n", "")


def test_a_python_without_a_version_in_its_name_will_do(machine: Machine):
    machine.has_python("python3", "3.12.3")
    assert machine.find() == (0, "python3\n", "")


def test_without_venv_the_line_to_type_names_its_package(machine: Machine):
    machine.has_python("python3.12", "3.12.3", NO_VENV)
    machine.has("apt-get", "exit 0")
    code, out, err = machine.find()
    assert (code, out) == (2, "")
    assert "python3.12 cannot make an environment: its module venv or ensurepip is missing" in err
    assert err.splitlines()[-1].endswith("apt-get install -y python3.12-venv")


@pytest.mark.parametrize("offered", ["3.13", "3.11"])
def test_a_python_that_is_too_old_is_named_with_one_that_can_be_had(machine: Machine, offered: str):
    machine.has_python("python3", "3.10.13")
    machine.has("apt-get", "exit 0")
    machine.has("apt-cache", f'[ "$2" = python{offered}-venv ]')
    code, _, err = machine.find()
    assert code == 2
    assert err.startswith(
        "replitune: Python 3.11, 3.12 or 3.13 is needed\n  found:    python3 is Python 3.10.13\n"
    )
    assert err.splitlines()[-1].endswith(f"apt-get install -y python{offered} python{offered}-venv")


def test_without_any_python_and_packages_it_says_what_to_get(machine: Machine):
    code, _, err = machine.find()
    assert code == 2
    assert "found:    no python3\n" in err
    assert "make PYTHON=/path/to/python3.12" in err
    assert "found:    python9, which is no Python\n" in machine.find(PYTHON="python9")[2]
