"""Measures forwarding with and without the kernel programs, in ns per packet (needs root, clang, iperf3, veth).

Three network namespaces are connected in a row, and the middle one forwards. A sender sends UDP packets of 1500 bytes
as fast as possible, so that processors limit the path, not a qdisc or TCP. ABC meters and decides on every packet but
drops none, since the port is a FIFO that never fills.

`--parts` compares an empty program at each hook, the meter alone, the AQM alone, and meter and AQM together. The
processor time per packet of sender and receiver shows the differences even on a busy machine. Throughput doesn't, since
it depends on the share of the processor that other programs leave.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click

from .harness import Report, bench, cargo, conditions, interleaved, turns

PREFIX = f"flb{os.getpid()}"
SECONDS = 3
NODE = """
[node]
pin_path = "{pins}"
[default_user]
meter_of = "address"
"""
METER = """
[[ports]]
interface = "in0"
arrivals = "meter"
"""
AQM = """
[[ports]]
interface = "out0"
[ports.queue]
scheme = "abc"
q_min = "100000 packets"
q_base = "100000 packets"
"""
CONFIG = NODE + METER + AQM
PARTS = {"meter": NODE + METER, "AQM": NODE + AQM, "both": CONFIG}
FEATURES = ("--package", "fairlane-node", "--features", "fairlane-node/ebpf")
# A classic BPF program that returns 0 (no match) immediately.
EMPTY = ("bpf", "bytecode", "1,6 0 0 0")
Way = Callable[[], AbstractContextManager[None]]


def run(*command: str) -> str:
    """Runs a command, which must succeed within a minute."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def within(name: str, *command: str) -> str:
    """Runs a command in the network namespace `name`."""
    return run("nsenter", f"--net=/run/netns/{PREFIX}{name}", *command)


def wire(a: str, a_port: str, a_address: str, b: str, b_port: str, b_address: str) -> None:
    """Connects two namespaces with a veth pair."""
    pair = ["link", "add", a_port, "type", "veth", "peer", "name", b_port, "netns", PREFIX + b]
    run("ip", "-n", PREFIX + a, *pair)
    for name, port, address in [(a, a_port, a_address), (b, b_port, b_address)]:
        within(name, "ip", "addr", "add", f"{address}/24", "dev", port)
        within(name, "ip", "link", "set", port, "gso_max_segs", "1", "up")


@contextmanager
def network() -> Iterator[Path]:
    """Creates client, node and server for the block. Yields a folder with a BPF file system for pins, at `bpf`."""
    # This process takes precedence over other load; sender and receiver inherit the priority.
    os.nice(-19)
    with tempfile.TemporaryDirectory() as name:
        pins = Path(name) / "bpf"
        pins.mkdir()
        run("mount", "-t", "bpf", "bpf", str(pins))
        try:
            _lay()
            yield Path(name)
        finally:
            for end in "cns":
                subprocess.run(["ip", "netns", "del", PREFIX + end], capture_output=True, check=False)
            run("umount", str(pins))


def _lay() -> None:
    for name in "cns":
        run("ip", "netns", "add", PREFIX + name)
        within(name, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.disable_ipv6=1")
    wire("c", "c0", "10.1.0.2", "n", "in0", "10.1.0.1")
    wire("n", "out0", "10.2.0.1", "s", "s0", "10.2.0.2")
    within("c", "ip", "route", "add", "default", "via", "10.1.0.1")
    within("s", "ip", "route", "add", "default", "via", "10.2.0.1")
    within("n", "tc", "qdisc", "add", "dev", "out0", "root", "pfifo", "limit", "10000")


@contextmanager
def empty_programs() -> Iterator[None]:
    """Context with an empty program attached to both hooks."""
    hooks = {"in0": "ingress", "out0": "egress"}
    for port, hook in hooks.items():
        within("n", "tc", "qdisc", "add", "dev", port, "clsact")
        within("n", "tc", "filter", "add", "dev", port, hook, *EMPTY)
    yield
    for port in hooks:
        within("n", "tc", "qdisc", "del", "dev", port, "clsact")


@contextmanager
def attached(tool: str, folder: Path, text: str) -> Iterator[None]:
    """Context with a node attached with a configuration."""
    config = folder / "node.toml"
    config.write_text(text.format(pins=folder / "bpf" / "node"))
    within("n", tool, "attach", str(config))
    yield
    within("n", tool, "detach", str(config))


def forward(seconds: int = SECONDS) -> tuple[float, float]:
    """Returns packets per second at the server's interface in a run, and processor time per packet in ns."""
    server = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{PREFIX}s", "timeout", "30", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL
    )
    counter = ("cat", "/proc/net/dev")

    def received() -> int:
        line = next(line for line in within("s", *counter).splitlines() if "s0:" in line)
        return int(line.split(":")[1].split()[1])

    try:
        within("s", "sh", "-c", "for i in $(seq 50); do ss -ltn | grep -q 5201 && exit 0; sleep 0.1; done; exit 1")
        before = received()
        options = ["-u", "-b", "0", "-l", "1472", "-t", str(seconds), "-J"]
        report = json.loads(within("c", "timeout", "30", "iperf3", "-c", "10.2.0.2", *options))
        passed, used = report["end"]["sum"]["seconds"], report["end"]["cpu_utilization_percent"]
        rate = (received() - before) / float(passed)
        return rate, (used["host_total"] + used["remote_total"]) * 1e7 / rate
    finally:
        server.terminate()
        server.wait(10)


@bench("node")
@click.argument("tool", required=False)
@turns(21)
@click.option("--parts", is_flag=True, help="Compare the parts of ABC instead.")
def main(report: Report, tool: str | None, turns: int, parts: bool) -> int:
    """Measures forwarding with and without the programs of TOOL. Returns 1 if ABC costs over 10 % of the rate."""
    if tool is None:
        cargo("run", *FEATURES, "--example", "bench_node")
        tool = str(cargo("build", *FEATURES) / "fairlane-node")
    with network() as folder:
        programs = {name: partial(attached, tool, folder, text) for name, text in PARTS.items()}
        ways: dict[str, Way] = {"without": nullcontext}
        ways |= {"empty programs": empty_programs, **programs} if parts else {"ABC": programs["both"]}

        def one(way: Way) -> tuple[float, float]:
            with way():
                return forward()

        found = interleaved(turns, {name: partial(one, way) for name, way in ways.items()}, alternate=True)
    rows: list[list[Any]] = []
    for name, results in found.items():
        rates, times = zip(*results, strict=True)
        pairs = list(zip(results, found["without"], strict=True))
        ratios = [here[0] / without[0] for here, without in pairs]
        rows.append([name, [rate / 1e3 for rate in rates], ratios, list(times), median(a[1] - b[1] for a, b in pairs)])
    columns = {"programs": "", "kpps": "{:.1f}", "of the throughput without": "{:.3f}", "ns per packet": "{:.0f}"}
    above = f"Medians of {turns} turns (lowest to highest), {conditions()}; load {os.getloadavg()[0]:.1f}."
    report.table({**columns, "ns more": "{:+.0f}"}, rows, above=above)
    return int(not parts and median(rows[-1][2]) < 0.9)
