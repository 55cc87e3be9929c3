"""The settings of an experiment's `corpus`: which texts there are, and where they come from. Light.

The texts are `train`, `dev` and the named test sets. The `parts` of a test set are test sets that
are joined into one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from replitune.errors import ReplituneError
from replitune.registry import Name
from replitune.settings import Chosen, Settings, about, read

TRAIN = "train"
DEV = "dev"

SACREBLEU = "sacrebleu:"
"""What the name of a sacrebleu test set begins with, which is given in place of a file."""

File = Annotated[str, about(min_length=1)]
Files = File | Annotated[list[File], about(min_length=1)]
"""A file or a list of files."""

Column = str | int
"""A name from the header, or a number from 1."""

Format = Literal["text", "blank-lines", "tsv", "sgm", "xml", "jsonl", "scores", "sacrebleu"]


class Columns(Settings, frozen=True):
    """Which columns of a TSV file to read; by default those that the header calls source,
    reference (reference1, ref_B, ...) and document."""

    references: Annotated[
        Column | Annotated[list[Column], about(min_length=1)] | None, about("Column(s) with references.")
    ] = None
    source: Annotated[Column | None, about("Column with the source.")] = None
    document: Annotated[Column | None, about("Column with the document id.")] = None
    header: Annotated[
        bool | None,
        about("Whether the first line names columns; by default yes, unless all are given by number."),
    ] = None


class TrainFiles(Settings, frozen=True):
    """Parallel text."""

    source: Annotated[Files, about("Source side of the parallel text.")]
    target: Annotated[Files, about("Target side.")]

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.targets):
            raise ReplituneError(
                "different numbers of source and target files",
                found=f"{len(self.sources)} source files and {len(self.targets)} target files",
                expected="the same number of each",
            )

    @property
    def sources(self) -> list[str]:
        return as_list(self.source)

    @property
    def targets(self) -> list[str]:
        return as_list(self.target)

    @property
    def files(self) -> list[str]:
        """The names of all files."""
        return [*self.sources, *self.targets]


class TestSetFiles(Settings, frozen=True):
    """One test set."""

    __test__ = False  # tells pytest that this is no test, despite its name

    references: Annotated[
        Files | None,
        about(
            "Required, unless there are `parts`: reference files, plain or gz, one segment a line; "
            "or one WMT XML/SGM or TSV file; or `sacrebleu:NAME/PAIR` (needs network)."
        ),
    ] = None
    source: Annotated[File | None, about("Source text, needed by systems that translate.")] = None
    documents: Annotated[
        File | None,
        about(
            "File with the document id of each segment, one a line; segments of a document need not follow "
            "each other."
        ),
    ] = None
    format: Annotated[
        Format | None,
        about(
            "How to read the files; by default, as their names say. `blank-lines` is text in which a "
            "blank line ends a document, `jsonl` a test set as results/<experiment>/corpus has it, "
            "or of WMT since 2025, `scores` a table of scores, whose segments are the test set."
        ),
    ] = None
    names: Annotated[
        Files | None,
        about("Which references of a WMT XML or SGM file to use (translators); all by default."),
    ] = None
    columns: Annotated[
        Columns | None, about("Columns of a TSV file, by header name or by number from 1.")
    ] = None
    parts: Annotated[
        Annotated[dict[Name, TestSetFiles], about(min_length=1)] | None,
        about(
            "Instead of all other keys: test sets by name, joined into this one in their order. "
            "The names are labels, by which the report also gives scores; they are not documents."
        ),
    ] = None

    def __post_init__(self) -> None:
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        nested = self.parts and any(part.parts for part in self.parts.values())
        if self.parts is not None and (given != ["parts"] or nested):
            raise ReplituneError(
                "a joined test set must have `parts` and nothing else",
                found=", ".join(given),
                fix="give each part its own files; parts cannot have parts",
            )
        if self.parts is None and self.references is None:
            raise ReplituneError(
                "a test set without references",
                found=", ".join(given) or "nothing",
                fix="name its files as `references`",
            )

    @property
    def described(self) -> dict[tuple[str, ...], TestSetFiles]:
        """The test set itself or, if it is joined, its parts, each with its place."""
        if self.parts is None:
            return {(): self}
        return {("parts", name): part for name, part in self.parts.items()}

    @property
    def reference_files(self) -> list[str]:
        return [self._named(name) for name in as_list(self.references)]

    @property
    def source_file(self) -> str | None:
        return None if self.source is None else self._named(self.source)

    def _named(self, name: str) -> str:
        if self.format == "sacrebleu":
            return SACREBLEU + name.removeprefix(SACREBLEU)
        return name

    @property
    def files(self) -> list[str]:
        """The names of all files, including those of parts, each once."""
        named: list[str | None] = []
        for one in self.described.values():
            named += [*one.reference_files, one.source_file, one.documents]
        return list(dict.fromkeys(name for name in named if name is not None))


class SyntheticCorpus(Settings, frozen=True):
    """A made-up language pair."""

    kind: Annotated[Literal["synthetic"], about("A made-up language pair, no download.")]
    train: Annotated[int | None, about("Sentence pairs to train on.", ge=1)] = 4000
    dev: Annotated[int | None, about("Segments of the dev set.", ge=1)] = 300
    tests: Annotated[
        dict[Name, Annotated[int, about(ge=1)]], about("Test sets and their numbers of segments.")
    ] = msgspec.field(default_factory=lambda: {"test1": 300, "test2": 300})

    def __post_init__(self) -> None:
        _require_names(self.tests)


class FilesCorpus(Settings, frozen=True, kw_only=True):
    """Your own texts."""

    kind: Annotated[Literal["files"], about("Your texts.")]
    train: Annotated[TrainFiles | None, about("Parallel text to train on.")] = None
    dev: Annotated[
        TestSetFiles | None, about("The set that systems are tuned on; scored but never tested.")
    ] = None
    tests: Annotated[dict[Name, TestSetFiles], about("Test sets by name.")]

    def __post_init__(self) -> None:
        _require_names(self.tests)

    @property
    def described(self) -> Iterator[tuple[tuple[str, ...], TestSetFiles]]:
        """Dev, the test sets that have files of their own, and the parts of joined test sets, each
        with its place below `corpus`."""
        files = [] if self.dev is None else [((DEV,), self.dev)]
        for place, testset in [*files, *((("tests", name), it) for name, it in self.tests.items())]:
            for below, one in testset.described.items():
                yield (*place, *below), one


Corpus = SyntheticCorpus | FilesCorpus
CORPORA: dict[str, type[Corpus]] = {"synthetic": SyntheticCorpus, "files": FilesCorpus}
"""The settings of a corpus by its `kind`."""
CORPUS = Chosen("kind", lambda: list(CORPORA), CORPORA.__getitem__)

_C = TypeVar("_C", SyntheticCorpus, FilesCorpus)


def _require_names(tests: Mapping[str, Any]) -> None:
    for name, fix in (
        (DEV, "dev is the tuning set: give it as corpus.dev"),
        (TRAIN, "give it another name under corpus.tests"),
    ):
        if name in tests:
            raise ReplituneError(f"a test set cannot be called {name}", fix=fix)


_T = TypeVar("_T", str, Column)


def as_list(given: _T | list[_T] | None) -> list[_T]:
    """One or several as a list; empty for None."""
    if isinstance(given, list):
        return given
    return [] if given is None else [given]


def read_corpus(given: Corpus | Mapping[str, Any]) -> Corpus:
    """The settings, from a mapping as in an experiment file or in the settings of a job."""
    if isinstance(given, SyntheticCorpus | FilesCorpus):
        return given
    corpus: Corpus = read(Annotated[Any, CORPUS], given, "corpus")
    return corpus


def list_testsets(corpus: Corpus) -> list[str]:
    """dev, when there is one, and the test sets in the order of the experiment file."""
    return [*([] if corpus.dev is None else [DEV]), *corpus.tests]


def list_texts(corpus: Corpus) -> list[str]:
    """All texts: train, when there is one, and the test sets."""
    return [*([] if corpus.train is None else [TRAIN]), *list_testsets(corpus)]


def only(corpus: _C, *texts: str) -> _C:
    """The settings of these texts alone, which the job of one text is given."""
    return msgspec.structs.replace(
        corpus,
        train=corpus.train if TRAIN in texts else None,
        dev=corpus.dev if DEV in texts else None,
        tests={name: one for name, one in corpus.tests.items() if name in texts},
    )


def files_of(corpus: Corpus, text: str) -> list[str]:
    """The names of the files that a text is made from; a fetched or synthetic text has none."""
    if isinstance(corpus, SyntheticCorpus):
        return []
    given = {TRAIN: corpus.train, DEV: corpus.dev}.get(text) or corpus.tests.get(text)
    names = [] if given is None else given.files
    return [name for name in names if not name.startswith(SACREBLEU)]
