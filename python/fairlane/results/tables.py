"""Results as tables of names and numbers, which the terminal and notebooks show alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fairlane.base.text import counted, name
from fairlane.results.access import access_tables, applications, is_access, user_shares, worst_nodes
from fairlane.results.answers import head, means_of, shown_columns
from fairlane.results.links import MANY_LINKS, OF_AN_OVERVIEW, busiest, link_tables, of_how_many
from fairlane.results.metric import Metric
from fairlane.results.metrics import APPLICATIONS, metric_of, of_applications, shown
from fairlane.results.paths import path_tables
from fairlane.results.summary import key
from fairlane.results.table import Json, Table, cell, mean, quantile

if TYPE_CHECKING:
    from fairlane.results.intervals import PointEstimate

#: With more queues than this, a notebook shows a comparison as one table.
MOST_QUEUES = 3
WIDTH_OF_HEADS = 20


def plane_of(document: Json) -> str:
    """Plane and kernel of the runs of a result document; empty for the simulator."""
    lab = document["runs"][0].get("lab")
    return f"{lab['plane']}, kernel {lab['kernel']}" if lab else ""


def headline(document: Json) -> str:
    """Description of the runs of a result document, written after the name of the scenario."""
    run, summary, plane = document["scenario"]["run"], document["summary"], plane_of(document)
    return (
        f"{plane and f' on {plane}'}: {counted(summary['replications'], 'replication')} of {run['measure']} "
        f"after {run['warmup']}, seed {run['seed']}; "
        f"means ± half width of the {100 * summary['confidence']:g}% interval"
    )


OVERVIEW_LEGEND = (
    "throughput per user and group; one-way delay from host to receiver by group, other delay in the queue of the "
    "link; ratio of the first group's to the second's; state at the end of the runs"
)


def overview_tables(document: Json) -> list[Table]:
    """Overview of many queues; for an access network, also its users, applications and nodes."""
    documents = document["results"]
    tables = [overview_table(document["overview"]), user_shares(documents)]
    if is_access(documents):
        tables += [applications(documents), worst_nodes(documents)]
    return [table for table in tables if table.rows]


def overview_table(overview: Json) -> Table:
    """A table with a row for the max-min shares and for each queue.

    With several links, the shares and each queue have a row for each link of `_links_of_overview`.
    """
    rows = [overview["max_min"], *overview["queues"]]
    shown = _links_of_overview(overview)
    has_links = len(shown) > 1
    delays = [(row["queue"], link["name"], delay) for row in rows for link in row["links"] for delay in link["delay"]]
    classes = list(dict.fromkeys(delay["traffic_class"] for _, _, delay in delays))
    of_class = {(queue, link, delay["traffic_class"]): delay for queue, link, delay in delays}
    delay_heads = [
        (quantity, f"delay {name}" if len(classes) > 1 else "delay", "(ms)")
        for name in classes
        for quantity in ("mean", "p99")
    ]
    heads: list[str | tuple[str, ...]] = [
        "scheme",
        *(["link"] if has_links else []),
        *((name(group["name"]), "(Mbit/s)") for group in rows[0]["groups"]),
        *((name(group["name"]), "p99 one-", "way (ms)") for group in rows[0]["groups"]),
        ("Jain", "(users)"),
        "ratio",
        ("utilisation", "(%)"),
        ("queue", "(packets)"),
        *delay_heads,
        ("drops", "(%)"),
        ("state:", "port (B)"),
        ("edge", "(B/user)"),
    ]
    table = Table(heads, keys=2 if has_links else 1)
    table.note = OVERVIEW_LEGEND
    if len(shown) < len(rows[0]["links"]):
        table.note += f"; {of_how_many(len(shown), len(rows[0]['links']))}"
    for row in rows:
        for index, link in enumerate(row["links"][place] for place in shown):
            throughputs = [mean(group["throughput_bps"], 1e-6) for group in row["groups"]]
            delays_of_users = (group["one_way_delay"] for group in row["groups"])
            one_way = [quantile(delay and delay["p99_s"], 1e3) for delay in delays_of_users]
            of_row = [*throughputs, *one_way, mean(row["jain_index"]), mean(row["throughput_ratio"])]
            queue = row["queue"] or "max-min share"
            times = (of_class.get((row["queue"], link["name"], name)) for name in classes)
            delay = [
                cell
                for time in times
                for cell in ((mean(time["mean_s"], 1e3), quantile(time["p99_s"], 1e3)) if time else ("", ""))
            ]
            table.add_row(
                queue if index == 0 else "",
                *([link["name"]] if has_links else []),
                *(of_row if index == 0 else [""] * len(of_row)),
                mean(link["utilisation"], 100),
                mean(link["queue_mean_packets"]),
                *delay,
                mean(link["dropped_share"], 100),
                _whole(link["state_bytes"]),
                _whole(row["edge_state_bytes_per_user"]) if index == 0 else "",
            )
    return table


def _links_of_overview(overview: Json) -> list[int]:
    """Indices of the links in the table: all links, or the busiest.

    Links are ranked by the highest utilisation that they have under any of the compared schemes.
    """
    links = overview["max_min"]["links"]
    if len(links) <= MANY_LINKS:
        return list(range(len(links)))
    use = {
        link["name"]: max(row["links"][place]["utilisation"]["mean"] for row in overview["queues"])
        for place, link in enumerate(links)
    }
    places = {link["name"]: place for place, link in enumerate(links)}
    return [places[found] for found in busiest(use, OF_AN_OVERVIEW)]


def summary_tables(documents: Mapping[str, Json]) -> list[Table]:
    """Tables of groups, shares, paths, transfers, applications, links, delays and drops, with rows for each queue.

    For an access network, also its users, applications, nodes and levels.

    Args:
        documents: Result documents by queue.
    """
    summaries = {queue: document["summary"] for queue, document in documents.items()}
    of_groups, of_shares, of_transfers = shown("groups"), shown("shares"), shown("transfers", "group")
    groups = Table(["queue", "group", "users", *(metric.head for metric in of_groups)], keys=2)
    shares = Table(["queue", *(metric.head for metric in of_shares)])
    transfers = Table(["queue", "group", *(metric.head for metric in of_transfers)], keys=2)
    for queue, summary in summaries.items():
        for group in summary["groups"]:
            groups.add_row(queue, group["name"], str(group["users"]), *_cells(of_groups, group))
            if group["transfers_completed"]:
                transfers.add_row(queue, group["name"], *_cells(of_transfers, group))
        shares.add_row(queue, *_cells(of_shares, summary))
    of_applications = (_application_table(kind, summaries) for kind in APPLICATIONS)
    tables = [
        groups,
        shares,
        *path_tables(documents),
        transfers,
        *of_applications,
        *access_tables(documents),
        *link_tables(documents),
    ]
    return [table for table in tables if table.rows]


def every_table(document: Json) -> list[Table]:
    """All tables of a comparison: the overview, those of `summary_tables`, and the metrics that neither has."""
    documents = document["results"]
    found = means_of(documents)
    few_links = len(document["overview"]["max_min"]["links"]) <= MANY_LINKS
    known = [column for column in shown_columns(found) if few_links or metric_of(column).scope != "link"]
    others = [column for column in known if set(metric_of(column).shown) <= {"columns", "summary"}]
    rest = Table(["queue", *(tuple(wrap(head(column, known, long=True), WIDTH_OF_HEADS)) for column in others)])
    for queue, of in found.items():
        rest.add_row(queue, *(cell(metric_of(one), of[one].document()) if one in of else "" for one in others))
    return [overview_table(document["overview"]), *summary_tables(documents), *([rest] if others else [])]


def _whole(estimate: PointEstimate | None) -> str:
    return "" if estimate is None else f"{estimate['mean']:.0f}"


def _cells(metrics: Sequence[Metric], summary: Mapping[str, Any]) -> Iterator[str]:
    return (cell(metric, summary.get(key(metric))) for metric in metrics)


def _application_table(kind: str, summaries: Mapping[str, Mapping[str, Any]]) -> Table:
    """Results of the applications of one kind; no rows if there are none."""
    metrics = of_applications(kind)
    table = Table(["queue", f"group: {kind}", *(metric.head for metric in metrics)], keys=2)
    for queue, summary in summaries.items():
        for group in summary["groups"]:
            found = group["applications"]
            if any(metric.name in found for metric in metrics):
                table.add_row(queue, group["name"], *_cells(metrics, found))
    return table
