"""Forwarding with and without ABC in the kernel, turn by turn: a part of `make bench-node` (root, iperf3, veth).

Three network namespaces in a row; the one in the middle forwards. UDP packets of 1500 bytes as fast as one sender makes
them, so that the path is limited by its processors, not by a qdisc or by TCP. ABC meters and manages, and drops
nothing: the port is a FIFO that never fills.

`--parts` compares the parts of ABC: an empty program at each hook, the meter alone, the AQM alone, both. Processor time
per packet, of sender and receiver, tells them apart on a busy machine, where throughput is a share of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

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
# A program of classic BPF that returns 0 at once: no match.
EMPTY = ("bpf", "bytecode", "1,6 0 0 0")


def run(*command: str) -> str:
    """Runs a command, which must succeed within a minute."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def within(name: str, *command: str) -> str:
    """Runs a command in the network namespace `name`."""
    return run("nsenter", f"--net=/run/netns/{PREFIX}{name}", *command)


def wire(a: str, a_port: str, a_address: str, b: str, b_port: str, b_address: str) -> None:
    """Lays a veth pair between two namespaces."""
    pair = ["link", "add", a_port, "type", "veth", "peer", "name", b_port, "netns", PREFIX + b]
    run("ip", "-n", PREFIX + a, *pair)
    for name, port, address in [(a, a_port, a_address), (b, b_port, b_address)]:
        within(name, "ip", "addr", "add", f"{address}/24", "dev", port)
        within(name, "ip", "link", "set", port, "gso_max_segs", "1", "up")


def build() -> None:
    """Client, node and server."""
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
    """Attaches an empty program to both hooks for a while."""
    hooks = {"in0": "ingress", "out0": "egress"}
    for port, hook in hooks.items():
        within("n", "tc", "qdisc", "add", "dev", port, "clsact")
        within("n", "tc", "filter", "add", "dev", port, hook, *EMPTY)
    yield
    for port in hooks:
        within("n", "tc", "qdisc", "del", "dev", port, "clsact")


@contextmanager
def attached(tool: str, config: Path) -> Iterator[None]:
    """Attaches a node with a configuration for a while."""
    within("n", tool, "attach", str(config))
    yield
    within("n", tool, "detach", str(config))


def forward() -> tuple[float, float]:
    """Packets per second that the server's interface received in a run, and processor time of each, in ns."""
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
        options = ["-u", "-b", "0", "-l", "1472", "-t", str(SECONDS), "-J"]
        report = json.loads(within("c", "timeout", "30", "iperf3", "-c", "10.2.0.2", *options))
        seconds, used = report["end"]["sum"]["seconds"], report["end"]["cpu_utilization_percent"]
        rate = (received() - before) / float(seconds)
        return rate, (used["host_total"] + used["remote_total"]) * 1e7 / rate
    finally:
        server.terminate()
        server.wait(10)


def compare_parts(tool: str, folder: Path, pins: Path, turns: int) -> None:
    """Prints median throughput and processor time with each program, relative to the same turn without any."""
    ways: dict[str, AbstractContextManager[None]] = {}
    results: dict[str, list[tuple[float, float]]] = {}
    for turn in range(turns):
        ways = {"without": nullcontext(), "empty programs": empty_programs()}
        for part, text in PARTS.items():
            config = folder / f"{part}.toml"
            config.write_text(text.format(pins=pins / "node"))
            ways[part] = attached(tool, config)
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            with ways[name]:
                results.setdefault(name, []).append(forward())
        print(f"turn {turn + 1}, load {os.getloadavg()[0]:.1f}", flush=True)
    for name in ways:
        pairs = list(zip(results[name], results["without"], strict=True))
        rates = [here[0] / without[0] for here, without in pairs]
        more = statistics.median(here[1] - without[1] for here, without in pairs)
        rate = f"{statistics.median(rates):.3f} ({min(rates):.2f} to {max(rates):.2f}) of the throughput"
        print(f"{name}: {rate}; {statistics.median(here[1] for here, _ in pairs):.0f} ns a packet, {more:+.0f}")


def main() -> int:
    """Measures and prints; 1 if forwarding with ABC is below 90 % in the median."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tool", help="fairlane-node, built with the feature ebpf")
    parser.add_argument("--turns", type=int, default=21, help="turns, each without and with ABC (default 21)")
    parser.add_argument("--parts", action="store_true", help="compare the parts of ABC instead")
    arguments = parser.parse_args()
    # Before other work of the machine: sender and receiver inherit it.
    os.nice(-19)
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "bpf"
        pins.mkdir()
        config = Path(folder) / "node.toml"
        config.write_text(CONFIG.format(pins=pins / "node"))
        run("mount", "-t", "bpf", "bpf", str(pins))
        try:
            build()
            if arguments.parts:
                compare_parts(arguments.tool, Path(folder), pins, arguments.turns)
                return 0
            ratios = []
            for turn in range(arguments.turns):
                rates = {}
                # The one that is first in one turn is second in the next: a busy machine disturbs both alike.
                for has_abc in (turn % 2 == 0, turn % 2 == 1):
                    if has_abc:
                        within("n", arguments.tool, "attach", str(config))
                    rates[has_abc], _ = forward()
                    if has_abc:
                        within("n", arguments.tool, "detach", str(config))
                ratios.append(rates[True] / rates[False])
                kpps = f"{rates[False] / 1e3:7.1f} kpps without, {rates[True] / 1e3:7.1f} with ABC"
                print(f"{kpps}, ratio {ratios[-1]:.3f}", flush=True)
        finally:
            for name in "cns":
                subprocess.run(["ip", "netns", "del", PREFIX + name], capture_output=True, check=False)
            run("umount", str(pins))
    median = statistics.median(ratios)
    print(f"median ratio {median:.3f}, lowest {min(ratios):.3f}, highest {max(ratios):.3f}")
    return 0 if median >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
