"""METEOR 1.5 (Denkowski and Lavie 2014), aligned by its own program.

The statistics are METEOR's, additive whole numbers: lengths, function words, the matched
content and function words of each side for each matching module, and chunks. As METEOR
aggregates them, a segment that matches completely in one chunk has no fragmentation, so it
counts 0 chunks here. The score (0..100, a hundred times what the program prints) of sums is

    F = P R / ((1 - alpha) R + alpha P),   score = F (1 - gamma (chunks / matches) ^ beta)

with P and R weighted by module and by delta (content words) and 1 - delta (function words).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import power, product
from replitune.errors import ReplituneError
from replitune.metrics.base import Array, Metric
from replitune.metrics.length import check_references
from replitune.metrics.meteor_jar import (
    Workers,
    find_jar,
    find_java,
    find_paraphrases,
    request,
    threads_allowed,
)
from replitune.settings import about, check_arguments

Language = Literal[
    "en",
    "cz",
    "cs",
    "de",
    "es",
    "fr",
    "ru",
    "da",
    "fi",
    "hu",
    "it",
    "nl",
    "no",
    "pt",
    "ro",
    "se",
    "sv",
    "tr",
    "other",
    "xx",
]

MODULES_REPORTED = 4  # the program always writes columns for four


@dataclass(frozen=True)
class Parameters:
    """METEOR 1.5's tuned parameters for a language (its default task)."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    modules: tuple[tuple[str, float], ...]
    """Modules in METEOR's order, with the weight of a match."""


def _stemmed(stem: float, paraphrase: float) -> tuple[tuple[str, float], ...]:
    return (("exact", 1.0), ("stem", stem), ("paraphrase", paraphrase))


_INDEPENDENT = Parameters(0.75, 1.40, 0.70, 0.50, (("exact", 1.0), ("stem", 0.5)))

TUNED = {
    "en": Parameters(
        0.85, 0.20, 0.60, 0.75, (("exact", 1.0), ("stem", 0.6), ("synonym", 0.8), ("paraphrase", 0.6))
    ),
    "cz": Parameters(0.95, 0.20, 0.60, 0.80, (("exact", 1.0), ("paraphrase", 0.4))),
    "de": Parameters(0.95, 1.00, 0.55, 0.55, _stemmed(0.8, 0.2)),
    "es": Parameters(0.65, 1.30, 0.50, 0.80, _stemmed(0.8, 0.6)),
    "fr": Parameters(0.90, 1.40, 0.60, 0.65, _stemmed(0.2, 0.4)),
    "ru": Parameters(0.75, 1.40, 0.70, 0.50, _stemmed(0.5, 0.5)),
}
"""Fully supported languages; only these have METEOR's normalisation."""

LANGUAGES = {
    **TUNED,
    **dict.fromkeys(("da", "fi", "hu", "it", "nl", "no", "pt", "ro", "se", "tr"), _INDEPENDENT),
    "other": Parameters(0.75, 1.40, 0.70, 0.50, (("exact", 1.0),)),
}
_ALIASES: dict[str, Language] = {"cs": "cz", "sv": "se", "xx": "other"}


@dataclass(frozen=True)
class ReferencesAndWorkers:
    references: list[tuple[str, ...]]
    """R lines of each segment."""
    workers: Workers


class Meteor(Metric):
    """METEOR 1.5 with its default task's parameters."""

    name = "meteor"
    title = "METEOR"
    breadth = 1.5
    has_kernels = False
    programs_mb = 400

    @check_arguments
    def __init__(
        self,
        language: Annotated[
            Language,
            about(
                "en, cz (cs), de, es, fr, ru; da, fi, hu, it, nl, no, pt, ro, se (sv), tr with "
                "language-independent parameters; other (xx): exact matches only."
            ),
        ] = "en",
        normalize: Annotated[
            bool,
            about(
                "METEOR's -norm, to tokenise and lower-case raw text; without it, words are what white "
                "space separates, and case counts."
            ),
        ] = False,
        jar: Annotated[str | None, about("The program, if not pycocoevalcap's.")] = None,
        memory: Annotated[str, about("Heap of one worker (Java's -Xmx).")] = "2G",
        workers: Annotated[
            int | None, about("Processes at a time; by default as many as threads are allowed.", ge=1)
        ] = None,
        timeout: Annotated[float, about("The most seconds that 200 segments may take.", gt=0)] = 600,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        language = _ALIASES.get(language, language)
        if normalize and language not in TUNED:
            raise ReplituneError(
                f"METEOR has no normalisation for {language}",
                expected=f"normalize=false, or one of {', '.join(TUNED)}",
                fix="tokenise and lower-case hypotheses and references yourself",
            )
        self.language = language
        self.normalize = normalize
        self.jar = jar
        self.memory = memory
        self.workers = workers
        self.timeout = timeout
        self.parameters = LANGUAGES[language]
        self.statistic_names = (
            "hyp_len",
            "ref_len",
            "hyp_function",
            "ref_function",
            *(
                f"{module}_{side}_{kind}"
                for module, _ in self.parameters.modules
                for kind in ("content", "function")
                for side in ("hyp", "ref")
            ),
            "chunks",
        )

    @property
    def ignores(self) -> Collection[str]:
        return ("case", "spaces") if self.normalize else ()

    def signature(self) -> str:
        return f"lang:{self.language}|norm:{'yes' if self.normalize else 'no'}|meteor:1.5"

    def prepare(self, refs: Sequence[Sequence[str]]) -> ReferencesAndWorkers:
        check_references(refs)
        java, jar = find_java(), find_jar(self.jar)
        if any(module == "paraphrase" for module, _ in self.parameters.modules):
            find_paraphrases(jar, self.language)
        command = [java, f"-Xmx{self.memory}", "-XX:+UseSerialGC", "-jar", str(jar)]
        command += ["-", "-", "-stdio", "-l", self.language]
        if self.normalize:
            command.append("-norm")
        limit = threads_allowed() if self.workers is None else self.workers
        references = list(zip(*refs, strict=True))
        return ReferencesAndWorkers(references, Workers(command, limit, self.timeout))

    def segment_statistics(
        self, hyps: Sequence[str], segments: NDArray[np.int64], prepared: ReferencesAndWorkers
    ) -> NDArray[np.int64]:
        lines = [
            request(hyp, prepared.references[segment], self.normalize)
            for hyp, segment in zip(hyps, np.asarray(segments).tolist(), strict=True)
        ]
        return self._counts(prepared.workers.answer(lines))

    def _counts(self, answers: Sequence[str]) -> NDArray[np.int64]:
        """Statistics (J, K) from the program's answers."""
        raw = np.zeros((len(answers), 4 + 4 * MODULES_REPORTED + 3), dtype=np.int64)
        for row, answer in zip(raw, answers, strict=True):
            try:
                row[:] = [float(value) for value in answer.split()]
            except ValueError:
                raise ReplituneError(
                    "METEOR's answer is not a line of statistics",
                    found=answer.strip(),
                    expected=f"{row.size} numbers",
                    fix="check that the jar is METEOR 1.5",
                ) from None
        lengths, chunks, matches = raw[:, :2], raw[:, -3], raw[:, -2:]
        whole = (matches == lengths).all(axis=1) & (chunks == 1)
        used = 4 + 4 * len(self.parameters.modules)
        return np.concatenate([raw[:, :used], np.where(whole, 0, chunks)[:, None]], axis=1)

    @cached_property
    def _linear(self) -> NDArray[np.float64]:
        """(K, 6): the weights of the statistics in six sums: the weighted matches of each side, the
        weighted lengths of each side, the plain matches (mean of the sides), and the chunks."""
        delta = self.parameters.delta
        rows = np.zeros((len(self.statistic_names), 6))
        for side in range(2):
            rows[side, 2 + side] = delta
            rows[2 + side, 2 + side] = 1 - 2 * delta
        for module, (_, weight) in enumerate(self.parameters.modules):
            for kind, share in enumerate((delta, 1 - delta)):
                for side in range(2):
                    row = 4 + 4 * module + 2 * kind + side
                    rows[row, side] = weight * share
                    rows[row, 4] = 0.5
        rows[-1, 5] = 1
        return rows

    def score(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        f_mean, penalty, *_ = self._parts(sums)
        return 100 * np.maximum(f_mean * (1 - penalty), 0)

    def gradient(self, sums: NDArray[Any]) -> NDArray[np.float64]:
        f_mean, penalty, by_part, frag, matched = self._parts(sums)
        beta = self.parameters.beta
        open_ = penalty < 1
        keep = np.where(open_, 1 - penalty, 0.0)
        parts = np.zeros((*f_mean.shape, 6))
        parts[..., :4] = by_part * keep[..., None]
        # d penalty / d frag is infinite where nothing is fragmented and beta < 1: take 0
        slope = np.divide(beta * penalty, frag, out=np.zeros_like(frag), where=(frag > 0) & open_)
        one_by_matches = np.divide(1.0, matched, out=np.zeros_like(matched), where=matched > 0)
        parts[..., 4] = f_mean * slope * frag * one_by_matches
        parts[..., 5] = -f_mean * slope * one_by_matches
        gradient: NDArray[np.float64] = 100 * product(parts, self._linear.T)
        return gradient

    def _parts(self, sums: NDArray[Any]) -> tuple[Array, Array, Array, Array, Array]:
        """F (...), penalty (...), slopes of F by the weighted matches and lengths (..., 4),
        fragmentation (...) and matches (...)."""
        parameters = self.parameters
        linear = product(np.asarray(sums, dtype=np.float64), self._linear)
        hyp_match, ref_match, hyp_len, ref_len, matched, chunks = np.moveaxis(linear, -1, 0)
        # F = 1 / ((1 - alpha) / P + alpha / R), with P = hyp_match / hyp_len and R likewise
        matches = (hyp_match > 0) & (ref_match > 0)
        zero = np.zeros_like(matched)
        one_by_hyp = np.divide(1.0, hyp_match, out=zero.copy(), where=matches)
        one_by_ref = np.divide(1.0, ref_match, out=zero.copy(), where=matches)
        hyp_share = (1 - parameters.alpha) * one_by_hyp
        ref_share = parameters.alpha * one_by_ref
        below = hyp_share * hyp_len + ref_share * ref_len
        f_mean = np.divide(1.0, below, out=zero.copy(), where=below > 0)
        square = f_mean**2
        by_part = np.stack(
            [
                square * hyp_share * hyp_len * one_by_hyp,
                square * ref_share * ref_len * one_by_ref,
                -square * hyp_share,
                -square * ref_share,
            ],
            axis=-1,
        )
        frag = np.divide(chunks, matched, out=zero.copy(), where=matched > 0)
        return f_mean, parameters.gamma * power(frag, parameters.beta), by_part, frag, matched
