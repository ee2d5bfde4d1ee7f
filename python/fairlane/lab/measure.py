"""Executes one run in the lab: sets up network and traffic, measures a window, and returns the record."""

from __future__ import annotations

import json
import math
import os
import platform
import random
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fairlane import _fairlane
from fairlane.lab import node, user_paths
from fairlane.lab.namespaces import Namespaces, RejectedError
from fairlane.lab.node import Reporter
from fairlane.lab.planes import PLANES
from fairlane.lab.planes.plane import Plane
from fairlane.lab.setup import AT_ONCE_S, SERVER_ADDRESS, Client, Setup

MOST_LATE_MEAN_S = 200e-6
MOST_LATE_P99_S = 2e-3
"""Maximum 99th percentile of the lateness of the forwarder or a UDP sender; runs above it are rejected."""
MOST_LOST_SHARE = 1e-4
RATE_SLACK = 0.02
"""Maximum relative error of a sender's rate. A larger error means that the sender waited for the processor."""
LONGER_S = 2.0
"""Time for which senders continue after the window. A sender that ended earlier would leave its share to others."""
SPARE_S = 8.0
"""Additional time for iperf3 to exchange its results through the bottleneck."""
SETTLE_S = 0.3
AHEAD_S = 0.5
"""Head start of TCP over UDP, so that a client that UDP starves later has a connection and a measurable goodput."""


def measure(setup: Setup, plane: str, replication: int) -> tuple[str, float]:
    """Runs a set-up once.

    Returns:
        The run record (JSON) in the simulator's format, and the CPU time of the run in seconds.

    Raises:
        RejectedError: The machine was too busy.
        LabError: The lab failed.
    """
    before = _cpu_seconds()
    with Namespaces() as namespaces, TemporaryDirectory(prefix="fairlane-lab-") as folder, ExitStack() as stack:
        network = PLANES[plane](namespaces, setup)
        stack.callback(network.close)
        traffic = _Traffic(namespaces, network, setup, Path(folder), replication)
        traffic.warm_up()
        network.begin()
        traffic.begin()
        time.sleep(setup.measure_s)
        bottleneck = network.end()
        traffic.end()
        found = [traffic.found(client) for client in setup.clients]
    _judge(bottleneck["emulation"])
    record = _record(setup, plane, replication, bottleneck, found)
    return record, _cpu_seconds() - before


def _judge(emulation: Mapping[str, Any]) -> None:
    _judge_lateness("the forwarder", emulation["lateness_mean_s"], emulation["lateness_p99_s"])
    if emulation["lost_frames"] or emulation["send_errors"]:
        raise RejectedError(f"{emulation['lost_frames']} frames lost, {emulation['send_errors']} not sent")


def _judge_lateness(who: str, mean_s: float, p99_s: float) -> None:
    if mean_s > MOST_LATE_MEAN_S or p99_s > MOST_LATE_P99_S:
        raise RejectedError(
            f"{who} was late by {1e3 * mean_s:.2f} ms on average, {1e3 * p99_s:.2f} ms at the 99th percentile; "
            f"allowed are {1e3 * MOST_LATE_MEAN_S:g} and {1e3 * MOST_LATE_P99_S:g} ms"
        )


class _Traffic:
    """Senders and receivers."""

    def __init__(self, namespaces: Namespaces, network: Plane, setup: Setup, folder: Path, replication: int) -> None:
        self._namespaces, self._setup, self._folder = namespaces, setup, folder
        self._sinks: dict[int, Reporter] = {}
        self._servers: dict[int, subprocess.Popen[bytes]] = {}
        self._senders: dict[int, subprocess.Popen[bytes]] = {}
        for client in setup.clients:
            self._listen(client, network.server)
        time.sleep(SETTLE_S)
        self._seed = setup.table["run"]["seed"] * 1000 + replication
        self._ahead_s = AHEAD_S if self._sinks and self._servers else 0.0
        hosts = zip(setup.clients, network.clients, strict=True)
        self._starts = [(self._drawn_s(client), client, at) for client, at in hosts]
        self._opening_s = max((client.opening_s for client in setup.clients), default=0.0)
        self._started_s: dict[int, float] = {}

    def _drawn_s(self, client: Client) -> float:
        """Random start time in s after the earliest possible start. All flows of a user start together."""
        drawn_s = random.Random(f"{self._seed}/{client.number}").uniform(*client.start_s)
        return drawn_s + (self._ahead_s if client.source.kind != "tcp" and client.start_s[1] <= AT_ONCE_S else 0.0)

    def warm_up(self) -> None:
        """Starts all sources at their start times, and waits until the window begins."""
        began = time.monotonic() + self._opening_s
        for launch_s, start_s, client, at in sorted(
            ((start_s - client.opening_s, start_s, client, at) for start_s, client, at in self._starts),
            key=itemgetter(0),
        ):
            time.sleep(max(0.0, began + launch_s - time.monotonic()))
            self._started_s[client.number] = time.monotonic() + client.opening_s
            self._start(client, at, late_s=start_s if client.start_s[1] > AT_ONCE_S else 0.0)
        time.sleep(max(0.0, began + self._ahead_s + self._setup.warmup_s - time.monotonic()))

    def begin(self) -> None:
        self._begin_s = time.monotonic()
        for sink in self._sinks.values():
            sink.ask()
        for sink in self._sinks.values():
            sink.answer()

    def end(self) -> None:
        for sink in self._sinks.values():
            sink.ask()

    def _listen(self, client: Client, at: str) -> None:
        if client.source.kind != "tcp":
            self._sinks[client.number] = Reporter(self._namespaces, at, ["sink", f"{SERVER_ADDRESS}:{client.port}"])
            return
        command = ["iperf3", "-s", "-1", "-J", "-i", "1", "-p", str(client.port)]
        with self._file(client, "server").open("wb") as out:
            self._servers[client.number] = self._namespaces.start(at, self._limited(command), out)

    def _start(self, client: Client, at: str, late_s: float = 0.0) -> None:
        source, setup = client.source, self._setup
        total_s = setup.warmup_s + setup.measure_s + LONGER_S - late_s
        if source.kind == "tcp":
            # iperf3 accepts only whole seconds. Its option to omit a warm-up (-O) distorts the next interval.
            times = ["-t", str(math.ceil(total_s + AHEAD_S)), "-i", "1"]
            to = ["iperf3", "-c", SERVER_ADDRESS, "-p", str(client.port), "--connect-timeout", "3000"]
            command = self._limited([*to, *times, "-J", "-P", str(source.flows), "-C", source.congestion_control])
        else:
            rate = ["--rate", f"{source.rate_bps} bit/s", "--payload", str(source.payload_bytes)]
            shape = ["--gaps", source.kind, "--jitter", str(source.jitter)]
            when = ["--time", f"{round(1000 * total_s)} ms", "--seed", str(self._seed), "--stream", str(client.number)]
            command = [node.program(), "send", f"{SERVER_ADDRESS}:{client.port}", *rate, *shape, *when]
        with self._file(client, "client").open("wb") as out:
            self._senders[client.number] = self._namespaces.start(at, command, out)

    def _limited(self, command: Sequence[str]) -> list[str]:
        opening_s = max(client.opening_s for client in self._setup.clients)
        most_s = opening_s + self._setup.warmup_s + self._setup.measure_s + LONGER_S + SPARE_S
        return ["timeout", "--kill-after=2", f"{most_s:g}", *command]

    def _file(self, client: Client, end: str) -> Path:
        return self._folder / f"{end}{client.number}.json"

    def found(self, client: Client) -> tuple[float, user_paths.Row]:
        """Goodput of a client within the window, and its delays and losses as measured by the hosts."""
        if client.source.kind != "tcp":
            self._check_sender(client)
            streams = self._sinks[client.number].answer()["streams"]
            return float(sum(stream["goodput_bps"] for stream in streams)), user_paths.of_udp(streams)
        try:
            self._servers[client.number].wait(2 * SPARE_S)
        except subprocess.TimeoutExpired as error:
            raise RejectedError(f"iperf3 of client {client.number}: no end within {2 * SPARE_S:g} s") from error
        with suppress(subprocess.TimeoutExpired):  # a starved client may have no report
            self._senders[client.number].wait(SPARE_S)
        received, sent = (self._file(client, end).read_text(encoding="utf-8") for end in ("server", "client"))
        window = self._begin_s - self._started_s[client.number], self._setup.measure_s
        return tcp_goodput_bps(received, *window, client.number), user_paths.of_tcp(sent, *window)

    def _check_sender(self, client: Client) -> None:
        """Rejects the run if a sender missed its rate."""
        process = self._senders[client.number]
        process.wait(5)
        report = json.loads(self._file(client, "client").read_text(encoding="utf-8"))
        lateness = report["lateness"]
        _judge_lateness(f"the sender of client {client.number}", lateness["mean_s"], lateness["p99_s"])
        source = client.source
        packets = report["rate_bps"] / (8 * (source.payload_bytes + 28)) * report["time_s"]
        # The standard deviation of a Poisson count is its square root. Allow four of them.
        slack = RATE_SLACK + (4 / packets**0.5 if source.kind == "poisson" and packets else 0.0)
        if abs(report["rate_bps"] / source.rate_bps - 1) > slack:
            raise RejectedError(
                f"client {client.number} sent {report['rate_bps'] / 1e6:.2f} Mbit/s, not {source.rate_bps / 1e6:.2f}"
            )


def tcp_goodput_bps(text: str, begin_s: float, measure_s: float, client: int = 0) -> float:
    """Mean goodput over the intervals of an iperf3 server's JSON report that best match the window.

    The report of a killed server is valid if it covers the window: a starved client may be unable to close the test.

    Raises:
        RejectedError: The report is missing or covers too little of the window.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise RejectedError(f"iperf3 of client {client}: no report") from error
    counted = [one["sum"] for one in user_paths.within(document.get("intervals", ()), begin_s, measure_s)]
    lasted_s = math.fsum(entry["seconds"] for entry in counted)
    if lasted_s < measure_s - user_paths.WHOLE_S:
        raise RejectedError(f"iperf3 of client {client}: {document.get('error', 'too little measured')}")
    return float(8 * sum(entry["bytes"] for entry in counted) / lasted_s)


def _record(
    setup: Setup,
    plane: str,
    replication: int,
    bottleneck: Mapping[str, Any],
    found: Sequence[tuple[float, user_paths.Row]],
) -> str:
    """The record without fields that only a simulation has; `lab` describes the measurement."""
    link = dict(bottleneck["link"])
    users = link.pop("users", [])
    goodputs = [goodput for goodput, _ in found]
    counted = bottleneck.get("clients") or [None] * len(found)
    groups = []
    for index, group in enumerate(setup.table["groups"]):
        numbers = [client.number for client in setup.clients if client.group == index]
        own = [goodputs[number] for number in numbers]
        about = {"name": group["name"], "users": group["users"]}
        paths = [user_paths.path(found[number][1], counted[number]) for number in numbers]
        met = {
            "path": user_paths.group_path(paths),
            "flow_paths": [flow for one in paths for flow in one.pop("flows", ())],
            "user_paths": paths,
        }
        groups.append({**about, "goodput_bps": sum(own) / len(own), "user_goodput_bps": own, **met})
    first, last = groups[0]["goodput_bps"], groups[-1]["goodput_bps"]
    squares = len(goodputs) * sum(goodput**2 for goodput in goodputs)
    record = {
        "schema": 2,
        "version": _fairlane.version(),
        "scenario": setup.table["name"],
        "seed": setup.table["run"]["seed"],
        "replication": replication,
        "window_s": [setup.warmup_s, setup.warmup_s + setup.measure_s],
        "groups": groups,
        "throughput_ratio": first / last if len(groups) == 2 and last else None,
        "jain_index": sum(goodputs) ** 2 / squares if squares else None,
        "links": [link],
        "bottleneck_users": users,
        "lab": {"plane": plane, **bottleneck["emulation"], "kernel": platform.release(), "cpus": os.cpu_count()},
        "performance": {
            "delivered_packets": round(link["throughput_bps"] * setup.measure_s / 8 / 1500),
            "events": 0,
        },
    }
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _cpu_seconds() -> float:
    """CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
