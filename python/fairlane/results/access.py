"""Tables of an access network and of distributions over users: shares, applications, nodes, levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairlane.results.intervals import PointEstimate
from fairlane.results.table import Json, Table, mean, over_runs, quantile

LEVELS = ("gateway", "site", "access_point")
MOST_NODES = 10
MOST_USERS = 10
"""Number of worst users in the terminal and in notebooks; pages list more."""
_SHARES = ("min", "p1", "p5", "p50", "p95", "mean")
_SHARE = "throughput of a user over its own max-min share"


def is_access(documents: Mapping[str, Json]) -> bool:
    """True if the results are from an access network."""
    return all(document["runs"][0].get("access") for document in documents.values())


def access_tables(documents: Mapping[str, Json], most: int = MOST_NODES) -> list[Table]:
    """The tables of this module that have rows. There are none if results list every user and have no tree."""
    tables = [user_shares(documents), worst_users(documents, most)]
    if is_access(documents):
        tables += [applications(documents), worst_nodes(documents, most), levels(documents)]
    return [table for table in tables if table.rows]


def user_shares(documents: Mapping[str, Json]) -> Table:
    """Percentiles of the users' shares in each group, lowest percentile first."""
    heads = ["queue", "group", "users", *(f"share {name}" for name in _SHARES)]
    table = Table(heads, 2, "Shares of the users", f"share: {_SHARE}; what 1, 5, 50, 95 % of the users do not exceed")
    for queue, document in documents.items():
        for index, group in enumerate(document["summary"]["groups"]):
            found = [(run["groups"][index].get("user_summary") or {}).get("share") for run in document["runs"]]
            if any(found):
                shares = (over_runs(document, (one[name] for one in found if one)) for name in _SHARES)
                table.add_row(queue, group["name"], str(group["users"]), *map(mean, shares))
    return table


def worst_users(documents: Mapping[str, Json], most: int = MOST_USERS) -> Table:
    """Users with the smallest shares in any replication."""
    heads = ["queue", "group", "user", "node", "replication", "throughput (Mbit/s)", "max-min (Mbit/s)", "share"]
    each = "" if len(documents) == 1 else " under each queue"
    table = Table(heads, 3, "Worst users", f"the {most} smallest shares of a user in a replication{each}")
    for queue, document in documents.items():
        found = [
            (worst["share"], group["name"], worst["user"], run["replication"], worst)
            for run in document["runs"]
            for group in run["groups"]
            for worst in (group.get("user_summary") or {}).get("worst", ())
        ]
        for share, group, user, number, worst in sorted(found, key=lambda one: one[:4])[:most]:
            rates = (f"{1e-6 * worst[key]:.3f}" for key in ("throughput_bps", "max_min_share_bps"))
            table.add_row(queue, group, str(user), worst["node"] or "", str(number), *rates, f"{share:.3f}")
    return table


def applications(documents: Mapping[str, Json]) -> Table:
    """One-way delay of each application over all users. An application has adjacent rows, one for each scheme."""
    quantities = {"p50_s": "one-way p50 (ms)", "p95_s": "p95 (ms)", "p99_s": "p99 (ms)", "max_s": "longest (ms)"}
    table = Table(["application", "queue", "packets", *quantities.values()], 2, "Applications")
    table.note = "one-way delay from host to receiver"
    first = next(iter(documents.values()))
    for application in (one["name"] for one in first["runs"][0]["access"]["applications"]):
        for queue, document in documents.items():
            found = [
                one for run in document["runs"] for one in run["access"]["applications"] if one["name"] == application
            ]
            packets = over_runs(document, (one["delivered_packets"] for one in found))
            delays = [one["one_way_delay"] or {} for one in found]
            times = (over_runs(document, (delay.get(key) for delay in delays)) for key in quantities)
            cells = "" if packets is None else f"{packets['mean']:.0f}"
            *percentiles, longest = times
            shown = (quantile(time, 1e3) for time in percentiles)
            table.add_row(application, queue, cells, *shown, mean(longest, 1e3))
    return table


def worst_nodes(documents: Mapping[str, Json], most: int = MOST_NODES) -> Table:
    """Nodes whose users have the smallest shares.

    For one queue, the table includes utilisation and delay of the nodes' links. For several, the queues are side by
    side.
    """
    every = {queue: node_shares(document) for queue, document in documents.items()}
    names = sorted(next(iter(every.values())), key=lambda name: (*_badness(every, name), name))
    if len(documents) == 1:
        ((queue, document),) = documents.items()
        table = _nodes_of_one(queue, document, every[queue], names[:most])
    else:
        heads = [(queue, f"share {quantity}") for quantity in ("p5", "p50") for queue in documents]
        table = Table(["node", "users", *heads], 1)
        users = {node["name"]: node["users"] for node in next(iter(documents.values()))["runs"][0]["access"]["nodes"]}
        for name in names[:most]:
            cells = (mean(shares.get(name, {}).get(key)) for key in ("p5", "p50") for shares in every.values())
            table.add_row(name, str(users[name]), *cells)
    table.title = "Worst nodes"
    least = "the least under any queue" if len(documents) > 1 else "the least"
    order = f"{least} first, then the least median, then by name"
    table.note = f"{min(most, len(names))} of {len(names)} nodes by the p5 of the shares of the users below, {order}"
    return table


def node_shares(document: Json) -> dict[str, dict[str, PointEstimate | None]]:
    """Percentiles of user shares below each node. Leaves out nodes below which no user has a demand."""
    samples: dict[str, list[Json]] = {}
    for run in document["runs"]:
        for node in run["access"]["nodes"]:
            if node.get("share"):
                samples.setdefault(node["name"], []).append(node["share"])
    return {
        name: {key: over_runs(document, (one[key] for one in shares)) for key in ("p5", "p50")}
        for name, shares in samples.items()
    }


def _badness(every: Mapping[str, Mapping[str, Any]], name: str) -> tuple[float, float]:
    """Sort key of a node: the lowest 5th percentile of its users' shares in all results, then the lowest median."""
    found = [shares[name] for shares in every.values() if name in shares]
    return min(one["p5"]["mean"] for one in found), min(one["p50"]["mean"] for one in found)


def _nodes_of_one(queue: str, document: Json, shares: Mapping[str, Any], names: Sequence[str]) -> Table:
    links = ("down busy (%)", "up busy (%)", "queue down p99 (ms)", "queue up p99 (ms)")
    table = Table(["queue", "node", "users", "share p5", "share p50", *links], 2)
    nodes = document["runs"][0]["access"]["nodes"]
    place = {node["name"]: index for index, node in enumerate(nodes)}
    for name in names:
        index = place[name]
        busy = (_of_link(document, link, lambda one: one["utilisation"]) for link in (2 * index, 2 * index + 1))
        waits = (_of_link(document, link, longest_delay_s) for link in (2 * index, 2 * index + 1))
        table.add_row(
            queue,
            name,
            str(nodes[index]["users"]),
            *(mean(shares[name][key]) for key in ("p5", "p50")),
            *(mean(one, 100) for one in busy),
            *(quantile(one, 1e3) for one in waits),
        )
    return table


def longest_delay_s(link: Json) -> float | None:
    """Largest 99th percentile of delay among a link's classes in a run; None if no packet passed."""
    return max((delay["p99_s"] for delay in link["delay"]), default=None)


def _of_link(document: Json, index: int, take: Any) -> PointEstimate | None:
    return over_runs(document, (take(run["links"][index]) for run in document["runs"]))


def levels(documents: Mapping[str, Json]) -> Table:
    """Bytes of state and numbers of packets at gateway, sites, access points and edge, with a row for each scheme."""
    heads = ["ports", "most state of a port (B)", "state of all (B)", "packets sent", "packets dropped"]
    table = Table(["level", "queue", *heads], 2, "State and work")
    table.note = "state at the end, packets of the whole run, warm-up included: means over the replications"
    for level in LEVELS:
        for queue, document in documents.items():
            links = [list(_links_of(run, level)) for run in document["runs"]]
            states = [[link["state"]["bytes"] for link in of_run] for of_run in links]
            counts = [[link["accounting"] for link in of_run] for of_run in links]
            numbers = (
                [max(of_run, default=0) for of_run in states],
                [sum(of_run) for of_run in states],
                [sum(count["departed"] for count in of_run) for of_run in counts],
                [sum(count["dropped"] for count in of_run) for of_run in counts],
            )
            table.add_row(level.replace("_", " "), queue, str(len(links[0])), *map(_mean_count, numbers))
    for queue, document in documents.items():
        edge = _mean_count([run["edge_state"]["bytes"] for run in document["runs"]])
        table.add_row("edge", queue, "", "", edge, "", "")
    return table


def _links_of(run: Json, level: str) -> Iterator[Json]:
    """Links of the nodes of a level, two per node."""
    for index, node in enumerate(run["access"]["nodes"]):
        if node["level"] == level:
            yield from run["links"][2 * index : 2 * index + 2]


def _mean_count(counts: Sequence[int]) -> str:
    return f"{sum(counts) / len(counts):.0f}"
