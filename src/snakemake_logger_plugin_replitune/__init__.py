"""Logger plugin of Snakemake: `snakemake --logger replitune --logger-replitune-folder DIR`.

Only Snakemake imports it, at every start. replitune.workflow.events describes what it writes.
"""

from dataclasses import dataclass, field
from logging import Handler, LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from replitune.workflow.events import Writer


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    folder: str = field(default=".", metadata={"help": "Where a file of events goes."})


class LogHandler(LogHandlerBase):
    writes_to_stream = writes_to_file = False  # of Snakemake's own messages
    has_filter = has_formatter = True  # else `--quiet` would silence the events, too
    needs_rulegraph = False

    def __post_init__(self) -> None:
        Handler.__init__(self)  # before version 2 the interface did not call it
        assert isinstance(self.settings, LogHandlerSettings)
        self.writer = Writer(Path(self.settings.folder))

    def emit(self, record: LogRecord) -> None:
        if not self.common_settings.dryrun:
            self.writer.write(record)
