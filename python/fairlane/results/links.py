"""Links as tables: use, queue, delays and drops; of many links the busiest."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane.results.access import longest_delay_s
from fairlane.results.table import Json, Table, mean, over_runs, quantile

MANY_LINKS = 12
"""More than that are not listed one by one."""
BUSIEST = 10
OF_AN_OVERVIEW = 3
"""The busiest links in a table of many queues."""


def link_tables(documents: Mapping[str, Json]) -> list[Table]:
    """All links, or one table of the busiest."""
    links = next(iter(documents.values()))["summary"]["links"]
    return [busiest_links(documents)] if len(links) > MANY_LINKS else _all_links(documents)


def busiest(use: Mapping[str, float], most: int) -> list[str]:
    """The names of the links that are used most, from the most to the least; equals by name."""
    return sorted(use, key=lambda name: (-use[name], name))[:most]


def of_how_many(shown: int, total: int) -> str:
    """What is said below a table that does not have all links."""
    return f"the {shown} busiest of {total} links; --json has all, and links.parquet of --out"


def busiest_links(documents: Mapping[str, Json], most: int = BUSIEST) -> Table:
    """The links that are used most under any of the queues: use, queue, delay and drops in one table."""
    heads = ["utilisation (%)", "queue (packets)", "p99 delay (ms)", "dropped (%)"]
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
            queued, dropped = mean(link["queue_mean_packets"]), mean(link["dropped_share"], 100)
            table.add_row(name, queue, mean(link["utilisation"], 100), queued, quantile(delay, 1e3), dropped)
    return table


def _all_links(documents: Mapping[str, Json]) -> list[Table]:
    links = Table(["queue", "link", "utilisation (%)", "queue (packets)"], 2, "Links")
    delays = Table(
        ["queue", "link", "class", "mean delay (ms)", "p50 (ms)", "p95 (ms)", "p99 delay (ms)"], 3, "Delays of links"
    )
    drops = Table(["queue", "link", "reason", "drops (packets)", "share of arrivals (%)"], 3, "Drops")
    for queue, document in documents.items():
        for place, link in enumerate(document["summary"]["links"]):
            name = link["name"]
            records = [delay for run in document["runs"] for delay in run["links"][place]["delay"]]
            links.add_row(queue, name, mean(link["utilisation"], 100), mean(link["queue_mean_packets"]))
            for delay in link["delay"]:
                of_class = [run for run in records if run["traffic_class"] == delay["traffic_class"]]
                middle = (over_runs(document, (one[key] for one in of_class)) for key in ("p50_s", "p95_s"))
                quantiles = (quantile(time, 1e3) for time in (*middle, delay["p99_s"]))
                delays.add_row(queue, name, delay["traffic_class"], mean(delay["mean_s"], 1e3), *quantiles)
            for drop in link["drops"]:
                share = mean(drop["share_of_arrivals"], 100)
                drops.add_row(queue, name, drop["reason"], mean(drop["packets"]), share)
    return [links, delays, drops]
