"""What a reader of a number has to know: notes, and the table of their kinds.

How grave a note is, its words, and whether a gate refuses is declared in `NOTES` and nowhere else. A
note of another package may have a code of its own, and then is a caveat.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

Gravity = Literal["grave", "caveat", "quiet"]
"""Grave notes change how an answer is read; quiet ones do not make it less certain."""


class Gate(NamedTuple):
    """What a program refuses to decide by, unless it is allowed."""

    name: str
    """As in ``--allow-two-runs``."""
    when: str


class Kind(NamedTuple):
    """What holds for all notes with one code."""

    template: str = ""
    """The words, with the names of values. Where it begins with a value, a sentence does not begin with
    a capital letter."""
    gravity: Gravity = "caveat"
    gate: Gate | None = None
    """Whether a gate refuses."""
    no_p: bool = False
    """It says why there is no p, if there is none."""
    unfit: str = ""
    """Why a test that speaks of new runs does not fit these data."""
    next: str = ""
    """What to do about that."""
    doubt: bool = False
    """Nothing can be said about the systems before it is mended: no gate lets it pass."""


grave, quiet = partial(Kind, gravity="grave"), partial(Kind, gravity="quiet")

WIDE = (
    "the margin of {margin:g} is wide: it exceeds half the range of all {kind}s and the standard deviation "
    "from the choice of segments ({usual:.2g})"
)

NOTES: dict[str, Kind] = {
    # texts that were mixed up. A poor output still resembles its own reference more than others', and its
    # words are words of the references' language; if not, every verdict about it would be worthless
    "copied-references": grave("the outputs of {whose} are the references", doubt=True),
    "copied-source": grave("the outputs of {whose} are the source text", doubt=True),
    "blank": grave("most lines of the outputs of {whose} are blank", doubt=True),
    "other-language": grave(
        "the words of the outputs of {whose} are not of the references' language, but perhaps of the "
        "source's",
        doubt=True,
    ),
    "shifted": grave(
        "the outputs of {whose} resemble the references of neighbouring lines more than their own: a line "
        "may be lost or added",
        doubt=True,
    ),
    "other-text": grave(
        "the outputs of {whose} resemble their own references no more than those of other segments: are "
        "they of another test set?",
        doubt=True,
    ),
    "one-run": grave("one {kind} of {whose}: {luck} cannot be told apart from a difference"),
    "only-outputs": grave("the test looks at these outputs alone: other {kind}s may score differently"),
    "run-effect": grave(
        "whole samples of {whose} differ from each other (F test p = {p:.2g}), as runs do: use `design: "
        "runs`",
        unfit="samples differ as whole runs do",
        next="compare them with `design: runs`",
    ),
    "identical-runs": grave(
        "all {n} {kind}s of {system} are identical in every segment",
        unfit="the {kind}s of {system} are identical, like copies of one",
        next="other {kind}s of {system}, or `crossed` with `scope: segments`",
    ),
    "unstable-run": grave(
        "{run} of {system} is {sd:.1f} robust standard deviations from the other {kind}s; a system whose "
        "bad {kind}s were not drawn looks better than it is{without}",
        gate=Gate(
            "odd-runs",
            "one run is so far from the others that the runs of its system are not normally distributed",
        ),
    ),
    "references-alike": grave("{here} of {lines} lines of two references are the same: are they outputs?"),
    "copied": grave("{other} and {system} have identical outputs ({runs}): is one file given twice?"),
    "copied-runs": grave("the outputs of {whose} are identical: is one file given twice?"),
    "cut": grave(
        "the last lines of the outputs of {whose} are blank, where the references have text: was decoding "
        "cut off?"
    ),
    "empty": grave("empty lines: {here} of {lines} outputs of {whose}"),
    "tokenised": grave(
        "the outputs of {whose} look tokenised and the references do not ({here} and {there} of "
        "punctuation stands alone): detokenise the outputs{minded}"
    ),
    "tokenised-references": grave(
        "the references look tokenised and the outputs of {whose} do not ({here} and {there} of "
        "punctuation stands alone): use references that are not tokenised{minded}"
    ),
    "tokenised-twice": grave(
        "the texts look tokenised ({here} of the references' punctuation stands alone), and {metrics} "
        "tokenises them again (13a): {fitting} takes them as they are"
    ),
    "lower-cased": grave(
        "the outputs of {whose} are lower-cased and the references are not ({there} of their lines have "
        "capitals): restore the case{or_fitting}{minded}"
    ),
    "lower-cased-references": grave(
        "the references are lower-cased and the outputs of {whose} are not ({there} of their lines have "
        "capitals): restore the case{or_fitting}{minded}"
    ),
    "marks": grave(
        "the outputs of {whose} contain {what} (such as {mark}, in {here} lines; the references in "
        "{there}): undo them{minded}"
    ),
    "marks-references": grave(
        "the references contain {what} (such as {mark}, in {here} lines; the outputs of {whose} in "
        "{there}): undo them{minded}"
    ),
    "one-run-decides": grave(
        "one {kind} decides: if one {kind} is left out, uncorrected p is {low} to {high}"
    ),
    "not-valid": grave("`compat: {compat}` reproduces {whose} numbers and is not a {test}"),
    "selection-differs": grave(
        "the judged {unit}s are taken as chosen at random, but by the metrics they were not (p = {p:.2g})"
    ),
    "few-judged": grave("judgements of {number:.0f} segments: {what}", no_p=True),
    "documents-ignored": grave(
        "the segments of {documents} are taken as independent{cost}",
        gate=Gate(
            "ignored-documents", "segments are taken as independent though their documents are known"
        ),
    ),
    "this-text-alone": grave(
        "only {units}: too few for an answer about new text, so it is about this text alone",
        gate=Gate(
            "small-text",
            "the test set is too small to stand for new text, so that the answer is about this text alone "
            "(as with --scope runs)",
        ),
    ),
    "few-documents": grave("only {units}: {what}", no_p=True),
    "two-replicas": grave(
        "two {kind}s{where}: p is approximate (.05 can be .06 to .07)",
        gate=Gate("two-runs", "a system, or a tuner's part of it, has two runs"),
    ),
    "few-contributing": grave(
        "most of the difference comes from a few {unit}s (effectively {number:.0f}): {what}", no_p=True
    ),
    "other-raters": grave("{system} were mostly judged by different raters, whose scales may differ"),
    "rater-effects": grave("raters disagree about {system} (F test p = {p:.2g}): others may, too"),
    "one-judged-run": grave(
        "of {system}, {what} was judged; how other runs differ beyond the metrics is not in the interval"
    ),
    "shared-seeds": grave(
        "the {kind}s of the same number vary together (correlation {r:.2f}, one-sided p = {p:.2g}): if "
        "they share a seed, `paired_replicas` makes use of it"
    ),
    "looked-before": grave(
        "settings fixed before the first look were changed after {looks}: p no longer keeps its level "
        "exactly"
    ),
    "wide-margin": grave(WIDE),
    "guessed": grave(
        "it is not known whether higher or lower {metric} is better; higher is assumed (--lower-is-better "
        "{metric})"
    ),
    "missing": grave(
        "{system} has no {run} on {testset} ({reason}); runs that fail may differ from the others"
    ),
    "given": grave("{text}"),
    "out-of-reach": grave("cannot reach {level}: its smallest p is {p:.3g}"),
    "one-replica": Kind("{runs}: {what}", no_p=True),
    "these-runs": Kind("says nothing about other runs"),
    "few-segments": Kind("only {units}: {what}", no_p=True),
    "one-unit": Kind("one {unit}: {what}", no_p=True),
    "few-replicas": Kind(
        "{n} runs: a bootstrap of so few rejects too often, and its interval is too narrow (level about "
        "{level} at a nominal .05, n = {at})"
    ),
    "zero-variance": Kind("zero variance", no_p=True),
    "segments-dropped": Kind("{segments} without a score left out"),
    "judged-one-only": Kind("{n} segments of which one system was judged are left out"),
    "selection-unknown": Kind("the judged {unit}s are taken as chosen at random"),
    "not-smooth": Kind("{kink} ({system}); the test is linear there, so compare with multi-bootstrap"),
    "not-paired": Kind("runs cannot be paired: {n_a} of {a}, {n_b} of {b}; use {instead}", no_p=True),
    "margin": Kind(WIDE),
    "margin-out-of-reach": Kind("the margin {margin:g} is less than this design could show"),
    "noise-ratio-contradicted": Kind(
        "the runs contradict the assumption that no system's runs vary more than {ratio:g} times as much "
        "as another's: tested without it"
    ),
    "no-run-effect": Kind(
        "no effect of runs in the model: outputs of one run are taken as independent; .05 is really .17 "
        "where the means of runs vary twice as much as that implies, .33 at four times{here}"
    ),
    "no-interaction": Kind(
        "the systems differ more on some segments than on others (F test p {p}), and the model has no "
        "term for it: for new segments p is too small; `crossed` has one"
    ),
    "batches-differ": Kind("{text}"),
    "looks": Kind(
        "looks at {metric} on {testset} decided how many runs there are: other p-values are not adjusted "
        "for looks, and differences settled early are overestimated"
    ),
    "no-more-runs": Kind("{system} stays at {most}, since there are no more"),
    "unrepeatable": Kind(
        "{replica} was trained with several threads: training it again would give other bytes"
    ),
    "disagree": Kind(
        "{other} and {lead} disagree about {n} of {differences}: they ask different questions"
    ),
    "no-clusters": Kind("no clusters: {why}"),
    "no-dev": Kind("no scores on the dev set"),
    "no-spread": Kind("a distribution without spread has no density"),
    "no-crossing": Kind("the fit does not cross {alpha:g}: {side} pair is significant"),
    "open": Kind("the interval is open where resampled fits do not cross"),
    "looks-settled": quiet("settled with {n_a} and {n_b} of at most {most} runs"),
    "looks-futile": quiet("more runs than {n} (at most {most}) are unlikely ({percent:g}%) to settle it"),
    "looks-open": quiet("not settled {how}"),
    "paired": quiet("runs paired {how}"),
    "welch": quiet("Welch's t, since n differs"),
    "not-bca": quiet("percentile interval, not BCa: {reason}"),
    "every-pair": quiet(
        "p of {pairs} pairs of runs: median {median:.4f}, 2.5% {low:.4f}, 97.5% {high:.4f}; p is twice "
        "the median"
    ),
    "no-gradient": quiet("no gradient: jackknife pseudo-values"),
    "pooled-groups": quiet("all groups are pooled{why}"),
    "noise-ratio": quiet(
        "assumes that no system's runs vary more than {ratio:g} times as much as another's (standard "
        "deviation); run variances shrunk over {number} systems"
    ),
    "control-variates": quiet(
        "{n} of {segments} segments judged; with metrics worth {worth:.2f} times as many ({slopes})"
    ),
    "scope": quiet("this test set and {n} runs only"),
}
"""All kinds of notes, by code, in the order in which they are told: the gravest first."""

FOREIGN = Kind()
"""Notes of other packages with codes of their own."""

_PLACE = {code: place for place, code in enumerate(NOTES)}


class Note(msgspec.Struct, frozen=True):
    """A remark that a reader of a number has to know."""

    code: str
    """Its kind, for programs: ``few-replicas``, ``out-of-reach``. Texts may change, codes not."""
    text: str
    run: str | None = None
    """The run that it is about, if there is one."""
    systems: tuple[str, ...] = ()
    """The systems that it is about; empty if it is about the whole row."""

    @property
    def kind(self) -> Kind:
        return NOTES.get(self.code, FOREIGN)

    @property
    def grave(self) -> bool:
        """Whether it changes how an answer is read."""
        return self.kind.gravity == "grave"

    def words(self, template: str, kind: str = "run") -> str:
        """Words about what this note is about; kind: what a run is called."""
        return template.format(system=" and ".join(self.systems), run=self.run, kind=kind)

    @property
    def sentence(self) -> str:
        begins = self.text[:1] if self.kind.template[:1] == "{" else self.text[:1].upper()
        ends = "" if self.text[-1:] in (".", "?", "!") else "."
        return f"{begins}{self.text[1:]}{ends}"


def note(code: str, *, run: str | None = None, systems: Iterable[str] = (), **values: Any) -> Note:
    """A note of a declared kind; its words are made of the values. `kind`: what a run is called."""
    about = tuple(systems)
    words = {"run": run, "system": " and ".join(about), "kind": "run", **values}
    return Note(code, NOTES[code].template.format(**words), run, about)


def without_none(*notes: Note | None) -> tuple[Note, ...]:
    """The notes that are not None."""
    return tuple(note for note in notes if note is not None)


def note_text(notes: Iterable[Note]) -> str | None:
    """All texts joined, as in rows of files; None without notes."""
    return "; ".join(note.text for note in notes) or None


def told(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes that are not quiet, each once, the gravest first."""
    loud = dict.fromkeys(note for note in notes if note.kind.gravity != "quiet")
    return tuple(sorted(loud, key=lambda note: _PLACE.get(note.code, len(_PLACE))))
