"""Tables of paths from host to receiver, for groups, and for users and flows if the scenario requests them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairlane.results.metrics import shown
from fairlane.results.table import Json, Table, cell, mean, over_runs

MOST_ROWS = 10
"""Number of users and flows per queue in the terminal and in notebooks."""
_PATH = shown("paths", "group")
_TIMES = {"one_way_delay": "one-way", "rtt": "RTT"}
_OF_TIMES = {name: [metric for metric in _PATH if metric.path[1] == name] for name in _TIMES}
_SHARES = [metric for metric in _PATH if metric.path[1] not in _TIMES]


class _Who(NamedTuple):
    """A user or a flow: identification, throughput, and delays and losses of its packets."""

    keys: Sequence[str]
    throughput_bps: Json | None
    path: Json

    @property
    def slowness(self) -> float:
        """Sort key: 99th percentile of the one-way delay, or the mean without percentiles; lowest without delays."""
        delay = self.path["one_way_delay"]
        return float((delay["p99_s"] or delay["mean_s"])["mean"]) if delay else -1.0


def path_tables(documents: Mapping[str, Json], most: int = MOST_ROWS) -> list[Table]:
    """One-way delay, loss, marks and RTT of groups, users and flows, with rows for each queue.

    Args:
        documents: Result documents by queue.
        most: Maximum number of users or flows, which are listed by decreasing delay.
    """
    groups = {queue: list(_groups(document)) for queue, document in documents.items()}
    users = {queue: list(_users(document)) for queue, document in documents.items()}
    flows = {queue: list(_flows(document)) for queue, document in documents.items()}
    return [
        *_both(groups, ["group"], "groups", 0),
        *_both(users, ["group", "user"], "users", most),
        *_both(flows, ["group", "flow", "transport"], "flows", most),
    ]


def _both(found: Mapping[str, Sequence[_Who]], keys: Sequence[str], what: str, most: int) -> Iterator[Table]:
    """The tables of one-way delays and of RTTs."""
    with_rates = what != "groups"
    note = ""
    shown = dict(found)
    if most and any(len(every) > most for every in found.values()):
        shown = {queue: sorted(every, key=lambda one: -one.slowness)[:most] for queue, every in found.items()}
        total = max(map(len, found.values()))
        each = "" if len(found) == 1 else " under each queue"
        note = (
            f"{most} of {total} {what}{each}, by p99 one-way delay, the longest first; --json has all, {what}.parquet"
        )
    for name, words in _TIMES.items():
        first, *others = (metric.head for metric in _OF_TIMES[name])
        heads = [first, *(head.removeprefix(f"{words} ") for head in others)]
        if name == "one_way_delay":
            rate = ["throughput (Mbit/s)"] if with_rates else []
            heads = [*rate, *heads, *(metric.head for metric in _SHARES)]
        title = f"{'One-way delay' if name == 'one_way_delay' else 'RTT'} by {what.removesuffix('s')}"
        table = Table(["queue", *keys, *heads], 1 + len(keys), title, note)
        for queue, every in shown.items():
            for one in every:
                if name == "one_way_delay" or one.path[name]:
                    table.add_row(queue, *one.keys, *_cells(one, name, with_rate=with_rates))
        yield table


def _cells(one: _Who, name: str, *, with_rate: bool) -> Iterator[str]:
    is_delay = name == "one_way_delay"
    if is_delay and with_rate:
        yield mean(one.throughput_bps, 1e-6)
    for metric in (*_OF_TIMES[name], *(_SHARES if is_delay else ())):
        yield cell(metric, metric.of({"path": one.path}))


def _groups(document: Json) -> Iterator[_Who]:
    for group in document["summary"]["groups"]:
        yield _Who([group["name"]], None, group["path"])


def _users(document: Json) -> Iterator[_Who]:
    for group in document["summary"]["groups"]:
        for user, path in enumerate(group["user_paths"]):
            rates = group["user_throughput_bps"]
            yield _Who([group["name"], str(user)], rates[user] if rates else None, path)


def _flows(document: Json) -> Iterator[_Who]:
    """Flows that last as long as the run, numbered as in flows.parquet; the summary does not list them."""
    runs = [list(_flows_of(run)) for run in document["runs"]]
    for same in zip(*runs, strict=True):
        group, number, transport = same[0][:3]
        rate = over_runs(document, (rate for *_, rate, _ in same))
        yield _Who([group, str(number), transport], rate, _over_runs(document, [path for *_, path in same]))


def _flows_of(run: Json) -> Iterator[tuple[str, int, str, float | None, Json]]:
    for group in run["groups"]:
        tcp, udp = group.get("tcp") or {}, group.get("udp") or {}
        of_tcp, of_udp = tcp.get("flow_paths") or [], udp.get("flow_paths") or []
        for number, path in enumerate(of_tcp):
            yield group["name"], number, "TCP", tcp["flow_throughput_bps"][number], path
        for number, path in enumerate(of_udp, len(of_tcp)):
            yield group["name"], number, "UDP", None, path


def _over_runs(document: Json, paths: Sequence[Json]) -> dict[str, Any]:
    """The path averaged over runs, as in a summary."""
    summary: dict[str, Any] = {
        metric.path[1]: over_runs(document, (path[metric.path[1]] for path in paths)) for metric in _SHARES
    }
    for name in _TIMES:
        found = [path[name] for path in paths if path.get(name)]
        quantities = [metric.path[2] for metric in _OF_TIMES[name]]
        means = {key: over_runs(document, (one[key] for one in found)) for key in quantities}
        summary[name] = means if found else None
    return summary
