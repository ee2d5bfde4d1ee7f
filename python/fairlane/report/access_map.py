"""What the page of a run of an access network has besides: a map of the tree, applications, nodes, users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairlane.report.own_page import Head, Picture, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Json = Mapping[str, Any]
FIRST_RUN = "Of the first replication."
LEVELS = ("gateway", "site", "access_point")
WORST = 20
"""Nodes that the table names."""
COLOURS = ((0.5, "#E8F1F7"), (0.8, "#9CC7E3"), (0.95, "#E69F00"), (2.0, "#D55E00"))
"""Of a link that is busy for less than this part of the time."""


def pictures(document: Json) -> list[Picture]:
    """The map, if the document is of an access network."""
    run = document["runs"][0]
    if not run.get("access"):
        return []
    nodes = run["access"]["nodes"]
    busiest = max(run["links"], key=lambda link: link["utilisation"])
    return [
        Picture(
            stem="-map",
            title="Map of the network",
            caption=f"Gateway, sites and access points, as wide as the users below them, coloured by how busy their "
            f"links towards the subscribers are: below 50 %, below 80 %, below 95 %, and above. {FIRST_RUN}",
            words=f"Tree of {len(nodes)} nodes. Busiest is {busiest['name']}, at {busiest['utilisation']:.0%}.",
            wide=partial(_draw, run, 6.4),
            narrow=partial(_draw, run, 3.5),
        )
    ]


def tables(document: Json) -> list[Table]:
    """Applications, nodes and groups, if the document is of an access network."""
    run = document["runs"][0]
    if not run.get("access"):
        return []
    return [_applications(run), _nodes(run), _levels(run), _users(run)]


def _draw(run: Json, width_in: float) -> Figure:
    from fairlane.results import plots

    nodes, links = run["access"]["nodes"], run["links"]
    with plots.figure("", "", (width_in, 2.6)) as (drawn, axes):
        starts = {"": 0.0}
        for index, node in enumerate(nodes):
            at = starts.get(node["parent"] or "", 0.0)
            starts[node["name"]] = at
            starts[node["parent"] or ""] = at + node["users"]
            busy = links[2 * index]["utilisation"]
            colour = next(colour for below, colour in COLOURS if busy < below)
            row = LEVELS.index(node["level"])
            axes.barh(-row, node["users"], 0.9, left=at, color=colour, edgecolor="white", linewidth=0.5)
            if node["level"] != "access_point":
                axes.text(at + node["users"] / 2, -row, node["name"], ha="center", va="center", fontsize=7)
        axes.set_yticks([-row for row in range(len(LEVELS))], [level.replace("_", " ") for level in LEVELS])
        axes.set_xlabel("users")
        axes.grid(visible=False)
    return drawn


def _cells(values: Sequence[float | None], scale: float, digits: int) -> list[str]:
    return ["–" if value is None else f"{scale * value:.{digits}f}" for value in values]


def _applications(run: Json) -> Table:
    """A row for each application."""
    rows = []
    for one in run["access"]["applications"]:
        delay = one["one_way_delay"] or {}
        percentiles = [delay.get(key) for key in ("p50_s", "p95_s", "p99_s", "max_s")]
        rows.append(Row([one["name"]], [f"{one['delivered_packets']}", *_cells(percentiles, 1e3, 1)]))
    heads = [Head(text) for text in ("packets", "median (ms)", "p95 (ms)", "p99 (ms)", "longest (ms)")]
    caption = f"One-way delay from host to receiver. {FIRST_RUN}"
    return Table("applications", "Applications", caption, ["application"], heads, rows)


def _nodes(run: Json) -> Table:
    """The nodes with the worst shares below them."""
    links = run["links"]
    found = [(node["share"]["p5"], index, node) for index, node in enumerate(run["access"]["nodes"]) if node["share"]]
    rows = []
    for _, index, node in sorted(found, key=lambda one: one[:2])[:WORST]:
        delays = [
            max((one["p99_s"] for one in link["delay"]), default=None) for link in links[2 * index : 2 * index + 2]
        ]
        busy = [link["utilisation"] for link in links[2 * index : 2 * index + 2]]
        shares = [node["share"][key] for key in ("p5", "p50")]
        cells = [f"{node['users']}", *_cells(shares, 1, 2), *_cells(busy, 100, 0), *_cells(delays, 1e3, 2)]
        rows.append(Row([node["name"]], cells))
    texts = (
        "users",
        "share p5",
        "share p50",
        "down busy (%)",
        "up busy (%)",
        "queue down p99 (ms)",
        "queue up p99 (ms)",
    )
    caption = f"Throughput of the users below a node over their own max-min shares, the worst first. {FIRST_RUN}"
    return Table("nodes", "Worst nodes", caption, ["node"], [Head(text) for text in texts], rows)


def _levels(run: Json) -> Table:
    """State and work at gateway, sites and access points."""
    rows = []
    for level in LEVELS:
        own = [index for index, node in enumerate(run["access"]["nodes"]) if node["level"] == level]
        links = [link for index in own for link in run["links"][2 * index : 2 * index + 2]]
        states = [link["state"]["bytes"] for link in links]
        packets = sum(link["accounting"]["departed"] for link in links)
        drops = sum(link["accounting"]["dropped"] for link in links)
        cells = [f"{len(links)}", f"{max(states, default=0)}", f"{sum(states)}", f"{packets}", f"{drops}"]
        rows.append(Row([level.replace("_", " ")], cells))
    rows.append(Row(["edge"], ["–", "–", f"{run['edge_state']['bytes']}", "–", "–"]))
    texts = ("ports", "most state of a port (B)", "state of all (B)", "packets sent", "packets dropped")
    caption = f"State is that at the end, packets those of the whole run. {FIRST_RUN}"
    return Table("levels", "State and work", caption, ["level"], [Head(text) for text in texts], rows)


def _users(run: Json) -> Table:
    """Percentiles of the shares of each group."""
    keys = ("p1", "p5", "p50", "p95", "mean")
    rows = []
    for group in run["groups"]:
        share = (group.get("user_summary") or {}).get("share") or {}
        worst = ((group.get("user_summary") or {}).get("worst") or [{}])[0]
        cells = [f"{group['users']}", *_cells([share.get(key) for key in keys], 1, 2), str(worst.get("node") or "–")]
        rows.append(Row([group["name"]], cells))
    heads = [Head(text) for text in ("users", *keys, "worst user is at")]
    caption = f"Throughput of a user over its own max-min share. {FIRST_RUN}"
    return Table("user-shares", "Shares of the users", caption, ["group"], heads, rows)
