"""WMT and NIST files of either kind."""

from __future__ import annotations

from pathlib import Path

from replitune.corpus.markup import MarkupFile
from replitune.corpus.wmt_sgm import read_sgm
from replitune.corpus.wmt_xml import read_xml


def read_wmt(path: str | Path, kind: str | None = None) -> MarkupFile:
    """All streams of a WMT file, `kind` xml or sgm; None: by its name."""
    if kind is None:
        kind = "xml" if str(path).lower().removesuffix(".gz").endswith(".xml") else "sgm"
    return read_xml(path) if kind == "xml" else read_sgm(path)


def read_wmt_system(path: str | Path, system: str | None = None) -> list[str]:
    """The hypotheses of a system, in the file's order; without a name, of the only system.

    The order is that of the source (or else of the first stream) of the same file.
    """
    return read_wmt(path).system(system)


def list_wmt_systems(path: str | Path) -> list[str]:
    """The systems whose hypotheses are in the file."""
    return read_wmt(path).names("hypothesis")
