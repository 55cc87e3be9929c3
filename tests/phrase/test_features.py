"""Feature layout: vectors, weights files, left-out groups."""

from __future__ import annotations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.phrase.features import FEATURES, WIDTH, PhraseLayout
from replitune.phrase.settings import GROUPS, PhraseSystemSettings
from replitune.settings import read


def test_the_default_model_has_14_features_in_moses_order():
    layout = PhraseLayout.from_groups()
    assert layout.dimension == WIDTH == 14
    assert layout.columns.tolist() == list(range(14))
    assert list(layout.names) == [feature.name for feature in FEATURES]


def test_a_weights_file_and_a_vector_are_the_same_thing():
    layout = PhraseLayout.from_groups(("tm", "lm"))
    vector = np.array([0.5, 0.1, 0.2, 0.3, 0.4])
    weights = layout.to_weights(vector)
    assert weights == {"LM0": [0.5], "TranslationModel0": [0.1, 0.2, 0.3, 0.4]}
    np.testing.assert_array_equal(layout.to_vector(weights), vector)
    np.testing.assert_array_equal(layout.full(vector)[[7, 10, 11, 12, 13]], vector)
    assert np.count_nonzero(layout.full(vector)) == 5


def test_columns_follow_the_model_s_order_not_the_order_of_groups():
    assert PhraseLayout.from_groups(("tm", "lexro")).columns.tolist() == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ("groups", "message"),
    [(("tm", "lmm"), "did you mean `lm`"), ((), "one or more"), (("tm", "tm"), "distinct")],
)
def test_wrong_groups_are_refused(groups, message):
    with pytest.raises(ReplituneError, match=message):
        read(PhraseSystemSettings, {"features": list(groups)})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"LM0": [0.5], "TranslationModel0": [1, 2, 3]}, "wrong number of weights"),
        ({"LM0": [0.5]}, "TranslationModel0"),
        ({"LM": [0.5]}, "did you mean LM0"),
        ({"LM0": [float("nan")], "TranslationModel0": [1, 2, 3, 4]}, "not finite"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ReplituneError, match=message):
        PhraseLayout.from_groups(("tm", "lm")).to_vector(weights)


def test_there_are_weights_to_start_from_for_every_group():
    for group in GROUPS:
        layout = PhraseLayout.from_groups((group,))
        assert layout.sensible().shape == (layout.dimension,)
