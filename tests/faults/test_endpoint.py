"""Jobs that ask a server, killed at seeded moments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..backends.endpoint.chat_server import Server
from ..backends.endpoint.test_endpoint import KEY, experiment
from .conftest import POINTS
from .harness import Faults, contents
from .test_kills import tell

pytestmark = pytest.mark.workflow


@pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")
def test_many_moments_of_jobs_that_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every answer that came before is there: of each kill, only what was under way is asked again."""
    monkeypatch.setenv("ENDPOINT_TEST_KEY", KEY)
    with Server().running() as server:
        given = experiment(server.url, corpus__tests__t=300) | {"experiment": "f"}
        for system in given["systems"].values():
            system["concurrency"] = 1
        faults = Faults(tmp_path, experiment=given)
        assert faults.run() == 0, faults.said()
        faults.expected, requests = contents(faults.results), set(server.asked)
        (tmp_path / "seconds.json").write_text('{"ask": 0.6}')
        while (before := faults.counts.total()) < POINTS:
            shutil.rmtree(faults.results)
            server.answered.clear()
            faults.kill_jobs({"ask": POINTS - before})
            assert set(server.answered) == requests
            assert server.answered.total() <= len(requests) + faults.counts.total() - before
    tell(faults)
