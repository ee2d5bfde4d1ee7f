"""Tables of links: utilisation, queue, delays and drops; for many links, only the busiest."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane.results.access import longest_delay_s
from fairlane.results.metrics import shown
from fairlane.results.summary import key
from fairlane.results.table import Json, Table, cell, over_runs

MANY_LINKS = 12
"""Maximum number of links in a complete table."""
BUSIEST = 10
OF_AN_OVERVIEW = 3
"""Number of busiest links in a table of many queues."""


def link_tables(documents: Mapping[str, Json]) -> list[Table]:
    """Tables of all links, or one table of the busiest links."""
    links = next(iter(documents.values()))["summary"]["links"]
    return [busiest_links(documents)] if len(links) > MANY_LINKS else _all_links(documents)


def busiest(use: Mapping[str, float], most: int) -> list[str]:
    """Names of the links with the highest utilisation, in descending order; ties by name."""
    return sorted(use, key=lambda name: (-use[name], name))[:most]


def of_how_many(shown: int, total: int) -> str:
    """Note below a table that does not contain all links."""
    return f"the {shown} busiest of {total} links; --json has all, and links.parquet of --out"


def busiest_links(documents: Mapping[str, Json], most: int = BUSIEST) -> Table:
    """Table of utilisation, queue length, delay and drops of the busiest links, under each compared scheme.

    Links are ranked by the highest utilisation that they have under any of these schemes.
    """
    *first, dropped = shown("links")
    (waited,) = (metric for metric in shown("delays") if metric.name == "delay_p99_s")
    heads = [metric.head for metric in (*first, waited, dropped)]
    use: dict[str, float] = {}
    for document in documents.values():
        for link in document["summary"]["links"]:
            use[link["name"]] = max(use.get(link["name"], 0.0), link["utilisation"]["mean"])
    table = Table(["link", "queue", *heads], 2, "Busiest links", of_how_many(most, len(use)))
    for name in busiest(use, most):
        for queue, document in documents.items():
            index = next(i for i, link in enumerate(document["summary"]["links"]) if link["name"] == name)
            link = document["summary"]["links"][index]
            delay = over_runs(document, (longest_delay_s(run["links"][index]) for run in document["runs"]))
            cells = (cell(metric, link[key(metric)]) for metric in first)
            table.add_row(name, queue, *cells, cell(waited, delay), cell(dropped, link[key(dropped)]))
    return table


def _all_links(documents: Mapping[str, Json]) -> list[Table]:
    of_links = shown("links")[:-1]  # drops have a separate table
    of_delays, of_drops = shown("delays"), shown("drops")
    links = Table(["queue", "link", *(metric.head for metric in of_links)], 2, "Links")
    delays = Table(["queue", "link", "class", *(metric.head for metric in of_delays)], 3, "Delays of links")
    drops = Table(["queue", "link", "reason", *(metric.head for metric in of_drops)], 3, "Drops")
    for queue, document in documents.items():
        for place, link in enumerate(document["summary"]["links"]):
            name = link["name"]
            records = [delay for run in document["runs"] for delay in run["links"][place]["delay"]]
            links.add_row(queue, name, *(cell(metric, link[key(metric)]) for metric in of_links))
            for delay in link["delay"]:
                of_class = [run for run in records if run["traffic_class"] == delay["traffic_class"]]
                names = [metric.path[1] for metric in of_delays]
                means = (over_runs(document, (one[quantity] for one in of_class)) for quantity in names)
                delays.add_row(queue, name, delay["traffic_class"], *map(cell, of_delays, means))
            for drop in link["drops"]:
                drops.add_row(queue, name, drop["reason"], *(cell(metric, drop[metric.path[1]]) for metric in of_drops))
    return [links, delays, drops]
