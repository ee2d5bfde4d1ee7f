"""Writes the pages: templates, style sheet, figures and tables, all together in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlane.base.folders import staged
from fairlane.base.progress import progress
from fairlane.pairs.figure import draw as draw_pairs
from fairlane.report import comparison as side_by_side
from fairlane.report import figures
from fairlane.report.collect import Collected, Wanted
from fairlane.report.comparison import ComparisonView
from fairlane.report.figures import Size
from fairlane.report.pages import NARROW, Pages
from fairlane.report.pairs import PairsView
from fairlane.report.views import LEGEND, Counts, PaperView, paper_view

COMPARISON, PAIRS = "compare", "pairs"
"""Stems of the pages of a comparison and of pairs, and of their figures."""


@dataclass(frozen=True)
class _Drawing:
    """What a page says about its figure; `narrow` is that for small screens."""

    words: str
    size: Size
    narrow: Size


def write(
    folder: Path,
    collected: Sequence[Collected],
    comparison: ComparisonView | None,
    pairs: PairsView | None,
    *,
    show_progress: bool,
) -> None:
    """Writes all pages into `folder`, or none."""
    papers = [paper_view(one) for one in collected]
    with staged(folder) as stage:
        drawings = _draw(stage, collected, papers, show_progress=show_progress)
        if comparison:
            size = figures.write(side_by_side.draw(comparison), stage / COMPARISON)
            narrow = figures.write(side_by_side.draw(comparison, columns=2), stage / f"{COMPARISON}{NARROW}", [".svg"])
            drawings[COMPARISON] = _Drawing(side_by_side.describe(comparison), size, narrow)
        if pairs:
            size = figures.write(draw_pairs(pairs.document), stage / PAIRS)
            narrow = figures.write(draw_pairs(pairs.document, columns=1), stage / f"{PAIRS}{NARROW}", [".svg"])
            drawings[PAIRS] = _Drawing(pairs.words, size, narrow)
        _tables(stage, collected, papers)
        _pages(stage, papers, drawings, comparison, pairs, collected[0].wanted)


def _draw(
    stage: Path, collected: Sequence[Collected], papers: Sequence[PaperView], *, show_progress: bool
) -> dict[str, _Drawing]:
    """Draws the figure of every experiment that has one."""
    wanted = [
        (one, experiment)
        for one, paper in zip(collected, papers, strict=True)
        for experiment in paper.experiments
        if experiment.is_drawn
    ]
    drawings = {}
    with progress("drawing", len(wanted), show=show_progress, unit="figures") as advance:
        for one, experiment in wanted:
            assert one.reproduction
            drawn = one.reproduction.figure(experiment.about)
            size = figures.write(drawn, stage / experiment.about.id)
            narrow = figures.write_narrow(drawn, stage / f"{experiment.about.id}{NARROW}")
            drawings[experiment.about.id] = _Drawing(figures.describe(drawn), size, narrow)
            advance()
    return drawings


def _tables(stage: Path, collected: Sequence[Collected], papers: Sequence[PaperView]) -> None:
    """Writes the measured points of every experiment as CSV."""
    for one, paper in zip(collected, papers, strict=True):
        for experiment in paper.experiments:
            if one.reproduction and experiment.table:
                frame = one.reproduction.frame(experiment.about)
                frame.write_csv(stage / f"{experiment.about.id}.csv")


def _pages(
    stage: Path,
    papers: Sequence[PaperView],
    drawings: dict[str, _Drawing],
    comparison: ComparisonView | None,
    pairs: PairsView | None,
    wanted: Wanted,
) -> None:
    pages = Pages(
        stage,
        papers=papers,
        drawings=drawings,
        comparison=comparison,
        pairs=pairs,
        legend=LEGEND.items(),
        quick=wanted.quick,
        settings=wanted.settings,
    )
    total = Counts.of([claim for paper in papers for experiment in paper.experiments for claim in experiment.claims])
    pages.write("index", "index", here="index", total=total)
    for paper in papers:
        pages.write("paper", paper.key, here=paper.key, paper=paper)
        own = paper.experiments
        for before, one, after in zip([None, *own[:-1]], own, [*own[1:], None], strict=True):
            pages.write("experiment", one.about.id, here="", paper=paper, experiment=one, before=before, after=after)
    if comparison:
        pages.write("compare", COMPARISON, here=COMPARISON, view=comparison)
    if pairs:
        pages.write("pairs", PAIRS, here=PAIRS)
    pages.write_style_sheet()
