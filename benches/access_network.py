"""What subscribers of an access network get, by scheme and case. Tables of docs/access-networks.md.

`python benches/access_network.py` simulates every case under every scheme and prints both tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fairlane
from fairlane import Scenario

ROOT = Path(__file__).parents[1]
SCHEMES = ("droptail", "fq_codel", "wfq", "abc", "csfq", "hcsfq")
LIGHT = ("surfers", "viewers")
LEVELS = ("gateway", "site", "access_point")


def cases() -> dict[str, Scenario]:
    """The example, and what goes wrong in it."""
    normal = Scenario.from_toml(ROOT / "examples" / "access-network.toml")
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


def shares(run: Mapping[str, Any], group: str) -> Mapping[str, float]:
    """Percentiles of the shares of a group."""
    found: Mapping[str, float] = next(one for one in run["groups"] if one["name"] == group)["user_summary"]["share"]
    return found


def row(case: str, scheme: str, run: Mapping[str, Any]) -> list[str]:
    """A line of the first table."""
    light = [shares(run, name) for name in LIGHT]
    web = next(one for one in run["groups"] if one["name"] == "surfers")["transfer_times"]
    delays = {one["name"]: one["one_way_delay"] for one in run["access"]["applications"]}
    worst = min((one for one in run["access"]["nodes"] if one["level"] == "site"), key=lambda one: one["share"]["p5"])
    return [
        case,
        f"`{scheme}`",
        *(f"{one['p5']:.2f}, {one['p50']:.2f}" for one in light),
        f"{shares(run, 'heavy')['p50']:.2f}",
        f"{1e3 * web['p95_s']:.0f}",
        f"{1e3 * delays['web']['p99_s']:.1f}",
        f"{1e3 * delays['video']['p99_s']:.1f}",
        f"{worst['name']}, {worst['share']['p5']:.2f}",
    ]


def state(run: Mapping[str, Any]) -> list[str]:
    """Bytes of state of a port of each level, down, and of the edge."""
    links = {link["name"]: link["state"]["bytes"] for link in run["links"]}
    of_level = {one["level"]: links[f"{one['name']}/down"] for one in reversed(run["access"]["nodes"])}
    return [*(f"{of_level[level]}" for level in LEVELS), f"{run['edge_state']['bytes']}"]


def show(head: list[str], rows: list[list[str]]) -> None:
    """Prints a table of a page."""
    for cells in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Simulates and prints."""
    rows: list[list[str]] = []
    states: dict[str, list[str]] = {}
    for case, scenario in cases().items():
        for scheme in SCHEMES:
            changed = scenario.replace("queue", {"scheme": scheme, "limit": scenario.to_dict()["queue"]["limit"]})
            run = fairlane.run(changed, replications=1).runs[0]
            rows.append(row(case, scheme, run))
            states.setdefault(scheme, state(run))
    head = ["case", "scheme", "web p5, p50", "video p5, p50", "bulk p50", "page object p95 (ms)"]
    show([*head, "web delay p99 (ms)", "video delay p99 (ms)", "worst site, p5"], rows)
    show(["scheme", "gateway", "site", "access point", "edge"], [[f"`{name}`", *own] for name, own in states.items()])


if __name__ == "__main__":
    main()
