"""Tables for known texts, made in many parts, translate them as the full table does."""

from __future__ import annotations

from pathlib import Path

import pytest

from replitune.backends.interface import TableJob
from replitune.backends.registry import get_backend
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.errors import ReplituneError
from replitune.phrase.backend import Embedded
from replitune.running.files import write_lines

TEXTS = {
    "a": [*(synthetic_testset(5, "a", 12).source or []), "", "  ", "unknown words only"],
    "b": ["unknown words only"],
    "c": [],
}


@pytest.mark.parametrize("good_turing", [False, True])
@pytest.mark.parametrize("name", ["phrase", "hiero"])
def test_known_and_full_tables_translate_alike(name: str, good_turing: bool, tmp_path: Path, monkeypatch):
    training = {"lm_order": 2, "good_turing": good_turing, "alignment": "fast_align"}
    backend = get_backend("s", {"training": training}, name)
    assert isinstance(backend, Embedded)
    for folder, full in (("full", True), ("known", False)):
        backend.train_on(*synthetic_train(5, 250), tmp_path / folder, full=full)
        monkeypatch.setattr("replitune.phrase.pairs.BLOCK", 40)
        monkeypatch.setattr("replitune.phrase.pairs.MOST", 1000)
        monkeypatch.setattr("replitune.hiero.extract.PART", 1000)
    full_system = backend.load(tmp_path / "full")
    weights = full_system.layout.sensible()
    sizes = []
    for text, lines in TEXTS.items():
        write_lines(tmp_path / "text", lines)
        table = tmp_path / text
        backend.table(TableJob(seed=1, model=tmp_path / "known", text=tmp_path / "text", out=table))
        system = backend.load(tmp_path / "known", table)
        assert system.translate(lines, weights) == full_system.translate(lines, weights)
        lists = [one.nbest(lines, weights, 20) for one in (system, full_system)]
        assert list(lists[0].lines()) == list(lists[1].lines())
        sizes.append(len(system.model.table.scores))
    assert sizes[0] > sizes[1] == sizes[2] == 0
    with pytest.raises(ReplituneError, match="full"):
        backend.load(tmp_path / "known")
