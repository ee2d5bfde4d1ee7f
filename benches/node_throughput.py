"""Forwarding with and without ABC in the kernel, turn by turn: a part of `make bench-node` (root, iperf3, veth).

Three network namespaces in a row; the one in the middle forwards. UDP packets of 1500 bytes as fast as one sender makes
them, so that the path is limited by its processors, not by a qdisc or by TCP. ABC meters and manages, and drops
nothing: the port is a FIFO that never fills.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PREFIX = f"flb{os.getpid()}"
SECONDS = 3
CONFIG = """
[node]
pin_path = "{pins}"
[default_user]
meter_of = "address"
[[ports]]
interface = "in0"
arrivals = "meter"
[[ports]]
interface = "out0"
[ports.queue]
scheme = "abc"
q_min = "100000 packets"
q_base = "100000 packets"
"""


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


def packets_per_second() -> float:
    """Packets that the server's interface received in a run, per second."""
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
        return (received() - before) / float(report["end"]["sum"]["seconds"])
    finally:
        server.terminate()
        server.wait(10)


def main() -> int:
    """Measures and prints; 1 if forwarding with ABC is below 90 % in the median."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tool", help="fairlane-node, built with the feature ebpf")
    parser.add_argument("--turns", type=int, default=21, help="turns, each without and with ABC (default 21)")
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
            ratios = []
            for turn in range(arguments.turns):
                rates = {}
                # The one that is first in one turn is second in the next: a busy machine disturbs both alike.
                for has_abc in (turn % 2 == 0, turn % 2 == 1):
                    if has_abc:
                        within("n", arguments.tool, "attach", str(config))
                    rates[has_abc] = packets_per_second()
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
