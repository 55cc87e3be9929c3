"""Steps that put away on the disk what is too much for memory: killed, and on a disk that is full."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from replitune.backends.interface import TableJob
from replitune.backends.registry import get_backend
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.errors import machine_trouble
from replitune.hiero import extract
from replitune.phrase import kneser_ney
from replitune.running.files import HALF_MADE, new_folder, write_lines

from .test_machine import mounted, mounts

BACKEND = get_backend("s", {"training": {"alignment": "fast_align", "lm_order": 3}}, "hiero")
TEXT = synthetic_train(5, 200)


def language_model(out: Path) -> None:
    with new_folder(out) as folder:
        kneser_ney.train_lm([line.split() for line in TEXT[1]], 3, folder)


@pytest.fixture(scope="module")
def grammar(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """That of a text."""
    folder = tmp_path_factory.mktemp("model")
    BACKEND.train_on(*TEXT, folder / "model", full=False)  # type: ignore[attr-defined]
    write_lines(folder / "text", synthetic_testset(5, "a", 12).source or [])
    job = partial(TableJob, seed=1, model=folder / "model", text=folder / "text")
    return lambda out: BACKEND.table(job(out=out))


@pytest.fixture(params=["language model", "grammar"])
def spills(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str, Any]:
    """A step, and the function that puts something away: where, and its name."""
    for name, value in (("BLOCK", 300), ("PART", 1000), ("GROUP", 300)):
        monkeypatch.setattr(extract, name, value)
    monkeypatch.setattr(kneser_ney, "BLOCK", 300)
    if request.param == "grammar":
        return extract, "_spill", request.getfixturevalue("grammar")
    return kneser_ney.Pile, "put", language_model


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_is_killed_while_it_puts_something_away_ends_in_the_same_bytes(
    spills: tuple[Any, str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    owner, name, step = spills
    put, calls, last = getattr(owner, name), [], [-1]

    def counted(*given: Any) -> None:
        put(*given)
        calls.append(1)
        if len(calls) == last[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(owner, name, counted)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    step(tmp_path / "whole" / "x")
    moments = [1, len(calls) // 2, len(calls)]
    assert len({*moments}) == 3
    for last[0] in moments:
        calls.clear()
        child = os.fork()
        if child == 0:
            step(tmp_path / "killed" / "x")
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        assert not (tmp_path / "killed" / "x").exists()
    last[0] = -1
    step(tmp_path / "killed" / "x")
    assert files_of(tmp_path / "killed" / "x") == files_of(tmp_path / "whole" / "x")
    others = [path.name for path in (tmp_path / "killed").iterdir() if path.name != "x"]
    assert all(HALF_MADE.fullmatch(name) for name in others), "what `replitune clean` removes"
    assert not [*(tmp_path / "tmp").iterdir()]


@mounts
def test_a_disk_that_is_too_small_for_it_is_one_message_and_has_nothing_on_it_after(
    spills: tuple[Any, str, Any], tmp_path: Path
):
    step, disk = spills[2], tmp_path / "disk"
    with mounted(disk, "size=80k"):
        with pytest.raises(OSError, match=r"No space|requested") as caught:
            step(disk / "x")
        assert "the disk is full" in (machine_trouble(caught.value) or "")
        assert not [*disk.iterdir()]
        assert shutil.disk_usage(disk).used == 0
