"""Simulates what subscribers of an access network get, by scheme and case: ten minutes on two cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

import fairlane
from fairlane import Scenario
from fairlane.results import plots
from fairlane.results.intervals import Interval, interval

from .harness import ROOT, Report, bench, replications

FIGURE = ROOT / "docs" / "figures" / "access-networks.png"
MORE = {"failover": 20}
"""Replications of cases whose intervals are too wide with five."""
LEVELS = ("gateway", "site", "access_point")
PLAN_BYTES = 24
"""Of the shaper of a plan: a rate and the time when it may send again, 8 bytes each, the two ends of its queue, 4 each.
Packets that wait are counted nowhere in the table."""

NETWORK = {
    "topology.sites": 2,
    "topology.access_points": 3,
    "topology.gateway_rate": "200 Mbit/s",
    "topology.site_rate": "112 Mbit/s",
    "run.warmup": "10 s",
    "run.measure": "20 s",
}
"""Half of the example, so that every case can be run several times."""

TREE = {"scheme": "htb", "limit": "1000 packets", "quantum": "1514 B"}
FULL = {"scheme": "htb", "limit": "1000 packets", "node_rates": "full"}
DROPTAIL = {"scheme": "droptail", "limit": "100 packets"}
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "`droptail`": {"queue": DROPTAIL},
    "`fq_codel`": {"queue": {**DROPTAIL, "scheme": "fq_codel"}},
    "tree": {"queue": DROPTAIL, "topology.gateway_queue": TREE},
    "tree, full rates": {"queue": DROPTAIL, "topology.gateway_queue": FULL},
    "tree, FQ-CoDel elsewhere": {"queue": {**DROPTAIL, "scheme": "fq_codel"}, "topology.gateway_queue": TREE},
    "`abc`": {"queue": {**DROPTAIL, "scheme": "abc"}},
    "`csfq`": {"queue": {**DROPTAIL, "scheme": "csfq"}},
    "`hcsfq`": {"queue": {**DROPTAIL, "scheme": "hcsfq"}},
}
"""What is compared, by its name on the page."""
COMPARED = {**ENTRIES, "`wfq`": {"queue": {**DROPTAIL, "scheme": "wfq"}}}
"""With what is compared on the uneven network only."""

MEASURES = {
    "video p5": 2,
    "video p50": 2,
    "web p5": 2,
    "heavy p50": 2,
    "worst site p5": 2,
    "page object p95 (ms)": 0,
    "web delay p99 (ms)": 0,
    "video delay p99 (ms)": 0,
    "upload delay p50 (ms)": 0,
    "gateway busy": 3,
}
"""Columns of the first table, with digits."""

HOMES_MEASURES = {
    "download p50": 2,
    "upload p50": 2,
    "game down p50 (ms)": 1,
    "game down p99 (ms)": 1,
    "game up p50 (ms)": 1,
    "game up p99 (ms)": 1,
    "told 250": 2,
    "told 2.5": 2,
    "gateway busy": 2,
}
"""Columns of the table of homes."""

UNEVEN_MEASURES = {"one of six": 2, "one alone": 2, "gateway busy": 3}
"""Columns of the table of the uneven network."""


STATE_HEAD = (
    "scheme",
    "gateway down",
    "site down",
    "access point down",
    "gateway up",
    "meters at the gateway",
    "plans at the gateway",
    "meters at access points",
    "plans at access points",
    "token buckets a packet",
    "mode changes a packet",
)
"""Columns of the table of state: bytes, but for the last two. Ports down and up, then the edge."""
# The order is that in which `state` gives them: ports down, the gateway's port up, the edge of either way.

Measure = Callable[[Mapping[str, Any]], dict[str, float]]
Found = dict[tuple[str, ...], dict[str, Interval]]
"""Means by the words at the head of their row."""


def cases() -> dict[str, Scenario]:
    """The network, and what goes wrong in it."""
    normal = Scenario.from_toml(ROOT / "examples" / "access-network.toml").changed(NETWORK)
    table = normal.to_dict()
    neighbours = fairlane.group("neighbours", fairlane.tcp(flows=2), share=0.1, direction="local", rtt="10 ms")
    local = {**table, "groups": [*table["groups"], neighbours]}
    half = {"node": "site1", "at": "1 s", "share": 0.5}
    return {
        "normal load": normal,
        "plan wrong": normal.replace("groups[2].configured_plan", "250 Mbit/s"),
        "local traffic": Scenario.from_dict(local),
        "failover": normal.replace("topology.failovers", [half]),
    }


def homes() -> dict[str, Scenario]:
    """Twenty subscribers whom only their plans hold back; in ten homes somebody plays while others load and save."""

    def home(name: str, direction: str, bulk: str, game: str) -> dict[str, Any]:
        play = {"kind": "cbr", "application": game, "rate": "100 kbit/s", "packet_size": "200 B"}
        sources = [{"kind": "tcp", "application": bulk}, play]
        return {"name": name, "share": 0.5, "direction": direction, "rtt": "30 ms", "sources": sources}

    def told(name: str, plan: str) -> dict[str, Any]:
        bulk = {"kind": "tcp", "application": name}
        return {"name": name, "share": 0.1, "rtt": "30 ms", "configured_plan": plan, "sources": [bulk]}

    rates = {"gateway_rate": "1 Gbit/s", "site_rate": "600 Mbit/s", "access_point_rate": "300 Mbit/s"}
    plans = {"plan": "25 Mbit/s", "plan_up": "5 Mbit/s", "access_rate": "300 Mbit/s"}
    right = {
        "name": "homes",
        "run": {"warmup": "10 s", "measure": "20 s"},
        "topology": {"kind": "access", "sites": 1, "access_points": 2, "subscribers": 10, **rates, **plans},
        "tcp": {"profile": "linux"},
        "groups": [home("loading", "down", "download", "game down"), home("saving", "up", "upload", "game up")],
    }
    wrong = {**right, "groups": [*right["groups"], told("told 250", "250 Mbit/s"), told("told 2.5", "2.5 Mbit/s")]}
    return {"light load": Scenario.from_dict(right), "light load, plans wrong": Scenario.from_dict(wrong)}


def uneven() -> Scenario:
    """Six subscribers at one site and one at the other share a gateway that is full."""
    counts = {"kind": "access", "sites": 2, "access_points": 1, "subscribers": 6}
    rates = {"gateway_rate": "70 Mbit/s", "site_rate": "100 Mbit/s", "access_point_rate": "100 Mbit/s"}
    bulk = {"kind": "tcp", "application": "bulk", "flows": 2}

    def group(name: str, node: str, share: float) -> dict[str, Any]:
        return {"name": name, "node": node, "share": share, "rtt": "30 ms", "sources": [bulk]}

    return Scenario.from_dict(
        {
            "name": "uneven",
            "run": {"warmup": "10 s", "measure": "20 s"},
            "topology": {**counts, **rates, "plan": "25 Mbit/s", "plan_up": "5 Mbit/s"},
            "tcp": {"profile": "linux"},
            "groups": [group("six", "site1", 1.0), group("one", "site2", 1 / 6)],
        }
    )


def measures(run: Mapping[str, Any]) -> dict[str, float]:
    """Those of a run of the network of the example."""
    groups = {group["name"]: group for group in run["groups"]}
    share = shares(run)
    delay = delays_ms(run)
    sites = [node["share"]["p5"] for node in run["access"]["nodes"] if node["level"] == "site"]
    return {
        "video p5": share["viewers"]["p5"],
        "video p50": share["viewers"]["p50"],
        "web p5": share["surfers"]["p5"],
        "heavy p50": share["heavy"]["p50"],
        "worst site p5": min(sites),
        "page object p95 (ms)": 1e3 * groups["surfers"]["transfer_times"]["p95_s"],
        "web delay p99 (ms)": delay["web"]["p99_s"],
        "video delay p99 (ms)": delay["video"]["p99_s"],
        "upload delay p50 (ms)": delay["backup"]["p50_s"],
        "gateway busy": gateway_busy(run),
    }


def homes_measures(run: Mapping[str, Any]) -> dict[str, float]:
    """Those of a run of homes."""
    share, delay = shares(run), delays_ms(run)
    found = {"download p50": share["loading"]["p50"], "upload p50": share["saving"]["p50"]}
    found |= {
        f"{game} {key} (ms)": delay[game][f"{key}_s"] for game in ("game down", "game up") for key in ("p50", "p99")
    }
    found |= {name: share[name]["p50"] for name in ("told 250", "told 2.5") if name in share}
    return {**found, "gateway busy": gateway_busy(run)}


def uneven_measures(run: Mapping[str, Any]) -> dict[str, float]:
    """Those of a run of the uneven network."""
    share = shares(run)
    return {"one of six": share["six"]["p50"], "one alone": share["one"]["p50"], "gateway busy": gateway_busy(run)}


def shares(run: Mapping[str, Any]) -> dict[str, Any]:
    """Percentiles of each group's throughput over its users' own max-min shares."""
    return {group["name"]: group["user_summary"]["share"] for group in run["groups"]}


def delays_ms(run: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """One-way delay of each application, in ms whatever its fields are called."""
    return {
        one["name"]: {key: 1e3 * value for key, value in one["one_way_delay"].items() if key.endswith("_s")}
        for one in run["access"]["applications"]
    }


def gateway_busy(run: Mapping[str, Any]) -> float:
    """Share of the time in which the gateway sends towards the subscribers."""
    return next(float(link["utilisation"]) for link in run["links"] if link["name"] == "gateway/down")


def means(found: Sequence[Mapping[str, float]]) -> dict[str, Interval]:
    """Of the replications."""
    return {name: interval([one[name] for one in found]) for name in found[0]}


def state(scenario: Scenario, entry: str) -> list[str]:
    """Bytes at ports of each level, of meters and plans by place; token buckets and mode changes a packet down.

    What goes down meets the edge at the gateway, what goes up at the access points. Neither meets the other, so that
    each can be run alone.
    """
    groups = scenario.to_dict()["groups"]
    runs = {
        way: fairlane.run(
            Scenario.from_dict(
                {**scenario.to_dict(), "groups": [one for one in groups if one.get("direction", "down") == way]}
            ),
            replications=1,
        ).runs[0]
        for way in ("down", "up")
    }
    has_tree = entry.startswith("tree")
    ports, edges = [], []
    for way, run in runs.items():
        links = {link["name"]: link for link in run["links"]}
        names = {node["level"]: f"{node['name']}/{way}" for node in reversed(run["access"]["nodes"])}
        levels = LEVELS if way == "down" else ("gateway",)
        ports += [links[names[level]]["state"]["bytes"] for level in levels]
        users = sum(group["users"] for group in run["groups"])
        edges += [run["edge_state"]["bytes"], 0 if has_tree else PLAN_BYTES * users]
        if way == "down":
            readings = links[names["gateway"]]["readings"]
    sizes = [f"{size:,}".replace(",", " ") for size in (*ports, *edges)]
    if not has_tree:
        # The plan's, wherever it is kept.
        return [*sizes, "1", "0"]
    return [*sizes, *(f"{readings[name]:.1f}" for name in ("buckets_per_packet", "mode_changes_per_packet"))]


def draw(found: Found) -> None:
    """A panel for each case: median shares of videos and heavy users under each scheme."""
    import matplotlib as mpl

    names = list(dict.fromkeys(case for case, *_ in found))
    with mpl.rc_context(plots.STYLE):
        drawn = plots.Drawn(figsize=(8.6, 3.6), layout="constrained")
        panels = drawn.subplots(1, len(names), sharey=True)
        for axes, case in zip(panels, names, strict=True):
            axes.set_title(case)
            axes.axvline(1.0, color="0.6", linewidth=0.8)
            rows = range(len(ENTRIES))
            for number, (measure, label) in enumerate((("video p50", "videos"), ("heavy p50", "heavy users"))):
                of = [found[case, entry][measure] for entry in ENTRIES]
                axes.errorbar(
                    [one.mean for one in of],
                    rows,
                    xerr=[one.slack for one in of],
                    fmt=plots.MARKERS[number],
                    color=plots.COLOURS[number],
                    label=label,
                )
            axes.set_yticks(rows, [entry.replace("`", "") for entry in ENTRIES])
            axes.set_xlim(left=0)
            axes.set_xlabel("share")
        panels[0].invert_yaxis()
        drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
        drawn.suptitle("Median throughput over max-min share", fontsize=11, x=0.01, ha="left")
        FIGURE.write_bytes(plots.as_bytes(drawn, ".png"))


@bench("access-network", page="docs/access-networks.md")
@replications(5)
def main(report: Report, replications: int) -> None:
    """Simulates, and writes tables and figure; some cases have more replications."""

    def found(case: str, scenario: Scenario, entry: str, of: Measure, least: int = 0) -> dict[str, Interval]:
        runs = fairlane.run(scenario.changed(COMPARED[entry]), replications=max(replications, least)).runs
        click.echo(f"{case}, {entry}", err=True)
        return means([of(run) for run in runs])

    def table(mark: str, head: Sequence[str], digits: Mapping[str, int], of: Found) -> None:
        columns = {**dict.fromkeys(head, ""), **{name: f"{{:.{places}f}}" for name, places in digits.items()}}
        report.table(columns, [[*names, *map(own.get, digits)] for names, own in of.items()], mark)

    network = cases()
    shown: Found = {
        (case, entry): found(case, scenario, entry, measures, MORE.get(case, 0))
        for case, scenario in network.items()
        for entry in ENTRIES
    }
    table("access shares", ["case", "scheme"], MEASURES, shown)
    draw(shown)
    states = [[entry, *state(network["normal load"].changed(own), entry)] for entry, own in ENTRIES.items()]
    report.table(dict.fromkeys(STATE_HEAD, ""), states, "access state")
    light: Found = {
        (case, entry): found(case, scenario, entry, homes_measures)
        for case, scenario in homes().items()
        for entry in ENTRIES
    }
    table("access homes", ["case", "scheme"], HOMES_MEASURES, light)
    rows: Found = {(entry,): found("uneven", uneven(), entry, uneven_measures) for entry in COMPARED}
    table("access uneven", ["scheme"], UNEVEN_MEASURES, rows)
