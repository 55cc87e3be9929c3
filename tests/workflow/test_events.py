"""What Snakemake says to logger plugins, and what we keep of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from types import SimpleNamespace

from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from replitune.workflow.events import EXECUTES, Listener, failed_logs, file_of, read_events
from snakemake_logger_plugin_replitune import LogHandler, LogHandlerSettings


def record(event: LogEvent, **said: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "snakemake.logging", "levelno": logging.INFO, "msg": None})
    vars(made).update(said, event=event)
    return made


SAID = (
    record(LogEvent.WORKFLOW_STARTED),
    record(LogEvent.JOB_INFO, log=["a.log", "a.json"]),
    record(LogEvent.JOB_INFO, log=["b.log"]),
    record(LogEvent.JOB_INFO, log=[]),
    record(LogEvent.JOB_ERROR, log=["a.log", "a.json", "slurm.log"]),
    record(LogEvent.JOB_ERROR, log=["b.log"]),
    record(LogEvent.JOB_INFO, log=["b.log"]),
    record(LogEvent.GROUP_ERROR, job_error_info=[{"log": ["c.log"]}, {"log": ["d.log"]}]),
    record(LogEvent.ERROR, exception="LockException"),
)


def test_snakemake_finds_the_plugin():
    assert LoggerPluginRegistry().get_plugin("replitune").log_handler is LogHandler


def handler_in(folder: Path, dryrun: bool = False) -> LogHandler:
    return LogHandler(SimpleNamespace(dryrun=dryrun), LogHandlerSettings(str(folder)))


def test_the_last_word_of_a_job_counts(tmp_path: Path):
    handler = handler_in(tmp_path)
    for said in SAID:
        handler.emit(said)
    events = read_events(file_of(tmp_path, os.getpid()))
    assert failed_logs(events) == ["a.log", "c.log", "d.log"]
    assert events[0] == {"event": EXECUTES}
    assert events[-1] == {"event": "error", "exception": "LockException"}


def test_a_dry_run_leaves_no_file(tmp_path: Path):
    handler = handler_in(tmp_path, dryrun=True)
    for said in SAID:
        handler.emit(said)
    assert not list(tmp_path.iterdir())
    assert read_events(file_of(tmp_path, os.getpid())) == []


def test_without_the_plugin_the_logger_is_listened_to():
    listener = Listener()
    try:
        for said in SAID:
            logging.getLogger("snakemake.logging").handle(said)
    finally:
        logging.getLogger("snakemake").removeHandler(listener)
    assert failed_logs(listener.events) == ["a.log", "c.log", "d.log"]
