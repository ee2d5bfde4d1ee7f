"""Writes the pages with style sheet, figures and tables into one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairlane.base.folders import staged
from fairlane.base.progress import progress
from fairlane.report import figures
from fairlane.report.collect import Collected, Wanted
from fairlane.report.figures import Size
from fairlane.report.own_page import OwnPage
from fairlane.report.pages import NARROW, Pages
from fairlane.report.pairs import PairsView
from fairlane.report.pairs_figure import draw as draw_pairs
from fairlane.report.views import LEGEND, Counts, PaperView, paper_view
from fairlane.results import plots

PAIRS = "pairs"
"""Stem of the page of pairs and of its figure."""
MOST_OPENED = 3
"""Maximum number of documents whose sentences and main figures open the index; of more, only the first does."""


@dataclass(frozen=True)
class _Drawing:
    """Description of a figure in a page; `narrow` is the version for small screens."""

    words: str
    size: Size
    narrow: Size


def write(
    folder: Path,
    collected: Sequence[Collected],
    own: Sequence[OwnPage],
    pairs: PairsView | None,
    wanted: Wanted,
    *,
    pdf: bool,
    show_progress: bool,
) -> None:
    """Writes all pages into `folder`, or none after an error; with `pdf`, also figures for a paper."""
    papers = [paper_view(one) for one in collected]
    with staged(folder) as stage:
        drawings = _draw(stage, collected, papers, pdf=pdf, show_progress=show_progress)
        drawings |= _draw_own(stage, own, pdf=pdf, show_progress=show_progress)
        if pairs:
            size = figures.write(draw_pairs(pairs.document), stage / PAIRS)
            narrow = figures.write(draw_pairs(pairs.document, columns=1), stage / f"{PAIRS}{NARROW}", [".svg"])
            drawings[PAIRS] = _Drawing(pairs.words, size, narrow)
        _tables(stage, collected, papers)
        pages = Pages(
            stage,
            papers=papers,
            drawings=drawings,
            own=own,
            pairs=pairs,
            legend=LEGEND.items(),
            quick=wanted.quick,
            settings=wanted.settings,
            pdf=pdf,
        )
        _pages(pages, papers, own, pairs)


def _draw(
    stage: Path, collected: Sequence[Collected], papers: Sequence[PaperView], *, pdf: bool, show_progress: bool
) -> dict[str, _Drawing]:
    """Draws the figures of the experiments that have one."""
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
            if pdf:
                column = one.reproduction.figure(experiment.about)
                plots.for_column(column)
                plots.save(column, stage / experiment.about.id, [".pdf"])
            advance()
    return drawings


def _draw_own(stage: Path, own: Sequence[OwnPage], *, pdf: bool, show_progress: bool) -> dict[str, _Drawing]:
    """Draws the figures of pages about the user's results."""
    drawings = {}
    with progress("drawing", sum(len(page.pictures) for page in own), show=show_progress, unit="figures") as advance:
        for page in own:
            for picture in page.pictures:
                name = f"{page.stem}{picture.stem}"
                narrow = picture.narrow()
                size = figures.write(picture.wide(), stage / name)
                drawings[name] = _Drawing(
                    picture.words, size, figures.write(narrow, stage / f"{name}{NARROW}", [".svg"])
                )
                if pdf:
                    plots.save(narrow, stage / name, [".pdf"])
                advance()
    return drawings


def _tables(stage: Path, collected: Sequence[Collected], papers: Sequence[PaperView]) -> None:
    """Writes the measured points of every experiment as CSV."""
    for one, paper in zip(collected, papers, strict=True):
        for experiment in paper.experiments:
            if one.reproduction and experiment.table:
                frame = one.reproduction.frame(experiment.about)
                frame.write_csv(stage / f"{experiment.about.id}.csv")


def _pages(pages: Pages, papers: Sequence[PaperView], own: Sequence[OwnPage], pairs: PairsView | None) -> None:
    total = Counts.of([claim for paper in papers for experiment in paper.experiments for claim in experiment.claims])
    opened = own if len(own) <= MOST_OPENED else own[:1]
    pages.write("index", "index", here="index", total=total, opened=opened)
    for page in own:
        pages.write("own", page.stem, here=page.stem, page=page)
    for paper in papers:
        pages.write("paper", paper.key, here=paper.key, paper=paper)
        all_of_it = paper.experiments
        neighbours = zip([None, *all_of_it[:-1]], all_of_it, [*all_of_it[1:], None], strict=True)
        for before, one, after in neighbours:
            pages.write("experiment", one.about.id, here="", paper=paper, experiment=one, before=before, after=after)
    if pairs:
        pages.write("pairs", PAIRS, here=PAIRS)
    pages.write_style_sheet()
