"""Compares Fairlane with ns-3 on the same scenarios: agreement and speed (about 20 minutes; needs libns3-dev).

The tolerance of the criterion (agreement.py) is 5 % per scenario and measure. A scenario agrees if throughput ratio,
utilisation and mean queue agree. Drop rate and throughputs of groups are also compared, but do not affect the verdict.
"""

from __future__ import annotations

import itertools
import json
import math
import platform
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import click

from fairlane._fairlane import Batch, version
from fairlane.base.files import write_aside
from fairlane.results.intervals import interval

from ..agreement import LEGEND, Measure, agree, verdict, yes_or_no
from ..harness import Report, bench, chosen, markdown, only, out, processor, replications
from . import ns3
from .scenarios import Case, Table, cases, default_case

TOLERANCE = 0.05
SPEED_RUNS = 7


@dataclass(frozen=True, slots=True)
class Run:
    """Measures of one replication in either simulator."""

    throughput_bps: list[float]
    utilisation: float
    queue_packets: float
    drop_share: float
    packets: int
    cpu_seconds: float
    user_throughput_bps: list[float]
    retransmissions: int

    @property
    def ratio(self) -> float:
        """Throughput per user of the first group relative to the second; NaN for one group."""
        if len(self.throughput_bps) < 2:
            return math.nan
        return self.throughput_bps[0] / self.throughput_bps[1] if self.throughput_bps[1] else math.inf

    @property
    def smaller_share(self) -> float:
        """Smallest throughput of a user as a fraction of the throughput of all users; NaN for one user."""
        total = sum(self.user_throughput_bps)
        return min(self.user_throughput_bps) / total if len(self.user_throughput_bps) > 1 and total > 0 else math.nan

    @property
    def speed(self) -> float:
        """Packets over the bottleneck per CPU second."""
        return self.packets / self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario."""

    case: Case
    measures: list[Measure]
    fairlane_speed: float
    ns3_speed: float
    fairlane_runs: list[Run]
    ns3_runs: list[Run]

    @property
    def speed_ratio(self) -> float:
        """Returns Fairlane's packets per CPU second divided by those of ns-3, from the medians of runs."""
        return self.fairlane_speed / self.ns3_speed


def run_fairlane(scenario: str, replication: int) -> Run:
    """One replication in one thread."""
    batch = Batch([(scenario, replication)], 1)
    while (done := batch.next(1.0)) is None:
        pass
    record = json.loads(done[1])
    link = record["links"][0]
    return Run(
        throughput_bps=[group["throughput_bps"] for group in record["groups"]],
        utilisation=link["utilisation"],
        queue_packets=link["queue"]["mean_packets"],
        drop_share=sum(drops["share_of_arrivals"] for drops in link["drops"]),
        packets=record["performance"]["delivered_packets"],
        cpu_seconds=done[2],
        user_throughput_bps=[user for group in record["groups"] for user in group["user_throughput_bps"]],
        retransmissions=sum(group["tcp"]["retransmissions"] for group in record["groups"] if group["tcp"]),
    )


def run_ns3(program: Path, scenario: Table, options: Table, replication: int) -> Run:
    """One replication in one process."""
    result = ns3.run(program, scenario, options, replication)
    return Run(
        throughput_bps=[group["throughput_bps"] for group in result["groups"]],
        utilisation=result["utilisation"],
        queue_packets=result["queue_mean_packets"],
        drop_share=result["drop_share"],
        packets=result["bottleneck_packets"],
        cpu_seconds=result["cpu_seconds"],
        user_throughput_bps=[user for group in result["groups"] for user in group["user_throughput_bps"]],
        retransmissions=sum(group["retransmissions"] for group in result["groups"]),
    )


def compare(program: Path, case: Case, replications: int | None = None) -> Outcome:
    """Runs both simulators, interleaved."""
    scenario = json.loads(case.canonical)
    count = replications or scenario["run"]["replications"]
    pairs = [(run_fairlane(case.canonical, k), run_ns3(program, scenario, case.ns3_options, k)) for k in range(count)]
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    groups = range(len(scenario["groups"]))
    measures = [
        *([measured("T_R", True, ours, theirs, lambda run: run.ratio)] if len(groups) == 2 else []),
        measured("utilisation", True, ours, theirs, lambda run: run.utilisation),
        measured("queue", True, ours, theirs, lambda run: run.queue_packets),
        measured("drops", False, ours, theirs, lambda run: run.drop_share),
        *(measured(f"group {i}", False, ours, theirs, partial(_group_mbps, i)) for i in groups),
    ]
    our_speed, their_speed = (statistics.median(run.speed for run in runs) for runs in (ours, theirs))
    return Outcome(case, measures, our_speed, their_speed, ours, theirs)


def _group_mbps(group: int, run: Run) -> float:
    return run.throughput_bps[group] / 1e6


def measured(
    name: str, counts: bool, ours: Sequence[Run], theirs: Sequence[Run], value: Callable[[Run], float]
) -> Measure:
    """A measure of the runs of both simulators."""
    return Measure(name, [value(run) for run in ours], [value(run) for run in theirs], TOLERANCE, counts)


def text(outcomes: Sequence[Outcome], speed: Sequence[Outcome], skipped: Sequence[Case]) -> str:
    """The results in Markdown."""
    agreeing = sum(agree(outcome.measures) for outcome in outcomes)
    judged: dict[str, list[bool]] = {}
    for measure in (m for o in outcomes for m in o.measures if not m.name.startswith("group")):
        judged.setdefault(measure.name, []).append(measure.agrees)
    by_measure = ", ".join(f"{name} {sum(all_)} of {len(all_)}" for name, all_ in judged.items())
    counts = f"**{agreeing} of {len(outcomes)}** scenarios agree (throughput ratio, utilisation, mean queue)."
    parts = [f"{ns3.conditions()}.", f"{counts}\nBy measure: {by_measure}."]
    if speed:
        rows = [
            [o.case.name.split(",")[0], f"{o.fairlane_speed:,.0f}", f"{o.ns3_speed:,.0f}", f"{o.speed_ratio:.0f}"]
            for o in speed
        ]
        head = ["default scenario of abc2018", "Fairlane, packets per CPU-second", "ns-3", "ratio"]
        how = f"200 s simulated; medians of {len(speed[0].ns3_runs)} runs of each, interleaved."
        parts += [markdown(head, rows), f"Packets over the bottleneck, {how}"]
    head = ["scenario", "agrees", "T_R", "utilisation", "mean queue", "drop rate, %", "Mbit/s of a user", "speed ratio"]
    rows = []
    for family, of in itertools.groupby(outcomes, key=lambda outcome: outcome.case.family):
        rows += [[f"**{family}**", *[""] * 7], *map(_row, of)]
    missing = [f"Skipped {count} scenarios of {family}: {reason}." for family, reason, count in _skipped(skipped)]
    return "\n\n".join([*parts, f"Fairlane / ns-3, {LEGEND}", markdown(head, rows), *missing])


def _skipped(cases: Sequence[Case]) -> list[tuple[str, str, int]]:
    counts = Counter((case.family, case.missing) for case in cases)
    return [(family, reason, count) for (family, reason), count in counts.items()]


def _row(outcome: Outcome) -> list[str]:
    by_name = {measure.name: measure for measure in outcome.measures}
    counted = [by_name[name].text() if name in by_name else "–" for name in ("T_R", "utilisation", "queue")]
    groups = "; ".join(measure.text() for name, measure in by_name.items() if name.startswith("group"))
    drops, ratio = by_name["drops"].text(100.0), f"{outcome.speed_ratio:.0f}"
    return [outcome.case.name, yes_or_no(outcome.measures), *counted, drops, groups, ratio]


def document(measure: Measure) -> Table:
    """A measure in the format of agreement.json."""
    sides = {"fairlane": asdict(interval(measure.ours)), "ns3": asdict(interval(measure.theirs))}
    return {"name": measure.name, "counts": measure.counts, **sides, "agrees": measure.agrees}


def _document(outcomes: Sequence[Outcome], speed: Sequence[Outcome], skipped: Sequence[Case]) -> Table:
    def written(outcome: Outcome) -> Table:
        return {
            "family": outcome.case.family,
            "name": outcome.case.name,
            "scenario": json.loads(outcome.case.canonical),
            "ns3_options": outcome.case.ns3_options,
            "agrees": agree(outcome.measures),
            "measures": [document(measure) for measure in outcome.measures],
            "speed": {"fairlane": outcome.fairlane_speed, "ns3": outcome.ns3_speed, "ratio": outcome.speed_ratio},
            "runs": {
                "fairlane": [asdict(r) for r in outcome.fairlane_runs],
                "ns3": [asdict(r) for r in outcome.ns3_runs],
            },
        }

    versions = {"fairlane": version(), "ns3": ns3.version(), "cpu": processor(), "python": platform.python_version()}
    return {
        **versions,
        "outcomes": [written(outcome) for outcome in outcomes],
        "speed": [written(outcome) for outcome in speed],
        "skipped": [{"family": case.family, "name": case.name, "reason": case.missing} for case in skipped],
    }


@bench("ns3", page="")
@out("results/ns3")
@only
@replications(None)
@click.option("--speed-runs", type=click.IntRange(0), default=SPEED_RUNS, help="Number of runs to compare the speed.")
def main(report: Report, out: Path, only: str, replications: int | None, speed_runs: int) -> None:
    """Runs both simulators, and writes which scenarios agree."""
    program = ns3.build()
    every = cases(ns3.HERE / "scenarios.toml", replications)
    of = chosen(report, every, only, lambda case: f"{case.family}: {case.name}")
    speed = [compare(program, default_case(queue), speed_runs) for queue in ("droptail", "abc") if speed_runs]
    for outcome in speed:
        click.echo(f"default scenario, {outcome.case.name}: {outcome.speed_ratio:.0f} times the speed of ns-3")
    skipped = [case for case in of if case.missing]
    for family, reason, count in _skipped(skipped):
        click.echo(f"skipped {count} scenarios of {family}: {reason}")
    outcomes: list[Outcome] = []
    runnable = [case for case in of if not case.missing]
    for case in runnable:
        outcomes.append(compare(program, case))
        # Written after each scenario, so that a killed process loses at most one scenario.
        report.document |= _document(outcomes, speed, skipped)
        write_aside(out / "agreement.json", (json.dumps(_document(outcomes, speed, skipped), indent=1) + "\n").encode())
        write_aside(out / "agreement.md", (text(outcomes, speed, skipped) + "\n").encode())
        told = f"{case.family}: {case.name}: {verdict(outcomes[-1].measures)}"
        report.progress(len(outcomes), len(runnable), told)
    report.put("results", text(outcomes, speed, skipped))
    agreeing = sum(agree(outcome.measures) for outcome in outcomes)
    click.echo(f"{agreeing} of {len(outcomes)} scenarios agree; {out}/agreement.md")
