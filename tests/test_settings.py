"""Settings: what is declared once is what is read, said and published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.settings import (
    WRONG,
    Reading,
    Settings,
    about,
    check_arguments,
    from_text,
    json_schema,
    plain,
    read,
    settings_of,
)


class Search(Settings):
    stack: Annotated[int, about("Hypotheses kept.", ge=1)] = 100
    beam: Annotated[float, about("Narrowest.", ge=0)] = 1e-5

    def __post_init__(self):
        if self.stack == 13:
            raise ReplituneError("an unlucky number", found="13")


@dataclass(frozen=True)
class Tuner:
    restarts: Annotated[int, about("Random starts.", ge=0)] = 20
    mask: Any = None


class System(Settings):
    name: Annotated[str, about("What it is called.", min_length=1)]
    search: Annotated[Search, about("How to search.")] = Search()
    tuner: Annotated[Tuner, about("How to tune.")] = Tuner()
    kind: Annotated[Literal["cube", "stack"], about("Which.")] = "cube"
    pairs: Annotated[Literal["all"] | tuple[tuple[str, str], ...], about("Pairs.")] = "all"
    seeds: Annotated[dict[Annotated[str, about(pattern="^[a-z]+$")], int], about("n")] = {}  # noqa: RUF012


def mistakes(value: Any, kind: Any = System) -> list[str]:
    reading = Reading()
    found = reading.read(kind, value, ())
    assert (found is WRONG) == bool(reading.mistakes)
    return [str(mistake.error()) for mistake in reading.mistakes]


def test_what_is_not_given_has_its_default():
    system = read(System, {"name": "a", "search": {"stack": 3}})
    assert system == System(name="a", search=Search(stack=3))


def test_all_mistakes_are_said_at_once_and_each_with_its_place():
    found = mistakes(
        {
            "search": {"stck": 3, "beam": -1},
            "tuner": {"restrats": 2},
            "kind": "cub",
            "pairs": [["a"]],
            "seeds": {"A": 1, "b": 1.5},
        }
    )
    assert [text.split("\n")[0] for text in found] == [
        "unknown key `stck` in search",
        "search.beam is not allowed",
        "unknown key `restrats` in tuner",
        "kind is not one of the allowed values",
        "pairs.0 is not allowed",
        "a name is not allowed in seeds",
        "seeds.b is not allowed",
        "key `name` is missing in the experiment",
    ]
    assert "did you mean `stack`?" in found[0]
    assert "a number, at least 0" in found[1]
    assert "did you mean `cube`?" in found[3]


def test_what_code_refuses_is_a_mistake_like_others():
    assert "an unlucky number" in mistakes({"name": "a", "search": {"stack": 13}})[0]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, 3.0),
        (int, "3"),
        (float, True),
        (float, "3"),
        (str, 3),
        (bool, 1),
        (None, 0),
        (list[int], "12"),
        (dict[str, int], []),
        (tuple[int, int], [1]),
    ],
)
def test_values_of_another_type_are_refused(kind, value):
    assert mistakes(value, kind)


def test_a_whole_number_is_a_number():
    assert isinstance(read(float, 3), float)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_is_finite(value):
    assert mistakes(value, Annotated[float, about("x")])


SIZES = {
    Annotated[int | list[str] | None, about("x", ge=2)]: ((2, ["a"], [], None), (1, "a")),
    Annotated[int | list[str] | None, about("x", min_length=1)]: ((1, ["a"], None), ([], "a")),
    Annotated[str | float, about("x", pattern="^a")]: (("ab", 0.5), ("b", None)),
}


@pytest.mark.parametrize("kind", SIZES)
def test_a_bound_of_a_union_holds_for_the_members_that_can_have_it(kind: Any):
    import jsonschema

    schema = jsonschema.Draft202012Validator(json_schema(kind, {}))
    taken, refused = SIZES[kind]
    for value in taken:
        assert read(kind, value) == value
        assert schema.is_valid(value)
    for value in refused:
        assert mistakes(value, kind)
        assert not schema.is_valid(value)


def test_numbers_of_numpy_are_numbers():
    assert read(int, np.int64(3)) == 3
    assert type(read(float, np.float32(0.5))) is float
    assert mistakes(np.float64(3.0), int)


def test_parameters_without_about_are_no_settings():
    assert list(settings_of(Tuner)) == ["restarts"]

    def test(comparison: object, *, unit: Annotated[str, about("Drawn.")] = "segment") -> None:
        """A test."""

    assert settings_of(test)["unit"].default == "segment"


def test_words_of_a_command_line_become_what_the_type_takes():
    assert from_text(bool, "true") is True
    assert from_text(float | None, "none") is None
    assert from_text(str | None, "none") is None
    assert from_text(int, "3") == 3
    for text in ("2020-99-99", "!!float", "!!bool x", "!!timestamp x", "[1"):
        assert from_text(list[str], text) == text, "said as it stands, and refused as any other"
    assert from_text(float, "1e-3") == 0.001
    assert from_text(str, "13") == "13"
    assert from_text(Literal["13a", "none"], "none") == "none"
    assert from_text(tuple[float, float], "[0, 1]") == [0, 1]


def test_plain_values_are_read_to_the_same_settings():
    system = System(name="a", pairs=(("a", "b"),), seeds={"x": 2})
    assert read(System, plain(system)) == system


def test_the_schema_takes_what_is_read_and_refuses_what_is_not():
    import jsonschema

    definitions: dict[str, Any] = {}
    schema = {**json_schema(System, definitions), "$defs": definitions}
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"name": "a", "search": {"stack": 3}, "pairs": [["a", "b"]]})
    for wrong in ({}, {"name": "a", "search": {"stck": 3}}, {"name": "a", "seeds": {"A": 1}}):
        assert mistakes(wrong)
        assert not validator.is_valid(wrong)


class Checked:
    @check_arguments
    def __init__(self, id: str, *, size: Annotated[float, about("How much.", ge=0)] = 1.0) -> None:
        self.id, self.size = id, size


def test_who_calls_directly_is_held_to_the_declaration_too():
    assert isinstance(Checked("a", size=3).size, float)
    assert list(settings_of(Checked)) == ["size"]
    with pytest.raises(ReplituneError, match=r"(?s)size is not allowed.*at least 0"):
        Checked("a", size=-1)


Name = Annotated[str, about("a lower-case name", pattern="^[a-z]+$")]


class Pair(Settings):
    baseline: Annotated[Name, about("What others are compared with.")] = "a"


def test_the_outermost_sentence_is_the_setting_s():
    """Named types have sentences of their own, for messages."""
    setting = settings_of(Pair)["baseline"]
    assert setting.description == "What others are compared with."
    assert json_schema(setting.type, {})["description"] == "What others are compared with."
    assert "a lower-case name" in mistakes({"baseline": "B"}, Pair)[0]
