"""Map of an access network: its tree, coloured by shares of users or by load of links.

A node is as wide as the users below it. The figure has a row of maps per scheme, with a map per quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fairlane.base.text import for_figure, name
from fairlane.report.own_page import Picture
from fairlane.results.access import LEVELS, is_access, longest_delay_s, node_shares
from fairlane.results.names import display_name
from fairlane.results.table import Json, over_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fairlane.results.plots import Drawn

STEPS = ("#DCEBF5", "#8FC1E3", "#F0B44C", "#E0682A")
"""Colours from good to bad. They also differ in lightness, for colour-blind readers."""
NOTHING = "#D9D9D9"
INK = "#14212D"
"""Colour of names on the map. The same in dark mode, since the map's colours do not change either."""
WIDE_IN, NARROW_IN = 9.0, 3.5
PANEL_IN, TITLE_IN, LEGEND_IN = 1.25, 0.24, 0.62
LEVELS_IN, GAP_IN = 0.85, 0.1
"""Width in inches of the level names left of the maps, and of the gap between two maps."""
LETTER_IN, LINE_IN = 0.05, 0.11
"""Width of a letter and height of a line of a name, in inches."""
MOST_SCHEMES = 8
"""Maximum number of schemes with maps."""
ROW = 0.94
"""Height of a bar as a fraction of its level."""


LEAST_POINTS = 4
"""Minimum width in points of a bar with a tooltip."""


@dataclass(frozen=True)
class Quantity:
    """Quantity that colours a map.

    Attributes:
        words: Description.
        scale: Title of the legend; quantities with the same title share a legend.
        bounds: Bounds between the colours, from good to bad.
        unit: Unit of the bounds, in the legend.
        factor: Factor from the unit of a document to `unit`.
        of: Returns the mean over the runs for each node; None for a node without a value.
    """

    words: str
    scale: str
    bounds: Sequence[float]
    unit: str
    factor: float
    of: Callable[[Json], list[float | None]]

    @property
    def falls(self) -> bool:
        """True if smaller values are worse."""
        return self.bounds[0] > self.bounds[-1]

    def colour(self, value: float | None) -> str:
        """Colour of a mean."""
        if value is None:
            return NOTHING
        scaled = self.factor * value
        return STEPS[sum((scaled < bound) if self.falls else (scaled >= bound) for bound in self.bounds)]

    def steps(self) -> list[str]:
        """Legend of the colours."""
        unit = f" {self.unit}" if self.unit else ""
        first, last = self.bounds[0], self.bounds[-1]
        between = [f"{min(pair):g} to {max(pair):g}{unit}" for pair in pairwise(self.bounds)]
        if self.falls:
            return [f"at least {first:g}{unit}", *between, f"below {last:g}{unit}"]
        return [f"below {first:g}{unit}", *between, f"at least {last:g}{unit}"]


def _of_links(take: Callable[[Json], float | None], up: int) -> Callable[[Json], list[float | None]]:
    def of(document: Json) -> list[float | None]:
        nodes = document["runs"][0]["access"]["nodes"]
        links = ([run["links"][2 * index + up] for run in document["runs"]] for index in range(len(nodes)))
        means = (over_runs(document, map(take, of_node)) for of_node in links)
        return [None if one is None else one["mean"] for one in means]

    return of


def _worst_shares(document: Json) -> list[float | None]:
    shares = node_shares(document)
    found = [shares.get(node["name"], {}).get("p5") for node in document["runs"][0]["access"]["nodes"]]
    return [None if one is None else one["mean"] for one in found]


def _utilisation(link: Json) -> float:
    return float(link["utilisation"])


DOWN = Quantity("link busy, to subscribers", "link busy", (50, 80, 95), "%", 100, _of_links(_utilisation, 0))
UP = Quantity("link busy, from subscribers", "link busy", (50, 80, 95), "%", 100, _of_links(_utilisation, 1))
SHARE = Quantity("share of the slowest 5 %", "share of the slowest 5 %", (0.9, 0.7, 0.5), "", 1, _worst_shares)
DELAY = Quantity("queue p99, to subscribers", "queue p99", (2, 10, 50), "ms", 1e3, _of_links(longest_delay_s, 0))
OF_ONE = (DOWN, UP, SHARE, DELAY)
SIDE_BY_SIDE = (DOWN, SHARE, DELAY)


def pictures(documents: Mapping[str, Json]) -> list[Picture]:
    """The map, if the documents (by scheme) are about an access network. Shows at most `MOST_SCHEMES` schemes."""
    if not is_access(documents):
        return []
    shown = dict(list(documents.items())[:MOST_SCHEMES])
    quantities = OF_ONE if len(shown) == 1 else SIDE_BY_SIDE
    columns = 2 if len(shown) == 1 else len(quantities)
    return [
        Picture(
            stem="-map",
            title="Map of the network",
            caption=_caption(len(shown), len(documents)),
            words=_words(shown),
            wide=partial(_draw, shown, quantities, WIDE_IN, columns),
            narrow=partial(_draw, shown, quantities, NARROW_IN, 1),
            says_more=True,
        )
    ]


def _caption(shown: int, total: int) -> str:
    rows = "" if shown == 1 else " A row for each scheme"
    left = f", the first {shown} of {total} in the order above" if shown < total else ""
    return (
        "Gateway, sites and access points, each as wide as the users below it; coloured by how busy its links are, by "
        "what the 5 % of the users below it with the least get of their own max-min shares, and by the 99th percentile "
        f"of the delay in its queue. Means over the replications.{rows}{left}{'.' if rows else ''}"
    )


def _words(documents: Mapping[str, Json]) -> str:
    """Text alternative: the busiest node and the smallest shares, by scheme."""
    nodes = next(iter(documents.values()))["runs"][0]["access"]["nodes"]
    sentences = [f"Tree of {len(nodes)} nodes."]
    for scheme, document in documents.items():
        busy = [(value or 0.0, node["name"]) for value, node in zip(DOWN.of(document), nodes, strict=True)]
        shares = zip(SHARE.of(document), nodes, strict=True)
        least = min(((value, node["name"]) for value, node in shares if value is not None), default=None)
        use, busiest = max(busy)
        worst = (
            "" if least is None else f", the slowest 5 % have least below {least[1]}, {least[0]:.2f} of their shares"
        )
        sentences.append(f"Under {scheme} the busiest link to subscribers is that of {busiest}, at {use:.0%}{worst}.")
    return " ".join(sentences)


def _draw(documents: Mapping[str, Json], quantities: Sequence[Quantity], width_in: float, columns: int) -> Figure:
    """Draws maps row by row, with legends below."""
    import matplotlib as mpl

    from fairlane.results import plots

    maps = [(scheme, document, one) for scheme, document in documents.items() for one in quantities]
    legends = list({one.scale: one for one in quantities}.values())
    of_legends = len(legends) if columns > 1 else 1
    rows, legend_rows = math.ceil(len(maps) / columns), math.ceil(len(legends) / of_legends)
    height_in = PANEL_IN * rows + LEGEND_IN * legend_rows
    map_in = (width_in - LEVELS_IN) / columns - GAP_IN

    def axes_at(place: int, of: int, top_in: float, tall_in: float) -> Axes:
        """Axes at a position in a row of `of` maps."""
        room_in = (width_in - LEVELS_IN) / of
        left, bottom = LEVELS_IN + place * room_in, height_in - top_in - tall_in
        return drawn.add_axes((left / width_in, bottom / height_in, (room_in - GAP_IN) / width_in, tall_in / height_in))

    with mpl.rc_context(plots.STYLE):
        drawn = plots.Drawn(figsize=(width_in, height_in))
        for number, (scheme, document, quantity) in enumerate(maps):
            row, column = divmod(number, columns)
            axes = axes_at(column, columns, PANEL_IN * row + TITLE_IN, PANEL_IN - TITLE_IN)
            _draw_map(axes, document, quantity, map_in)
            _describe_nodes(drawn, axes, document, map_in)
            _write_titles(axes, scheme if len(documents) > 1 else "", quantity.words)
            names = [level.replace("_", " ") for level in LEVELS]
            axes.set_yticks([-row for row in range(len(LEVELS))], names if column == 0 else [])
        for number, quantity in enumerate(legends):
            row, column = divmod(number, of_legends)
            top_in = PANEL_IN * rows + LEGEND_IN * row + GAP_IN
            _draw_legend(axes_at(column, of_legends, top_in, LEGEND_IN - GAP_IN), quantity)
    return drawn


def _write_titles(axes: Axes, scheme: str, quantity: str) -> None:
    axes.set_title(quantity, loc="right" if scheme else "left", fontsize=8, color="0.35", pad=3)
    if scheme:
        axes.set_title(for_figure(display_name(scheme)), loc="left", fontsize=8.5, fontweight="bold", pad=3)


def _draw_map(axes: Axes, document: Json, quantity: Quantity, room_in: float) -> None:
    """Draws each level as a row of bars, each bar below its parent."""
    nodes = document["runs"][0]["access"]["nodes"]
    at = _places(nodes)
    total = max(nodes[0]["users"], 1)
    for row, level in enumerate(LEVELS):
        own = [index for index, node in enumerate(nodes) if node["level"] == level]
        if not own:
            continue
        values = quantity.of(document)
        spans = [(at[index], nodes[index]["users"]) for index in own]
        # Narrow bars need narrow gaps, or none.
        bar_points = 72 * room_in / len(own)
        line = min(0.8, bar_points / 8) if bar_points > 2 else 0
        colours = [quantity.colour(values[index]) for index in own]
        axes.broken_barh(spans, (-row - ROW / 2, ROW), facecolors=colours, edgecolor="white", linewidth=line)
        for index in own:
            _write_name(axes, nodes[index], at[index], -row, room_in * nodes[index]["users"] / total)
    axes.set(xlim=(0, total), ylim=(-len(LEVELS) + 0.5, 0.5), xticks=[])
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _describe_nodes(drawn: Drawn, axes: Axes, document: Json, room_in: float) -> None:
    """Adds SVG tooltips to nodes that are wide enough."""
    from matplotlib.patches import Rectangle

    nodes = document["runs"][0]["access"]["nodes"]
    total = max(nodes[0]["users"], 1)
    for node, at, words in zip(nodes, _places(nodes), _node_words(document), strict=True):
        if 72 * room_in * node["users"] / total >= LEAST_POINTS:
            corner = (at, -LEVELS.index(node["level"]) - ROW / 2)
            bar = axes.add_patch(Rectangle(corner, node["users"], ROW, facecolor="none", edgecolor="none", zorder=9))
            drawn.describe(bar, words)


def _node_words(document: Json) -> list[str]:
    """Tooltip of each node: name, rates of its links, and values on the maps."""
    nodes = document["runs"][0]["access"]["nodes"]
    numbers = [quantity.of(document) for quantity in OF_ONE]
    links = document["runs"][0]["links"]
    words = []
    for index, node in enumerate(nodes):
        down, up = (f"{1e-6 * links[place]['rate_bps']:g} Mbit/s" for place in (2 * index, 2 * index + 1))
        lines = [f"{name(node['name'])}, {node['users']} users", f"{down} to subscribers, {up} from them"]
        lines += [
            f"{quantity.words}: {quantity.factor * value:.3g} {quantity.unit}".rstrip()
            for quantity, of_nodes in zip(OF_ONE, numbers, strict=True)
            if (value := of_nodes[index]) is not None
        ]
        words.append("\n".join(lines))
    return words


def _places(nodes: Sequence[Json]) -> list[float]:
    """Left end of each node, below its parent and after its preceding siblings."""
    free: dict[str, float] = {}
    places = []
    for node in nodes:
        parent = node["parent"] or ""
        at = free.get(parent, 0.0)
        free[node["name"]], free[parent] = at, at + node["users"]
        places.append(at)
    return places


def _write_name(axes: Axes, node: Json, at: float, row: float, room_in: float) -> None:
    """Writes the name of a node without its parent's name, horizontally or vertically, if there is space for it."""
    name = for_figure(node["name"].removeprefix(f"{node['parent']}."))
    length_in = LETTER_IN * len(name) + 0.02
    upright = length_in > room_in
    if upright and (room_in < LINE_IN or length_in > (PANEL_IN - TITLE_IN) / len(LEVELS)):
        return
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "color": INK}
    axes.text(at + node["users"] / 2, row, name, rotation=90 if upright else 0, **middle)


def _draw_legend(axes: Axes, quantity: Quantity) -> None:
    """Swatches with labels."""
    from matplotlib.patches import Patch

    axes.axis("off")
    swatches = [Patch(facecolor=colour, label=text) for colour, text in zip(STEPS, quantity.steps(), strict=True)]
    axes.legend(
        handles=swatches,
        title=quantity.scale,
        loc="upper left",
        ncols=2,
        fontsize=7,
        title_fontsize=7.5,
        alignment="left",
        frameon=False,
        borderaxespad=0,
        handlelength=1.2,
        handleheight=1.0,
        columnspacing=1.0,
        borderpad=0,
    )
