from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.running.programs import filled, missing_program, uses

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r\n"))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_a_shell_gets_every_value_as_it_is(words: list[str], word: str):
    """The oracle is bash itself."""
    command = filled("printf '%s\\n' {words} a{word}b", {"words": words, "word": word})
    said = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
    assert said.decode().split("\n")[:-1] == [*words, f"a{word}b"]


def test_what_is_no_place_is_left_to_the_shell():
    for text in ("echo ${source} {1..3} {a,b} $((1 + {x}))", "awk '{{print}}'", "a {} \\;"):
        kept = text.replace("{{print}}", "{print}").replace("{x}", "7")
        assert filled(text, {"x": 7}) == kept
    assert uses("cat {source}", "source")
    assert not uses("cat ${source} {{source}}", "source")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("cat {sorce}", "did you mean {source}"),
        ("awk '{print}'", "for the shell write {{print}}"),
        ("echo '{source}'", "inside quotes"),
        ('echo "x {source}"', "inside quotes"),
        ("echo \\'a 'b {source}'", "inside quotes"),
    ],
)
def test_mistakes_in_templates(template: str, message: str):
    with pytest.raises(ReplituneError, match=message.replace("{", "\\{")):
        filled(template, {"source": "f"})
    assert filled("# don't\ncat {source}", {"source": "f"}) == "# don't\ncat f"


def test_programs_are_looked_for(tmp_path: Path):
    assert missing_program("bash", "") == []
    (error,) = missing_program(str(tmp_path / "moses"), "build it")
    assert "is not there" in str(error)
    assert "build it" in str(error)
