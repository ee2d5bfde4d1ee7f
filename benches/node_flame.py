"""Draws where the kernel spends its time on a forwarding node with meter and ABC; see docs/costs.md.

Samples the packet path of the bench `node` at intervals of the processor's clock. Needs root, iperf3, perf and inferno
(`cargo install inferno`), which folds and draws the stacks.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click

from .harness import FILE, ROOT, Report, Skipped, bench, cargo
from .node import CONFIG, FEATURES, attached, forward, network

HERTZ = 4999
# The figure omits frames narrower than this.
LEAST_PERCENT = 0.3
WIDTH_PX = 1200
# Parts, by the first words of functions. A sample belongs to the part of the innermost function in this table.
PARTS = {
    "the meter's program": ("bpf_prog_*_fairlane_ingress",),
    "ABC's program": ("bpf_prog_*_fairlane_egress",),
    "hooks of the programs": ("tcx_run", "tc_run", "sch_handle_"),
    "delivery to the receiver's socket": ("ip_local_deliver", "udp_rcv", "__udp4_lib_rcv", "udp_unicast_rcv"),
    "forwarding": ("ip_forward", "ip_rcv", "ip_output", "ip_finish_output", "ip_route_", "fib_", "neigh_"),
    "qdisc": ("__dev_xmit_skb", "__qdisc_run", "pfifo_", "sch_direct_xmit", "qdisc_"),
    "veth": ("veth_",),
    "devices and softirq": (
        "__dev_queue_xmit", "dev_hard_start_xmit", "validate_xmit_skb", "netif_", "__netif_", "process_backlog",
        "__napi_poll", "net_rx_action", "handle_softirqs", "__do_softirq", "do_softirq",
    ),
    "the receiver's reads": ("udp_recvmsg", "udpv6_recvmsg", "sock_recvmsg", "ksys_read", "core_sys_select"),
}  # fmt: skip


def part_of(stack: str) -> str:
    """The part that a folded stack belongs to."""
    for frame in reversed(stack.split(";")):
        # The name of a BPF program includes its tag, a hash of its content.
        name = "bpf_prog_*_" + frame.split("_", 3)[3] if frame.startswith("bpf_prog_") else frame
        for part, words in PARTS.items():
            if name.startswith(words):
                return part
    return "the sender, and what of both is outside of the kernel"


def folded(recording: Path, inferno: str) -> Counter[str]:
    """Returns the time in ns of each call stack of sender and receiver, including softirqs that interrupt them."""
    script = ["perf", "script", "--force", "-i", str(recording)]
    text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    lines = subprocess.run([inferno], input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    stacks: Counter[str] = Counter()
    for line in lines:
        stack, _, nanoseconds = line.rpartition(" ")
        command, _, frames = stack.partition(";")
        if command == "iperf3" or "net_rx_action" in frames:
            stacks[f"{command.partition('/')[0]};{frames}"] += int(nanoseconds)
    return stacks


def record(folder: Path, seconds: int) -> tuple[Path, float]:
    """Records the path. Also returns its packets per second."""
    recording = folder / "perf.data"
    command = ["perf", "record", "-a", "-g", "-e", "cpu-clock", "-F", str(HERTZ), "-o", str(recording)]
    # Recording starts after the traffic, and ends before the traffic does.
    command = ["sh", "-c", 'sleep 1.5; exec "$@"', "sh", *command, "--", "sleep", str(seconds)]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rate, _ = forward(seconds + 3)
    recorder.wait(60)
    return recording, rate


def measure(tool: str, seconds: int, inferno: str) -> list[tuple[Counter[str], float]]:
    """Returns the stacks and the packets per second: first without meter and ABC, then with both."""
    measured = []
    with network() as folder:
        for way in (nullcontext(), attached(tool, folder, CONFIG)):
            with way:
                recording, rate = record(folder, seconds)
            measured.append((folded(recording, inferno), rate))
    return measured


def draw(stacks: Counter[str], inferno: str, file: Path) -> None:
    """Writes the figure."""
    lines = "".join(f"{stack} {count}\n" for stack, count in sorted(stacks.items()))
    options = ["--title", "A forwarding node with meter and ABC, UDP packets of 1500 bytes", "--deterministic"]
    options += ["--width", str(WIDTH_PX), "--minwidth", str(LEAST_PERCENT), "--countname", "ns"]
    drawing = subprocess.run([inferno, *options], input=lines, check=True, capture_output=True, text=True).stdout
    file.write_text(drawing)


@bench("node-flame")
@click.argument("tool", required=False)
@click.option("--out", type=FILE, default=ROOT / "docs/figures/node-flame.svg", help="File of the figure.")
@click.option("--seconds", default=20, show_default=True, help="Seconds to record.")
def main(report: Report, tool: str | None, out: Path, seconds: int) -> None:
    """Records fairlane-node and draws the figure. Without TOOL, builds fairlane-node with the feature ebpf."""
    tools = {}
    for name, source in [
        ("perf", "package linux-perf"),
        ("inferno-collapse-perf", "cargo install inferno"),
        ("inferno-flamegraph", "cargo install inferno"),
    ]:
        found = shutil.which(name)
        if not found:
            raise Skipped(f"{name} is not installed ({source})", code=2)
        tools[name] = found
    tool = tool or str(cargo("build", *FEATURES) / "fairlane-node")
    both = measure(tool, seconds, tools["inferno-collapse-perf"])
    draw(both[1][0], tools["inferno-flamegraph"], out)
    columns = []
    for stacks, rate in both:
        parts: Counter[str] = Counter()
        for stack, nanoseconds in stacks.items():
            parts[part_of(stack)] += nanoseconds
        columns.append({part: time / (rate * seconds) for part, time in parts.items()})
        columns[-1]["all"] = sum(columns[-1].values())
    without, full = columns
    rows = [[part, without.get(part, 0.0), full[part]] for part in sorted(full, key=lambda part: -full[part])]
    below = f"{both[0][1] / 1e3:.1f} and {both[1][1] / 1e3:.1f} kpps."
    report.table({"ns per packet": "", "without": "{:.0f}", "with meter and ABC": "{:.0f}"}, rows, below=below)
