"""Resources of jobs. Imports little, because the Snakefile imports it."""

from __future__ import annotations

from typing import Annotated

from replitune.settings import Settings, about


class Resources(Settings):
    """What the jobs of a system or of a metric ask for. It changes no result."""

    threads: Annotated[
        int | None, about("Threads of each job, passed on to its programs and libraries. Default 1.", ge=1)
    ] = None
    gpu: Annotated[
        int | None,
        about(
            "Graphics cards of each job. Run with `--resources gpu=N` where there are N; the "
            "profile says which partition has them.",
            ge=0,
        ),
    ] = None
    mem_mb: Annotated[
        int | None,
        about(
            "Memory of each job. By default estimated from the sizes of its texts; more when tried again.",
            ge=1,
        ),
    ] = None
    runtime: Annotated[
        int | None,
        about("Minutes that each job may take, on a cluster; more when it is tried again.", ge=1),
    ] = None
