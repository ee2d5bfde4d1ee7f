"""Measures the shares of the adversaries again (half a minute on two cores), and writes them into their files.

`docs/adversaries.md` shows the scenarios of `examples/adversaries`, which `fairlane search adversary` found. The bench
runs each under its scheme and under WFQ, but does not search. It stores finished runs in `results/store`, so that it
continues after a kill. It fails if an expectation of a file or a sentence of the page no longer holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fairlane
from fairlane import Scenario
from fairlane.base.files import write_aside
from fairlane.results.intervals import Interval, interval
from fairlane.search.adversary import EVALUATIONS
from fairlane.search.attack import IDEAL, REPLICATIONS, light_share
from fairlane.search.bounds import read_bounds
from fairlane.search.scenario_file import SHARES
from fairlane.store import Store
from fairlane.store.simulate import simulate

from .harness import ROOT, Report, bench

FILES = sorted((ROOT / "examples" / "adversaries").glob("*.toml"))
PER_USER = "-user"
"""End of the names of files with `share_per = "user"`."""
Runs = Sequence[Mapping[str, Any]]


class Shares(NamedTuple):
    """The light user's fractions of its max-min share."""

    share: Interval
    ideal: Interval


def runs(scenarios: Sequence[Scenario]) -> list[Runs]:
    """The run records of scenarios. Simulates missing runs, and stores each as it finishes."""
    found = simulate([one.canonical() for one in scenarios], Store(), keep=True, show_progress=True)
    return [[json.loads(kept.run) for kept in of_one] for of_one in found]


def light(of: Runs) -> Interval:
    """The light user's fraction of its max-min share."""
    return interval([share for run in of for share in light_share(run) if share is not None])


def under_ideal(scenario: Scenario) -> Scenario:
    """The scenario under the ideal scheduler, with the same buffer."""
    table = scenario.to_dict()
    table.pop("marker", None)
    return Scenario.from_dict({**table, "queue": {"scheme": IDEAL, "limit": table["queue"]["limit"]}})


def measured() -> dict[Path, Shares]:
    """The shares in every file."""
    scenarios = [Scenario.from_toml(file) for file in FILES]
    found = [light(of) for of in runs([*scenarios, *map(under_ideal, scenarios)])]
    return {file: Shares(*pair) for file, *pair in zip(FILES, found, found[len(FILES) :], strict=False)}


def rewritten(text: str, shares: Shares) -> str:
    """The text of a file with these shares in its head."""
    found = SHARES.search(text)
    if found is None:
        raise ValueError("no shares in the head of the file")
    middle = text[found.end(1) : found.start(2)]
    return f"{text[: found.start(1)]}{shares.share}{middle}{shares.ideal}{text[found.end(2) :]}"


def sentences(found: Mapping[Path, Shares]) -> dict[str, bool]:
    """Sentences of the page, and whether they hold."""
    least = read_bounds(None).ideal_share
    names = {file.stem for file in found if not file.stem.endswith(PER_USER)}
    counts = {Scenario.from_toml(file).to_dict()["run"]["replications"] for file in found}
    return {
        "`htb` is left out": names == {scheme["name"] for scheme in fairlane.schemes()} - {"htb"},
        # Other seeds selected the scenario, so the mean may be below the bound by up to its half width.
        f"Under per-user WFQ, the light user gets at least {least * 100:g} % of its share": all(
            ideal.mean + ideal.slack >= least for _, ideal in found.values()
        ),
        f"means over {REPLICATIONS} or {2 * REPLICATIONS} runs": counts == {REPLICATIONS, 2 * REPLICATIONS},
        f"none of {EVALUATIONS} scenarios": True,
    }


@bench("adversaries", page="docs/adversaries.md")
def main(report: Report) -> None:
    """Runs all scenarios, and writes their files."""
    found = measured()
    report.table(
        {"scenario": "", "share": "{}", "under WFQ": "{}"}, [[file.stem, *both] for file, both in found.items()]
    )
    for file, both in found.items():
        write_aside(file, rewritten(file.read_text(encoding="utf-8"), both).encode())
    for checked in fairlane.check(FILES).scenarios:
        for one in checked["expectations"]:
            if one.verdict != "held":
                report.failed.append(f"{checked['file']}: {one.metric} {one.expected}: {one.verdict}, {one.mean}")
    report.require(sentences(found))
