from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from replitune.errors import ReplituneError
from replitune.experiment.reading import load, merge, resolve
from replitune.experiment.settings import ExperimentSettings
from replitune.experiment.yaml_file import find_source, read_yaml
from replitune.settings import json_schema, plain
from support import ROOT

MINIMAL = {
    "experiment": "x",
    "corpus": {"kind": "synthetic"},
    "systems": {"a": {"backend": "corruption"}, "b": {"backend": "corruption"}},
}


def write(folder: Path, text: str) -> Path:
    path = folder / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(path: str, value: object) -> dict:
    data = copy.deepcopy(MINIMAL)
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return data


def test_defaults_are_filled_in_at_every_depth():
    settings = resolve(MINIMAL)
    assert settings.seed == 2011
    assert settings.tests.samples == 10_000
    assert settings.corpus.tests == {"test1": 300, "test2": 300}
    assert settings.systems["a"].errors == 0.2


def test_resolving_twice_changes_nothing():
    assert resolve(plain(resolve(MINIMAL))) == resolve(MINIMAL)
    assert resolve(plain(resolve(MINIMAL), sparse=True)) == resolve(MINIMAL)


def test_the_input_is_left_alone():
    data = copy.deepcopy(MINIMAL)
    resolve(data)
    assert data == MINIMAL


def test_seed_zero_is_a_seed():
    assert resolve(changed("seed", 0)).seed == 0


def test_a_missing_key_is_named():
    with pytest.raises(ReplituneError, match="`corpus` is missing"):
        resolve({"experiment": "x", "systems": MINIMAL["systems"]})


def test_messages_have_file_and_line(tmp_path: Path):
    path = write(tmp_path, yaml.safe_dump(MINIMAL, sort_keys=False) + "tests:\n  samples: -1\n")
    with pytest.raises(ReplituneError) as error:
        load(path)
    assert error.value.file == str(path)
    assert path.read_text().split("\n")[error.value.line - 1] == "  samples: -1"


@pytest.mark.parametrize("number", ["1:30", "010", "1_000", "0b11", "1:30.5", "1_0.5"])
def test_a_number_that_versions_of_yaml_read_differently_is_an_error(tmp_path: Path, number: str):
    """YAML 1.1, which Snakemake reads, makes 90 of 1:30; in YAML 1.2 it is text."""
    file = write(tmp_path, f"experiment: x\nlist: [{{seed: {number}}}]\n")
    with pytest.raises(ReplituneError, match="versions of YAML") as error:
        read_yaml(file)
    assert (error.value.line, error.value.found) == (2, number)
    assert read_yaml(write(tmp_path, f"seed: '{number}'\n"))[0] == {"seed": number}


def test_plain_numbers_are_read_as_they_stand(tmp_path: Path):
    data, _ = read_yaml(write(tmp_path, "a: [0, -3, +4, 0x1F, 0.5, 007.5, 1.0e-3, .5, 1., 2011]\n"))
    assert data["a"] == [0, -3, 4, 31, 0.5, 7.5, 1e-3, 0.5, 1.0, 2011]


def test_a_key_given_twice_is_an_error(tmp_path: Path):
    path = write(tmp_path, "experiment: x\nseed: 1\nseed: 2\n")
    with pytest.raises(ReplituneError, match="`seed` is given twice") as error:
        load(path)
    assert error.value.line == 3


@pytest.mark.parametrize("text", ["experiment: [", "- a\n- b\n", "", "!!python/object:os.system {}"])
def test_what_is_no_experiment_is_refused(tmp_path: Path, text: str):
    with pytest.raises(ReplituneError):
        load(write(tmp_path, text))


def test_a_scale_overrides_and_renames():
    data = {**MINIMAL, "scales": {"small": {"replicas": {"seeds": 2}, "metrics": ["bleu"]}}}
    settings = resolve({**data, "scale": "small"})
    assert settings.experiment == "x-small"
    assert settings.replicas == {"seeds": 2}
    with pytest.raises(ReplituneError, match="unknown scale 'smal'"):
        resolve({**data, "scale": "smal"})


def test_merging_goes_into_mappings_and_replaces_lists():
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 3}
    assert merge(base, {"a": {"c": [9]}}) == {"a": {"b": 1, "c": [9]}, "d": 3}
    assert base["a"]["c"] == [1, 2]
    assert merge(base, {"a": {"b": None}}) == {"a": {"c": [1, 2]}, "d": 3}
    assert merge({"replicas": {"mert": 3, "pro": 3}}, {"replicas": {"mert": 1}}) == {
        "replicas": {"mert": 1}
    }


def test_every_key_is_described():
    definitions: dict = {}
    json_schema(ExperimentSettings, definitions)
    for name, part in definitions.items():
        for key, sub in part.get("properties", {}).items():
            assert sub.get("description"), f"{name}.{key} has no description"


def test_the_published_schema_takes_every_experiment_and_no_misspelt_one():
    import jsonschema

    schema = json.loads((ROOT / "config/schema/experiment.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    for path in [ROOT / "config/config.yaml", *(ROOT / "config/experiments").glob("*.yaml")]:
        errors = list(validator.iter_errors(read_yaml(path)[0]))
        assert not errors, f"{path}: {errors[0].message}"
        first = path.read_text("utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema=")
        assert (path.parent / first.partition("=")[2]).resolve().exists()
    for path, value in (
        ("sede", 1),
        ("tests.methods", ["clrk"]),
        ("systems.a.erors", 1),
        ("metrics", ["bleuu"]),
    ):
        assert not validator.is_valid(changed(path, value))


def test_an_experiment_that_is_a_part_of_a_file_has_its_lines(tmp_path):
    """Workflows that use ours as a module give it a part of their settings."""
    one = tmp_path / "one.yaml"
    first = "mail: x\nall:\n  a: {experiment: a, seed: 1}\n"
    one.write_text(first + "  b:\n    experiment: b\n    seed: 2\n")
    own = tmp_path / "own.yaml"
    own.write_text("experiment: c\nseed: 3\n")
    assert find_source([one], {"experiment": "b", "seed": 2}).line(("seed",)) == 6
    assert find_source([one, own], {"experiment": "a", "seed": 1}).line(("seed",)) == 3
    assert find_source([one, own], {"experiment": "c", "seed": 4}).file == own
    assert find_source([one], {"experiment": "elsewhere"}).file is None
    assert find_source([], {}).file is None
