"""WMT and NIST files of either kind."""

from __future__ import annotations

from pathlib import Path

from replitune.corpus.content import FileContent
from replitune.corpus.markup import MarkupFile
from replitune.corpus.wmt_sgm import read_sgm
from replitune.corpus.wmt_xml import read_xml


def read_wmt(path: str | Path, kind: str | None = None) -> MarkupFile:
    """All streams of a WMT file, `kind` xml or sgm; None: by its name."""
    if kind is None:
        kind = "xml" if str(path).lower().removesuffix(".gz").endswith(".xml") else "sgm"
    return read_xml(path) if kind == "xml" else read_sgm(path)


def read_wmt_system(
    path: str | Path, system: str | None = None, *, like: str | Path | None = None
) -> list[str]:
    """The hypotheses of a system; without a name, of the only one in the file.

    Their order is that of the source (or else of the first stream) of the file `like`: give the
    file that the test set was read from when it is not this one.
    """
    file = read_wmt(path)
    hypotheses = FileContent(path, [file.system(system)], keys=file.keys)
    if like is None:
        return hypotheses.references[0]
    other = read_wmt(like)
    model = FileContent(like, [["" for _ in other.keys]], keys=other.keys)
    return hypotheses.aligned_to(model).references[0]
