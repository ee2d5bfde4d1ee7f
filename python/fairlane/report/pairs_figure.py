"""Heat map of all pairs: a panel for each scheme, a cell for each pair of row and column senders."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.colors import LinearSegmentedColormap, Normalize

from fairlane.base.text import counted, for_figure
from fairlane.results import plots
from fairlane.results.names import display_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairlane.documents import Ahead, PairsDocument

LESS, EVEN, MORE = "#d1632b", "#f4f1ec", "#3b86c2"
"""Colours of cells, distinguishable with common kinds of colour blindness. Letters in `INK` are legible on all of them.
Dark mode changes greys and the colours of curves but must not change cells, so no cell has such a colour."""
INK = "#10141a"
CELL_IN = 0.3
LABELS_IN = 0.75
TITLE_IN, TITLE_LETTER_IN = 1.0, 0.075
MOST_COLUMNS = 3
_MIRRORED: Mapping[Ahead | None, Ahead | None] = {"row": "column", "column": "row", None: None}


@dataclass(frozen=True)
class Cell:
    """Share of the row's sender.

    Attributes:
        share: Share of the throughput of both senders; None if no packet arrived.
        ahead: Sender with the larger share; None if equal shares are possible.
    """

    share: float | None
    ahead: Ahead | None


def cells(document: PairsDocument, queue: str) -> dict[tuple[str, str], Cell]:
    """Cells by row and column. A pair is measured once; the other sender has the remaining share."""
    found = {}
    for pair in document["pairs"]:
        if pair["queue"] == queue:
            share = pair["share"] and pair["share"]["mean"]
            found[pair["column"], pair["row"]] = Cell(None if share is None else 1 - share, _MIRRORED[pair["ahead"]])
            found[pair["row"], pair["column"]] = Cell(share, pair["ahead"])
    return found


def draw(document: PairsDocument, columns: int = MOST_COLUMNS) -> Figure:
    """Draws a panel for each scheme, `columns` side by side."""
    senders, queues = document["senders"], document["queues"]
    columns = min(columns, len(queues))
    rows = math.ceil(len(queues) / columns)
    panel_in = LABELS_IN + CELL_IN * max(len(senders), 4)
    run = document["scenario"]["run"]
    title = "share of the row's sender against the column's (%)"
    subtitle = "\n".join(
        [
            f"one flow each, {counted(run['replications'], 'run')} of {run['measure']}",
            "bold, coloured: the 95 % interval excludes equal shares",
        ]
    )
    size_in = columns * panel_in, TITLE_IN + rows * panel_in
    with plots.panels(len(queues), "", columns, size_in) as (drawn, grid):
        words = (textwrap.fill(line, int(size_in[0] / TITLE_LETTER_IN)) for line in (title, *subtitle.split("\n")))
        drawn.suptitle("\n".join(words), fontsize=8, x=0.01, ha="left")
        for axes, queue in zip(grid, queues, strict=True):
            axes.grid(visible=False)
            _draw_panel(axes, document, queue)
    return drawn


def _draw_panel(axes: Axes, document: PairsDocument, queue: str) -> None:
    senders, found = document["senders"], cells(document, queue)
    # With an odd number of steps, the middle one is exactly equal shares.
    colours = LinearSegmentedColormap.from_list("shares", [LESS, EVEN, MORE], N=257)
    places = range(len(senders))
    # A share whose interval includes equal shares has the colour of equal shares.
    shown = [[_coloured(found[row, column]) for column in senders] for row in senders]
    axes.pcolormesh(shown, cmap=colours, norm=Normalize(0, 1), edgecolors="#ffffff", linewidth=1)
    for y, row in enumerate(senders):
        for x, column in enumerate(senders):
            cell = found[row, column]
            text = "–" if cell.share is None else f"{100 * cell.share:.0f}"
            weight = "bold" if cell.ahead else "normal"
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=7, color=INK, weight=weight)
    names = [for_figure(sender) for sender in senders]
    axes.set_xticks([place + 0.5 for place in places], names, rotation=55, ha="right", rotation_mode="anchor")
    axes.set_yticks([place + 0.5 for place in places], names)
    axes.tick_params(length=0, labelsize=7)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.set_title(for_figure(display_name(queue)), loc="left", fontsize=10)


def _coloured(cell: Cell) -> float:
    return 0.5 if cell.share is None or cell.ahead is None else cell.share


def describe(document: PairsDocument) -> str:
    """Text alternative of the figure: number of unequal pairs and the most unequal pair under each scheme."""
    sentences = []
    for queue in document["queues"]:
        of_queue = [pair for pair in document["pairs"] if pair["queue"] == queue]
        unequal = [(pair, pair["share"]["mean"]) for pair in of_queue if pair["ahead"] and pair["share"]]
        text = f"{queue}: shares differ in {len(unequal)} of {len(of_queue)} pairs"
        if unequal:
            pair, share = max(unequal, key=lambda one: abs(one[1] - 0.5))
            first, second = (pair["row"], pair["column"]) if share > 0.5 else (pair["column"], pair["row"])
            text += f", most for {first} against {second}, {100 * max(share, 1 - share):.0f} %"
        sentences.append(f"{text}.")
    return " ".join(sentences)
