"""What a reader must know before relying on the tables, each warning once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replitune.report.material import Material
from replitune.results.answer import LOOKS
from replitune.results.findings import adjusted
from replitune.results.numbers import p_equation
from replitune.results.result import Result
from replitune.results.wording import count, listed
from replitune.significance.base import Note

FEW_REPLICAS = 3
"""Clark et al. (2011) recommend at least this many."""


@dataclass(frozen=True)
class Warning:
    """One kind of trouble and every place that has it."""

    title: str
    text: str
    places: tuple[str, ...] = ()


def warnings(material: Material) -> list[Warning]:
    """Grouped by kind, most serious first."""
    cells, alpha = material.cells, material.alpha
    candidates = [
        Warning(
            "Missing replicas",
            "They could not be made; all numbers are of the others. "
            "Replicas that fail may not be like those that do not.",
            _missing(cells),
        ),
        Warning("What was given", "It looks wrong, or is not complete.", tuple(material.inputs)),
        Warning(
            "Test segments occur in the training data",
            "A system may have learnt them by heart; scores on other text will be lower.",
            tuple(material.corpus),
        ),
        Warning(
            "Replicas that cannot be made again to the same bytes",
            "They were trained by several threads, as `deterministic: false` allows.",
            tuple(material.unrepeatable),
        ),
        Warning(
            "Answers of a server",
            "They are scored as they are: nothing stands in for one that was refused, cut off or empty.",
            tuple(material.answers),
        ),
        Warning(
            f"Fewer than {FEW_REPLICAS} replicas",
            "Chance in tuning or training cannot be told from a difference between systems; "
            "Clark et al. (2011) recommend at least 3 runs of each.",
            _few_replicas(cells),
        ),
        Warning(
            "Nothing was tested",
            "There is no pair of systems to compare, so there are scores here and no tests.",
            tuple(dict.fromkeys(cell.testset for cell in cells if not cell.tests)),
        ),
    ]
    return [
        *(warning for warning in candidates if warning.places),
        *_looks(material),
        *_unreachable(cells, alpha),
        *_disagreements(cells, alpha),
        *_notes(cells),
    ]


def _looks(material: Material) -> list[Warning]:
    """What to know where looks have decided how many replicas there are."""
    record = material.looks
    if record is None:
        return []
    plan = record.plan
    places = [
        f"{system}: {', '.join(lost)}"
        for system, look in record.looks[-1].systems.items()
        for lost in [look.missing]
        if lost
    ]
    still = [
        f"{system} stays at {sizes[0]}, which is all that there is"
        for system, sizes in plan.sizes.items()
        if len(sizes) == 1
    ]
    about_looks = [
        Warning(
            "Numbers of replicas were decided by looks",
            f"By {plan.metric} on {plan.testset}, whose p and intervals by {plan.method} are "
            "adjusted for it. All other p, of other metrics, test sets and tests, are as if these "
            "numbers had been fixed before, and are not to be chosen from. Differences that are "
            "settled early are exaggerated: by about a sixth where all runs would find them in "
            "85 of 100 experiments.",
            (*places, *still),
        )
    ]
    if record.abandoned:
        looks = sum(one.looks for one in record.abandoned)
        about_looks.append(
            Warning(
                "What was fixed before the first look was changed",
                f"After {looks} looks the record was started over, by somebody who could know what "
                "they said: p is no longer quite at its level.",
            )
        )
    return about_looks


def _missing(cells: Sequence[Result]) -> tuple[str, ...]:
    """Replicas that could not be made, with each reason once."""
    places = (
        f"{system} {replica} on {cell.testset}: {reason}"
        for cell in cells
        for system, reasons in cell.missing.items()
        for replica, reason in reasons.items()
    )
    return tuple(dict.fromkeys(places))


def _few_replicas(cells: Sequence[Result]) -> tuple[str, ...]:
    places = (
        f"{system.name}: {count(system.n, 'replica')}"
        for cell in cells
        for system in cell.systems.values()
        if system.n < FEW_REPLICAS
    )
    return tuple(dict.fromkeys(places))


def _unreachable(cells: Sequence[Result], alpha: float) -> list[Warning]:
    """Tests whose smallest possible p is above alpha."""
    places: dict[str, list[str]] = {}
    for cell in cells:
        for result in cell.tests:
            if result.p_min is not None and result.p_min > alpha:
                runs = f"{result.n_a} + {count(result.n_b, 'run')}"
                place = f"{_where(cell, result.a, result.b)}: p ≥ {result.p_min:.3g} ({runs})"
                places.setdefault(result.method, []).append(place)
    if not places:
        return []
    return [
        Warning(
            f"{listed(list(places))} could not reach {alpha:g}",
            f"With so few replicas the smallest possible p is above {alpha:g}: that it is not "
            "significant says nothing about the systems.",
            tuple(f"{method}, {one}" for method, where in places.items() for one in where),
        )
    ]


def _disagreements(cells: Sequence[Result], alpha: float) -> list[Warning]:
    """Where another test and the lead test fall on different sides of alpha."""
    places: dict[str, list[str]] = {}
    scopes: dict[str, None] = {}
    for cell in cells:
        for pair in cell.pairs:
            lead = cell.test(pair, cell.lead_method)
            p = None if lead is None else adjusted(lead)
            if lead is None or p is None:
                continue
            for method in cell.methods:
                other = cell.test(pair, method)
                q = None if other is None or method == lead.method else adjusted(other)
                if other is None or q is None or (p <= alpha) == (q <= alpha):
                    continue
                text = f"{_where(cell, *pair)}: {method} {p_equation(q)}, "
                text += f"{lead.method} {p_equation(p)}"
                places.setdefault(method, []).append(text)
                for one in (lead, other):
                    scopes.setdefault(f"{one.method} of {one.generalises_to}")
    if not places:
        return []
    lead_methods = dict.fromkeys(cell.lead_method for cell in cells if cell.tests)
    return [
        Warning(
            f"{listed([*places, *lead_methods])} disagree",
            "They answer different questions, or exchange or draw other things. They speak: "
            f"{'; '.join(scopes)}.",
            tuple(text for texts in places.values() for text in texts),
        )
    ]


def _notes(cells: Sequence[Result]) -> list[Warning]:
    """Notes of tests, spreads and intervals; those of one code are one."""
    kinds: dict[str, list[tuple[str, str, str]]] = {}

    def add(source: str, note: Note, where: str) -> None:
        text = note.text.removeprefix(f"{note.about}: ")
        kinds.setdefault(note.code, []).append((source, text, where))

    for cell in cells:
        for result in cell.tests:
            for note in result.notes:
                if note.code in LOOKS:
                    continue  # the verdict has it
                about = note.about or f"{result.b} − {result.a}"
                add(result.method, note, f"{cell.testset}, {cell.name}, {about}")
        for system in cell.systems.values():
            for statistic, notes in system.notes.items():
                method = statistic.removeprefix("ci_")
                what = statistic if method == statistic else f"the {method} interval"
                for note in notes:
                    add(what, note, f"{cell.testset}, {cell.name}, {system.name}")
    grouped = []
    for entries in kinds.values():
        sources, texts = (list(dict.fromkeys(part)) for part in list(zip(*entries, strict=True))[:2])
        example = "For example: " if len(texts) > 1 else ""
        several = len(sources) > 1
        places = (f"{source}: {where}" if several else where for source, _, where in entries)
        grouped.append(
            Warning(
                f"Note on {listed(sources)}",
                f"{example}{_sentence(texts[0])}",
                tuple(dict.fromkeys(places)),
            )
        )
    return grouped


def _where(cell: Result, a: str, b: str) -> str:
    return f"{cell.testset}, {cell.name}, {b} − {a}"


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
