"""What models of all embedded systems have in common: a table of arrays and the model around it,
written once and memory-mapped by every job."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arpa import NgramModel
from replitune.phrase.arrays import damaged_model, load_array, save_array, starts, stretches
from replitune.phrase.encode import RESERVED
from replitune.phrase.features import GroupedLayout
from replitune.phrase.lm import LanguageModel
from replitune.running.files import read_lines, read_text, write_json, write_lines

DECODER = "decoder"
"""Folder inside a model's folder for what is computed from table and language model."""


@dataclass(frozen=True)
class SavedTable:
    """Translations of source sides; a subclass adds its arrays.

    source_vocab, target_vocab: id = position; target ids 0, 1, 2 are <unk>, <s>, </s>
    """

    what: ClassVar[str]
    """Its description for messages, with an article."""
    file: ClassVar[str]
    """The file that is written last, when the others are complete."""
    format: ClassVar[int] = 1

    source_vocab: list[str]
    target_vocab: list[str]

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """What `file` holds for human readers."""

    @classmethod
    def _arrays(cls) -> list[str]:
        return [field.name for field in fields(cls) if not field.name.endswith("_vocab")]

    def save(self, folder: str | Path) -> None:
        """Write one .npy per array, two vocabularies and `file` into an existing folder."""
        folder = Path(folder)
        for name in self._arrays():
            save_array(folder / f"{name}.npy", getattr(self, name))
        self.finish(folder, self.source_vocab, self.target_vocab, self.sizes)

    @classmethod
    def finish(
        cls, folder: Path, source_vocab: list[str], target_vocab: list[str], sizes: dict[str, int]
    ) -> None:
        """Write all but the arrays, into a folder that has them."""
        write_lines(folder / "source_vocab.txt", source_vocab)
        write_lines(folder / "target_vocab.txt", target_vocab)
        write_json(folder / cls.file, {"format": cls.format, **sizes})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Memory-map what `save` wrote."""
        folder = Path(folder)
        written = json.loads(read_text(folder / cls.file)).get("format")
        if written != cls.format:
            raise ReplituneError(
                f"unknown format of {cls.what}",
                file=folder / cls.file,
                found=str(written),
                expected=str(cls.format),
                fix="train again with this version",
            )
        return cls(
            read_lines(folder / "source_vocab.txt"),
            read_lines(folder / "target_vocab.txt"),
            **{name: load_array(folder / f"{name}.npy") for name in cls._arrays()},
        )


AnyTable = TypeVar("AnyTable", bound=SavedTable)


@dataclass(frozen=True)
class SavedModel(Generic[AnyTable]):
    """One system's model; a subclass adds the arrays that `build` computes.

    table: phrase table or grammar; lm: language model; layout: the features in use
    lm_words: (target words,) int32 the LM's id of each target word
    """

    OF_LM: ClassVar[tuple[str, ...]] = ()
    """Names of the subclass's arrays that depend on the language model alone."""

    what: ClassVar[str]
    """The kind of system, with an article."""
    Table: ClassVar[type[SavedTable]]
    Layout: ClassVar[type[GroupedLayout]]

    table: AnyTable
    lm: LanguageModel
    layout: GroupedLayout
    lm_words: NDArray[np.int32]

    @classmethod
    @abstractmethod
    def compute(cls, table: AnyTable, lm: LanguageModel, lm_words: NDArray[np.int32]) -> dict[str, NDArray]:
        """The subclass's own arrays, by name, except those of `compute_lm`."""

    @classmethod
    def compute_lm(cls, lm: LanguageModel) -> dict[str, NDArray]:
        """The arrays `OF_LM`."""
        return {}

    @classmethod
    def build(
        cls, table: AnyTable, lm: LanguageModel | None, features: tuple[str, ...] | None = None
    ) -> Self:
        """Join a table with a language model (None where `features` has no lm)."""
        layout = cls.Layout.from_groups(features)
        if "lm" not in layout.groups:
            lm = LanguageModel.uniform(table.target_vocab)
        elif lm is None:
            raise ReplituneError("the features include lm, but there is no language model")
        ids = lm.ids
        unknown = ids["<unk>"]
        lm_words = np.array([ids.get(word, unknown) for word in table.target_vocab], np.int32)
        return cls(table, lm, layout, lm_words, **cls.compute(table, lm, lm_words), **cls.compute_lm(lm))

    @cached_property
    def source_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.table.source_vocab)}

    @cached_property
    def target_ids(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.table.target_vocab)}

    @cached_property
    def lm_ids(self) -> dict[str, int]:
        """LM ids of words, without the reserved ones."""
        return {word: i for word, i in self.lm.ids.items() if word not in RESERVED}

    @property
    def unknown(self) -> int:
        return self.lm.words.index("<unk>")

    def targets(
        self,
        start: NDArray[np.int64],
        symbols: NDArray[np.int32],
        rows: NDArray[np.int64],
        copied: list[str],
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Target sides `rows` of the table, then copied words: (where each begins, words and gaps, the
        same with the LM's ids)."""
        lengths = start[rows + 1] - start[rows]
        own = symbols[stretches(start[rows], lengths)[1]]
        names = self.target_ids
        # A copied word in the target vocabulary has its id there, so that equal ids are equal strings.
        words = [names.get(word, len(names) + i) for i, word in enumerate(copied)]
        # A copied `<s>` is an unknown word to the LM.
        unknown = self.unknown
        lm_words = [self.lm_ids.get(word, unknown) for word in copied]
        of_lm = np.where(own < 0, own, np.asarray(self.lm_words)[own])
        return (
            starts(np.append(lengths, np.ones(len(copied), np.int64))),
            np.append(own, words).astype(np.int32),
            np.append(of_lm, lm_words).astype(np.int32),
        )

    @classmethod
    def _of_table(cls) -> list[str]:
        """Names of the arrays that depend on the table."""
        other = ("table", "lm", "layout", *cls.OF_LM)
        return [field.name for field in fields(cls) if field.name not in other]

    @classmethod
    def save_lm(cls, folder: str | Path) -> None:
        """Compute what decoding needs of a model's language model and write it to `folder`/decoder."""
        lm = LanguageModel.build(NgramModel.load(Path(folder) / "lm"))
        _save(Path(folder) / DECODER, cls.compute_lm(lm))
        lm.save(Path(folder) / DECODER)

    def save_queries(self, folder: str | Path) -> None:
        """Write what `build` computed from the table to `folder`/decoder, so that `load` only maps it."""
        _save(Path(folder) / DECODER, {name: getattr(self, name) for name in self._of_table()})

    @classmethod
    def load(
        cls, folder: str | Path, features: tuple[str, ...] | None = None, table: str | Path | None = None
    ) -> Self:
        """A trained model by memory-map: files are read only where the text needs them.

        `features`: groups to use, by default those of the model. `table`: the folder of a table for
        the text that is to be translated; None for the full one of the model. Arrays that are not in
        the `decoder/` of these folders are computed, which takes a few seconds.
        """
        folder = Path(folder)
        place = folder if table is None else Path(table)
        for path in (folder / "model.json", place / cls.Table.file):
            if not path.exists():
                raise ReplituneError(
                    f"is not a model of {cls.what}",
                    file=path.parent,
                    found=f"no {path.name}",
                    fix="train one with `tables: full`, or let an unfinished training end",
                )
        try:
            groups = cls._groups(folder, features)
            loaded: AnyTable = cls.Table.load(place)  # type: ignore[assignment]
            if "lm" not in groups:
                return cls.build(loaded, None, groups)
            if not (folder / DECODER / "lm.json").exists():
                return cls.build(loaded, LanguageModel.build(NgramModel.load(folder / "lm")), groups)
            lm = LanguageModel.load(folder / DECODER)
            if not (place / DECODER / "lm_words.npy").exists():
                return cls.build(loaded, lm, groups)
            places = dict.fromkeys(cls._of_table(), place) | dict.fromkeys(cls.OF_LM, folder)
            arrays = {name: load_array(at / DECODER / f"{name}.npy") for name, at in places.items()}
            return cls(loaded, lm, cls.Layout.from_groups(groups), **arrays)
        except (FileNotFoundError, ValueError, KeyError, EOFError) as error:
            raise damaged_model(folder, str(error).splitlines()[0]) from None

    @classmethod
    def _groups(cls, folder: Path, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
        """The feature groups to use, of those that the model was trained for."""
        names = json.loads(read_text(folder / "model.json"))["features"]
        trained = {cls.Layout.group_of(name) for name in names}
        own = tuple(group for group in cls.Layout.all_groups if group in trained)
        missing = [group for group in wanted or () if group not in own]
        if missing:
            raise ReplituneError(
                "the model has no scores for a feature group",
                file=folder,
                found=", ".join(missing),
                expected="some of " + ", ".join(own),
            )
        return own if wanted is None else tuple(wanted)


def _save(folder: Path, arrays: Mapping[str, NDArray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)
