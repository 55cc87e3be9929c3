from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.bleu import Bleu
from replitune.running.checkpoint import opened
from replitune.settings import read
from replitune.streams import stream
from replitune.tuning.history import write_history
from replitune.tuning.interface import TuningResult
from replitune.tuning.loop import Decoded, run_loop
from replitune.tuning.mert import Mert
from replitune.tuning.mira import Mira
from replitune.tuning.objective import Objective
from replitune.tuning.pro import Pro
from replitune.tuning.settings import LoopSettings

TUNERS = {"mert": Mert(restarts=2), "mira": Mira(epochs=5), "pro": Pro(samples=200)}
START = np.array([0.1, -0.3, 0.2, 0.5])
SETTINGS = LoopSettings(iterations=5, patience=5, min_promise=None)


@dataclass
class Searcher:
    """A decoder of a search space small enough to list: the k best under the weights."""

    space: object
    k: int = 5
    die_at: int | None = None
    how: str = "raise"
    calls: int = 0

    def __call__(self, weights: np.ndarray, iteration: int) -> Decoded:
        self.calls += 1
        if iteration == self.die_at:
            if self.how == "exit":
                os._exit(9)
            raise KeyboardInterrupt
        scores = self.space.features @ weights
        rows = np.lexsort((-scores, self.space.segments))
        rank = np.arange(len(rows)) - np.searchsorted(self.space.segments[rows], self.space.segments[rows])
        rows = rows[rank < self.k]
        return Decoded(self.space.segments[rows], self.space.features[rows], self.space.statistics[rows])


def run(space, tuner="mert", settings=SETTINGS, seed=1, **more):
    decode = more.pop("decode", None) or Searcher(space)
    return run_loop(
        decode,
        TUNERS[tuner],
        Objective(Bleu(tokenize="none")),
        START,
        space.n_segments,
        partial(stream, seed, "tune", "baseline", tuner, 1),
        settings,
        **more,
    )


def without_times(result):
    return [{k: v for k, v in vars(row).items() if "seconds" not in k} for row in result.history]


@pytest.fixture(scope="module")
def space(draw_hypotheses):
    return draw_hypotheses(11, n_segments=30, most=60, n_features=4, whole=False)


@pytest.mark.parametrize("tuner", TUNERS)
def test_tuning_improves_the_dev_score_and_returns_the_best_weights(space, tuner):
    lines: list[str] = []
    result = run(space, tuner, log=lines.append)
    scores = [row.dev_score for row in result.history]
    assert result.dev_score == max(scores) > scores[0] + 1
    assert scores[result.iteration] == result.dev_score
    decoded = Searcher(space, k=1)(result.weights, 0)
    assert Bleu(tokenize="none").score(decoded.statistics.sum(axis=0)) == result.dev_score
    assert len(lines) == len(result.history)
    assert [row.pool_size for row in result.history] == list(
        np.cumsum([row.new_hypotheses for row in result.history])
    )


@pytest.mark.parametrize("tuner", TUNERS)
@pytest.mark.parametrize("die_at", [0, 2])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(space, tmp_path, tuner, die_at):
    whole = run(space, tuner)
    folder = tmp_path / ".work" / "mert-001"
    with pytest.raises(KeyboardInterrupt):
        run(space, tuner, decode=Searcher(space, die_at=die_at), folder=folder)
    again = Searcher(space)
    resumed = run(space, tuner, decode=again, folder=folder)
    assert resumed.weights.tobytes() == whole.weights.tobytes()
    assert without_times(resumed) == without_times(whole)
    assert again.calls == len(whole.history) - die_at
    assert not folder.exists()


def test_a_killed_process_leaves_a_run_that_can_go_on(space, tmp_path, draw_hypotheses):
    """The process ends at once, as with kill -9, in the third decoding."""
    script = (
        "import runpy, sys\n"
        "sys.path[:0] = sys.argv[1:2]\n"
        "from test_loop import Searcher, run\n"
        "draw = runpy.run_path(sys.argv[1] + '/conftest.py', run_name='pools')['draw']\n"
        "space = draw(11, n_segments=30, most=60, n_features=4, whole=False)\n"
        "run(space, decode=Searcher(space, die_at=2, how='exit'), folder=sys.argv[2])\n"
    )
    folder = tmp_path / "work"
    ended = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent), str(folder)], check=False
    )
    assert ended.returncode == 9
    again = Searcher(space)
    resumed = run(space, decode=again, folder=folder)
    assert resumed.weights.tobytes() == run(space).weights.tobytes()
    assert again.calls == len(resumed.history) - 2


def test_remains_of_other_settings_are_not_used(space, tmp_path):
    folder = tmp_path / "work"
    for inputs, seed in (({"dev": "1"}, 1), ({"dev": "2"}, 1), ({"dev": "2"}, 2)):
        with pytest.raises(KeyboardInterrupt):
            run(space, decode=Searcher(space, die_at=2), folder=folder, inputs=inputs, seed=seed)
        again = Searcher(space, die_at=1)
        with pytest.raises(KeyboardInterrupt):
            run(space, decode=again, folder=folder, inputs={"dev": "3"}, seed=seed)
        assert again.calls == 2


@pytest.mark.parametrize("name", ["state.json", "iteration-000.npz", "iteration-001.npz"])
@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_a_damaged_checkpoint_starts_over(space, tmp_path, name, damage):
    whole = run(space)
    folder = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        run(space, decode=Searcher(space, die_at=2), folder=folder)
    content = bytearray((folder / name).read_bytes())
    if damage == "flip":
        digit = content.index(b"0.", len(content) // 3) + 2 if name == "state.json" else 100
        content[digit] ^= 1  # in the state: another number, as good to read
    else:
        del content[len(content) // 2 :]
    (folder / name).write_bytes(content)
    again = Searcher(space)
    assert run(space, decode=again, folder=folder).weights.tobytes() == whole.weights.tobytes()
    assert again.calls == len(whole.history)


def test_two_runs_in_one_folder_are_refused(space, tmp_path):
    with opened(tmp_path / "work", "mark"), pytest.raises(ReplituneError, match="another process"):
        run(space, folder=tmp_path / "work")


def test_the_result_is_kept_before_the_folder_goes(space, tmp_path):
    folder = tmp_path / "work"
    there = []
    run(space, folder=folder, finish=lambda result: there.append(folder.exists()))
    assert there == [True]
    assert not folder.exists()


def test_tuning_stops_when_the_dev_score_does_not_improve(space):
    result = run(space, settings=LoopSettings(iterations=30, patience=2, min_promise=None))
    assert len(result.history) < 30
    assert result.iteration == len(result.history) - 3 or result.history[-1].change == 0.0


def test_tuning_stops_when_the_weights_promise_little(space):
    everything = LoopSettings(iterations=30, patience=30, min_promise=None)
    whole = run(space, settings=everything).history
    stopped = run(space, settings=replace(everything, min_promise=0.5)).history
    assert 2 <= len(stopped) < len(whole)
    promises = [
        row.pool_score - max(before.dev_score for before in whole[: i + 1])
        for i, row in enumerate(whole[: len(stopped)])
    ]
    assert promises[-1] < 0.5 <= min(promises[1:-1], default=0.5)
    assert [row.dev_score for row in stopped] == [row.dev_score for row in whole[: len(stopped)]]


def test_a_run_that_went_astray_does_not_end_at_its_start(space, monkeypatch):
    class Astray(Mert):
        """As when the first lists say little of what the weights will find."""

        calls = 0

        def tune(self, pool, objective, start, rng, threads=1):
            Astray.calls += 1
            if Astray.calls > 3:
                return super().tune(pool, objective, start, rng, threads)
            return TuningResult(-START * Astray.calls**2 - rng.random(4), 99.0)

    monkeypatch.setitem(TUNERS, "astray", Astray(restarts=2))
    result = run(space, "astray", settings=LoopSettings(iterations=9, patience=2))
    assert max(row.dev_score for row in result.history[1:4]) < result.history[0].dev_score
    assert result.iteration > 3
    assert result.dev_score > result.history[0].dev_score + 1


def test_one_iteration_is_decoding_only(space):
    result = run(space, settings=LoopSettings(iterations=1))
    assert (result.weights == START).all()
    assert result.history[0].change is None


def test_random_starts_are_the_replicas_own(space):
    settings = LoopSettings(iterations=1, init="random", init_range=(0.0, 0.5))
    one, two = (run(space, settings=settings, seed=seed).weights for seed in (1, 2))
    assert (one != two).any()
    assert ((one >= 0) & (one < 0.5)).all()
    assert (run(space, settings=settings, seed=1).weights == one).all()


def test_a_resampled_dev_set_is_drawn_once_per_replica(space):
    settings = LoopSettings(iterations=3, patience=3, resample_dev=True)
    result = run(space, settings=settings)
    sample = stream(1, "tune", "baseline", "mert", 1, "dev-sample").integers(30, size=30)
    statistics = Searcher(space, k=1)(START, 0).statistics[sample].sum(axis=0)
    assert result.history[0].dev_score == Bleu(tokenize="none").score(statistics)


def test_a_decoder_that_skips_a_segment_is_an_error(space):
    class Skipping(Searcher):
        def __call__(self, weights, iteration):
            d = super().__call__(weights, iteration)
            keep = d.segments != 3
            return Decoded(d.segments[keep], d.features[keep], d.statistics[keep])

    with pytest.raises(ReplituneError, match="no translation"):
        run(space, decode=Skipping(space))


def test_history_as_parquet(space, tmp_path):
    result = run(space)
    path = tmp_path / "history.parquet"
    write_history(path, result.history)
    rows = pq.read_table(path).to_pylist()
    assert rows == [vars(row) for row in result.history]


@pytest.mark.parametrize(
    "setting", [{"iterations": 0}, {"patience": 0}, {"init": "x"}, {"init_range": [1.0, 0.0]}]
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(ReplituneError, match="tuning"):
        read(LoopSettings, setting, "tuning")
