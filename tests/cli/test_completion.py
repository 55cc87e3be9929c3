from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest

from replitune.cli.main import COMMANDS, completion, parser_of
from replitune.workflow.templates import TEMPLATES
from support import ROOT, Ran


@pytest.fixture(scope="module")
def completed() -> Callable[[str], list[str]]:
    """What bash offers at the end of a line."""
    script = completion("bash")

    def offer(line: str) -> list[str]:
        words = line.split(" ")
        asked = f"COMP_WORDS=({' '.join(repr(word) for word in words)}); "
        asked += f'COMP_CWORD={len(words) - 1}; _shtab_replitune; echo "${{COMPREPLY[@]}}"'
        ran = subprocess.run(
            ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
        )
        assert not ran.stderr
        return ran.stdout.split()

    return offer


def test_bash_completes_commands_options_and_choices(completed: Callable[[str], list[str]]):
    assert completed("replitune ") == [*COMMANDS]
    assert completed("replitune --") == ["--help", "--version", "--completion"]
    assert completed("replitune comp") == ["compare"]
    assert completed("replitune run --s") == ["--scale"]
    assert completed("replitune new x --from ") == list(TEMPLATES)
    assert completed("replitune job ma") == ["manifest"]
    assert completed(f"replitune check --results {ROOT}/pyproj") == [f"{ROOT}/pyproject.toml"]
    assert completed(f"replitune verify {ROOT}/pyproj") == [f"{ROOT}/pyproject.toml"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_command_is_known_to_every_shell(replitune: Callable[..., Ran], shell: str):
    script = replitune("--completion", shell).out
    for name in COMMANDS:
        assert name in script
        for action in parser_of(name)._actions:
            for option in action.option_strings:
                assert (
                    f"-l {option[2:]} "
                    if shell == "fish" and len(option) > 2
                    else option.removeprefix("-" if shell == "fish" else "")
                ) in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_another_shell_is_one_message(replitune: Callable[..., Ran]):
    ran = replitune("--completion", "csh")
    assert (ran.code, "expected: bash, zsh, fish" in ran.err) == (2, True)
