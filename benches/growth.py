"""How cost, memory and fairness grow with users and with bottlenecks on a path: docs/scaling.md.

    make bench-growth

Every point is a process of its own, so that peak memory is that of one run. Between `<!-- measured:growth -->` and
`<!-- end -->` the page is replaced. Times are CPU times of one thread; the largest point takes minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from measuring import ROOT, Json, build, machine, put_on_page, run, rustc

from fairlane.results import plots

USERS = (100, 1_000, 10_000, 100_000, 1_000_000)
BOTTLENECKS = (1, 2, 3, 5, 7, 10)
SCHEMES = {"droptail": "drop-tail", "abc": "ABC"}
# Rate of each user in bit/s, base RTT in seconds, and bits of a packet.
RATE, RTT, PACKET = 1e6, 0.04, 12_000
# Least number of packets for a figure of cost, and simulated times of the figures of fairness.
PACKETS, WARMUP, MEASURE = 2e6, 1.0, 2.0
# From so many users on, both times are shorter, and too short to tell what is fair.
MANY, SHORT = 1_000_000, 0.2
PATH_USERS = 100


def users_scenario(scheme: str, users: int, warmup: float, measure: float) -> Json:
    """Users with a flow each over one link of 1 Mbit/s for each; a buffer of one bandwidth-delay product."""
    rate = users * RATE
    return {
        "run": {"warmup": f"{warmup:g} s", "measure": f"{measure:g} s"},
        "topology": {
            "bottleneck_rate": f"{rate:g} bit/s",
            "bottleneck_delay": f"{1e3 * RTT / 2:g} ms",
            "access_rate": "100 Mbit/s",
        },
        "queue": {"scheme": scheme, "limit": f"{max(50, round(rate * RTT / PACKET))} packets"},
        "probes": {"user_rows": False},
        "groups": [{"users": users, "start_until": f"{500 * warmup:g} ms", "sources": [{"kind": "tcp"}]}],
    }


def path_scenario(scheme: str, bottlenecks: int) -> Json:
    """Users over all links of a row, and as many over each link alone: the max-min share of all is the same."""
    rate = 2 * PATH_USERS * RATE
    cross = [
        {"name": f"cross{link}", "users": PATH_USERS, "route": [f"link{link}"], "rtt": "40 ms", "start_until": "500 ms",
         "sources": [{"kind": "tcp"}]}
        for link in range(1, bottlenecks + 1)
    ]  # fmt: skip
    long = {"name": "long", "users": PATH_USERS, "rtt": "40 ms", "start_until": "500 ms", "sources": [{"kind": "tcp"}]}
    return {
        "run": {"warmup": "5 s", "measure": "20 s"},
        "topology": {
            "kind": "parking_lot",
            "congested_links": bottlenecks,
            "bottleneck_rate": f"{rate:g} bit/s",
            "bottleneck_delay": "1 ms",
            "receiver_rate": "1 Gbit/s",
        },
        "queue": {"scheme": scheme, "limit": f"{round(rate * RTT / PACKET)} packets"},
        "groups": [long, *cross],
    }


def cost_ns(line: Json) -> float:
    """CPU time of a packet at a bottleneck, sender and receiver included."""
    return 1e9 * float(line["cpu_seconds"]) / float(line["delivered_packets"])


def measure_users(program: Path, scheme: str, users: int) -> Json:
    """Cost and memory of a run with enough packets, fairness of runs with the same times for any number of users."""

    def point(warmup: float, measure: float, replication: int) -> Json:
        print(f"{scheme}, {users} users, {warmup + measure:g} s", file=sys.stderr)
        return run(program, json.dumps(users_scenario(scheme, users, warmup, measure)), str(replication))

    times = (SHORT, SHORT) if users >= MANY else (WARMUP, MEASURE)
    runs = [point(*times, number) for number in range(max(1, min(10, 20_000 // users)))]
    seconds = PACKETS * PACKET / (users * RATE)
    long = point(seconds / 5, seconds, 0) if seconds > sum(times) else runs[0]
    return {
        "cost_ns": cost_ns(long),
        "events": long["events"] / long["delivered_packets"],
        "bytes": long["peak_bytes"],
        "state": long["state_bytes"],
        "edge": long["edge_bytes"],
        "jain": mean(line["jain_index"] for line in runs),
        "p5": mean(line["groups"][0]["p5"] for line in runs),
        "utilisation": mean(line["utilisation"] for line in runs),
    }


def measure_path(program: Path, scheme: str, bottlenecks: int) -> Json:
    """Cost, and what the users over all links get of their max-min share."""
    print(f"{scheme}, {bottlenecks} bottlenecks", file=sys.stderr)
    line = run(program, json.dumps(path_scenario(scheme, bottlenecks)))
    shares = {group["name"]: group["normalised_throughput"] for group in line["groups"]}
    return {
        "cost_ns": cost_ns(line),
        "bytes": line["peak_bytes"],
        "long": shares["long"],
        "cross": mean(share for name, share in shares.items() if name != "long"),
        "utilisation": line["utilisation"],
    }


def power_law(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Factor and exponent of `y = a x^b` by least squares of the logarithms, and the greatest ratio to it."""
    x, y = ([math.log(point[side]) for point in points] for side in (0, 1))
    exponent = statistics.linear_regression(x, y).slope
    factor = mean(y) - exponent * mean(x)
    off = max(abs(b - factor - exponent * a) for a, b in zip(x, y, strict=True))
    return math.exp(factor), exponent, math.exp(off)


def fairness(users: int, value: float) -> str:
    """A figure of fairness, of runs that are long enough."""
    return "-" if users >= MANY else f"{value:.3f}"


def table(head: Sequence[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def text_of(by_users: dict[tuple[str, int], Json], by_path: dict[tuple[str, int], Json]) -> str:
    """What was measured, as Markdown."""
    lines = [f"{machine()}, {rustc()[0]}; one run a point for cost and memory.", ""]
    head = [
        "scheme",
        "users",
        "ns per packet",
        "events per packet",
        "peak MB",
        "bytes per user",
        "state of the port (B)",
    ]
    head += ["state of the edge (B)", "Jain's index", "5 % get at most", "utilisation"]
    rows = [
        [
            SCHEMES[scheme], str(users), f"{one['cost_ns']:.0f}", f"{one['events']:.2f}", f"{one['bytes'] / 1e6:.1f}",
            f"{one['bytes'] / users:.0f}", str(one["state"]), str(one["edge"]), fairness(users, one["jain"]),
            fairness(users, one["p5"]), f"{one['utilisation']:.3f}",
        ]
        for (scheme, users), one in by_users.items()
    ]  # fmt: skip
    lines += [*table(head, rows), ""]
    lines += ["Laws by least squares of the logarithms, with the greatest ratio of a point to it:", ""]
    laws: list[tuple[str, str, Callable[[Json], float]]] = [
        ("CPU time of a packet in ns", "cost", lambda one: float(one["cost_ns"])),
        ("peak memory in bytes, from 10 000 users on", "memory", lambda one: float(one["bytes"])),
    ]
    for scheme, label in SCHEMES.items():
        for name, kind, value in laws:
            least = 10_000 if kind == "memory" else 0
            points = [(float(n), value(by_users[scheme, n])) for n in USERS if n >= least]
            factor, exponent, off = power_law(points)
            lines.append(f"- {label}, {name}: {factor:.3g} n^{exponent:.3f}, within a factor of {off:.2f}")
    head = [
        "scheme",
        "bottlenecks",
        "ns per packet and bottleneck",
        "peak MB",
        "users of all links",
        "users of one link",
    ]
    rows = [
        [
            SCHEMES[scheme], str(count), f"{one['cost_ns']:.0f}", f"{one['bytes'] / 1e6:.1f}", f"{one['long']:.2f}",
            f"{one['cross']:.2f}",
        ]
        for (scheme, count), one in by_path.items()
    ]  # fmt: skip
    lines += ["", "What users of all links and of one link get of their max-min share, which is the same:", ""]
    lines += [*table([*head], rows), ""]
    for scheme, label in SCHEMES.items():
        factor, exponent, off = power_law([(float(n), float(by_path[scheme, n]["long"])) for n in BOTTLENECKS])
        lines.append(
            f"- {label}, share of the users of all L links: {factor:.2f} L^{exponent:.2f}, within a factor of {off:.2f}"
        )
    return "\n".join(lines)


def draw(by_users: dict[tuple[str, int], Json], by_path: dict[tuple[str, int], Json], out: Path) -> None:
    """Two figures: cost against users, share against bottlenecks."""
    out.mkdir(parents=True, exist_ok=True)
    with plots.figure("CPU time per packet", f"one flow a user, 1 Mbit/s each; {machine()}") as (drawn, axes):
        for number, (scheme, label) in enumerate(SCHEMES.items()):
            style: Json = {"marker": plots.MARKERS[number], "color": plots.COLOURS[number], "label": label}
            axes.plot(USERS, [by_users[scheme, n]["cost_ns"] for n in USERS], **style)
        axes.set(xscale="log", xlabel="users", ylabel="ns", ylim=(0, None))
        plots.legend(drawn, axes)
        plots.save(drawn, out / "growth-cost")
    with plots.figure("Share of users who cross all links", "throughput over max-min share") as (drawn, axes):
        for number, (scheme, label) in enumerate(SCHEMES.items()):
            style = {"marker": plots.MARKERS[number], "color": plots.COLOURS[number], "label": label}
            axes.plot(BOTTLENECKS, [by_path[scheme, n]["long"] for n in BOTTLENECKS], **style)
        axes.set(xlabel="bottlenecks on the path", ylabel="share", ylim=(0, None))
        plots.legend(drawn, axes)
        plots.save(drawn, out / "growth-share")


def main() -> None:
    """Measure, draw, and put the tables on the page."""
    parser = argparse.ArgumentParser(description="How cost, memory and fairness grow with users and bottlenecks.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/figures", help="folder of the figures")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/scaling.md", help="page with the tables")
    options = parser.parse_args()

    program = build("measure")
    by_users = {(scheme, n): measure_users(program, scheme, n) for scheme in SCHEMES for n in USERS}
    by_path = {(scheme, n): measure_path(program, scheme, n) for scheme in SCHEMES for n in BOTTLENECKS}
    text = text_of(by_users, by_path)
    print(text)
    draw(by_users, by_path, options.out)
    put_on_page(options.page, "measured:growth", text)


if __name__ == "__main__":
    main()
