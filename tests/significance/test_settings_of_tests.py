"""What an experiment may say of its tests, intervals and studies."""

from __future__ import annotations

import subprocess
import sys

import pytest

from replitune.errors import ReplituneError
from replitune.registry import Entry
from replitune.settings import plain, read, settings_of
from replitune.significance.registry import INTERVALS, TESTS
from replitune.significance.settings import Baseline, TestSettings
from replitune.significance.studies.settings import CalibrateSettings, PowerSettings, ReplicationSettings


def test_what_is_written_is_what_code_uses_and_can_be_written_again():
    given = {
        "pairs": {"baseline": "a"},
        "methods": ["crossed", {"name": "clark", "id": "ci", "pairing": "index"}],
        "intervals": ["fu", "riezler:half=with replacement"],
        "correction": "bh",
    }
    found = read(TestSettings, given)
    assert found.pairs == Baseline(baseline="a")
    assert found.methods == (Entry("crossed"), Entry("clark", {"pairing": "index"}, "ci"))
    assert found.intervals[1].options == {"half": "with replacement"}
    assert read(TestSettings, plain(found)) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"methods": ["clrk"]}, "did you mean `clark`"),
        ({"methods": []}, "at least 1 item"),
        ({"intervals": ["graham"]}, "unknown interval 'graham'"),
        ({"intervals": [{"name": "fu", "unit": "segment"}]}, "no option 'unit'"),
        ({"methods": ["clark:rng=1"]}, "no option 'rng'"),
        ({"pairs": [["a"]]}, "a list of 2"),
        ({"pairs": "baseline"}, "pairs is not allowed"),
        ({"alpha": 1}, "less than 1"),
        ({"samples": 0}, "at least 1"),
        ({"correction": "hulm"}, "did you mean `holm`"),
    ],
)
def test_mistakes_are_named(given, said):
    with pytest.raises(ReplituneError) as error:
        read(TestSettings, given)
    assert said in str(error.value)


def test_paired_replicas_are_told_to_the_tests_that_can_use_them():
    methods = tuple(TESTS.entries(["crossed", "multi-bootstrap:paired=false", "clark"]))
    tests = TestSettings(methods=methods, paired_replicas=True).tests()
    assert [entry.options for entry in tests] == [{"paired": True}, {"paired": False}, {}]
    assert TestSettings(methods=methods).tests() == list(methods)


@pytest.mark.parametrize("registry", [TESTS, INTERVALS])
def test_every_option_says_what_it_is_and_has_a_default(registry):
    given = {"rng", "draws", "samples", "alpha", "confidence"}
    for name in registry.names:
        for option, setting in registry.settings(name).items():
            assert setting.description, (name, option)
            assert not setting.required
            assert option not in given


@pytest.mark.parametrize("settings", [TestSettings, PowerSettings, ReplicationSettings, CalibrateSettings])
def test_defaults_are_allowed(settings):
    assert read(settings, plain(settings())) == settings()
    assert all(setting.description for setting in settings_of(settings).values())


def test_reading_them_compiles_and_loads_nothing_heavy():
    code = (
        "import sys; from replitune.settings import read, json_schema;"
        "from replitune.significance.registry import TESTS;"
        "from replitune.significance.settings import TestSettings;"
        "from replitune.meta.settings import MetaSettings;"
        "read(TestSettings, {'methods': TESTS.names, 'intervals': ['fu', 'clark:kind=bca']});"
        "sys.exit(any(m in sys.modules for m in ('numba', 'scipy', 'pyarrow', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
