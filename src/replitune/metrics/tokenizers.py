"""The tokenisers of sacrebleu, applied to many lines at once.

The definitions are sacrebleu's. ``none``, ``char`` and ``13a`` are computed here, because one
call for a block of lines costs a fraction of a call per line; every other name calls sacrebleu's
own class. A property test over arbitrary Unicode checks that the tokens are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from replitune.errors import ReplituneError
from replitune.settings import about, read

Name = Literal[
    "13a",
    "char",
    "flores101",
    "flores200",
    "intl",
    "ja-mecab",
    "ko-mecab",
    "none",
    "spBLEU-1K",
    "spm",
    "zh",
]
Tokenize = Annotated[Name, about("Tokeniser, by sacrebleu's name; `none` splits at white space.")]
_EXTRAS = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}
_SENTENCEPIECE = ("flores101", "flores200", "spBLEU-1K", "spm")

_BLOCK = 4096  # lines tokenised in one string: bounds memory, and long enough to amortise calls

_Lines = Callable[[Sequence[str]], list[list[str]]]


class Tokenizer:
    """Lines to lists of tokens, exactly as sacrebleu preprocesses a segment:
    lower-case (when asked), strip white space on the right, tokenise, split at white space.

    A package or model that the tokeniser needs is only looked for when the tokeniser is first
    used, or asked for its signature: naming a metric, or reading its statistics, needs neither.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return get_tokenizer, (self.name,)

    def __call__(self, lines: Sequence[str], lowercase: bool = False) -> list[list[str]]:
        if lowercase:
            lines = [line.lower() for line in lines]
        if len(lines) <= _BLOCK:
            return self._tokenize(lines)
        tokens: list[list[str]] = []
        for start in range(0, len(lines), _BLOCK):
            tokens += self._tokenize(lines[start : start + _BLOCK])
        return tokens

    @cached_property
    def signature(self) -> str:
        return self.name if self.name in _OURS else str(self._delegate.signature())

    @cached_property
    def _delegate(self) -> Any:
        return _sacrebleu_tokenizer(self.name)

    @cached_property
    def _tokenize(self) -> _Lines:
        if self.name in _OURS:
            return _OURS[self.name]
        tokenize = self._delegate
        return lambda lines: [tokenize(line.rstrip()).split() for line in lines]


def get_tokenizer(name: str) -> Tokenizer:
    """The tokeniser called `name`."""
    return Tokenizer(read(Name, name, "tokenize"))


def _sacrebleu_tokenizer(name: str) -> Any:
    if name in _SENTENCEPIECE:
        _require_sentencepiece_model(name)
    try:
        return import_module("sacrebleu.metrics.bleu").BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError):
        raise ReplituneError(
            f"tokeniser {name!r} needs a package that is not installed",
            fix=f'pip install "{_EXTRAS.get(name, "sacrebleu")}"',
        ) from None


def _require_sentencepiece_model(name: str) -> None:
    """Report a missing model; sacrebleu would start a download in the middle of scoring."""
    try:
        import_module("sentencepiece")
    except ImportError:
        raise ReplituneError(
            f"tokeniser {name!r} needs a package that is not installed", fix="pip install sentencepiece"
        ) from None
    spm = import_module("sacrebleu.tokenizers.tokenizer_spm")
    url = spm.SPM_MODELS[name]["url"]
    model = Path(spm.SACREBLEU_DIR) / "models" / Path(url).name
    if not model.exists():
        raise ReplituneError(
            f"the SentencePiece model of tokeniser {name!r} is not on this machine",
            file=model,
            fix=f"fetch it once, with network access: python -c "
            f"\"import sacrebleu; sacrebleu.BLEU(tokenize='{name}')\"",
        )


# --- mteval-v13a -------------------------------------------------------------------------
#
# sacrebleu applies, to each line padded with one space on either side,
#   1  ([\{-\~\[-\` -\&\(-\+\:-\@\/])  ->  ' \1 '      symbols (and the space)
#   2  ([^0-9])([\.,])                 ->  '\1 \2 '
#   3  ([\.,])([^0-9])                 ->  ' \1 \2'
#   4  ([0-9])(-)                      ->  '\1 \2 '
# In rules 2 and 3 a space is only a neighbour, so the number of spaces does not matter and rule 1
# may leave them out. A single full stop or comma is split off by 2 and 3 unless both its
# neighbours are digits; in a run of several the rules consume each other's characters, so runs
# are handed to the rules themselves. Rule 4 touches no other rule's characters. No rule looks
# further than one character, so lines joined with spaces around LF do not interact.

_SYMBOLS = '{|}~[\\]^_`!"#$%&()*+:;<=>?@/'
# A stop that is in no run and not between two digits. Patterns start with a literal, and look
# behind only after it: the search then runs at the speed of memchr.
_FULL_STOP = re.compile(r"\.(?![.,])(?<![.,]\.)(?:(?<![0-9]\.)|(?![0-9]))")
_COMMA = re.compile(r",(?![.,])(?<![.,],)(?:(?<![0-9],)|(?![0-9]))")
_RUN = re.compile(r"[.,][.,]+")
_DASH = re.compile(r"-(?<=[0-9]-)")
_RULE_2 = re.compile(r"([^0-9])([.,])")
_RULE_3 = re.compile(r"([.,])([^0-9])")


@lru_cache(maxsize=1024)
def _split_run(left: str, run: str, right: str) -> str:
    """`run` after rules 2 and 3, which are applied with its neighbours around it."""
    text = _RULE_3.sub(r" \1 \2", _RULE_2.sub(r"\1 \2 ", left + run + right))
    return text[1:-1]


def _run(match: re.Match[str]) -> str:
    text, start, end = match.string, match.start(), match.end()
    # All that matters of a neighbour is whether it is a digit: fewer distinct keys in the cache.
    left = "0" if text[start - 1] in "0123456789" else " "
    right = "0" if text[end] in "0123456789" else " "
    return _split_run(left, match.group(), right)


def _tokenize_13a(lines: Sequence[str]) -> list[list[str]]:
    if not lines:
        return []
    text = " \n ".join(lines)
    if text.count("\n") != len(lines) - 1:  # a segment that itself contains a line feed
        lines = [
            line.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
            if "\n" in line
            else line
            for line in lines
        ]
        text = " \n ".join(lines)
    text = f" {text} ".replace("<skipped>", "")
    if "&" in text:
        for entity, symbol in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
            text = text.replace(entity, symbol)
    for symbol in _SYMBOLS:
        if symbol in text:
            text = text.replace(symbol, f" {symbol} ")
    text = _COMMA.sub(" , ", _FULL_STOP.sub(" . ", text))
    if any(pair in text for pair in ("..", ".,", ",.", ",,")):
        text = _RUN.sub(_run, text)
    if "-" in text:
        text = _DASH.sub(" - ", text)
    return [line.split() for line in text.split("\n")]


def _tokenize_none(lines: Sequence[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def _tokenize_char(lines: Sequence[str]) -> list[list[str]]:
    return [list("".join(line.split())) for line in lines]


_OURS: dict[str, _Lines] = {"13a": _tokenize_13a, "char": _tokenize_char, "none": _tokenize_none}
