"""Figure of a scenario's network: users, links with their queues, receivers; for an access network, its tree."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.text import Text

from fairlane.base.text import counted, for_figure
from fairlane.results import plots
from fairlane.results.access import LEVELS
from fairlane.results.names import display_name

Json = Mapping[str, Any]
MOST_GROUPS = 12
"""Maximum number of groups with a row each; the others are only counted."""
COLUMN_IN, ROW_IN, MARGIN_IN = 1.6, 0.95, 0.55
"""Distances in inches: between hosts and links, between groups, and at the margin."""
BOX = (1.06, 0.62)
"""Width and height of a box of hosts, in columns and rows."""
QUEUE = (0.62, 0.24)
"""Size of the symbol of a queue."""
LETTERS, LEAST_LETTERS = 23, 9
"""Maximum number of letters in a line of a box. Narrow boxes have shorter lines, but at least the second number."""
FONT = 8
"""Font size in points in boxes and trees."""
LINE_SPACING = 1.25
BELOW = 0.33
"""Height of the text below a box, in rows."""
MOST_UNITS = 5
"""Maximum number of hosts and links side by side in one paper column; wider figures take both columns."""
LEVEL_IN, NAME_IN, TREE_IN = 0.62, 2.6, 7.8
"""Sizes in inches of a tree: height of a level, width of the text next to it, width of the figure."""
COLUMN_LEVEL_IN, COLUMN_NAME_IN = 0.45, 1.3
"""Height of a level and width of the text, in inches, in a tree one paper column wide."""
LETTER_POINTS = 0.68
"""Width of a letter divided by its font size."""
KINDS = {
    "tcp": "TCP flow",
    "cbr": "CBR source",
    "poisson": "Poisson source",
    "on_off": "on-off source",
    "web": "web surfer",
    "transfers": "source of transfers",
    "video": "video player",
    "voip": "call",
    "rpm": "test of responsiveness",
}
"""Labels of the kinds of sources."""


@dataclass(frozen=True)
class _Route:
    """Path of a group through the links.

    Attributes:
        group: Number of the group.
        links: Numbers of the links, in order.
        rate_bps: Rate of the group's access links.
        delay_s: Delay of the group's access links.
    """

    group: int
    links: tuple[int, ...]
    rate_bps: float
    delay_s: float


def draw(scenario: Json, layout: Json, *, column: bool = False) -> Figure:
    """Draws the network of a scenario.

    Args:
        scenario: Canonical scenario.
        layout: Links and users, from the simulator.
        column: True to draw one paper column wide; both columns for more than two links in a row.
    """
    if scenario["topology"]["kind"] == "access":
        return _tree(scenario, layout, column=column)
    drawn = _chain(scenario, layout)
    if column:
        _shrink(drawn)
    return drawn


def _shrink(drawn: Figure) -> None:
    """Makes a figure of links in a row one or two paper columns wide.

    Letters shrink, at most to `LEAST_FONT`; longer lines then wrap.
    """
    width_in, height_in = drawn.get_size_inches()
    width = plots.COLUMN_IN if width_in <= COLUMN_IN * MOST_UNITS else plots.BOTH_COLUMNS_IN
    factor = width / width_in
    drawn.suptitle("")
    row_in = 0.7 * ROW_IN
    for text in drawn.findobj(Text):
        size = max(plots.LEAST_FONT, factor * float(text.get_fontsize()))
        letters = int(LETTERS * min(1, factor * FONT / size)) - 1
        lines = _wrapped(text.get_text(), max(LEAST_LETTERS, letters))
        text.set(fontsize=size, text=lines)
        tall_in = (lines.count("\n") + 1) * LINE_SPACING * size / 72
        row_in = max(row_in, tall_in / (BELOW if text.get_verticalalignment() == "top" else BOX[1]))
    drawn.set_size_inches(width, height_in * row_in / ROW_IN)
    for line in drawn.findobj(Line2D):
        line.set_markersize(factor * line.get_markersize())


def _wrapped(text: str, letters: int) -> str:
    """Wraps each line of a text, but not between a number and its unit."""
    lines = re.sub(r"(?<=\d) ", "\N{NO-BREAK SPACE}", text).split("\n")
    filled = [textwrap.fill(line, letters, break_on_hyphens=False) for line in lines]
    return "\n".join(filled).replace("\N{NO-BREAK SPACE}", " ")


def _chain(scenario: Json, layout: Json) -> Figure:
    """Draws groups to the left of their first link, receivers to the right of their last link."""
    links, groups = layout["links"], scenario["groups"]
    routes = _routes(scenario, layout)[:MOST_GROUPS]
    depth = _depths([route.links for route in routes])
    last = max(depth.values())
    rows = _rows(routes, depth, last)
    height = {link: _height(link, routes, depth, rows, last) for link in depth}
    columns = 2 * last + 3
    low, high = min([*rows, *height.values()]), max([*rows, *height.values()])
    size_in = COLUMN_IN * (columns - 0.2), 2 * MARGIN_IN + ROW_IN * (high - low) + 0.45
    title = for_figure(scenario["name"])
    left_out = len({user["group"] for user in layout["users"]}) - len({route.group for route in routes})
    if left_out > 0:
        title += f", without {left_out} more groups"
    with plots.panels(1, title, size_in=size_in) as (drawn, (axes,)):
        _empty(axes, (-0.55, columns - 0.4), (high + 0.7, low - 0.6))
        for number, (route, row) in enumerate(zip(routes, rows, strict=True)):
            colour = plots.GROUP_COLOURS[number % len(plots.GROUP_COLOURS)]
            _draw_route(axes, number, route, row, routes, depth, height, colour)
            begin, end = 2 * depth[route.links[0]], 2 * depth[route.links[-1]] + 2
            _box(axes, (begin, row), _words_of(groups[route.group], layout, route), colour)
            access = f"access link\n{_rate(route.rate_bps)}, {_time(route.delay_s)}"
            axes.text(begin, row + BOX[1] / 2 + 0.03, access, ha="center", va="top", fontsize=7, color="0.4")
            axes.plot([end], [row], "o", color=colour, markersize=8)
            is_reverse = "reverse" in scenario["topology"] and links[route.links[-1]]["name"] == "reverse"
            far_end = "servers" if is_reverse else "receivers"
            axes.text(end + 0.1, row, far_end, ha="left", va="center", fontsize=7, color="0.4")
        for link, at in depth.items():
            _queue(axes, (2 * at + 1, height[link]), links[link], varies=_varies(scenario["topology"], links[link]))
    return drawn


def _routes(scenario: Json, layout: Json) -> list[_Route]:
    """Each group's route, with the access links of its first user; longest first."""
    found: dict[tuple[int, tuple[int, ...]], _Route] = {}
    for user in layout["users"]:
        access = user["access"] or {"rate_bps": 0, "delay_ps": 0}
        # With a reverse link, data cross one link in each direction.
        ways = [[link] for link in user["route"]] if "reverse" in scenario["topology"] else [user["route"]]
        for way in ways:
            key = user["group"], tuple(way)
            found.setdefault(key, _Route(*key, access["rate_bps"], _delay_s(access)))
    return sorted(found.values(), key=lambda route: -len(route.links))


def _depths(routes: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """Column of each link: to the right of all preceding links of a route, unless routes form a cycle."""
    found: dict[int, int] = {}
    every = list(routes)
    for _ in range(len(set(itertools.chain(*every)))):
        for route in every:
            for place, link in enumerate(route):
                before = found[route[place - 1]] + 1 if place else 0
                found[link] = max(found.get(link, 0), before)
    return found


def _rows(routes: Sequence[_Route], depth: Mapping[int, int], last: int) -> list[float]:
    """Rows of groups: groups that cross all links around the middle, other groups below."""
    through = [depth[route.links[0]] == 0 and depth[route.links[-1]] == last for route in routes]
    count = sum(through)
    stacked = max(Counter(depth.values()).values())
    middle = iter(range(count))
    below = itertools.count(1)
    rows = []
    for crosses in through:
        if crosses:
            rows.append(next(middle) - (count - 1) / 2)
        else:
            rows.append(max((count - 1) / 2, (stacked - 1) / 2, 0) + next(below))
    return rows


def _height(link: int, routes: Sequence[_Route], depth: Mapping[int, int], rows: Sequence[float], last: int) -> float:
    """Row of a link: the middle if it is alone in its column, else next to the other links of its column."""
    beside = [other for other, at in depth.items() if at == depth[link]]
    if len(beside) == 1:
        return 0.0

    def own(one: int) -> float:
        crossing = [row for route, row in zip(routes, rows, strict=True) if one in route.links]
        return sum(crossing) / len(crossing)

    order = sorted(beside, key=lambda one: (own(one), one))
    spread = max(1.0, (max(map(own, order)) - min(map(own, order))) / (len(order) - 1))
    return (order.index(link) - (len(order) - 1) / 2) * spread


def _draw_route(
    axes: Axes,
    number: int,
    route: _Route,
    row: float,
    routes: Sequence[_Route],
    depth: Mapping[int, int],
    height: Mapping[int, float],
    colour: str,
) -> None:
    """Draws a line from hosts through links to receivers; lines of several groups are side by side in a link."""
    places = [(2.0 * depth[route.links[0]] + BOX[0] / 2, row)]
    for link in route.links:
        crossing = [other for other, one in enumerate(routes) if link in one.links]
        offset = (crossing.index(number) - (len(crossing) - 1) / 2) * min(0.08, 0.2 / len(crossing))
        middle = 2.0 * depth[link] + 1
        places += [
            (middle - QUEUE[0] / 2 - 0.08, height[link] + offset),
            (middle + QUEUE[0] / 2 + 0.1, height[link] + offset),
        ]
    places.append((2.0 * depth[route.links[-1]] + 2, row))
    axes.plot(*zip(*places, strict=True), color=colour, linewidth=1.4, solid_joinstyle="round", zorder=1)


def _varies(topology: Json, link: Json) -> bool:
    """True if the rate of a link changes over time."""
    own = next((one for one in topology.get("links", []) if one["name"] == link["name"]), None)
    if link["name"] == "reverse":
        own = topology.get("reverse", own)
    if own:
        return bool(own.get("schedule") or own.get("trace"))
    return bool(topology.get("bottleneck_schedule") or topology.get("bottleneck_trace"))


def _queue(axes: Axes, at: tuple[float, float], link: Json, *, varies: bool) -> None:
    """Draws a queue with its transmitter; the scheme above, name, rate and delay below."""
    x, y = at
    width, tall = QUEUE
    left = x - width / 2
    axes.add_patch(Rectangle((left, y - tall / 2), width, tall, facecolor="white", edgecolor=plots.INK, zorder=2))
    for slot in range(4):
        corner = left + width * (0.32 + 0.17 * slot), y - tall / 2
        axes.add_patch(Rectangle(corner, 0.17 * width, tall, facecolor="0.85", edgecolor=plots.INK, zorder=3, lw=0.8))
    axes.plot([left + width + 0.1], [y], "o", color="white", markeredgecolor=plots.INK, markersize=9, zorder=3)
    scheme = for_figure(display_name(link["queue"]["scheme"]))
    axes.text(x, y - tall / 2 - 0.1, scheme, ha="center", va="bottom", fontsize=9, fontweight="bold", zorder=4)
    below = f"{for_figure(link['name'])}\n{_rate(link['rate_bps'])}, {_time(_delay_s(link))}"
    below += "\nthe rate varies" if varies else ""
    axes.text(x, y + tall / 2 + 0.08, below, ha="center", va="top", fontsize=FONT, zorder=4, linespacing=LINE_SPACING)


def _box(axes: Axes, at: tuple[float, float], words: str, colour: str) -> None:
    """Draws a box of hosts."""
    width, tall = BOX
    corner = at[0] - width / 2, at[1] - tall / 2
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, width, tall, style, facecolor="white", edgecolor=colour, lw=1.4, zorder=2))
    axes.text(*at, words, ha="center", va="center", fontsize=FONT, zorder=4, linespacing=LINE_SPACING)


def _words_of(group: Json, layout: Json, route: _Route) -> str:
    """Name of the group, number of users on the route, and traffic of a user."""
    count = sum(user["group"] == route.group and tuple(user["route"]) == route.links for user in layout["users"])
    kinds = Counter[str]()
    for source in group["sources"]:
        kinds[source["kind"]] += source.get("flows", 1)
    sends = [f"{counted(number, KINDS.get(kind, kind))}" for kind, number in kinds.items()]
    each = " each" if count > 1 else ""
    lines = [for_figure(group["name"]), f"{counted(count, 'user')}", ", ".join(sends) + each]
    return "\n".join(textwrap.shorten(line, LETTERS, placeholder="…") for line in lines)


def _tree(scenario: Json, layout: Json, *, column: bool) -> Figure:
    """Draws a row per level; a node is as wide as the users below it."""
    links, users = layout["links"], layout["users"]
    parents, leaf_of = _parents(users)
    names = [links[2 * node]["name"].rpartition("/")[0] for node in range(len(links) // 2)]
    below: Counter[int] = Counter()
    for leaf in leaf_of:
        node: int | None = leaf
        while node is not None:
            below[node] += 1
            node = parents.get(node)
    levels = _levels(parents, below)
    width_in, level_in, name_in, font = (
        (plots.COLUMN_IN, COLUMN_LEVEL_IN, COLUMN_NAME_IN, plots.LEAST_FONT)
        if column
        else (TREE_IN, LEVEL_IN, NAME_IN, float(FONT))
    )
    title = "" if column else for_figure(scenario["name"])
    size_in = width_in, (0.0 if column else 1.1) + level_in * (len(levels) + 1)
    total = len(leaf_of)
    beside: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": font}
    with plots.panels(1, title, size_in=size_in) as (drawn, (axes,)):
        room = (width_in - name_in) / total
        begin: dict[int, float] = {}
        for row, nodes in enumerate(levels):
            ends: dict[int | None, float] = {}
            for node in nodes:
                parent = parents.get(node)
                begin[node] = ends.get(parent, begin[parent] if parent is not None else 0.0)
                ends[parent] = begin[node] + below[node]
                _node(axes, begin[node], row, below[node], for_figure(names[node]), room, font)
        _node(axes, 0, len(levels), total, ", ".join(_shares(scenario, users)), room, font)
        for row, nodes in enumerate(levels):
            words = _wrapped(_level_words(nodes, links, row), int(name_in / _letter_in(font)))
            axes.text(-0.02 * total, row + 0.5, words, **beside)
        axes.text(-0.02 * total, len(levels) + 0.5, f"{total} subscribers", **beside)
        _empty(axes, (-name_in / room, total), (len(levels) + 1.02, -0.02))
    return drawn


def _parents(users: Sequence[Json]) -> tuple[dict[int, int], list[int]]:
    """Parent of each node except the first, and node of each user. Node n has the links 2n (down) and 2n + 1 (up)."""
    parents: dict[int, int] = {}
    leaves = []
    for user in users:
        down = [link // 2 for link in user["route"] if link % 2 == 0]
        up = [link // 2 for link in reversed(user["route"]) if link % 2]
        for path in (down, up):
            parents |= {child: parent for parent, child in itertools.pairwise(path)}
        leaves.append((down or up)[-1])
    return parents, leaves


def _levels(parents: Mapping[int, int], nodes: Iterable[int]) -> list[list[int]]:
    """Nodes by distance from the gateway; nodes of a parent are adjacent."""
    children: dict[int | None, list[int]] = {}
    for node in sorted(nodes):
        children.setdefault(parents.get(node), []).append(node)
    level, found = children.get(None, []), []
    while level:
        found.append(level)
        level = [child for node in level for child in children.get(node, [])]
    return found


def _level_words(nodes: Sequence[int], links: Sequence[Json], row: int) -> str:
    """Number of nodes, rates down and up, scheme and delay."""
    kind = (LEVELS[row] if row < len(LEVELS) else "node").replace("_", " ")
    down, up = (_span([links[2 * node + way]["rate_bps"] for node in nodes]) for way in (0, 1))
    rates = f"{down} each way" if down == up else f"{down} down, {up} up"
    schemes = ", ".join(dict.fromkeys(for_figure(display_name(links[2 * node]["queue"]["scheme"])) for node in nodes))
    delays = sorted({_delay_s(links[2 * node]) for node in nodes})
    delay = _time(delays[0]) if len(delays) == 1 else f"{_time(delays[0])} to {_time(delays[-1])}"
    return f"{counted(len(nodes), kind)}: {schemes}\n{rates}, {delay}"


def _delay_s(link: Mapping[str, Any]) -> float:
    """Delay of a link, of which jitter takes its own part."""
    return float(link["delay_ps"] + (link.get("impairment") or {"delay_ps": 0})["delay_ps"]) / 1e12


def _span(rates: Sequence[float]) -> str:
    low, high = min(rates), max(rates)
    return _rate(low) if low == high else f"{_rate(low)} to {_rate(high)}"


def _shares(scenario: Json, users: Sequence[Json]) -> list[str]:
    counts = Counter(user["group"] for user in users)
    return [f"{for_figure(scenario['groups'][group]['name'])}: {count}" for group, count in sorted(counts.items())]


def _node(axes: Axes, begin: float, row: int, width: float, name: str, room_in: float, font: float) -> None:
    """Draws a bar, with its name if that fits."""
    line = min(1.0, 72 * room_in * width / 8)
    axes.add_patch(Rectangle((begin, row + 0.04), width, 0.92, facecolor="#DCEBF5", edgecolor="white", linewidth=line))
    letters = int(room_in * width / _letter_in(font))
    if len(name) > letters:
        name = "\n".join(textwrap.wrap(name, letters)[:3]) if letters > 8 and " " in name else ""
    axes.text(begin + width / 2, row + 0.5, name, ha="center", va="center", fontsize=font)


def _letter_in(font: float) -> float:
    return LETTER_POINTS * font / 72


def _empty(axes: Axes, across: tuple[float, float], up: tuple[float, float]) -> None:
    axes.set(xlim=across, ylim=up)
    axes.set_axis_off()


def _rate(bps: float) -> str:
    factor, unit = next(
        ((f, u) for f, u in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")) if bps >= f), (1, "bit/s")
    )
    return f"{bps / factor:.4g} {unit}"


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.4g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 or seconds == 0 else f"{1e6 * seconds:.3g} us"
