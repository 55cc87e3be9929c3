"""Test sets by the name that sacrebleu gives them: `sacrebleu:wmt14/de-en`.

sacrebleu fetches and unpacks them into its own cache (`$SACREBLEU`, else `~/.sacrebleu`); what
is there already needs no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replitune.corpus.content import FileContent, require_names
from replitune.corpus.settings import SACREBLEU
from replitune.errors import ReplituneError, nearest
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
