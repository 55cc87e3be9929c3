"""What Snakemake tells logger plugins about its jobs, and the part of it that is kept.

`replitune run` uses the plugin `replitune` (the package snakemake_logger_plugin_replitune), which
writes lines of JSON beside the results, for itself and for `replitune watch`. Without a plugin, the
Snakefile listens, for its last message. This module imports nothing of Snakemake, which loads it at
each start.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from replitune.running.files import bytes_of

Event = dict[str, str]
STARTED, FAILED, EXECUTES, ERROR = "started", "failed", "executes", "error"
"""A job has started; a job has failed; Snakemake is about to run jobs; Snakemake itself has failed."""
NAME = ".run-{}.jsonl"
"""The file beside the results, named after the process of Snakemake."""


def file_of(folder: Path, process: int) -> Path:
    return folder / NAME.format(process)


def forget_earlier(folder: Path) -> None:
    """Remove the events of all runs except that of this process."""
    for path in {*folder.glob(NAME.format("*"))} - {file_of(folder, os.getpid())}:
        path.unlink(missing_ok=True)


def read_events(path: Path) -> list[Event]:
    """The events on complete lines; none if there is no such file."""
    try:
        lines = bytes_of(path).decode("utf-8").splitlines(keepends=True)
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def failed_logs(events: list[Event]) -> list[str]:
    """Logs of jobs that failed and were not tried again."""
    last = {event["log"]: event["event"] for event in events if event["event"] in (STARTED, FAILED)}
    return [log for log, event in last.items() if event == FAILED]


def events_of(record: logging.LogRecord) -> Iterator[Event]:
    """The events in a message of Snakemake, if any."""
    fields = vars(record)
    match fields.get("event"):
        case "workflow_started":
            yield {"event": EXECUTES}
        case "job_info":
            yield from _job_events(STARTED, fields)
        case "job_error":
            yield from _job_events(FAILED, fields)
        case "group_error":
            yield from _job_events(FAILED, *fields["job_error_info"])
        case "error":
            yield {"event": ERROR, "exception": str(fields.get("exception"))}


def _job_events(event: str, *jobs: dict) -> Iterator[Event]:
    """Events of jobs; the first log of a job is the one with its messages."""
    for job in jobs:
        for log in list(job["log"])[:1]:
            yield {"event": event, "log": str(log)}


class Listener(logging.Handler):
    """Remembers all events of this process, which is Snakemake."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        logging.getLogger("snakemake").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.events += events_of(record)


class Writer:
    """Writes each event immediately, as a line of a file in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = file_of(folder, os.getpid())

    def write(self, record: logging.LogRecord) -> None:
        for event in events_of(record):
            with open(self.path, "a", encoding="utf-8") as handle:
                handle.write(json.dumps(event) + "\n")
