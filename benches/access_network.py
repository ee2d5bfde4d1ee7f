"""Simulates the service that subscribers of an access network get, by scheme and case (ten minutes on two cores)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane import Scenario
from fairlane.base.files import write_aside
from fairlane.results import plots
from fairlane.results.intervals import Interval, interval

from .harness import ROOT, Report, bench, out, replications

MORE = {"failover": 20}
"""Number of replications of the cases whose intervals are too wide with five replications."""
LEVELS = ("gateway", "site", "access_point")
PLAN_BYTES = 24
"""State of a plan's shaper, without waiting packets: rate and next send time take 8 bytes each, the two ends of the
queue 4 bytes each."""

NETWORK = {
    "topology.sites": 2,
    "topology.access_points": 3,
    "topology.gateway_rate": "200 Mbit/s",
    "topology.site_rate": "112 Mbit/s",
    "run.warmup": "10 s",
    "run.measure": "20 s",
}
"""Keys that halve the size of the example's network, so that there is time for several runs of each case."""

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
"""Compared schemes, by name on the page."""
COMPARED = {**ENTRIES, "`wfq`": {"queue": {**DROPTAIL, "scheme": "wfq"}}}
"""The schemes of `ENTRIES`, and WFQ, which is compared only on the uneven network."""

Run = Mapping[str, Any]
Measure = Callable[[Run], float | None]
"""Value of a run; None if it has none."""
Measures = Mapping[str, tuple[int, Measure]]
"""Columns of a table, by heading: number of decimals, and the function that computes the value from a run."""
Found = dict[tuple[str, ...], dict[str, Interval]]
"""Means by the label of their row."""


def share(group: str, percentile: str = "p50") -> Measure:
    """Percentile, over the users of a group, of a user's throughput divided by its max-min share."""

    def of(run: Run) -> float | None:
        found = {one["name"]: one["user_summary"]["share"] for one in run["groups"]}
        return found[group][percentile] if group in found else None

    return of


def delay_ms(application: str, percentile: str) -> Measure:
    """Percentile of the one-way delay of an application."""

    def of(run: Run) -> float:
        found = {one["name"]: one["one_way_delay"] for one in run["access"]["applications"]}
        return 1e3 * float(found[application][f"{percentile}_s"])

    return of


def page_object_ms(run: Run) -> float:
    """95th percentile of the transfer time of a page's object."""
    found = {group["name"]: group["transfer_times"] for group in run["groups"] if group["name"] == "surfers"}
    return 1e3 * float(found["surfers"]["p95_s"])


def worst_site(run: Run) -> float:
    """Smallest 5th percentile of the users' shares, over all sites."""
    return min(float(node["share"]["p5"]) for node in run["access"]["nodes"] if node["level"] == "site")


def gateway_busy(run: Run) -> float:
    """Fraction of time in which the gateway sends towards the subscribers."""
    return next(float(link["utilisation"]) for link in run["links"] if link["name"] == "gateway/down")


MEASURES: Measures = {
    "video p5": (2, share("viewers", "p5")),
    "video p50": (2, share("viewers")),
    "web p5": (2, share("surfers", "p5")),
    "heavy p50": (2, share("heavy")),
    "worst site p5": (2, worst_site),
    "page object p95 (ms)": (0, page_object_ms),
    "web delay p99 (ms)": (0, delay_ms("web", "p99")),
    "video delay p99 (ms)": (0, delay_ms("video", "p99")),
    "upload delay p50 (ms)": (0, delay_ms("backup", "p50")),
    "gateway busy": (3, gateway_busy),
}
HOMES_MEASURES: Measures = {
    "download p50": (2, share("loading")),
    "upload p50": (2, share("saving")),
    "game down p50 (ms)": (1, delay_ms("game down", "p50")),
    "game down p99 (ms)": (1, delay_ms("game down", "p99")),
    "game up p50 (ms)": (1, delay_ms("game up", "p50")),
    "game up p99 (ms)": (1, delay_ms("game up", "p99")),
    "told 250": (2, share("told 250")),
    "told 2.5": (2, share("told 2.5")),
    "gateway busy": (2, gateway_busy),
}
UNEVEN_MEASURES: Measures = {
    "one of six": (2, share("six")),
    "one alone": (2, share("one")),
    "gateway busy": (3, gateway_busy),
}

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
"""Columns of the state table: ports downstream and upstream, then the edge. State is in bytes. The last two columns
count token buckets and changes of mode per packet."""
# In the order of `state`: ports downstream, the gateway's port upstream, the edge in both directions.


def cases() -> dict[str, Scenario]:
    """Returns the network under normal load, and the network with each of three problems."""
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
    """Returns two scenarios with subscribers whose only bottleneck is their plan.

    In both, somebody plays a game, somebody downloads and somebody uploads in each of ten homes. In the second, four
    other homes also download, with wrongly configured plans.
    """

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
    """Returns a full gateway that six subscribers at one site share with one subscriber at another."""
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


def state(scenario: Scenario, entry: str) -> list[str]:
    """Returns a row of the state table: bytes of state, then numbers of token buckets and of mode changes per packet.

    The edge is at the gateway for downstream traffic, and at the access points for upstream traffic. The directions do
    not interact, so each is simulated alone.
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
        # State of the plan, wherever it is stored.
        return [*sizes, "1", "0"]
    return [*sizes, *(f"{readings[name]:.1f}" for name in ("buckets_per_packet", "mode_changes_per_packet"))]


def draw(found: Found, out: Path) -> None:
    """Draws a panel for each case, with median shares of videos and heavy users under each scheme."""
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
        write_aside(out / "access-networks.png", plots.as_bytes(drawn, ".png"))


@bench("access-network", page="site/data/access-networks.json")
@out("docs/figures")
@replications(5)
def main(report: Report, out: Path, replications: int) -> None:
    """Simulates all cases, and writes tables and figure."""

    def found(case: str, scenario: Scenario, entry: str, of: Measures, least: int = 0) -> dict[str, Interval]:
        runs = fairlane.run(scenario.changed(COMPARED[entry]), replications=max(replications, least)).runs
        click.echo(f"{case}, {entry}", err=True)
        values = {name: [found for run in runs if (found := value(run)) is not None] for name, (_, value) in of.items()}
        return {name: interval(all_) for name, all_ in values.items() if all_}

    def table(mark: str, head: Sequence[str], of: Measures, found: Found) -> None:
        columns = {**dict.fromkeys(head, ""), **{name: f"{{:.{digits}f}}" for name, (digits, _) in of.items()}}
        report.table(columns, [[*names, *map(own.get, of)] for names, own in found.items()], mark)

    network = cases()
    shown: Found = {
        (case, entry): found(case, scenario, entry, MEASURES, MORE.get(case, 0))
        for case, scenario in network.items()
        for entry in ENTRIES
    }
    table("access shares", ["case", "scheme"], MEASURES, shown)
    draw(shown, out)
    states = [[entry, *state(network["normal load"].changed(own), entry)] for entry, own in ENTRIES.items()]
    report.table(dict.fromkeys(STATE_HEAD, ""), states, "access state")
    light: Found = {
        (case, entry): found(case, scenario, entry, HOMES_MEASURES)
        for case, scenario in homes().items()
        for entry in ENTRIES
    }
    table("access homes", ["case", "scheme"], HOMES_MEASURES, light)
    rows: Found = {(entry,): found("uneven", uneven(), entry, UNEVEN_MEASURES) for entry in COMPARED}
    table("access uneven", ["scheme"], UNEVEN_MEASURES, rows)
