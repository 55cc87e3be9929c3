"""What an experiment says, in a sentence for each test set, from the answers about its pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from replitune import __version__
from replitune.notes import Note, note, told
from replitune.results.answer import AHEAD, NOTHING_YET, Answer, one_run, tone
from replitune.results.findings import adjusted, significant
from replitune.results.numbers import score
from replitune.results.texts import mend, notes_of_texts
from replitune.results.wording import count, listed, plain, short

if TYPE_CHECKING:
    from replitune.results.result import Result

NAMED = 3
"""Up to so many systems are named; of more, only the number is given."""
MOST_GIVEN = 4
"""Remarks on the inputs that are told one by one; further ones are told together."""
CITE = f"replitune {__version__}, https://github.com/replitune/replitune (CITATION.cff)"


class Headline(msgspec.Struct, frozen=True):
    """What a test set, or a suite, says."""

    testset: str
    sentence: str
    tone: str
    """amber where a caveat changes the reading, else blue where a pair is decided, else grey."""
    decided: int
    """Number of decided pairs, by the first metric."""
    pairs: int


class Provenance(msgspec.Struct, frozen=True):
    """What the numbers were made from, and how."""

    version: str
    seed: int
    settings: dict[str, Any]
    """Settings of the tests."""
    inputs: dict[str, str]
    """sha256 by what was read: ``references of t``, ``A run-001 on t``, the file of a table of scores."""
    command: str = ""
    """The command that made it; empty in Python."""
    cite: str = CITE


class Summary(msgspec.Struct, frozen=True):
    """What an experiment says."""

    headlines: tuple[Headline, ...]
    trust: tuple[Note, ...]
    """Notes on the inputs and on all answers by the first metric of each test set: each kind once,
    gravest first."""
    counts: str
    next: str
    provenance: Provenance | None = None

    @property
    def sentence(self) -> str:
        return self.headlines[0].sentence if self.headlines else NOTHING

    @property
    def grave(self) -> tuple[Note, ...]:
        return tuple(note for note in self.trust if note.grave)

    @property
    def lines(self) -> list[str]:
        """The sentences, what changes how they are read, how much was compared, and what is next."""
        several = len(self.headlines) > 1
        return [
            *(f"{h.testset}: {h.sentence}" if several else h.sentence for h in self.headlines),
            *([] if self.headlines else [NOTHING]),
            *(f"! {note.sentence}" for note in self.grave if not note.kind.doubt),
            *([f"{self.counts}; next: {self.next}."] if self.counts else []),
        ]

    def __str__(self) -> str:
        return plain("\n".join(self.lines))

    def __repr__(self) -> str:
        return f"<Summary: {self.sentence}>"


NOTHING = "No pair of systems was tested: nothing to decide."


def summarise_answers(
    cells: Sequence[Result],
    provenance: Provenance | None = None,
    *,
    baseline: str | None = None,
    people: Sequence[str] = (),
    given: Sequence[str] = (),
    undirected: Sequence[str] = (),
    remarks: Sequence[Note] = (),
) -> Summary:
    """What the results of each (test set, metric) say together.

    `people`: metrics that are judgements. `given`: what looks wrong with the inputs. `undirected`: metrics
    for which nothing says whether more or less is better. `remarks`: what else readers must know.
    """
    testsets: dict[str, list[Result]] = {}
    for cell in cells:
        if cell.answers and not cell.neutral and cell.metric not in people:
            testsets.setdefault(cell.testset, []).append(cell)
    known = [
        *notes_of_texts(cells),
        *(note("given", text=text) for text in given),
        *(note("guessed", metric=name) for name in undirected),
        *_missing(cells),
        *_disagreements(cells),
        *remarks,
    ]
    leads = [own[0] for own in testsets.values()]
    alone = {cell.testset: [cell] for cell in reversed(cells) if len(cell.systems) == 1}
    doubts = [doubt for cell in cells for doubt in cell.doubts(cell.systems)]
    return Summary(
        headlines=tuple(
            _headline(name, own, baseline, known) for name, own in {**testsets, **alone}.items()
        ),
        trust=_merged([answer for lead in leads for answer in lead.answers], known),
        counts=_counts(leads),
        next=mend(doubts) if doubts else _next(leads, baseline),
        provenance=provenance,
    )


def _missing(cells: Sequence[Result]) -> list[Note]:
    """Replicas that could not be made."""
    places = dict.fromkeys(
        note("missing", run=replica, systems=[system], testset=cell.testset, reason=reason)
        for cell in cells
        for system, reasons in cell.missing.items()
        for replica, reason in reasons.items()
    )
    return [*places]


def _disagreements(cells: Sequence[Result]) -> list[Note]:
    """Tests whose p is on the other side of the level from that of the test that leads."""
    sides: dict[tuple[str, str], list[bool]] = {}
    for cell in cells:
        led = {frozenset((one.a, one.b)): one for one in cell.answers if one.p is not None}
        for test in cell.tests:
            one = led.get(frozenset((test.a, test.b)))
            if one is not None and test.method != one.method and adjusted(test) is not None:
                known = sides.setdefault((test.method, one.method), [])
                known.append(significant(test, cell.alpha) != ((one.p or 0.0) <= cell.alpha))
    return [
        note("disagree", other=other, lead=lead, n=sum(found), differences=count(len(found), "difference"))
        for (other, lead), found in sides.items()
        if any(found)
    ]


def _headline(
    testset: str, cells: Sequence[Result], baseline: str | None, given: Sequence[Note]
) -> Headline:
    first, *others = cells
    if doubts := [one.sentence for one in notes_of_texts(cells) if one.kind.doubt]:
        return Headline(testset, " ".join([f"{NOTHING_YET}.", *doubts]), "amber", 0, 0)
    if len(first.systems) == 1:
        return Headline(testset, _of_one(first), tone(False, given), 0, 0)
    answers = first.answers
    decided = sum(answer.decided for answer in answers)
    if len(answers) == 1:
        sentence = with_others(answers[0], [cell.answers[0] for cell in others if cell.answers])
    elif all(answer.state == "these-outputs" for answer in answers):
        sentence = _of_outputs(first)
    elif baseline is not None and all(baseline in (a.a, a.b) for a in answers):
        sentence = _against(first, baseline)
    else:
        sentence = _leader(first)
    colour = tone(decided > 0, _merged(answers, given))
    return Headline(testset, sentence, colour, decided, len(answers))


def _of_one(cell: Result) -> str:
    """What can be said of a single system."""
    ((name, system),) = cell.systems.items()
    text = f"{name} scored {score(system.avg, cell.decimals)} {cell.name}"
    if system.n > 1 and system.s_test is not None:
        spread = score(system.s_test, cell.decimals)
        text += (
            f" on average over {system.n} {cell.kind}s, which differ by a standard deviation of {spread}"
        )
    return f"{text}; there is no other system to compare it with."


MOST_WORDS = 30


def with_others(first: Answer, others: Sequence[Answer]) -> str:
    """The sentence by the first metric, and what other metrics say as far as there is room."""
    groups: dict[str, list[str]] = {}
    for other in others:
        if other.state in AHEAD:
            says = "also better" if other.ahead == first.ahead else f"{other.ahead} better"
            says = says if first.state in AHEAD else f"{other.ahead} better"
        elif other.state == "same":
            says = "the same within the margin"
        elif other.state == "these-outputs":
            says = "also ahead" if other.ahead == first.ahead else "the other way round"
        else:
            says = "not sure"
        groups.setdefault(says, []).append(other.unit)
    text = first.sentence
    for says, units in groups.items():
        longer = f"{text.removesuffix('.')}; {says} in {listed(units)}."
        if len(longer.split()) <= MOST_WORDS:
            text = longer
    return text


def _pairs_decided(answers: Sequence[Answer]) -> str:
    decided = sum(answer.decided for answer in answers)
    return f"{decided} of {count(len(answers), 'pair')} decided"


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= NAMED else f"{len(names)} systems"


def _of_outputs(cell: Result) -> str:
    best = cell.ranked[0]
    top = f"{best} scored highest" if cell.sign > 0 else f"{best} scored lowest, which is best"
    n = max(max(a.counts.runs_a, a.counts.runs_b) for a in cell.answers)
    why = "with one run each" if n == 1 else "by these outputs alone"
    value = f"{score(cell.systems[best].avg, cell.decimals)} {cell.name}"
    pairs = count(len(cell.answers), "pair")
    return f"{top}, {value}; {why} none of {pairs} is decided: another run may reverse it."


def _against(cell: Result, baseline: str) -> str:
    """The sentence about systems that are each compared with the baseline."""
    better = [a.ahead for a in cell.answers if a.state in AHEAD and a.ahead not in (None, baseline)]
    worse = [a.behind for a in cell.answers if a.state in AHEAD and a.ahead == baseline]
    of = len(cell.answers)
    if not better:
        text = f"None of {of} systems is surely better than {baseline} by {cell.name}"
    elif len(better) == of:
        text = f"All {of} systems are better than {baseline} by {cell.name}"
    else:
        verb = "is" if len(better) == 1 else "are"
        text = f"{len(better)} of {of} systems {verb} better than {baseline} by {cell.name}"
        if len(better) <= NAMED:
            text += f": {listed([str(name) for name in better])}"
    if worse:
        text += f"; {_named([str(name) for name in worse])} {'is' if len(worse) == 1 else 'are'} worse"
    return f"{text}."


def _leader(cell: Result) -> str:
    """``TOTAL leads by BLEU, ahead of all but R2; 16 of 21 pairs decided.``"""
    best, others = cell.ranked[0], cell.ranked[1:]
    beaten = {a.behind for a in cell.answers if a.state in AHEAD and a.ahead == best}
    known = [name for name in others if any({best, name} == {a.a, a.b} for a in cell.answers)]
    left = [name for name in known if name not in beaten]
    pairs = _pairs_decided(cell.answers)
    if not left:
        text = f"{best} leads by {cell.name}, ahead of all {len(known)} others"
    elif beaten and len(left) <= NAMED:
        text = f"{best} leads by {cell.name}, ahead of all but {listed(left)}"
    elif beaten:
        text = f"{best} scored best by {cell.name}, surely ahead of {len(beaten)} of {len(known)} others"
    else:
        text = f"{best} scored best by {cell.name}, but is surely ahead of none"
    return f"{text}; {pairs}."


def _merged(answers: Sequence[Answer], given: Sequence[Note]) -> tuple[Note, ...]:
    """Each kind of note once, with the first place where it is found and the number of others."""
    several = len(answers) > 1
    kinds: dict[tuple[str, int], dict[Note, str]] = {}
    of_code: Counter[str] = Counter()
    for one in given:  # each is a kind of its own, up to some number
        of_code[one.code] += 1
        kinds.setdefault((one.code, min(of_code[one.code], MOST_GIVEN)), {})[one] = ""
    for answer in answers:
        for one in answer.trust:
            if one.code in of_code:
                continue  # it was told of all systems together
            where = f" ({answer.a} and {answer.b})" if several and not one.systems else ""
            kinds.setdefault((one.code, 0), {}).setdefault(one, where)
    merged = []
    for (code, _), places in kinds.items():
        (first, where), rest = next(iter(places.items())), len(places) - 1
        if code == "one-run" and several:
            lonely = {name for a in answers for name, n in _runs(a) if n == 1}
            merged.append(one_run(sorted(lonely), _named(sorted(lonely)), short(answers[0].counts.kind)))
        else:
            more = f"; {count(rest, 'more such note')}" if rest else ""
            alone = {"run": None, "systems": ()} if rest else {}
            merged.append(msgspec.structs.replace(first, text=f"{first.text}{where}{more}", **alone))
    return told(merged)


def _runs(answer: Answer) -> tuple[tuple[str, int], ...]:
    return (answer.a, answer.counts.runs_a), (answer.b, answer.counts.runs_b)


def _counts(cells: Sequence[Result]) -> str:
    """``2 systems, 4 runs each, 300 segments in 12 documents``"""
    texts = []
    for cell in cells:
        counts = cell.answers[0].counts
        runs = sorted({system.n for system in cell.systems.values()})
        each = f"{runs[0]} to {runs[-1]} {counts.kind}s"
        if len(runs) == 1 or (counts.samples_a and len(cell.systems) == 2):
            each = counts.runs
        elif counts.samples_a:
            each = f"{runs[0]} to {runs[-1]} samples"
        segments = max(answer.counts.segments for answer in cell.answers)
        documents = max(answer.counts.documents for answer in cell.answers)
        size = count(segments, "segment") if segments > 1 else f"one score for each {cell.kind}"
        size += f" in {count(documents, 'document')}" if documents < segments else ""
        text = f"{count(len(cell.systems), 'system')}, {each}, {size}"
        texts.append(f"{cell.testset}: {text}" if len(cells) > 1 else text)
    return "; ".join(texts)


def _next(cells: Sequence[Result], baseline: str | None) -> str:
    """What is next for the open pair that matters most: best system or baseline, and its nearest rival."""
    for cell in cells:
        anchor = baseline if baseline in cell.systems else cell.ranked[0]
        open_ = [a for a in cell.answers if not a.decided]
        about = [a for a in open_ if anchor in (a.a, a.b)] or open_
        if about:
            nearest = min(about, key=lambda a: cell.ranked.index(a.a) + cell.ranked.index(a.b))
            if len(cell.answers) == 1 or nearest.state == "these-outputs":
                return nearest.next
            return f"for {nearest.a} and {nearest.b}, {nearest.next}"
    return cells[0].answers[0].next if cells else ""
