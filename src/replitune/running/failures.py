"""Records of replicas that could not be made, for experiments that go on without them.

With `allow_missing_replicas`, a job that fails for a reason that concerns only its own replica writes
one line of JSON in place of its output: ``{"failed": {"stage": ..., "system": ..., "replica": ...,
"reason": ...}}``. This is not a translation, a weights file or a model, so every reader that does not
expect it refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open, bytes_of, open_regular

IN_FOLDER = "failed.json"
"""The name of the record in an output that is a folder."""
_START = b'{"failed": '


@dataclass(frozen=True)
class Failure:
    """Why a replica is missing."""

    stage: str
    system: str
    replica: str
    reason: str

    def error(self, file: str | Path) -> ReplituneError:
        """The error of a reader that does not accept missing replicas."""
        return ReplituneError(
            f"run {self.replica} of system {self.system} could not be made ({self.stage})",
            file=file,
            found=self.reason,
            fix="set allow_missing_replicas: true to go on without it; or remove this file, and "
            "the run is made again",
        )


def write_failure(path: str | Path, failure: Failure) -> None:
    with atomic_open(path) as handle:
        handle.write(json.dumps({"failed": asdict(failure)}, ensure_ascii=False) + "\n")


def read_failure(path: str | Path) -> Failure | None:
    """The record that stands in place of a file or a folder, or None."""
    path = Path(path)
    if path.is_dir():
        path = path / IN_FOLDER
    try:
        with open_regular(path) as handle:
            if handle.read(len(_START)) != _START:
                return None
        record = json.loads(bytes_of(path))
        return Failure(**record["failed"]) if set(record) == {"failed"} else None
    except (OSError, ValueError, TypeError):
        return None


SHOWN = 5
"""How many different messages of failed jobs a run repeats at its end."""


LONGEST = 20
"""The most lines of an error at the end of a log; a longer text began with a warning."""


def last_words(logs: Mapping[str, str | Path]) -> str:
    """The last messages of failed jobs, and what to do; `logs` maps the name of each job to its log."""
    if not logs:
        return "replitune: the run was stopped; to go on: replitune run, make resume"
    jobs: dict[str, list[str]] = {}
    for name, log in sorted(logs.items()):
        jobs.setdefault(last_message(Path(log)), []).append(name)
    rows = []
    for message, names in list(jobs.items())[:SHOWN]:
        more = f", and {len(names) - 1} more" if len(names) > 1 else ""
        rows += [f"{names[0]}{more}:", *(f"  {line}" for line in message.splitlines())]
    if len(jobs) > SHOWN:
        rows.append(f"... and {len(jobs) - SHOWN} other messages")
    return "\n".join(
        [
            f"replitune: {len(logs)} jobs failed" if len(logs) != 1 else "replitune: a job failed",
            *(f"  {row}" for row in rows),
            "  put this right and run again (replitune run, make resume); what is done stays done",
        ]
    )


def last_message(log: Path) -> str:
    """The message of replitune at the end of a log, or else its last three lines."""
    try:
        lines = bytes_of(log).decode("utf-8", "replace").rstrip().splitlines()
    except OSError:
        return "its log is not on this machine"
    begins = [i for i, line in enumerate(lines) if line.startswith("replitune: ")]
    whole = lines[begins[-1] :] if begins else []
    last = whole if 0 < len(whole) <= LONGEST else lines[-3:]
    return "\n".join(last).removeprefix("replitune: ") or "ended without a message: was it killed?"


def refuse_failure(path: str | Path) -> None:
    """Raise an error if a record stands in place of a file or a folder."""
    failure = read_failure(path)
    if failure is not None:
        raise failure.error(path)
