"""A Moses to talk to: programs around a tiny phrase-based model."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import pytest

import replitune
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.corpus.testset import TestSet
from replitune.phrase.features import PhraseLayout

HERE = Path(__file__).parent


def program(path: Path, script: Path) -> None:
    """An executable that runs a script by this interpreter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = Path(replitune.__file__).parents[1]
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH="{source}:$PYTHONPATH" exec "{sys.executable}" "{script}" "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="session")
def moses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with bin/moses, scripts/training/mert-moses.pl, and moses.ini."""
    from phrase_models import train_phrase_system
    from replitune.phrase.settings import PhraseSettings

    folder = tmp_path_factory.mktemp("moses")
    source, target = synthetic_train(5, 300)
    train_phrase_system(source, target, PhraseSettings(lm_order=3), folder / "model")
    program(folder / "bin" / "moses", HERE / "moses_program.py")
    program(folder / "scripts" / "training" / "mert-moses.pl", HERE / "mert_moses_program.py")
    for name in ("extractor", "mert", "kbmira", "pro", "evaluator", "megam_i686.opt"):
        (folder / "bin" / name).symlink_to(shutil.which("true") or "/bin/true")
    layout = PhraseLayout.from_groups()
    start = layout.to_weights(layout.sensible())
    weights = "".join(f"{n}= {' '.join(map(str, v))}\n" for n, v in start.items())
    (folder / "moses.ini").write_text(
        f"[model]\n{folder / 'model'}\n\n[weight]\nUnknownWordPenalty0= 1\n{weights}"
    )
    return folder


@pytest.fixture(scope="session")
def dev() -> TestSet:
    return synthetic_testset(5, "dev", 12)
