from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from replitune.cli.doctor import KINDS
from replitune.extras import EXTRAS, to_install
from support import Ran


def rows(text: str, title: str) -> dict[str, str]:
    """What stands below a title, by its first column."""
    part = text.split(f"\n{title}\n")[1].split("\n\n")[0]
    cells = [line.strip().split("  ", 1) for line in part.splitlines()]
    return {cell[0]: cell[1].strip() if len(cell) > 1 else "" for cell in cells}


def test_what_is_missing_is_said_where_it_is_needed(
    replitune: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    usual = importlib.util.find_spec
    hidden = ("thot", "snakemake_executor_plugin_slurm")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name in hidden else usual(name, *a)
    )
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    ran = replitune("doctor")
    assert ran.code == 0
    extras = rows(ran.out, "extras")
    assert set(extras) == set(EXTRAS)
    assert extras["phrase"].startswith("missing")
    assert to_install("phrase") in extras["phrase"]
    assert rows(ran.out, "machine")["kernels' cache"] == f"{tmp_path}: empty; the first run compiles"
    done = rows(ran.out, "what can be done")
    assert {kind for kind in KINDS if done[kind].startswith("no")} >= {"METEOR", "Moses", "Slurm"}
    assert (
        done["compare texts"]
        == done["compare scores, score, test"]
        == done["phrase-based systems"]
        == "yes"
    )
    assert "lmplz" in ran.out
    assert "java" in done["METEOR"]


def test_a_folder_that_cannot_be_written_is_seen(
    replitune: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir("/proc")
    assert "CANNOT BE WRITTEN" in rows(replitune("doctor").out, "machine")["results"]
