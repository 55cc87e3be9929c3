"""verify and archive on the results of a whole experiment, and the archive run again by Snakemake."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replitune.cli.main import main
from support import made_once

from .conftest import Snakemake, manifest

REPLICAS = {"mert": 2, "mira": 3}
SEGMENTS = 24


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    folder = made_once(tmp_path_factory, "archived", make_original)
    return Snakemake(folder / "made here")


def make_original(folder: Path) -> None:
    """Given outputs of two tuners, with documents, sources, two references, a dev set, a file of
    scores, and names that only this machine has. Not to be changed by a test."""
    runner, corpora = Snakemake(folder / "made here"), folder / "corpora of mine"
    runner.folder.mkdir()
    corpora.mkdir()
    rng = random.Random(1)
    words = ["the", "cat", "sat", "on", "a", "mat", "<b>", "&", "über"]

    def text(name: str, folder: Path = corpora) -> str:
        lines = [" ".join(rng.choices(words, k=6)) for _ in range(SEGMENTS)]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return name

    (corpora / "docs").write_text("".join(f"d{i // 6}\n" for i in range(SEGMENTS)))
    systems = {}
    for system in ("plain", "lexro"):
        files = {
            testset: {
                tuner: [text(f"{testset}.{system}.{tuner}.{n}") for n in range(count)]
                for tuner, count in REPLICAS.items()
            }
            for testset in ("dev", "t")
        }
        systems[system] = {"backend": "outputs", "files": files}
    rows = ["system\treplica\tsegment\tscore"] + [
        f"{system}\t{tuner}-{n:03d}\t{i}\t{rng.random():.3f}"
        for system in systems
        for tuner, count in REPLICAS.items()
        for n in range(1, count + 1)
        for i in range(SEGMENTS)
    ]
    judged = [f"{system}\t{i}\t{rng.random():.3f}" for system in systems for i in range(SEGMENTS)]
    (corpora / "people.tsv").write_text("\n".join(["system\tsegment\tscore", *judged]) + "\n")
    (corpora / "scores").mkdir()
    (corpora / "scores" / "comet.tsv").write_text("".join(f"{row}\n" for row in rows))
    absolute = str(corpora / text("dev.ref"))
    runner.in_process(
        {
            "experiment": "given",
            "corpora": str(corpora),
            "corpus": {
                "kind": "files",
                "dev": {"references": absolute},
                "tests": {
                    "t": {
                        "references": [text("ref.0"), text("ref.1")],
                        "source": text("source"),
                        "documents": "docs",
                    }
                },
            },
            "systems": systems,
            "metrics": [
                {"name": "chrf", "id": "chrf-w", "whitespace": True},
                {"name": "external", "id": "comet", "file": "scores/comet.tsv"},
            ],
            "tests": {
                "samples": 99,
                "alpha": 0.1,
                "methods": [{"name": "crossed", "id": "both"}, "clark", "fu-ar"],
            },
            "studies": {
                "power": {"replicas": [3]},
                "replication": {"sizes": [2], "repeats": 3, "methods": ["crossed"]},
                "calibrate": {"sizes": [2], "trials": 2, "samples": 20, "methods": ["crossed"]},
                "meta": {"human": "people.tsv", "samples": 99, "ci_samples": 99},
            },
        }
    )


def corpora_of(original: Snakemake) -> str:
    return str(original.folder.with_name("corpora of mine"))


@pytest.fixture(scope="module")
def archive(original: Snakemake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "given.tar.gz"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(original.folder)
        assert (
            main(["archive", "results/given", "--corpora", corpora_of(original), "--out", str(path)]) == 0
        )
    return path


@pytest.fixture
def unpacked(archive: Path, tmp_path: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "given"


@pytest.fixture
def copy(original: Snakemake, tmp_path: Path) -> Path:
    """Results that a test may change."""
    return Path(shutil.copytree(original.folder / "results" / "given", tmp_path / "given"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.workflow
def test_an_archive_makes_the_same_statistics_tests_and_tables_again(
    original: Snakemake, unpacked: Path, replitune
):
    again = Snakemake(unpacked)
    again.run(configfile="experiment.yaml")
    first = original.folder / "results" / "given"
    second = unpacked / "results" / "given"
    compared = [
        path.relative_to(first)
        for name in ("decodes", "stats", "tests", "studies", "tables", "figures")
        for path in sorted((first / name).rglob("*"))
        if path.is_file()
    ]
    assert len(compared) > 60
    for name in compared:
        assert sha256(second / name) == sha256(first / name), name
    assert sha256(second / "corpus" / "t.jsonl") == sha256(first / "corpus" / "t.jsonl")
    stats = pq.ParquetFile(second / "stats" / "t" / "chrf-w" / "plain.parquet").read()
    assert stats["replica"].unique().to_pylist() == [
        "mert-001",
        "mert-002",
        "mira-001",
        "mira-002",
        "mira-003",
    ]
    assert stats["group"].unique().to_pylist() == ["mert", "mira"]
    ran = replitune("verify", second, "--against", unpacked)
    assert ran.code == 0, ran.out + ran.err
    assert "the same bytes" in ran.out
    (second / "tables" / "pairs.csv").write_text("changed")
    ran = replitune("verify", second, "--against", unpacked)
    assert ran.code == 2
    assert "differs  tables/pairs.csv" in ran.out


def test_the_archive_itself_can_be_verified(unpacked: Path, replitune):
    ran = replitune("verify", unpacked)
    assert ran.code == 0, ran.out + ran.err
    assert "4 tables of tests derived again: all as recorded" in ran.out


IRREGULAR = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link that leads back to itself": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("where", ["unpacked", "copy"])
def test_only_regular_files_are_opened_in_what_came_from_others(
    where: str, replitune, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    """One file of every kind is replaced; nothing waits for it, and nothing is a traceback."""
    folder: Path = request.getfixturevalue(where)
    monkeypatch.chdir(folder)
    first: dict[tuple[str, ...], Path] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        first.setdefault((path.relative_to(folder).parts[0], path.suffix), path)
    words = {"unpacked": ["check", "--data", "experiment.yaml"], "copy": ["verify", "."]}[where]
    seen = set()
    for number, path in enumerate(first.values()):
        kept = path.read_bytes()
        path.unlink()
        what, make = [*IRREGULAR.items()][number % len(IRREGULAR)]
        make(path)
        ran = replitune(*words)
        assert ran.code in (0, 2), ran.err
        if what in ran.out + ran.err:
            seen.add(what)
        path.unlink()
        path.write_bytes(kept)
    assert seen
    assert replitune(*words).code == 0


def test_the_same_results_give_the_same_archive(
    original: Snakemake, archive: Path, tmp_path: Path, replitune, monkeypatch
):
    monkeypatch.chdir(original.folder)
    out = tmp_path / "again.tar.gz"
    remains = tmp_path / ".again.tar.gz.4711.0123abcd.tmp"
    remains.write_text("of an archive that was killed")
    corpora = corpora_of(original)
    assert replitune("archive", "results/given", "--corpora", corpora, "--out", out).code == 0
    assert not remains.exists()
    ran = replitune("archive", "results/given", "--out", out)
    assert ran.code == 2
    assert "say with --corpora" in ran.err
    assert sha256(out) == sha256(archive)
    with tarfile.open(out) as tar:
        members = tar.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {
        (0, 0, 0, "", "", 0o644)
    }
    names = [member.name for member in members]
    assert names == sorted(names)
    assert "given/scores/comet.tsv" in names
    assert not [name for name in names if "inputs.json" in name]


def test_no_folder_of_this_machine_is_published(original: Snakemake, archive: Path):
    said = (original.folder / "results" / "given" / "manifest.json").read_bytes()
    content = gzip.decompress(archive.read_bytes())
    members = [content]
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(".parquet"):
                members.append(repr(pq.read_schema(tar.extractfile(member)).metadata).encode())
    content = b"".join(members)
    for place in ("made here", "corpora of mine", str(Path.home()), "pytest-of"):
        assert place.encode() not in said, place
        assert place.encode() not in content, place
    given = json.loads(said)["outputs_given"]["plain"]["t"]["mert-001"]
    assert given["path"] == "t.plain.mert.0"
    assert json.loads(said)["inputs"]["dev"]["inputs"][0]["path"] == "CORPORA/dev.ref"


def test_untouched_results_are_as_recorded(original: Snakemake, copy: Path, replitune):
    ran = replitune("verify", copy)
    assert ran.code == 0, ran.out + ran.err
    assert "are not here" in ran.out
    corpora = corpora_of(original)
    ran = replitune("verify", copy, "--corpora", corpora)
    assert ran.code == 0, ran.out
    assert "26 inputs and 1 that are not here" in ran.out
    shutil.copytree(corpora, copy.parent / "corpora")
    (copy.parent / "corpora" / "docs").write_text("other\n")
    ran = replitune("verify", copy, "--corpora", copy.parent / "corpora")
    assert ran.code == 2
    assert re.search("changed +input .*/corpora/docs", ran.out)


def test_what_was_changed_by_hand_is_listed(copy: Path, replitune):
    (copy / "decodes" / "t" / "plain" / "mert-001.txt").write_text("x\n" * SEGMENTS)
    (copy / "tables" / "pairs.tex").unlink()
    (copy / "figures" / "mine.svg").write_text("<svg/>")
    (copy / "tables" / ".hidden").write_text("")
    ran = replitune("verify", copy)
    assert ran.code == 2
    listed = [tuple(line.split(None, 1)) for line in ran.out.splitlines()]
    assert ("changed", "decodes/t/plain/mert-001.txt") in listed
    assert ("missing", "tables/pairs.tex") in listed
    assert ("extra", "figures/mine.svg") in listed
    name = "stats/t/chrf-w/plain.parquet: not made from decodes/t/plain/mert-001.txt"
    assert ("differs", name) in listed
    assert "Traceback" not in ran.err


def test_a_changed_p_is_found_even_if_the_manifest_was_changed_with_it(copy: Path, replitune):
    path = copy / "tests" / "t" / "chrf-w.json"
    result = json.loads(path.read_text("utf-8"))
    clark = result["metrics"]["chrf-w"]["pairs"][0]["methods"]["clark"]
    clark["p"] /= 2
    path.write_text(json.dumps(result, ensure_ascii=False))
    said = manifest(copy)
    said["files"]["tests/t/chrf-w.json"] = sha256(path)
    (copy / "manifest.json").write_text(json.dumps(said))
    ran = replitune("verify", copy)
    assert ran.code == 2
    assert "differs  tests/t/chrf-w.json: .made" in ran.out
    (line,) = [line for line in ran.out.splitlines() if "derived again" in line and " is " in line]
    assert "metrics.chrf-w.pairs.1.methods.clark.p is" in line
    assert repr(clark["p"]) in line


def test_changed_statistics_no_longer_give_the_tests(copy: Path, replitune):
    path = copy / "stats" / "t" / "comet" / "plain.parquet"
    table = pq.ParquetFile(path).read()
    score = table["score"].to_pylist()
    score[0] += 1e-3
    column = table.schema.get_field_index("score")
    changed = table.set_column(column, "score", pa.array(score, pa.float64()))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    ran = replitune("verify", copy)
    assert ran.code == 2
    assert re.search("changed +stats/t/comet/plain.parquet", ran.out)
    assert "tests/t/comet.json: answers.1." in ran.out
    path.write_bytes(b"PAR1")
    ran = replitune("verify", copy)
    assert ran.code == 2
    assert "tests/t/comet: cannot be derived" in ran.out


@pytest.mark.parametrize("name", ["/proc/kmsg", "../elsewhere", "/dev/zero"])
def test_inputs_that_a_manifest_names_elsewhere_are_not_read(copy: Path, replitune, name: str):
    """`/proc/kmsg` never ends."""
    said = manifest(copy)
    said["scores_given"]["comet"] = {name: "0" * 64}
    (copy / "manifest.json").write_text(json.dumps(said))
    assert " that are not here" in replitune("verify", copy).out


def test_changed_results_are_not_archived(copy: Path, tmp_path: Path, replitune):
    (copy / "tables" / "pairs.csv").write_text("x")
    ran = replitune("archive", copy, "--out", tmp_path / "x.tar.gz")
    assert ran.code == 2
    assert "pairs.csv: not the file that the manifest records" in ran.err
    assert not (tmp_path / "x.tar.gz").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"files": {}}', "missing required field"),
        ('{"files": {"a": "b"}}', "damaged"),
        ("[" * 100_000, "damaged"),
        ("\udcff", "invalid UTF-8"),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, replitune, content: str, message: str):
    (tmp_path / "manifest.json").write_text(content, "utf-8", "surrogateescape")
    ran = replitune("verify", tmp_path)
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "", "a\0b"])
def test_a_manifest_that_names_files_elsewhere_is_refused(copy: Path, replitune, name: str):
    said = manifest(copy)
    said["files"][name] = "0" * 64
    (copy / "manifest.json").write_text(json.dumps(said))
    for command in (("verify", copy), ("archive", copy, "--out", copy / "x.tgz")):
        ran = replitune(*command)
        assert ran.code == 2
        assert "is not a file of this folder" in ran.err
