"""What subscribers of an access network get, by scheme and case. Tables and figure of docs/access-networks.md.

`python benches/access_network.py` simulates every case under every scheme and writes them: two minutes on two cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from measuring import put_on_page

import fairlane
from fairlane import Scenario
from fairlane.results import plots
from fairlane.results.intervals import Interval, interval

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "access-networks.md"
FIGURE = ROOT / "docs" / "figures" / "access-networks.png"
REPLICATIONS = 5
LEVELS = ("gateway", "site", "access_point")

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
    "`abc`": {"queue": {**DROPTAIL, "scheme": "abc"}},
    "`csfq`": {"queue": {**DROPTAIL, "scheme": "csfq"}},
    "`hcsfq`": {"queue": {**DROPTAIL, "scheme": "hcsfq"}},
}
"""What is compared, by its name on the page."""

MEASURES = {
    "video p5": 2,
    "video p50": 2,
    "web p5": 2,
    "heavy p50": 2,
    "worst site p5": 2,
    "page object p95 (ms)": 0,
    "web delay p99 (ms)": 0,
    "video delay p99 (ms)": 0,
}
"""Columns of the first table, with digits."""


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


def measures(run: Mapping[str, Any]) -> dict[str, float]:
    """Those of a run."""
    groups = {group["name"]: group for group in run["groups"]}
    share = {name: group["user_summary"]["share"] for name, group in groups.items()}
    delay_ms = {one["name"]: 1e3 * one["one_way_delay"]["p99_s"] for one in run["access"]["applications"]}
    sites = [node["share"]["p5"] for node in run["access"]["nodes"] if node["level"] == "site"]
    return {
        "video p5": share["viewers"]["p5"],
        "video p50": share["viewers"]["p50"],
        "web p5": share["surfers"]["p5"],
        "heavy p50": share["heavy"]["p50"],
        "worst site p5": min(sites),
        "page object p95 (ms)": 1e3 * groups["surfers"]["transfer_times"]["p95_s"],
        "web delay p99 (ms)": delay_ms["web"],
        "video delay p99 (ms)": delay_ms["video"],
    }


def means(runs: Sequence[Mapping[str, Any]]) -> dict[str, Interval]:
    """Of the replications."""
    found = [measures(run) for run in runs]
    return {name: interval([one[name] for one in found]) for name in MEASURES}


def cells(found: Mapping[str, Interval]) -> list[str]:
    """As the table shows them."""
    return [f"{one.mean:.{MEASURES[name]}f} ± {one.slack:.{MEASURES[name]}f}" for name, one in found.items()]


def state(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Bytes at a port of each level down, and at the edge; token buckets and mode changes a packet at the gateway."""
    run = runs[0]
    links = {link["name"]: link for link in run["links"]}
    names = {node["level"]: f"{node['name']}/down" for node in reversed(run["access"]["nodes"])}
    readings = links[names["gateway"]]["readings"]
    work = [readings.get(name) for name in ("buckets_per_packet", "mode_changes_per_packet")]
    bytes_of_level = [links[names[level]]["state"]["bytes"] for level in LEVELS]
    of_work = ["0" if value is None else f"{value:.1f}" for value in work]
    return [*(f"{size:,}".replace(",", " ") for size in (*bytes_of_level, run["edge_state"]["bytes"])), *of_work]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows))


def draw(found: Mapping[tuple[str, str], Mapping[str, Interval]]) -> None:
    """A panel for each case: median shares of videos and heavy users under each scheme."""
    import matplotlib as mpl

    names = list(dict.fromkeys(case for case, _ in found))
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


@click.command()
@click.option("--replications", default=REPLICATIONS, show_default=True, help="Runs of each case.")
def main(replications: int) -> None:
    """Simulates, and writes tables and figure."""
    found: dict[tuple[str, str], dict[str, Interval]] = {}
    states: dict[str, list[str]] = {}
    for case, scenario in cases().items():
        for entry, settings in ENTRIES.items():
            runs = fairlane.run(scenario.changed(settings), replications=replications).runs
            found[case, entry] = means(runs)
            states.setdefault(entry, state(runs))
            click.echo(f"{case}, {entry}: {' | '.join(cells(found[case, entry]))}", err=True)
    rows = [[case, entry, *cells(own)] for (case, entry), own in found.items()]
    put_on_page(PAGE, "access shares", table(["case", "scheme", *MEASURES], rows))
    head = ["scheme", "gateway", "site", "access point", "edge", "token buckets a packet", "mode changes a packet"]
    put_on_page(PAGE, "access state", table(head, [[entry, *own] for entry, own in states.items()]))
    draw(found)


if __name__ == "__main__":
    main()
