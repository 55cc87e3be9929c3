import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics import meteor_jar
from replitune.metrics.meteor import LANGUAGES, Meteor


def installed():
    try:
        return meteor_jar.find_java(), meteor_jar.find_jar()
    except ReplituneError:
        return None


needs_program = pytest.mark.skipif(
    installed() is None, reason="needs Java and the package pycocoevalcap (extra meteor)"
)

HYPS = [
    "the cat sat on the mat",
    "a cat was sitting on a mat .",
    "",
    "house",
    "he purchased two automobiles quickly",
    "the same | words || in ||| one chunk",
    "Ünïcode wörds 漢字 \u2028 stay",
    "a\rline end\u0085inside",
    "the the the the",
]
REFS = [
    [
        "the cat sat on the mat",
        "the cats sat upon the mat .",
        "nothing",
        "",
        "he bought two cars fast",
        "the same | words || in ||| one chunk",
        "ünïcode wörds 漢字 \u2028 stay",
        "a line end\u0085inside",
        "the cat and the dog",
    ],
    [
        "a cat sat on a mat",
        "on the mat sat a cat .",
        "",
        "home",
        "two cars were purchased by him",
        "other words",
        "stay",
        "a line",
        "the",
    ],
]

# The system-level table that METEOR prints for a file of 2,489 lines (-l en), with the
# function words of both sides that its statistics of the lines add up to.
TABLE = [67461, 62774, 36979, 31418]
TABLE += [14849, 14849, 21092, 21092, 511, 518, 11, 4, 859, 878, 156, 137, 3840, 3985, 3310, 2746]
TABLE += [22598]
PRINTED = 0.2933003574185723


def processes_of(prepared):
    return [worker._process for worker in prepared.workers._running]


@pytest.fixture(scope="module")
def jar(tmp_path_factory):
    """The program with small paraphrase tables beside it: the real ones take seconds to load,
    and those of other languages than English are not in the package."""
    folder = tmp_path_factory.mktemp("meteor")
    copy = folder / "meteor-1.5.jar"
    shutil.copy(installed()[1], copy)
    (folder / "data").mkdir()
    for language in ("en", "de", "cz"):
        with gzip.open(folder / "data" / f"paraphrase-{language}.gz", "wt") as table:
            table.write("0.5\nhe bought\nwere purchased by him\n0.2\nfast\nquickly\n")
    return str(copy)


def whole_file(folder, jar, hyps, refs, *options):
    """What the program prints for files: a score per segment, and the final score."""
    lines = [line for references in zip(*refs, strict=True) for line in references]
    # readers of Java end a line at CR too
    (folder / "hyps").write_text("".join(line.replace("\r", " ") + "\n" for line in hyps))
    (folder / "refs").write_text("".join(line.replace("\r", " ") + "\n" for line in lines))
    command = [installed()[0], "-Xmx2G", "-XX:+UseSerialGC", "-jar", jar, "hyps", "refs"]
    command += ["-r", str(len(refs)), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    segments = [float(score) for score in re.findall(r"Segment \d+ score:\s+(\S+)", done.stdout)]
    return np.array(segments), float(re.search(r"Final score:\s+(\S+)", done.stdout).group(1))


@needs_program
@pytest.mark.parametrize("language", ["en", "de", "cz", "it", "other"])
@pytest.mark.parametrize("nrefs", [1, 2])
def test_scores_are_those_of_the_program_on_whole_files(tmp_path, jar, language, nrefs):
    metric = Meteor(language=language, jar=jar)
    prepared = metric.prepare(REFS[:nrefs])
    statistics = metric.segment_statistics(HYPS, np.arange(len(HYPS)), prepared)
    prepared.workers.close()
    segments, final = whole_file(tmp_path, jar, HYPS, REFS[:nrefs], "-l", language)
    np.testing.assert_allclose(metric.score(statistics), 100 * segments, atol=1e-10)
    assert metric.score(statistics.sum(axis=0)) == pytest.approx(100 * final, abs=1e-10)
    assert statistics.shape[1] == len(metric.statistic_names)
    assert statistics[0, -1] == 0  # matches whole in one chunk: no fragmentation to add up


@needs_program
def test_normalised_scores_are_those_of_the_program_on_whole_files(tmp_path, jar):
    hyps = [*HYPS, "It's (really) a |||| test, isn't it?", "1,000.50 dollars - U.S. |||"]
    refs = [[*REFS[0], "it is really a | | test , is it not ?", "$1,000.50 in the US |||"]]
    metric = Meteor(normalize=True, jar=jar)
    statistics = metric.statistics(hyps, refs)
    segments, final = whole_file(tmp_path, jar, hyps, refs, "-l", "en", "-norm")
    np.testing.assert_allclose(metric.score(statistics), 100 * segments, atol=1e-10)
    assert metric.score(statistics.sum(axis=0)) == pytest.approx(100 * final, abs=1e-10)


@needs_program
@pytest.mark.slow
@pytest.mark.realdata
def test_multeval_example_is_the_programs_whole_file_output():
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA is not set")

    def read(name):
        path = Path(folder, "multeval-example", name)
        return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]

    hyps, refs = read("hyps.lc.tok.en.baseline.opt0.gz"), read("refs.test2010.lc.tok.en.0.gz")
    metric = Meteor()
    sums = metric.statistics(hyps, [refs]).sum(axis=0)
    assert sums.tolist() == TABLE
    assert metric.score(sums) == pytest.approx(100 * PRINTED, abs=1e-10)


def test_score_of_sums_is_the_printed_system_score():
    assert Meteor().score(np.array(TABLE)) == pytest.approx(100 * PRINTED, abs=1e-10)


@needs_program
def test_several_workers_give_the_same_rows_in_order(monkeypatch):
    monkeypatch.setattr(meteor_jar, "LINES_PER_WORKER", 2)
    monkeypatch.setattr(meteor_jar, "BATCH", 3)
    segments = np.array([8, 0, 1, 2, 3, 4, 5, 6, 7, 0])
    hyps = [HYPS[segment] for segment in segments[:-1]] + ["a mat"]
    rows = []
    for workers in (1, 3):
        metric = Meteor(language="other", workers=workers)
        prepared = metric.prepare(REFS)
        rows.append(metric.segment_statistics(hyps, segments, prepared))
        assert len(processes_of(prepared)) == workers
        prepared.workers.close()
    np.testing.assert_array_equal(rows[0], rows[1])


@needs_program
def test_workers_stay_between_calls_and_end_with_the_references():
    metric = Meteor(language="other", workers=1)
    prepared = metric.prepare(REFS)
    first = metric.segment_statistics(HYPS[:2], np.arange(2), prepared)
    (process,) = processes_of(prepared)
    again = metric.segment_statistics(HYPS[:2], np.arange(2), prepared)
    assert [process] == processes_of(prepared)
    assert process.poll() is None
    np.testing.assert_array_equal(first, again)
    assert metric.segment_statistics([], np.arange(0), prepared).shape[0] == 0
    del prepared
    assert process.poll() is not None


@needs_program
def test_a_worker_that_dies_is_an_error_and_a_new_one_starts():
    metric = Meteor(language="other", workers=1)
    prepared = metric.prepare(REFS)
    expected = metric.segment_statistics(HYPS, np.arange(len(HYPS)), prepared)
    (process,) = processes_of(prepared)
    process.kill()
    process.wait()
    with pytest.raises(ReplituneError, match="METEOR failed"):
        metric.segment_statistics(HYPS, np.arange(len(HYPS)), prepared)
    assert processes_of(prepared) == []
    again = metric.segment_statistics(HYPS, np.arange(len(HYPS)), prepared)
    np.testing.assert_array_equal(again, expected)
    prepared.workers.close()


@needs_program
def test_a_worker_that_does_not_answer_in_time_is_stopped():
    metric = Meteor(language="other", workers=1, timeout=0.001)
    with pytest.raises(ReplituneError, match=r"within 0\.001 seconds") as caught:
        metric.statistics(HYPS, REFS)
    assert "timeout" in caught.value.fix


@needs_program
def test_too_little_memory_is_named():
    with pytest.raises(ReplituneError, match="heap") as caught:
        Meteor(language="other", memory="1k").statistics(HYPS, REFS)
    assert "memory" in caught.value.fix


@needs_program
def test_a_killed_parent_leaves_no_java_behind():
    code = (
        "import os, signal, numpy as np\n"
        "from replitune.metrics.meteor import Meteor\n"
        "metric = Meteor(language='other', workers=1)\n"
        "prepared = metric.prepare([['a']])\n"
        "metric.segment_statistics(['a'], np.array([0]), prepared)\n"
        "print(prepared.workers._running[0]._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    command = Path(f"/proc/{int(done.stdout)}/cmdline")
    if not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    deadline = time.monotonic() + 20
    while command.exists() and b"meteor" in command.read_bytes():
        assert time.monotonic() < deadline, "the Java process still runs"
        time.sleep(0.05)


def test_without_java_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ReplituneError, match="Java") as caught:
        Meteor().prepare(REFS)
    assert "install" in caught.value.fix


def test_without_the_jar_the_message_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(meteor_jar.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReplituneError, match="not installed") as caught:
        meteor_jar.find_jar()
    assert "[meteor]'" in caught.value.fix
    with pytest.raises(ReplituneError, match="no such file"):
        meteor_jar.find_jar(str(tmp_path / "meteor.jar"))


def test_a_language_without_its_paraphrase_table_is_refused(tmp_path):
    jar = tmp_path / "meteor-1.5.jar"
    jar.touch()
    with pytest.raises(ReplituneError, match="paraphrase table for de"):
        meteor_jar.find_paraphrases(jar, "de")


@pytest.mark.parametrize(
    "options",
    [{"language": "klingon"}, {"language": "it", "normalize": True}, {"workers": 0}, {"timeout": 0}],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ReplituneError):
        Meteor(**options)


def test_signature_has_what_decides_the_number():
    assert Meteor(language="cs", workers=7).signature() == "lang:cz|norm:no|meteor:1.5"
    assert Meteor(normalize=True).signature() == "lang:en|norm:yes|meteor:1.5"


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_gradient_is_the_finite_difference(language):
    metric = Meteor(language=language)
    modules = len(metric.parameters.modules)
    point = np.array([*TABLE[: 4 + 4 * modules], TABLE[-1]], dtype=float) / 100
    gradient = metric.gradient(point)
    for k in range(point.size):
        shift = np.zeros(point.size)
        shift[k] = 1e-3
        slope = (metric.score(point + shift) - metric.score(point - shift)) / 2e-3
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_scores_of_a_batch_and_of_zero_sums_are_finite():
    metric = Meteor()
    sums = np.zeros((2, 3, 21))
    sums[1, 0] = TABLE
    sums[1, 1, :4] = 5
    scores = metric.score(sums)
    assert scores.shape == (2, 3)
    assert scores[1, 0] == pytest.approx(100 * PRINTED)
    assert np.count_nonzero(scores) == 1
    assert np.isfinite(metric.gradient(sums)).all()
