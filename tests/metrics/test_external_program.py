"""Metrics that programs compute: once for each distinct text, kept by content, resumed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest

import replitune as r
from replitune.errors import ReplituneError
from replitune.metrics.external_program import PROGRAM
from replitune.metrics.registry import get_metric
from replitune.statistics.scoring import score_outputs
from support import Ran, outputs_of

SCORER = """
import sys
source, hyps, refs = (open(name).read().splitlines() for name in sys.argv[1:4])
log, limit = sys.argv[4], int(sys.argv[5])
seen = sum(1 for _ in open(log)) if limit else 0
with open(log, "a") as kept:
    for s, h, r in zip(source, hyps, refs, strict=True):
        seen += 1
        if limit and seen > limit:
            sys.exit("no more")
        kept.write(h + "\\\\n")
        print(len(set(h.split()) & set(r.split())) + len(s) / 100)
"""

SOURCE = ["s" * n for n in range(1, 7)]
REFS = ["a b c", "a b d", "b c d", "a c d", "a b c d", "d"]
HYPS = [[line.replace("a", "x") for line in REFS], [line.replace("d", "x") for line in REFS]]


def expected(hyp: str, i: int) -> float:
    return len(set(hyp.split()) & set(REFS[i].split())) + len(SOURCE[i]) / 100


@pytest.fixture
def metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    monkeypatch.setenv("REPLITUNE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "scorer.py").write_text(SCORER.replace("\\\\n", "\\n"))
    (tmp_path / "log").write_text("")

    def make(limit: int = 0, revision: int = 1, **options: object):
        command = (
            f"{sys.executable} {tmp_path}/scorer.py {{source}} {{hypothesis}} {{reference}} "
            f"{tmp_path}/log {limit}"
        )
        given = {"name": "command", "id": "mine", "command": command, "revision": revision}
        return get_metric({**given, **options})

    return make


def asked(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


def score(metric, hyps: list[list[str]]) -> np.ndarray:
    prepared = metric.prepare_texts([REFS], SOURCE)
    return score_outputs(metric, outputs_of(hyps), prepared)[0]


def test_each_distinct_text_is_scored_once_and_kept(tmp_path: Path, metric):
    hyps = [HYPS[0], HYPS[1], HYPS[0]]
    found = score(metric(batch=4), hyps)
    for run, lines in enumerate(hyps):
        for i, line in enumerate(lines):
            assert found[run, i].tolist() == pytest.approx([expected(line, i), 1.0])
    distinct = {(i, line) for lines in HYPS for i, line in enumerate(lines)}
    assert len(asked(tmp_path)) == len(distinct)
    # another metric object, another replica: only what is new
    again = score(metric(), [HYPS[1], ["new words", *HYPS[0][1:]]])
    assert len(asked(tmp_path)) == len(distinct) + 1
    np.testing.assert_array_equal(again[0], found[1])
    score(metric(revision=2), [HYPS[1]])
    assert len(asked(tmp_path)) == len(distinct) + 1 + len(REFS)


def test_a_stopped_run_goes_on_from_its_last_batch(tmp_path: Path, metric):
    broken = metric(limit=5, batch=2)
    with pytest.raises(ReplituneError, match="no more"):
        score(broken, [HYPS[0]])
    assert len(asked(tmp_path)) == 5
    # a program of another command is another one; the same goes on
    (tmp_path / "log").write_text("")
    score(broken, [HYPS[0]])
    assert len(asked(tmp_path)) == 2
    (kept,) = (tmp_path / "cache" / "scores").iterdir()
    first = sorted(kept.iterdir())[0]
    first.write_text("damaged\nno\tnumber\n")
    (tmp_path / "log").write_text("")
    score(broken, [HYPS[0]])
    assert len(asked(tmp_path)) == 2


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -1 {hypothesis} | wc -l", "wrong number of scores"),
        ("sed s/.*/nan/ {hypothesis}", "gave no score"),
        ("sed s/.*/x/ {hypothesis} > {output}", "gave no score"),
        ("no-such-program-here {hypothesis}", "no such program"),
        ("false {hypothesis}", "failed"),
        ("kill -9 $$ {hypothesis}", "was killed"),
        ("cat {hypothesis} | (cat; kill -9 $BASHPID)", "was killed"),
        ("seq 7; true {hypothesis}", "wrong number of scores"),
        ("head -c 300000 /dev/urandom; true {hypothesis}", "UTF-8|NUL|number of scores"),
    ],
)
def test_what_a_program_does_wrong_is_said(metric, command: str, message: str):
    with pytest.raises(ReplituneError, match=message):
        score(metric(command=command), [HYPS[0]])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_hangs_ends_with_who_started_it(tmp_path: Path, number: signal.Signals):
    for name in ("ref", "a", "b"):
        (tmp_path / name).write_text("x\ny\n")
    hangs = f"sleep 1000 & echo $$ $! > {tmp_path}/pids && wait; cat {{hypothesis}}"
    words = ["compare", "--refs", "ref", "--baseline", "a", "--system", "s=b"]
    process = subprocess.Popen(
        [sys.executable, "-m", "replitune", *words, "--metrics", f"command:command={hangs}"],
        cwd=tmp_path,
        env={**os.environ, "REPLITUNE_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    pids: list[int] = []
    while len(pids) < 2:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
        with contextlib.suppress(OSError):
            pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode != 0
    assert "Traceback" not in said
    deadline = time.monotonic() + 30
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < deadline, f"left: {pids}"
        time.sleep(0.05)


def test_a_template_without_its_places_is_refused(metric):
    with pytest.raises(ReplituneError, match="does not get the hypotheses"):
        metric(command="score {reference}")
    with pytest.raises(ReplituneError, match=r"did you mean \{hypothesis\}"):
        metric(command="score {hypotheses}")
    with pytest.raises(ReplituneError, match="reads the source, and this test set has none"):
        metric().prepare_texts([REFS], None)
    metric(command="wc {hypothesis}").prepare([REFS])


def test_compare_by_a_program(replitune: Callable[..., Ran], tmp_path: Path, metric):
    files = {"ref": REFS, "src": SOURCE, "a": HYPS[0], "b": HYPS[1]}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    ran = replitune(
        "compare",
        "--refs",
        tmp_path / "ref",
        "--source",
        tmp_path / "src",
        "--baseline",
        tmp_path / "a",
        "--system",
        f"b={tmp_path}/b",
        "--samples",
        99,
        "--metrics",
        f"command:command={metric().template},id=mine",
        "--json",
        tmp_path / "c.json",
    )
    assert ran.code == 0, ran.err
    said = json.loads((tmp_path / "c.json").read_text())["metrics"]["mine"]
    mean = np.mean([expected(line, i) for i, line in enumerate(HYPS[1])])
    assert said["systems"]["b"]["avg"] == pytest.approx(mean)
    assert "program:" in said["signature"]


STAND_IN = """
import argparse
parser = argparse.ArgumentParser()
for name in ("model", "like", "vocab", "src", "mt", "ref", "out", "width", "cpu-threads"):
    parser.add_argument(f"--{name}")
given = parser.parse_args()
assert given.model != "unknown", "hub unreachable"
fields = [open(name).read().splitlines() for name in (given.src, given.mt, given.ref) if name]
with open(given.out, "w") as out:
    for row in zip(*fields, strict=True):
        out.write(f"{sum(map(len, row)) / 100:.{given.width}f}\\n")
"""


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ("comet", (1, 1, 1)),
        ("comet:model=wmt22-cometkiwi-da", (1, 1, 0)),
        ("bleurt", (0, 1, 1)),
        ("comet:model={folder}/m.npz,vocab={folder}/v.spm,like=comet-qe", (1, 1, 0)),
    ],
)
def test_neural_metrics_call_pymarians_evaluator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, fields: tuple
):
    """By a stand-in with its options: no model can be fetched here."""
    (tmp_path / "eval.py").write_text(STAND_IN)
    (tmp_path / "m.npz").write_bytes(b"model")
    monkeypatch.setenv("REPLITUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(PROGRAM, f"{sys.executable} {tmp_path}/eval.py")
    metric = get_metric(word.format(folder=tmp_path))
    found = score(metric, [HYPS[0]])
    lengths = [
        sum(len(text) for text, used in zip(row, fields, strict=True) if used)
        for row in zip(SOURCE, HYPS[0], REFS, strict=True)
    ]
    np.testing.assert_allclose(found[0, :, 0], np.array(lengths) / 100)


def test_what_a_model_hub_needs_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "eval.py").write_text(STAND_IN)
    monkeypatch.setenv("REPLITUNE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(PROGRAM, f"{sys.executable} {tmp_path}/eval.py")
    with pytest.raises(r.ReplituneError) as caught:
        score(get_metric("comet:model=unknown"), [HYPS[0]])
    said = str(caught.value)
    assert "hub unreachable" in said
    assert "HF_TOKEN" in said
    assert "model=FILE.bin" in said
