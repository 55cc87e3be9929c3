"""Records of replicas that could not be made, where an experiment goes on without them.

With `allow_missing_replicas` a job that fails for its own replica alone writes, in place of what
it promised, one line of JSON: ``{"failed": {"stage": ..., "system": ..., "replica": ...,
"reason": ...}}``. It is no translation, no weights file and no model, and everything that does
not know it refuses it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open

IN_FOLDER = "failed.json"
"""Name of the record in place of a folder."""
_START = b'{"failed": '


@dataclass(frozen=True)
class Failure:
    """Why a replica is missing."""

    stage: str
    system: str
    replica: str
    reason: str

    def error(self, file: str | Path) -> ReplituneError:
        """For whoever was not told that replicas may be missing."""
        return ReplituneError(
            f"replica {self.replica} of system {self.system} could not be made ({self.stage})",
            file=file,
            found=self.reason,
            fix="set allow_missing_replicas: true to go on without it; or remove this file, and "
            "the replica is made again",
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
        with open(path, "rb") as handle:
            if handle.read(len(_START)) != _START:
                return None
        record = json.loads(path.read_text(encoding="utf-8"))
        return Failure(**record["failed"]) if set(record) == {"failed"} else None
    except (OSError, ValueError, TypeError):
        return None


def refuse_failure(path: str | Path) -> None:
    """Raise when a record stands in place of a file or a folder."""
    failure = read_failure(path)
    if failure is not None:
        raise failure.error(path)
