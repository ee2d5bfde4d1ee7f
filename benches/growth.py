"""Measures cost, memory and fairness from 100 to a million users and on 1 to 10 bottlenecks (about 15 minutes).

Every point is a separate process, so that peak memory is that of one run. The measured values are stored in the tables
of docs/scaling.md, from which laws and figures are computed. Times are CPU times of one thread. The largest point takes
minutes.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import click
from matplotlib.ticker import LogFormatterMathtext

from fairlane.results import plots

from .harness import ROOT, Json, Report, bench, build, conditions, nanoseconds, out, run

PAGE = "docs/scaling.md"
USERS = (100, 1_000, 10_000, 100_000, 1_000_000)
BOTTLENECKS = (1, 2, 3, 5, 7, 10)
SCHEMES = {"droptail": "drop-tail", "abc": "ABC"}
# Rate of each user in bit/s, base RTT in seconds, and bits of a packet.
RATE, RTT, PACKET = 1e6, 0.04, 12_000
# Spread of the users' base RTT for fairness. With equal RTTs, users with low numbers get larger shares
# (docs/engine.md).
SPREAD = 0.1
# Minimum number of packets of a run that measures cost; warm-up and measurement, in seconds, of runs that measure
# fairness.
PACKETS, WARMUP, MEASURE = 2e6, 1.0, 2.0
# From this number of users on, warm-up and measurement are too short to measure fairness.
MANY, SHORT = 1_000_000, 0.2
PATH_USERS = 100
# Minimum number of users for the fit of laws. The state of fewer users fits into caches, which would flatten the line.
FITTED = 10_000
# Laws are drawn up to this number of users, dashed outside the measured range.
BEYOND = 10_000_000

USERS_COLUMNS = {"scheme": "", "users": "{}", "ns per packet": "{:.0f}", "events per packet": "{:.2f}"}
USERS_COLUMNS |= {"peak MB": "{:.1f}", "bytes per user": "{:.0f}", "state of the port (B)": "{}"}
USERS_COLUMNS |= {"state of the edge (B)": "{}", "Jain's index": "{:.3f}", "5 % get at most": "{:.3f}"}
USERS_COLUMNS |= {"utilisation": "{:.3f}"}
PATH_COLUMNS = {"scheme": "", "bottlenecks": "{}", "ns per packet and bottleneck": "{:.0f}", "peak MB": "{:.1f}"}
PATH_COLUMNS |= {"users of all links": "{:.2f}", "users of one link": "{:.2f}"}
USERS_MARK, PATH_MARK = "measured:growth", "measured:growth bottlenecks"

Rows = dict[str, list[tuple[float, Json]]]
"""Rows by name of the scheme: number of users or bottlenecks, and the other columns."""


def users_scenario(scheme: str, users: int, warmup: float, measure: float, *, spread: bool = False) -> Json:
    """Returns a link of 1 Mbit/s per user, with one flow per user and a buffer of one bandwidth-delay product."""
    rate = users * RATE
    group = {"users": users, "start_until": f"{500 * warmup:g} ms", "sources": [{"kind": "tcp"}]}
    if spread:
        group |= {"rtt": f"{1e3 * RTT:g} ms", "rtt_spread": SPREAD}
    return {
        "run": {"warmup": f"{warmup:g} s", "measure": f"{measure:g} s"},
        "topology": {
            "bottleneck_rate": f"{rate:g} bit/s",
            "bottleneck_delay": f"{1e3 * RTT / (4 if spread else 2):g} ms",
            "access_rate": "100 Mbit/s",
        },
        "tcp": {"profile": "ns3.26"},
        "queue": {"scheme": scheme, "limit": f"{max(50, round(rate * RTT / PACKET))} packets"},
        "probes": {"user_rows": False},
        "groups": [group],
    }


def path_scenario(scheme: str, bottlenecks: int, *, spread: bool = False) -> Json:
    """Returns a row of links. Half of the users of a link cross all links. The other half crosses only that link.

    So all users have the same max-min share.
    """
    rate = 2 * PATH_USERS * RATE
    users = {"users": PATH_USERS, "rtt": f"{1e3 * RTT:g} ms", "start_until": "500 ms", "sources": [{"kind": "tcp"}]}
    if spread:
        users["rtt_spread"] = SPREAD
    cross = [{"name": f"cross{link}", "route": [f"link{link}"], **users} for link in range(1, bottlenecks + 1)]
    long = {"name": "long", **users}
    return {
        "run": {"warmup": "5 s", "measure": "20 s"},
        "topology": {
            "kind": "parking_lot",
            "congested_links": bottlenecks,
            "bottleneck_rate": f"{rate:g} bit/s",
            "bottleneck_delay": "1 ms",
            "receiver_rate": "1 Gbit/s",
        },
        "tcp": {"profile": "ns3.26"},
        "queue": {"scheme": scheme, "limit": f"{round(rate * RTT / PACKET)} packets"},
        "groups": [long, *cross],
    }


def measure_users(program: Path, scheme: str, users: int) -> Json:
    """Measures cost and memory in one run with enough packets, and fairness in runs whose length is fixed."""

    def point(warmup: float, measure: float, replication: int = 0, *, spread: bool = False) -> Json:
        click.echo(f"{scheme}, {users} users, {warmup + measure:g} s", err=True)
        scenario = users_scenario(scheme, users, warmup, measure, spread=spread)
        return run(program, json.dumps(scenario), str(replication))

    times = (SHORT, SHORT) if users >= MANY else (WARMUP, MEASURE)
    seconds = PACKETS * PACKET / (users * RATE)
    long = point(seconds / 5, seconds) if seconds > sum(times) else point(*times)
    replications = range(max(1, min(10, 20_000 // users)))
    runs = [long] if users >= MANY else [point(*times, number, spread=True) for number in replications]
    return {
        "cost_ns": nanoseconds(long),
        "events": long["events"] / long["delivered_packets"],
        "bytes": long["peak_bytes"],
        "state": long["state_bytes"],
        "edge": long["edge_bytes"],
        "jain": mean(line["jain_index"] for line in runs),
        "p5": mean(line["groups"][0]["p5"] for line in runs),
        "utilisation": mean(line["utilisation"] for line in runs),
    }


def measure_path(program: Path, scheme: str, bottlenecks: int) -> Json:
    """Returns the cost, and the mean throughput of the users that cross all links, divided by their max-min share."""
    click.echo(f"{scheme}, {bottlenecks} bottlenecks", err=True)
    line = run(program, json.dumps(path_scenario(scheme, bottlenecks)))
    spread = run(program, json.dumps(path_scenario(scheme, bottlenecks, spread=True)))
    shares = {group["name"]: group["normalised_throughput"] for group in spread["groups"]}
    return {
        "cost_ns": nanoseconds(line),
        "bytes": line["peak_bytes"],
        "long": shares["long"],
        "cross": mean(share for name, share in shares.items() if name != "long"),
        "utilisation": spread["utilisation"],
    }


def power_law(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Fits `y = a x^b` by least squares of the logarithms. Returns a, b and the maximum ratio of a point to the fit."""
    x, y = ([math.log(point[side]) for point in points] for side in (0, 1))
    exponent = statistics.linear_regression(x, y).slope
    factor = mean(y) - exponent * mean(x)
    off = max(abs(b - factor - exponent * a) for a, b in zip(x, y, strict=True))
    return math.exp(factor), exponent, math.exp(off)


def users_row(scheme: str, users: int, one: Json) -> list[object]:
    """Returns a row of the table of users. The largest runs are too short to measure fairness."""
    fair = [None, None] if users >= MANY else [one["jain"], one["p5"]]
    costs = [one["cost_ns"], one["events"], one["bytes"] / 1e6, one["bytes"] / users]
    return [SCHEMES[scheme], users, *costs, one["state"], one["edge"], *fair, one["utilisation"]]


def path_row(scheme: str, bottlenecks: int, one: Json) -> list[object]:
    """Values of the table of bottlenecks."""
    return [SCHEMES[scheme], bottlenecks, one["cost_ns"], one["bytes"] / 1e6, one["long"], one["cross"]]


def read_table(page: Path, mark: str) -> tuple[str, Rows]:
    """Reads the table after the comment `mark` of a page. Returns the line above the table, and the rounded values."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    above, head, _, *rows = [line for line in rest.partition("<!-- end -->")[0].splitlines() if line]
    _, first, *names = cells_of(head)
    found: Rows = {}
    for row in rows:
        scheme, count, *values = cells_of(row)
        own = {name: None if value == "–" else float(value) for name, value in zip(names, values, strict=True)}
        found.setdefault(scheme, []).append((float(count), own))
    if not found:
        raise ValueError(f"{page}: no rows of {first} between <!-- {mark} --> and <!-- end -->")
    return above, found


def cells_of(row: str) -> list[str]:
    """A row in Markdown."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def column(rows: Sequence[tuple[float, Json]], name: str, least: float = 0) -> list[tuple[float, float]]:
    """Returns pairs of a number of users or bottlenecks, from `least` on, and the value of a column."""
    return [(count, float(one[name])) for count, one in rows if count >= least]


def laws_text(by_users: Rows, by_path: Rows) -> str:
    """The laws of the tables, as Markdown."""
    lines = [
        "The laws are fitted by least squares of the logarithms; n is the number of users. Each factor is the largest",
        "ratio between a point and its line. Laws in n are fitted to points with at least 10 000 users.",
        "",
    ]
    for label, rows in by_users.items():
        cost, memory = (power_law(column(rows, name, FITTED)) for name in ("ns per packet", "peak MB"))
        beyond = cost[0] * BEYOND ** cost[1]
        lines.append(
            f"- {label}, CPU time of a packet in ns: {cost[0]:.3g} n^{cost[1]:.3f}, within a factor of {cost[2]:.2f}; "
            f"{beyond:.0f} for ten million users"
        )
        lines.append(
            f"- {label}, peak memory in bytes: {1e6 * memory[0]:.3g} n^{memory[1]:.3f}, within a factor of "
            f"{memory[2]:.2f}; {memory[0] * BEYOND ** memory[1] / 1e3:.1f} GB for ten million users"
        )
    for label, rows in by_path.items():
        factor, exponent, off = power_law(column(rows, "users of all links"))
        lines.append(
            f"- {label}, share of users who cross all L links: {factor:.2f} L^{exponent:.2f}, "
            f"within a factor of {off:.2f}"
        )
    return "\n".join(lines)


def draw(measured: str, by_users: Rows, by_path: Rows, out: Path) -> None:
    """Draws two figures, cost against users and share against bottlenecks: points as measured, laws as lines."""
    out.mkdir(parents=True, exist_ok=True)
    machine_name = measured.partition(", rustc")[0]
    with plots.figure("CPU time per packet", f"one flow a user, 1 Mbit/s each; {machine_name}") as (drawn, axes):
        for number, (label, rows) in enumerate(by_users.items()):
            points = column(rows, "ns per packet")
            axes.plot(*zip(*points, strict=True), **style(number, label))
            draw_law(axes, power_law(column(rows, "ns per packet", FITTED)), (FITTED, points[-1][0], BEYOND), number)
        plots.logarithmic(axes, "x", [10**power for power in range(2, 8)])
        plots.logarithmic(axes, "y", [100, 200, 500, 1000, 2000])
        axes.xaxis.set_major_formatter(LogFormatterMathtext())
        axes.set(
            xlabel="users; lines: laws from 10 000 on, dashed where nothing was measured", ylabel="ns", ylim=(90, 4000)
        )
        plots.legend(drawn, axes)
        plots.save(drawn, out / "growth-cost")
    with plots.figure("Share of users who cross all links", "throughput over max-min share") as (drawn, axes):
        for number, (label, rows) in enumerate(by_path.items()):
            points = column(rows, "users of all links")
            axes.plot(*zip(*points, strict=True), **style(number, label))
            draw_law(axes, power_law(points), (1, points[-1][0]), number)
        plots.logarithmic(axes, "x", BOTTLENECKS)
        plots.logarithmic(axes, "y", [0.05, 0.1, 0.2, 0.5, 1, 2])
        axes.set(xlabel="bottlenecks on the path; lines: laws", ylabel="share", ylim=(0.04, 2.2))
        plots.legend(drawn, axes)
        plots.save(drawn, out / "growth-share")


def style(number: int, label: str) -> Json:
    """Measured points."""
    return {"marker": plots.MARKERS[number], "color": plots.COLOURS[number], "label": label, "linestyle": "none"}


def draw_law(axes: Any, law: tuple[float, float, float], places: Sequence[float], number: int) -> None:
    """Draws a law as a solid line over the measured range, then as a dashed line to a third position, if given."""
    for line, ends in zip(("-", "--"), pairwise(places), strict=False):
        axes.plot(ends, [law[0] * x ** law[1] for x in ends], line, color=plots.COLOURS[number], linewidth=1.0)


@bench("growth", page=PAGE)
@out("docs/figures")
@click.option("--redraw", is_flag=True, help="Do not measure: compute laws and figures from the tables on the page.")
def main(report: Report, out: Path, redraw: bool) -> None:
    """Measures, draws, and writes tables and laws into the page."""
    page = report.page or ROOT / PAGE
    if not redraw:
        program = build("measure")
        above = f"{conditions()}; one run per point"
        users = [users_row(scheme, n, measure_users(program, scheme, n)) for scheme in SCHEMES for n in USERS]
        report.table(USERS_COLUMNS, users, USERS_MARK, above=f"{above} for cost and memory.")
        paths = [path_row(scheme, n, measure_path(program, scheme, n)) for scheme in SCHEMES for n in BOTTLENECKS]
        report.table(PATH_COLUMNS, paths, PATH_MARK, above=f"{above}.")
    measured, of_users = read_table(page, USERS_MARK)
    _, of_paths = read_table(page, PATH_MARK)
    text = laws_text(of_users, of_paths)
    click.echo(text)
    report.put("growth laws", text)
    draw(measured, of_users, of_paths, out)
