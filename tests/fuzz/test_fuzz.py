"""Every parser on mutations of valid files: it refuses with a message, or reads right."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .seeds import NASTY
from .targets import TARGETS

EXAMPLES = 150

edits = st.lists(
    st.tuples(
        st.integers(0, 4000), st.integers(0, 12), st.one_of(st.sampled_from(NASTY), st.binary(max_size=4))
    ),
    max_size=5,
)


def mutated(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for place, removed, inserted in changes:
        at = place % (len(data) + 1)
        data = data[:at] + inserted + data[at + removed :]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_refuses_with_a_message_or_reads_right(name: str):
    target = TARGETS[name]
    count = 0

    @settings(
        deadline=None, derandomize=True, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(target.seeds), edits)
    def check(seed: bytes, changes: list[tuple[int, int, bytes]]) -> None:
        nonlocal count
        count += 1
        target(mutated(seed, changes), folder)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        check()
    assert count >= EXAMPLES // 2


@pytest.mark.parametrize("name", TARGETS)
def test_a_valid_file_is_read(name: str, tmp_path: Path):
    """So that the mutations start inside the parser."""
    target = TARGETS[name]
    accepted = [target(seed, tmp_path) for seed in target.seeds]
    assert accepted[0]
    assert all(accepted) or name != "scores-of-programs"
