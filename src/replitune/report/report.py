"""A report, for people and for programs: tables, verdicts, frames, figures, pages.

One class for the folder of an experiment, and one for a comparison that was just made, which also
has the statistics, and perhaps the texts, that it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError, nearest
from replitune.extras import needs
from replitune.registry import LETTERS, NAME_WORDS
from replitune.report import contents
from replitune.report.contents import LatexStyle
from replitune.report.material import Material
from replitune.report.segment_browser import Output, Segments, segments_of, tsv_text
from replitune.report.specification import Table
from replitune.report.terminal import comparison_lines
from replitune.report.why import Why, explain
from replitune.results.answer import Answer
from replitune.results.comparing import Results
from replitune.results.in_hand import looks_in_hand
from replitune.results.result import Result
from replitune.results.summary import Summary
from replitune.results.wording import as_html, listed
from replitune.running.files import atomic_open, write_ascii_json
from replitune.settings import read
from replitune.significance.looks.record import Record
from replitune.significance.looks.settings import SCHEDULE, LookSettings
from replitune.statistics.outputs import DistinctPairs, Outputs
from replitune.statistics.segments import SegmentStatistics
from replitune.streams import stream

if TYPE_CHECKING:
    import pandas as pd

    from replitune.report.drawing import Figure

Rows = Literal["tests", "systems", "overlaps", "variances", "notes", "answers"]

SAFE = re.compile(rf"[{LETTERS}][{LETTERS}._+-]*")
LONGEST = 200
"""Most bytes of a name in the name of a file, such as that of a pair."""

STYLE = (
    ".replitune td,.replitune th{text-align:right}.replitune .word{text-align:left}"
    ".replitune .best{font-weight:bold}"
)


class Report:
    """All results, on one test set or several, under one metric or several.

    ``print(report)`` is what the command `compare` prints; a notebook shows the summary and a table.
    """

    material: Material
    """What tables, figures and pages are made from."""

    def __init__(self, material: Material) -> None:
        self.material = material

    @property
    def results(self) -> Sequence[Result]:
        """One result for each (test set, metric), numbers unrounded."""
        return self.material.cells

    @property
    def family(self) -> str:
        """Which p-values were corrected together."""
        return self.material.family

    @property
    def warnings(self) -> list[str]:
        """What changes how the answers are read."""
        return [note.text for note in self.summary.grave]

    @property
    def summary(self) -> Summary:
        """What the results say, in a sentence for each test set, and what to know about it."""
        return self.material.summary

    # ---- for people

    def table(self, name: str = "overview") -> Table:
        """A table of the report, for a notebook, the terminal, or by its methods as CSV, Markdown,
        LaTeX, HTML, or a DataFrame of exact values (``.to_frame()``).

        Parameters
        ----------
        name
            ``overview``: every system's mean score and spread; ``pairs``: every difference by
            every test; ``systems``, ``intervals``, ``variances``, ``documents`` and others:
            the message about a wrong name lists all.
        """
        chosen = contents.table_of(name, self.material)
        if chosen is None or not chosen.rows:
            raise ReplituneError(
                f"table {name!r} has no rows here",
                expected=", ".join(n for n, table in contents.tables(self.material).items() if table.rows),
            )
        return chosen

    def answers(self) -> list[Answer]:
        """The answer about each pair of systems under each metric, by the leading test: its `state`,
        `size`, `sentence` and more (docs/answer.schema.json)."""
        return [answer for result in self.results for answer in result.answers]

    def plot(
        self, name: str = "comparison", *, metric: str | None = None, testset: str | None = None
    ) -> Figure:
        """A figure, which notebooks show; ``.save("x.pdf")`` writes it, ``.draw(axes)`` draws it
        into axes of your own. It needs matplotlib,
        except for ``comparison`` as SVG.

        Parameters
        ----------
        name
            ``comparison``: every run, and differences with their intervals; ``replicas``,
            ``intervals``, ``distributions`` and others: the message about a wrong name lists all.
        metric, testset
            Which one, if there are several; by default the first that has such a figure.
        """
        drawn = contents.FIGURES[name](self.material)
        for about, figure in drawn.items():
            of_testset, _, of_metric = about.rpartition(".")
            if metric in (None, of_metric) and testset in (None, of_testset, about):
                return figure
        asked = " ".join(filter(None, (metric, testset)))
        raise ReplituneError(
            f"no figure {name!r}" + (f" of {asked}" if asked else " from these results"),
            expected=f"one of {', '.join(drawn)}" if drawn else None,
        )

    def __str__(self) -> str:
        return "\n".join(comparison_lines(self.results, self.family, self.summary))

    def __repr__(self) -> str:
        cells = ", ".join(f"{result.metric} on {result.testset}" for result in self.results)
        return f"<{type(self).__name__}: {cells}>"

    def _repr_html_(self) -> str:
        """For notebooks: the summary, the picture of the first screen, and the overview. Nothing from
        elsewhere, and everything from data is escaped."""
        from replitune.report.picture import pictures

        said = "".join(f"<p>{as_html(line)}</p>" for line in self.summary.lines)
        shown = next((picture.drawn().svg() for picture in pictures(self.material).values()), "")
        shown = shown.replace(' xmlns="http://www.w3.org/2000/svg"', "")
        table = self.table().html_table()
        return f'<div class="replitune"><style>{STYLE}</style>{said}{shown}{table}</div>'

    # ---- for programs

    def to_frame(self, rows: Rows = "tests") -> pd.DataFrame:
        """Rows of numbers as a DataFrame, unrounded: after `testset` and `metric`, the columns of
        `replitune.results.document.FRAMES`, made of ``results/<experiment>/tests``.

        Parameters
        ----------
        rows
            ``tests``: one for each pair and test; ``systems``: scores, spread and intervals of
            every system; ``overlaps``, ``variances``, ``notes``, ``answers``.
        """
        needs("tables", "a DataFrame")
        import pandas as pd

        frames = []
        for result in self.results:
            tables = result.frames()
            if rows not in tables:
                close = nearest(rows, list(tables))
                raise ReplituneError(
                    f"no rows called {rows!r}",
                    expected=", ".join(tables),
                    fix=f"did you mean {close!r}?" if close else None,
                )
            frame = tables[rows]
            frame.insert(0, "testset", result.testset)
            frame.insert(1, "metric", result.metric)
            frames.append(frame)
        # pandas 2 warns about columns that are empty in one frame if it has to find their types
        kept = [frame.astype(object) for frame in frames if len(frame)] or frames[:1]
        return pd.concat(kept, ignore_index=True).infer_objects()

    def to_latex(self, *names: str, style: LatexStyle = "papers") -> str:
        """Tables for a paper (booktabs): those that are named, or those of a style, `papers` (mean
        ± s, best bold, daggers) or `multeval` (metric by system: score, s_sel, s_test, p)."""
        if style not in contents.LATEX_TABLES:
            raise ReplituneError(f"no LaTeX style {style!r}", expected=", ".join(contents.LATEX_TABLES))
        return "\n".join(self.table(name).latex() for name in names or contents.LATEX_TABLES[style])

    def write_latex(self, path: str | Path, style: LatexStyle = "papers") -> None:
        """Write the same to a file."""
        with atomic_open(path) as handle:
            handle.write(self.to_latex(style=style))

    def methods_paragraph(self) -> str:
        """What was done, with references, for a paper."""
        from replitune.report.methods_paragraph import methods

        return "\n\n".join(methods(self.material)) + "\n"

    def write_methods_paragraph(self, path: str | Path) -> None:
        """Write the same to a file."""
        with atomic_open(path) as handle:
            handle.write(self.methods_paragraph())

    def write_figures(self, folder: str | Path) -> None:
        """DIR/<test set>.<metric>.<kind>.pdf and .svg: every figure for which there are data."""
        from replitune.report.drawing import render

        for name, figure in contents.figures(self.material).items():
            for suffix, content in render(name, figure, ("pdf", "svg")).items():
                with atomic_open(Path(folder) / f"{name}.{suffix}", "wb") as handle:
                    handle.write(content)

    def write_html(self, path: str | Path) -> None:
        """The whole report as one page that works offline."""
        from replitune.report.drawing import render
        from replitune.report.page import page

        figures = {
            name: (figure, render(name, figure)["svg"].decode("utf-8"))
            for name, figure in contents.figures(self.material).items()
        }
        with atomic_open(path) as handle:
            handle.write(page(self.material, contents.tables(self.material), figures, {}))


@dataclass(frozen=True, repr=False, eq=False)
class ComparisonReport(Report):
    """The results of `compare`, `scores` or `test` on one test set, and the data behind them."""

    comparison: Results
    stores: Sequence[SegmentStatistics]
    """Segment statistics under each metric."""
    baseline: str | None = None
    texts: TestSet | None = None
    """The references; none for a table of scores."""
    outputs: Mapping[str, Outputs] = field(default_factory=dict)
    """Outputs by system; none for a table of scores."""
    read_as: tuple[str, ...] = ()
    """How a table of numbers was read, where that was guessed."""

    @cached_property
    def cells(self) -> list[tuple[Result, SegmentStatistics]]:
        return list(zip(self.comparison.metrics.values(), self.stores, strict=True))

    @cached_property
    def material(self) -> Material:  # type: ignore[override]
        settings, (lead, store) = self.comparison.settings, self.cells[0]
        return Material(
            experiment=f"{_systems(lead)} on {lead.testset}",
            seed=self.comparison.seed,
            alpha=settings.alpha,
            family=settings.family,
            samples=settings.samples,
            cells=[cell for cell, _ in self.cells],
            baseline=self.baseline,
            methods={entry.id: entry.name for entry in settings.methods},
            segments=[] if self.texts is None else [self._segments(lead, store, self.texts)],
            explain=self._explain,
            people=self.comparison.people,
            said=self.comparison.summary,
        )

    @property
    def results(self) -> Sequence[Result]:
        return [cell for cell, _ in self.cells]

    @property
    def family(self) -> str:
        return self.comparison.settings.family

    def _segments(self, cell: Result, store: SegmentStatistics, testset: TestSet) -> Segments:
        """The segments, with scores by one metric."""
        return segments_of(cell, store, testset, self._pairs)

    @cached_property
    def _pairs(self) -> dict[str, DistinctPairs]:
        return {name: outputs.every() for name, outputs in self.outputs.items()}

    def _explain(self) -> Sequence[Why]:
        judged = {*self.comparison.people}
        stores = [(c.metric, store) for c, store in self.cells if c.metric not in judged]
        testset = self.cells[0][0].testset
        return [explain(testset, stores, texts=self.texts, outputs=self._pairs)] if stores else []

    def looks(self, looks: Sequence[int] = SCHEDULE, metric: str | None = None, **rule: float) -> Record:
        """Whether fewer runs would have been enough: looks at the first 3, 5, ... runs of each system,
        by the rule of adaptive replication (docs/adaptive.md), as if there could be no more than the
        runs in hand; p of the record is adjusted for looks.

        Parameters
        ----------
        looks
            Numbers of runs, rising, from 3 on.
        metric
            The metric that decides; by default the first one.
        **rule
            ``doubt``, ``futility``, ``skip``: under `replicas` in docs/configuration.md.
        """
        stores = [store for store in self.stores if metric in (None, store.metric.id)]
        if not stores:
            known = ", ".join(store.metric.id for store in self.stores)
            raise ReplituneError(f"no metric {metric!r} here", expected=known)
        settings: LookSettings = read(LookSettings, {"looks": list(looks), **rule}, "looks")
        return looks_in_hand(stores[:1], self.comparison.settings, settings, self.comparison.design)

    def to_json(self) -> dict[str, Any]:
        """Everything, unrounded: the object described in docs/compare.schema.json."""
        return self.comparison.as_json()

    def write_json(self, path: str | Path) -> None:
        """Write the same to a file."""
        write_ascii_json(path, self.to_json())

    def write_store(self, folder: str | Path) -> None:
        """DIR/<metric>/<system>.parquet: the segment statistics, which `replitune power`, `test`
        and others read."""
        needs("tables", "segment statistics on disk")
        from replitune.statistics.store import write_store

        for store in self.stores:
            names = store.document_names
            documents = None if names is None else [names[code] for code in store.documents]
            for name, system in store.systems.items():
                path = _place(folder, store.metric.id, name, ".parquet")
                write_store(path, [system], store.metric, store.metadata[name], documents)

    def write_ranking(self, folder: str | Path) -> None:
        """DIR/<metric>/<B>-over-<A>.{improved,declined}.tsv: outputs of the median runs of each
        tested pair, the largest change of the segment's score first, as multeval ranks them."""
        if self.texts is None:
            raise ReplituneError(
                "there are no texts to rank",
                found="numbers only",
                fix="write the scores of segments instead (`--sentence-scores`)",
            )
        for cell, store in self.cells:
            segments = self._segments(cell, store, self.texts)
            outputs = {output.system: output for output in segments.outputs}
            for a, b in cell.pairs:
                change = outputs[b].scores - outputs[a].scores
                gain = cell.sign * change
                for word, sign in (("improved", 1.0), ("declined", -1.0)):
                    order = np.argsort(-sign * gain, kind="stable")
                    chosen = [int(i) for i in order if sign * gain[i] > 0]
                    path = _place(folder, cell.metric, f"{b}-over-{a}", f".{word}.tsv")
                    with atomic_open(path) as handle:
                        handle.write(_ranked(segments, outputs[a], outputs[b], chosen, change))

    def write_judging_sheet(
        self,
        path: str | Path,
        metrics: Sequence[str],
        *,
        budget: int | None = None,
        human: str | Path | None = None,
        first_segment: int | None = None,
    ) -> str:
        """What to judge next, as CSV: a sample of segments, more of those on which the systems differ more
        by these metrics, with their probabilities, and outputs in random order (docs/judging.md).
        Returns in words what was written.

        Parameters
        ----------
        metrics
            Ids of metrics.
        budget
            Number of segments; None: as many as would make the intervals of all pairs reach no further
            than the margin of people's scores (`margin`), by the judgements so far.
        human, first_segment
            Judgements so far, as in `compare`.
        """
        from replitune.meta.judged import earlier_judgements, segment_scores
        from replitune.meta.planning import sheet, sizes_of, wanted

        if self.texts is None:
            raise ReplituneError("there are no texts to judge", found="numbers only")
        lead, store = self.cells[0]
        before = []
        if human is not None:
            before = earlier_judgements(human, [*lead.systems], store.segments, first_segment)
        if budget is None:
            cells = [cell for cell in self.results if cell.metric in self.comparison.people]
            margin = None if not cells else self.comparison.settings.margin.get(cells[0].metric)
            if margin is None:
                raise ReplituneError(
                    "it is not known how many segments are to be judged",
                    fix="say how many (--budget), or give a margin and judgements (--human FILE "
                    "--with METRIC --margin human=X)",
                )
            budget = wanted(cells[0].tests, margin, store.segments - len({row.segment for row in before}))
            if budget < 1:
                return "no more judgements are needed for this margin"
        controls = [one for _, one in self.cells if one.metric.id in metrics]
        names = [*lead.systems]
        scores = [
            segment_scores(controls, name, store.systems[name].replicas).mean(axis=0) for name in names
        ]
        pairs = [(names.index(a), names.index(b)) for a, b in lead.pairs]
        compared = [name for name in names if any(name in pair for pair in lead.pairs)]
        text = sheet(
            sizes_of(scores, pairs),
            budget,
            {name: (store.systems[name].replicas, self.outputs[name]) for name in compared},
            self.texts,
            stream(self.comparison.seed, "judge", lead.testset),
            before,
        )
        with atomic_open(path) as handle:
            handle.write(text)
        return f"{budget} segments, {budget * len(compared)} outputs to judge in {path}"

    def write_sentence_scores(self, folder: str | Path) -> None:
        """DIR/<metric>/<system>.tsv: the score of every segment alone, one column per run."""
        for store in self.stores:
            for name, system in store.systems.items():
                scores = zip(system.replicas, system.scores(store.metric).tolist(), strict=True)
                with atomic_open(_place(folder, store.metric.id, name, ".tsv")) as handle:
                    handle.write(tsv_text([("segment", range(system.segments)), *scores]))


def _systems(cell: Result) -> str:
    names = [*cell.systems]
    return listed(names) if len(names) <= 3 else f"{len(names)} systems"


def _place(folder: str | Path, metric: str, name: str, suffix: str) -> Path:
    """DIR/<metric>/<name><suffix>; refuses what cannot be the name of a file."""
    for word in (metric, name):
        if len(word.encode()) > LONGEST or not SAFE.fullmatch(word):
            raise ReplituneError(
                f"{word!r} cannot be the name of a file",
                expected=NAME_WORDS,
                fix="give the system or the metric another name",
            )
    return Path(folder) / metric / f"{name}{suffix}"


def _ranked(
    segments: Segments, a: Output, b: Output, chosen: list[int], change: NDArray[np.float64]
) -> str:
    numbers = [("change", change), (a.system, a.scores), (b.system, b.scores)]
    return tsv_text(
        [
            ("segment", chosen),
            *((heading, values[chosen].tolist()) for heading, values in numbers),
            *segments.texts(chosen),
            *((f"output_{one.system}_{one.replica}", [one.lines[i] for i in chosen]) for one in (a, b)),
        ]
    )
