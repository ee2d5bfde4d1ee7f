"""The record of a run, in the simulator's format; None for values that the guest cannot measure."""

from __future__ import annotations

import csv
import io
import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fairlane import _fairlane
from fairlane.base.planes import LINUX
from fairlane.linux.plan import Plan
from fairlane.results.metrics import metric_of

Row = dict[str, Any]

REASONS = ("aqm", "overlimit", "pushed_out", "lost")
"""Reasons of drops in the guest's order; the last is that of links that lose packets."""
_COUNTS = ("delivered_packets", "dropped_packets", "marked_packets")
_EXACT_BUCKETS, _OCTAVE_BUCKETS = 128, 64
"""Number of buckets in the guest's histograms: first the buckets that contain a single value, then the buckets for each
further power of two."""
_UNKNOWN_OF_TCP = (
    "timeouts",
    "fast_recoveries",
    "ecn_reductions",
    "would_close",
    "tail_loss_probes",
    "undone_reductions",
)


_UNKNOWN_OF_PATHS = {"rtt": (), "one_way_delay": ("mean_s",)}
"""Times of paths, with the known statistics of each."""


def lacks(column: str) -> bool:
    """True if records of the plane, unlike the simulator's, never have the metric of this column."""
    part, *rest = metric_of(column).path
    if part == "path":
        return rest[0] in _UNKNOWN_OF_PATHS and rest[1] not in _UNKNOWN_OF_PATHS[rest[0]]
    return part == "state" or (part == "tcp" and rest[0] in _UNKNOWN_OF_TCP)


def record(scenario: str, replication: int, plan: Plan, result: Mapping[str, Any], samples: str, about: Row) -> str:
    """The record (JSON) of a run of a canonical scenario.

    Args:
        scenario: Canonical scenario as JSON.
        replication: Number of the run.
        plan: Input of the guest.
        result: Result of the guest.
        samples: The guest's `info.csv`.
        about: Data about the kernel, for the table `lab`.
    """
    return json.dumps(
        _Record(scenario, replication, plan, result, samples).table(about),
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


class _Record:
    def __init__(self, scenario: str, replication: int, plan: Plan, result: Mapping[str, Any], samples: str) -> None:
        self._table = json.loads(scenario)
        self._record: Row = json.loads(_fairlane.unstarted_record(scenario))
        self._record |= {"replication": replication, "series": None, "edge_state": {"records": 0, "bytes": 0}}
        self._plan, self._result = plan, result
        begin, end = result["window_ns"]
        self._begin_ns = begin
        self._window_s: float = (end - begin) / 1e9
        self._users = plan.layout["users"]
        self._link_count = len(plan.layout["links"])
        self._counts: dict[tuple[int, int], Row] = {
            (index, user["host"]): user for index, link in enumerate(result["links"]) for user in link["users"]
        }
        self._rtts = _smoothed_rtts(samples, begin)

    def table(self, about: Row) -> Row:
        found = self._record
        for index, group in enumerate(found["groups"]):
            self._fill_group(group, index)
        for index, link in enumerate(found["links"]):
            self._fill_link(link, index)
        throughputs = [float(one) for group in found["groups"] for one in group["user_throughput_bps"]]
        flows = [one for group in found["groups"] if group["tcp"] for one in group["tcp"]["flow_throughput_bps"]]
        shares = [
            one / group["max_min_share_bps"]
            for group in found["groups"]
            if group["max_min_share_bps"]
            for one in group["user_throughput_bps"]
        ]
        first, second = [*(group["throughput_bps"] for group in found["groups"][:2]), 0.0][:2]
        found |= {
            "throughput_ratio": first / second if second else None,
            "jain_index": _jain(throughputs),
            "jain_index_flows": _jain(flows),
            "jain_index_normalised": _jain(shares),
        }
        del found["performance"]
        delivered = sum(group["path"]["delivered_packets"] for group in found["groups"])
        performance = {"delivered_packets": delivered, "events": 0}
        return {**found, "lab": {"plane": LINUX, **about}, "performance": performance}

    def _bps(self, count: float) -> float:
        """Rate of `count` bytes within the window."""
        return 8 * count / self._window_s

    def _users_of(self, group: int) -> list[int]:
        return [number for number, user in enumerate(self._users) if user["group"] == group]

    def _flows_of(self, user: int) -> list[tuple[Any, Row]]:
        pairs = zip(self._plan.flows, self._result["flows"], strict=True)
        return [(flow, found) for flow, found in pairs if flow.user == user]

    def _fill_group(self, group: Row, index: int) -> None:
        users = self._users_of(index)
        received = [sum(found["received_bytes"] for _, found in self._flows_of(user)) for user in users]
        throughputs = [self._bps(self._delivered(user)[0]) for user in users]
        group["user_goodput_bps"] = [self._bps(count) for count in received]
        group["user_throughput_bps"] = throughputs
        group["goodput_bps"] = _mean(group["user_goodput_bps"])
        group["throughput_bps"] = _mean(throughputs)
        share = group["max_min_share_bps"]
        group["normalised_throughput"] = group["throughput_bps"] / share if share else None
        paths = [self._path(user) for user in users]
        group["user_paths"] = paths
        group["path"] = self._path_of(users, paths)
        if group["tcp"]:
            self._fill_tcp(group["tcp"], users)
        if group["udp"]:
            self._fill_udp(group["udp"], users)
        if group["transfer_times"]:
            self._fill_transfers(group["transfer_times"], index, users)

    def _delivered(self, user: int) -> tuple[int, int]:
        """Bytes and packets of a user that the last link of its route sent and did not lose."""
        found = self._counts.get((self._users[user]["route"][-1], user))
        if found is None:
            return 0, 0
        return max(0, found["sent_bytes"] - found["lost_bytes"]), max(0, found["sent_packets"] - found["lost_packets"])

    def _path(self, user: int) -> Row:
        links = [self._link_count + user, *self._users[user]["route"]]
        counted = [self._counts[link, user] for link in links if (link, user) in self._counts]
        delivered = self._delivered(user)[1]
        dropped, marked = (sum(one[name] for one in counted) for name in ("dropped_packets", "marked_packets"))
        rtts = [rtt for number in self._numbers(user) for rtt in self._rtts.get(number, ())]
        shares = {**_shares(delivered, dropped, marked), "one_way_delay": self._one_way(user, links, delivered)}
        return self._with_rtts(shares, rtts, [user])

    def _one_way(self, user: int, links: Sequence[int], delivered: int) -> Row | None:
        """Mean delay of packets over these links. Percentiles are missing, since percentiles of links do not add up."""
        if not delivered or not all(self._counts.get((link, user), {}).get("sent_packets") for link in links):
            return None
        layout = self._plan.layout
        way = [self._users[user]["access"], *(layout["links"][link] for link in links[1:])]
        mean_s = next((flow.to_receiver_ns for flow in self._plan.flows if flow.user == user), 0) / 1e9
        for number, link in zip(links, way, strict=True):
            counted = self._counts[number, user]
            passed = counted["sent_packets"] - counted["lost_packets"]
            mean_s += (counted["delay_ns"] + counted["sending_ns"]) / counted["sent_packets"] / 1e9
            mean_s += link["delay_ps"] / 1e12 + (counted["held_ns"] / passed / 1e9 if passed > 0 else 0.0)
        return {"samples": delivered, "mean_s": mean_s}

    def _path_of(self, users: Sequence[int], paths: Sequence[Row]) -> Row:
        counts = [sum(path[name] for path in paths) for name in _COUNTS]
        rtts = [rtt for user in users for number in self._numbers(user) for rtt in self._rtts.get(number, ())]
        ways = [(path["one_way_delay"], path["delivered_packets"]) for path in paths if path["one_way_delay"]]
        samples = sum(count for _, count in ways)
        mean_s = math.fsum(way["mean_s"] * count for way, count in ways) / samples if samples else 0.0
        shares = {**_shares(*counts), "one_way_delay": {"samples": samples, "mean_s": mean_s} if samples else None}
        return self._with_rtts(shares, rtts, users)

    def _with_rtts(self, path: Row, rtts: Sequence[float], users: Iterable[int]) -> Row:
        tcp = [found for user in users for flow, found in self._flows_of(user) if flow.kind == "tcp"]
        if not tcp:
            return path
        segments = sum(found["retransmitted_segments"] for found in tcp)
        return {**path, "smoothed_rtt": _times(rtts), "retransmitted_segments": segments}

    def _numbers(self, user: int) -> list[int]:
        return [number for number, flow in enumerate(self._plan.flows) if flow.user == user]

    def _fill_tcp(self, tcp: Row, users: Sequence[int]) -> None:
        tcp |= dict.fromkeys(_UNKNOWN_OF_TCP)
        flows = [(user, flow, found) for user in users for flow, found in self._flows_of(user) if flow.kind == "tcp"]
        tcp["retransmissions"] = sum(found["retransmitted_segments"] for _, _, found in flows)
        lasting = [(user, found) for user, flow, found in flows if not flow.transfer_bytes]
        tcp["flow_goodput_bps"] = [self._bps(found["received_bytes"]) for _, found in lasting]
        tcp["flow_throughput_bps"] = [self._throughput(user, found) for user, found in lasting]
        tcp["flow_paths"] = []
        tcp["jain_index"] = _jain(tcp["flow_throughput_bps"])

    def _throughput(self, user: int, found: Row) -> float:
        """Throughput of a flow: the user's throughput times the flow's share of the user's payload."""
        received = sum(one["received_bytes"] for _, one in self._flows_of(user))
        return self._bps(self._delivered(user)[0]) * found["received_bytes"] / received if received else 0.0

    def _fill_udp(self, udp: Row, users: Sequence[int]) -> None:
        flows = [found for user in users for flow, found in self._flows_of(user) if flow.kind != "tcp"]
        sent, received = (sum(found[f"{name}_packets"] for found in flows) for name in ("sent", "received"))
        bytes_ = sum(
            found["sent_packets"] * flow.payload
            for user in users
            for flow, found in self._flows_of(user)
            if flow.kind != "tcp"
        )
        udp |= {"sent_packets": sent, "received_packets": received, "sent_bps": self._bps(bytes_), "flow_paths": []}
        udp["delivered_share"] = received / sent if sent else None

    def _fill_transfers(self, times: Row, index: int, users: Sequence[int]) -> None:
        began = [
            (user, flow, start, end)
            for user in users
            for flow, one in self._flows_of(user)
            for start, end in one.get("transfers", ())
            if start >= self._begin_ns
        ]
        # The end of an open transfer is 0.
        found = [
            (user, flow.transfer_bytes, (end - start + flow.to_receiver_ns) / 1e9)
            for user, flow, start, end in began
            if end
        ]
        lasted = [time_s for _, _, time_s in found]
        slowdowns = [time_s / self._alone_s(user, size, index) for user, size, time_s in found]
        times |= {"started": len(began), "completed": len(found), "refused": 0}
        times["offered_bps"] = self._bps(sum(flow.transfer_bytes for _, flow, _, _ in began))
        times["mean_bytes"] = _mean([size for _, size, _ in found]) if found else None
        times |= {"mean_s": _mean(lasted) if found else None, "max_s": max(lasted, default=None)}
        times |= {f"p{percent}_s": _percentile(lasted, percent) for percent in (50, 90, 95, 99)}
        times["slowdown"] = _slowdown(slowdowns)
        sizes = [float(size) for _, size, _ in found]
        for name, values in (("by_time", lasted), ("by_size", sizes)):
            begins = [one["from"] for one in times[name]]
            own = [bisect_right(begins, value) - 1 for value in values]
            for number, one in enumerate(times[name]):
                here = [place for place, of in enumerate(own) if of == number]
                one["completed"] = len(here)
                one["share"] = len(here) / len(found) if found else 0.0
                one["mean_s"] = _mean([lasted[place] for place in here]) if here else None
                if name == "by_size":
                    one["slowdown"] = _slowdown([slowdowns[place] for place in here])

    def _alone_s(self, user: int, size: int, group: int) -> float:
        """Time in s of a transfer without competition: three one-way delays, plus its send time on the slowest link."""
        links, hops = self._plan.layout["links"], self._users[user]["route"]
        tcp = next(source for source in self._table["groups"][group]["sources"] if source["kind"] == "tcp")
        way = [self._users[user]["access"], *(links[hop] for hop in hops)]
        to_receiver_ns = next(flow.to_receiver_ns for flow in self._plan.flows if flow.user == user)
        delays = [link["delay_ps"] + (link["impairment"]["delay_ps"] if link["impairment"] else 0) for link in way]
        one_way_s = math.fsum(delays) / 1e12 + to_receiver_ns / 1e9
        headers: int = math.ceil(size / tcp["segment_payload"]) * tcp["header_bytes"]
        slowest_bps: float = min(link["rate_bps"] for link in way)
        return 3 * one_way_s + 8 * (size + headers) / slowest_bps

    def _fill_link(self, link: Row, index: int) -> None:
        found = self._result["links"][index]
        window_ns = 1e9 * self._window_s
        users = [self._counts.get((index, user)) for user in range(len(self._users))]
        there = [user for user in users if user]
        link["utilisation"] = found["busy_ns"] / window_ns
        link["throughput_bps"] = self._bps(found["sent_bytes"] - sum(user["lost_bytes"] for user in there))
        link["queue"] = {
            "mean_packets": found["queue_packet_ns"] / window_ns,
            "mean_bytes": found["queue_byte_ns"] / window_ns,
            "max_packets": found["queue_most_packets"],
            "distribution": _distribution(found["queue_histogram"], window_ns),
        }
        link["delay"] = [
            _delays(name, [user for number, user in enumerate(users) if user and self._class_of(number) == name])
            for name in ("BE", "EF")
            if any(
                user and user["sent_packets"] and self._class_of(number) == name for number, user in enumerate(users)
            )
        ]
        arrived = sum(user["arrived_packets"] for user in there)
        impairment = self._plan.layout["links"][index]["impairment"]
        reasons = REASONS if impairment and impairment["losses"] else REASONS[:-1]
        link["drops"] = [
            {
                "reason": reason,
                "packets": packets,
                "bytes": size,
                "share_of_arrivals": packets / arrived if arrived else 0.0,
                "queue_histogram": [],
            }
            for reason, (packets, size) in zip(reasons, found["drops"], strict=False)
        ]
        link["user_dropped_packets"] = [user["dropped_packets"] if user else 0 for user in users]
        link["marks"] = sum(user["marked_packets"] for user in there)
        for name in ("accounting", "state"):
            link.pop(name, None)
        link["readings"] = {}

    def _class_of(self, user: int) -> str:
        return str(self._table["groups"][self._users[user]["group"]]["traffic_class"])


def _smoothed_rtts(samples: str, begin_ns: int) -> dict[int, list[float]]:
    """Samples of each flow within the measurement, in s."""
    found: dict[int, list[float]] = {}
    for row in csv.DictReader(io.StringIO(samples)):
        if int(row["time_ns"]) >= begin_ns and int(row["srtt_us"]):
            found.setdefault(int(row["flow"]), []).append(int(row["srtt_us"]) / 1e6)
    return found


def _shares(delivered: int, dropped: int, marked: int) -> Row:
    total = delivered + dropped
    return {
        **dict(zip(_COUNTS, (delivered, dropped, marked), strict=True)),
        "lost_share": dropped / total if total else None,
        "marked_share": marked / delivered if delivered else None,
        "one_way_delay": None,
        "rtt": None,
    }


def _times(samples: Sequence[float]) -> Row | None:
    if not samples:
        return None
    ranks = {f"p{percent}_s": _percentile(samples, percent) for percent in (50, 95, 99)}
    return {"samples": len(samples), "mean_s": _mean(samples), **ranks, "max_s": max(samples)}


def _slowdown(values: Sequence[float]) -> Row | None:
    if not values:
        return None
    ranks = {f"p{percent}": _percentile(values, percent) for percent in (50, 95, 99)}
    return {"mean": _mean(values), **ranks, "max": max(values)}


def _percentile(values: Sequence[float], percent: int) -> float | None:
    """Nearest-rank percentile."""
    return sorted(values)[math.ceil(percent / 100 * len(values)) - 1] if values else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _jain(values: Sequence[float]) -> float | None:
    squares = len(values) * math.fsum(value**2 for value in values)
    return math.fsum(values) ** 2 / squares if squares else None


def _width(lower: int) -> int:
    """Width of the bucket of the guest's histograms that begins at `lower`."""
    return 1 if lower < _EXACT_BUCKETS else 1 << (lower.bit_length() - _OCTAVE_BUCKETS.bit_length())


def _distribution(histogram: Iterable[Sequence[int]], window_ns: float) -> list[float]:
    """Share of time by queue length; a bucket of several lengths is spread evenly over them."""
    found: list[float] = []
    for lower, lasted_ns in histogram:
        width = _width(lower)
        found += [0.0] * (lower + width - len(found))
        for length in range(lower, lower + width):
            found[length] = lasted_ns / width / window_ns
    return found or [1.0]


def _delays(name: str, users: Sequence[Mapping[str, Any]]) -> Row:
    packets = sum(user["sent_packets"] for user in users)
    counted = sorted((lower, count) for user in users for lower, count in user["delay_histogram"])
    merged = [(lower, sum(count for _, count in group)) for lower, group in groupby(counted, key=lambda one: one[0])]
    most_ns = max(user["delay_most_ns"] for user in users)
    mean_s = sum(user["delay_ns"] for user in users) / packets / 1e9
    ranks = {f"p{percent}_s": _of_histogram(merged, percent, most_ns) for percent in (50, 95, 99)}
    return {"traffic_class": name, "packets": packets, "mean_s": mean_s, **ranks, "max_s": most_ns / 1e9}


def _of_histogram(histogram: Iterable[tuple[int, int]], percent: int, most_ns: int) -> float:
    """Nearest-rank percentile in s: the middle of its bucket."""
    pairs = list(histogram)
    rank = math.ceil(percent / 100 * sum(count for _, count in pairs))
    for lower, seen in _running(pairs):
        if seen >= rank:
            return min(lower + _width(lower) / 2 if lower >= _EXACT_BUCKETS else lower, most_ns) / 1e9
    return 0.0


def _running(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    seen = 0
    for lower, count in pairs:
        seen += count
        yield lower, seen
