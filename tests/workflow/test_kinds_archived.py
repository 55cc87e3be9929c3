"""Every kind of experiment is archived, unpacked, verified, and made again to the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from backends.endpoint import test_endpoint as endpoint
from backends.endpoint.chat_server import Server
from readers.tables import frame
from support import changed, run_file

from .conftest import Snakemake
from .test_hiero import HIERO
from .test_looks import ADAPTIVE, prepared

REPEATED = ("decodes", "looks", "stats", "tests", "studies", "tables")
"""What an archive makes again (derivations are those of systems, which it does not have)."""


def given(made: Snakemake) -> None:
    for name, wrong in (("ref", 99), ("a.1", 5), ("a.2", 4), ("b.1", 3), ("b.2", 7)):
        lines = [
            " ".join("x" if (i + j) % wrong == 0 else f"w{i * j % 11}" for j in range(8)) for i in range(20)
        ]
        (made.folder / name).write_text("\n".join([*lines, ""]))
    made.in_process(
        {
            "experiment": "given",
            "corpus": {"kind": "files", "tests": {"t": {"references": "ref"}}},
            "systems": {s: {"backend": "outputs", "files": {"t": f"{s}.?"}} for s in "ab"},
            "tests": {"samples": 99, "methods": ["crossed"]},
        }
    )


def scores(made: Snakemake) -> None:
    frame().to_csv(made.folder / "t.csv", index=False)
    systems = {
        s: {"backend": "scores", "files": {"t": "t.csv"}, "replicas": {"seeds": 3}} for s in ("base", "new")
    }
    made.in_process(
        {
            "experiment": "scores",
            "corpus": {"kind": "files", "tests": {"t": {"references": "t.csv", "format": "scores"}}},
            "systems": systems,
            "metrics": [{"name": "given", "id": "score"}],
            "tests": {"samples": 99, "methods": ["crossed"]},
        }
    )


def settled(made: Snakemake) -> None:
    prepared(made.folder).in_process(ADAPTIVE)


def hiero(made: Snakemake) -> None:
    made.in_process(HIERO)


def asked(made: Snakemake) -> None:
    with Server().running() as server:
        made.in_process(endpoint.experiment(server.url))


def nested(made: Snakemake) -> None:
    prompts = [f"{word}: {{source}}" for word in ("Translate", "Say", "In English")]
    with Server().running() as server:
        experiment = endpoint.experiment(server.url, replicas={"prompt": 3, "sample": 2})
        made.in_process(changed(experiment, systems__a__prompts=prompts, systems__b__prompts=prompts))


def bytes_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in REPEATED
        for path in sorted((folder / name).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDPOINT_TEST_KEY", endpoint.KEY)


@pytest.mark.parametrize("make", [given, scores, settled, hiero, asked, nested])
def test_an_archive_is_verified_and_made_again_to_the_same_bytes(
    make: Callable[[Snakemake], None], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, replitune
):
    shared = {settled: "looks", hiero: "hiero"}  # with the tests of these
    made = Snakemake.made_once(tmp_path_factory, shared.get(make, f"archive-{make.__name__}"), make)
    (results,) = (made.folder / "results").iterdir()
    with contextlib.chdir(made.folder):
        ran = replitune("archive", f"results/{results.name}", "--out", tmp_path / "x.tar.gz")
    assert ran.code == 0, ran.err
    with tarfile.open(tmp_path / "x.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    unpacked = tmp_path / results.name
    ran = replitune("verify", unpacked)
    assert ran.code == 0, ran.out + ran.err
    again = run_file(unpacked / "experiment.yaml")
    made_again = unpacked / again.folder
    assert bytes_of(made_again) == bytes_of(results)
    assert (made_again / "looks").exists() == (make is settled)
    with contextlib.chdir(unpacked):
        for words in ((), ("--against", unpacked)):
            ran = replitune("verify", again.folder, *words)
            assert ran.code == 0, ran.out + ran.err
    # and what was made again is an experiment like any other
    with contextlib.chdir(unpacked):
        assert replitune("archive", again.folder, "--out", tmp_path / "y.tar.gz").code == 0
    shutil.rmtree(unpacked)
    with tarfile.open(tmp_path / "y.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    assert replitune("verify", unpacked).code == 0
