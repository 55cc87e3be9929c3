"""Reading a test set from files of any format, recognised by their names.

Test sets may have the name that sacrebleu gives them: `sacrebleu:wmt14/de-en`. sacrebleu fetches and
unpacks them into its own cache (`$SACREBLEU`, else `~/.sacrebleu`); what
is there already needs no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replitune.corpus.content import FileContent, Role, require_names, require_same_documents
from replitune.corpus.documents_jsonl import has_documents
from replitune.corpus.documents_jsonl import read_documents as documents_of_wmt
from replitune.corpus.markup import MarkupFile
from replitune.corpus.settings import SACREBLEU, Columns, Format
from replitune.corpus.testset import (
    TestSet,
    read_prepared,
    require_equal_counts,
    require_ids,
    require_line_text,
    require_segments,
)
from replitune.corpus.tsv import read_tsv
from replitune.corpus.wmt import read_sgm, read_xml
from replitune.errors import ReplituneError, nearest
from replitune.readers.names import split_part
from replitune.running.files import read_lines


def sacrebleu_files(name: str, references: Sequence[str] | None = None) -> dict[str, Path]:
    """Field -> file in sacrebleu's cache: src, references (ref or ref:NAME), docid if known.

    `references` names translators; None: those that sacrebleu itself scores against.
    """
    from sacrebleu.dataset import DATASETS

    testset, _, pair = name.removeprefix(SACREBLEU).rpartition("/")
    if not testset or testset not in DATASETS:
        close = nearest(testset or pair, list(DATASETS))
        raise ReplituneError(
            "sacrebleu has no such test set",
            found=name,
            expected=f"{SACREBLEU}TESTSET/PAIR, as in {SACREBLEU}wmt14/de-en",
            fix=f"did you mean {close}?" if close else "sacrebleu --list shows all",
        )
    dataset = DATASETS[testset]
    if pair not in dataset.langpairs:
        raise ReplituneError(
            f"sacrebleu's {testset} has no such language pair",
            found=pair,
            expected=f"one of {', '.join(sorted(dataset.langpairs))}",
        )
    try:
        fields = dataset.fieldnames(pair)
        files = dict(zip(fields, map(Path, dataset.get_files(pair)), strict=True))
        scored = {Path(path) for path in dataset.get_reference_files(pair)}
    except (Exception, SystemExit) as error:
        raise ReplituneError(
            f"sacrebleu could not fetch {testset}/{pair}",
            found=f"{type(error).__name__}: {error}",
            fix=f"connect to the network; or run `sacrebleu -t {testset} -l {pair} --echo src ref` "
            "where there is one, copy its folder ~/.sacrebleu here, and set SACREBLEU to it",
        ) from None
    known = [field for field in fields if field == "ref" or field.startswith("ref:")]
    if references is None:
        chosen = [field for field in known if files[field] in scored]
    else:
        labels = [field.removeprefix("ref:") for field in known]
        require_names(labels, references, "reference", name)
        chosen = [known[labels.index(label)] for label in references]
    wanted = ["src", *chosen, *(["docid"] if "docid" in fields else [])]
    return {field: files[field] for field in wanted}


def read_sacrebleu(name: str, references: Sequence[str] | None = None) -> FileContent:
    """Source, references and documents of a sacrebleu test set."""
    lines = {field: read_lines(path) for field, path in sacrebleu_files(name, references).items()}
    documents = lines.pop("docid", None)
    source = lines.pop("src")
    return FileContent(
        name if name.startswith(SACREBLEU) else SACREBLEU + name,
        references=list(lines.values()),
        source=source,
        documents=documents if documents and all(map(str.strip, documents)) else None,
    )


SUFFIXES: dict[str, Format] = {
    ".xml": "xml",
    ".sgm": "sgm",
    ".sgml": "sgm",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
}


def recognise(path: str | Path) -> Format:
    """The format of a file by its name: prefix `sacrebleu:`, or suffix before `.gz`."""
    name = str(path)
    if name.startswith(SACREBLEU):
        return "sacrebleu"
    suffix = Path(str(split_part(path)[0]).lower().removesuffix(".gz")).suffix
    return SUFFIXES.get(suffix, "text")


def read_testset(
    references: Sequence[str | Path] | str | Path,
    source: str | Path | None = None,
    documents: str | Path | None = None,
    *,
    format: Format | None = None,
    names: Sequence[str] | None = None,
    columns: Columns | None = None,
) -> TestSet:
    """A test set from one or more files of references.

    `source` and `documents` may be files of their own; otherwise they are taken from the reference
    files. `documents` is a file with one id a line, or XML, SGM or TSV with document ids.
    `format` is that of references and source; None: each file's, by its name.
    `names` selects references of XML and SGM (translators, in this order), `columns` those of TSV.
    Segments with ids are put in the order of the source, or else of the first reference.
    """
    if isinstance(references, str | Path):
        references = [references]
    if not references:
        raise ReplituneError("no reference", expected="at least one file of references")
    columns = columns or Columns()
    contents = [read_content(path, "reference", format, names, columns) for path in references]
    if source is not None:
        first = next((content for content in contents if str(content.path) == str(source)), None)
        if first is None or first.source is None:
            first = read_content(source, "source", format, None, columns)
    else:
        first = next((content for content in contents if content.source is not None), contents[0])
    require_segments(first.path, first.any_stream)
    contents = [content.aligned_to(first) for content in contents]
    known = [content for content in (first, *contents) if content.documents is not None]
    for content in known[1:]:
        require_same_documents(known[0], content)
    ids = known[0].documents if known else None
    if documents is not None:
        ids = read_documents(documents, first, columns)
        require_ids(ids, documents)
    elif ids is not None:
        require_ids(ids, known[0].path)
    for content in (first, *contents):
        for lines in (*content.references, content.source or []):
            require_line_text(content.path, lines)
    return TestSet(
        references=tuple(lines for content in contents for lines in content.references),
        source=first.source,
        documents=ids,
    )


def read_content(
    path: str | Path, role: Role, format: Format | None, names: Sequence[str] | None, columns: Columns
) -> FileContent:
    """One file, by its format."""
    kind = format or recognise(path)
    if kind == "text":
        return FileContent.from_lines(path, role, read_lines(path))
    if kind == "blank-lines":
        return read_blank_separated(path, role)
    if kind == "jsonl":
        return (documents_of_wmt if has_documents(path) else read_prepared_content)(path, role)
    if kind == "tsv":
        return read_tsv(path, role, columns)
    if kind == "scores":
        from replitune.corpus.score_table import read_segments

        return read_segments(path)
    if kind == "sacrebleu":
        return read_sacrebleu(str(path), names)
    return read_wmt(path, kind).content(role, names)


def read_documents(path: str | Path, first: FileContent, columns: Columns) -> list[str]:
    """A document id for each segment of `first`, from a file of its own."""
    kind = recognise(path)
    if kind == "text":
        ids = read_lines(path)
    else:
        content = read_content(path, "source", kind, None, columns).aligned_to(first)
        if content.documents is None:
            raise ReplituneError("no documents in this file", file=path)
        ids = content.documents
    require_equal_counts([(first.path, first.any_stream), (path, ids)])
    return ids


def read_blank_separated(path: str | Path, role: Role) -> FileContent:
    """Documents with one or more blank lines between them, named 1, 2, ... in order.

    A blank line is never a segment here; blank lines at the start and at the end mean nothing.
    """
    segments, documents = [], []
    document, inside = 0, False
    for line in read_lines(path):
        if not line.strip():
            inside = False
            continue
        if not inside:
            document += 1
            inside = True
        segments.append(line)
        documents.append(str(document))
    return FileContent.from_lines(path, role, segments, documents)


def read_prepared_content(path: str | Path, role: Role) -> FileContent:
    """A prepared test set, as the corpus stage writes it: references, source and documents."""
    testset = read_prepared(path)
    if role == "source" and testset.source is None:
        raise ReplituneError("no source in this file", file=path)
    return FileContent(path, list(testset.references), testset.source, testset.documents)


def read_wmt(path: str | Path, kind: str | None = None) -> MarkupFile:
    """All streams of a WMT file, `kind` xml or sgm; None: by its name."""
    if kind is None:
        kind = "xml" if str(path).lower().removesuffix(".gz").endswith(".xml") else "sgm"
    return read_xml(path) if kind == "xml" else read_sgm(path)


def read_wmt_system(
    path: str | Path, system: str | None = None, *, like: str | Path | None = None
) -> list[str]:
    """The hypotheses of a system; without a name, of the only one in the file.

    They are in the order of the source (or else of the first stream) of the file `like`: the file
    that the test set was read from, if it is not this one.
    """
    file = read_wmt(path)
    hypotheses = FileContent(path, [file.system(system)], keys=file.keys)
    if like is None:
        return hypotheses.references[0]
    other = read_wmt(like)
    model = FileContent(like, [["" for _ in other.keys]], keys=other.keys)
    return hypotheses.aligned_to(model).references[0]
