from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from replitune.errors import ReplituneError
from replitune.ledger import records
from replitune.running.files import new_folder, sha256_file, write_lines


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two decodes, statistics of them, and a report."""
    folder = tmp_path / "results" / "x"
    decodes = [f"decodes/t/a/seed-00{i}.txt" for i in (1, 2)]
    for name in (*decodes, "stats/t/a.b/a.parquet", "tables/p.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    sha256 = {name: sha256_file(folder / name) for name in (*decodes, "stats/t/a.b/a.parquet")}
    write(folder, "decode/t/a", {}, {name: sha256[name] for name in decodes})
    stats = {"stats/t/a.b/a.parquet": sha256["stats/t/a.b/a.parquet"]}
    write(folder, "score/t/a.b/a", {name: sha256[name] for name in decodes}, stats)
    write(folder, "report/report", stats, {"tables/p.csv": sha256_file(folder / "tables/p.csv")})
    return folder


def write(folder: Path, job: str, inputs: dict[str, str], outputs: dict[str, str]) -> None:
    """What `recording` leaves of a job."""
    path = folder / "logs" / f"{job}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"inputs": inputs, "outputs": outputs}))
    for name, sha256 in outputs.items():
        index = folder / ".made" / f"{name}.json"
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(json.dumps({"sha256": sha256, "record": job}))


def test_what_is_as_it_was_made_is_read(results: Path):
    (results / "decodes/t/a/.hidden.tmp").write_text("half")
    found = records.checked(results, [results / "decodes", results / "stats"])
    assert sorted(found) == [
        "decodes/t/a/seed-001.txt",
        "decodes/t/a/seed-002.txt",
        "stats/t/a.b/a.parquet",
    ]
    records.check_results(results, records.result_files(results))


def test_records_that_come_with_results_say_who_made_them(results: Path):
    shutil.rmtree(results / ".made")
    other = {"outputs": {"decodes/t/b/seed-001.txt": "0" * 64, "../y": "0" * 64}}
    (results / "logs" / "other.json").write_text(json.dumps(other))
    (results.parent / "y").write_text("not of this experiment")
    records.index(results)
    assert records.maker(results, "stats/t/a.b/a.parquet").record == "score/t/a.b/a"
    assert not (results / "y.json").exists()
    assert len(list((results / ".made").rglob("*.json"))) == 4  # of what is here
    records.check_results(results, records.result_files(results))
    (results / "tables/p.csv").write_text("by hand")
    records.index(results)
    with pytest.raises(ReplituneError, match="is not what the workflow made"):
        records.checked(results, [results / "tables"])


@pytest.mark.parametrize("name", ["decodes/t/a/seed-002.txt", "stats/t/a.b/a.parquet"])
def test_what_has_changed_is_refused(results: Path, name: str):
    (results / name).write_text("by hand")
    with pytest.raises(ReplituneError, match=f"{name}: is not what the workflow made"):
        records.checked(results, [results / name])
    with pytest.raises(ReplituneError, match="is not what"):
        records.check_results(results, records.result_files(results))


def test_a_large_file_is_read_again_when_anything_wrote_to_it(tmp_path: Path, monkeypatch):
    """Even where the time of its content was put back; the disk alone can deceive jobs."""
    results = tmp_path / "results" / "x"
    part, small = results / "models/s/scores.npy", results / "models/s/model.json"
    with records.recording(
        results / "logs/train/s.json", command=["train"], inputs=[], outputs=[part, small]
    ):
        write_lines(part, ["x" * records.LARGE])
        write_lines(small, ["{}"])
    made = records.maker(results, "models/s/scores.npy")
    with monkeypatch.context() as patch:
        patch.setattr(records, "sha256_file", lambda path: {small: sha256_file(small)}[path])
        assert records.checked(results, [part.parent])["models/s/scores.npy"] == made.sha256
    os.utime(part)
    records.checked(results, [part.parent])
    times = part.stat()
    with open(part, "r+b") as handle:
        handle.write(b"y")
    os.utime(part, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ReplituneError, match=r"scores.npy: is not what the workflow made"):
        records.checked(results, [part])


def test_the_manifest_reads_large_files_whatever_their_times(tmp_path: Path, monkeypatch):
    results = tmp_path / "results" / "x"
    part = results / "models/s/scores.npy"
    with records.recording(results / "logs/train/s.json", command=["train"], inputs=[], outputs=[part]):
        write_lines(part, ["x" * records.LARGE])
    part.write_text(part.read_text().replace("x", "y"))
    monkeypatch.setattr(records, "_stamp", lambda path: records.maker(results, "models/s/scores.npy").stamp)
    records.checked(results, [part])
    with pytest.raises(ReplituneError, match=r"scores.npy: is not what the workflow made"):
        records.check_results(results, ["models/s/scores.npy"])


def test_files_of_others_are_not_checked(results: Path, tmp_path: Path):
    (tmp_path / "mine.txt").write_text("x")
    assert records.checked(results, [tmp_path / "mine.txt"]) == {}


@pytest.mark.parametrize("record", [None, "", "{ half", "[]", "{}"])
def test_what_no_record_speaks_of_is_refused(results: Path, record: str | None):
    path = results / "decodes/t/a/seed-001.txt"
    index = results / ".made/decodes/t/a/seed-001.txt.json"
    index.unlink() if record is None else index.write_text(record)
    with pytest.raises(ReplituneError, match=r"seed-001.txt: nothing says that the workflow made it"):
        records.checked(results, [path])


def test_results_of_two_pieces_are_refused(results: Path):
    """The translations were made again, and the statistics are still of the old ones."""
    path = results / "decodes/t/a/seed-001.txt"
    path.write_text("new")
    two = results / "decodes/t/a/seed-002.txt"
    names = [f"decodes/t/a/{p.name}" for p in (path, two)]
    write(results, "decode/t/a", {}, dict(zip(names, map(sha256_file, (path, two)), strict=True)))
    records.checked(results, [path])
    with pytest.raises(ReplituneError, match="a was made from another version of decodes"):
        records.check_origins(results)


def test_results_without_records_are_no_error(tmp_path: Path):
    records.check_origins(tmp_path)
    (tmp_path / "logs" / "report").mkdir(parents=True)
    (tmp_path / "logs" / "report" / "report.json").write_text("{ half")
    records.check_origins(tmp_path)


def test_the_folder_of_results_is_above_the_logs():
    assert records.results_of("/a/logs/results/x/logs/score/t/b.json") == Path("/a/logs/results/x")


def test_a_record_is_found_by_what_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    results = Path("results/x")
    given, out = results / "corpus/t.jsonl", results / "tuning/s/mert-001"
    write_lines(given, ["text"])
    write(results, "corpus/t", {}, {"corpus/t.jsonl": sha256_file(given)})
    write_lines(given.with_name("other.jsonl"), ["not read"])
    record = results / "logs/tune/s/mert-001.json"
    remains = out.parent / ".mert-001.7.ab.tmp"
    with records.recording(
        record, command=["tune", "s"], inputs=[given, Path("elsewhere"), Path()], outputs=[out]
    ):
        remains.mkdir(parents=True)
        with new_folder(out) as folder:
            write_lines(folder / "model", ["weights"])
    said = json.loads(record.read_text())
    assert said["command"] == ["replitune", "tune", "s"]
    header, row = (results / "benchmarks/tune/s/mert-001.tsv").read_text().splitlines()
    benchmark = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert float(benchmark["cpu_time"]) == said["cpu_seconds"]
    assert 5 < float(benchmark["max_rss"]) == said["peak_rss_mb"]
    assert list(said["inputs"]) == ["corpus/t.jsonl"]
    assert list(said["outputs"]) == ["tuning/s/mert-001/model"]
    made = records.maker(results.absolute(), "tuning/s/mert-001/model")
    assert made[:2] == (sha256_file(out / "model"), "tune/s/mert-001")
    assert not remains.exists(), "of a run that was killed"
    record.unlink()  # as Snakemake does before it runs a job again
    assert records.is_as_made(record, out / "model")
    (out / "model").write_text("by hand")
    assert not records.is_as_made(record, out / "model")
    with (
        pytest.raises(ReplituneError, match="is not what the workflow made"),
        records.recording(record, command=[], inputs=[out], outputs=[]),
    ):
        raise AssertionError("it has begun")


def test_a_job_that_fails_leaves_no_record(tmp_path: Path):
    record = tmp_path / "logs/score/a.json"
    with (
        pytest.raises(ValueError, match="no"),
        records.recording(record, command=[], inputs=[], outputs=[]),
    ):
        raise ValueError("no")
    assert not record.exists()
