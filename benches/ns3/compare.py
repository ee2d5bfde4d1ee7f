"""Runs Fairlane and ns-3 turn by turn on the same scenarios, and says where they agree and how fast each is.

    python benches/ns3/compare.py --out results/ns3

Criterion, per scenario and measure: the means differ by no more than the half width of the 95 % interval of their
difference (Welch), or by no more than 5 % of that of ns-3. A scenario agrees if its throughput ratio, utilisation and
mean queue do. The drop rate and the throughput of each group are judged by the same rule and shown, but do not count.
"""

from __future__ import annotations

import json
import math
import platform
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import click
import ns3
from scenarios import Case, Table, cases, default_case

from fairlane._fairlane import Batch, version
from fairlane.base.files import write_aside
from fairlane.judge.ns3 import joint_half_width
from fairlane.results.intervals import Interval, interval

TOLERANCE = 0.05
SPEED_RUNS = 7
DOCS_MARKS = ("<!-- results -->", "<!-- end of results -->")


@dataclass(frozen=True, slots=True)
class Run:
    """What either simulator measured in one replication."""

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
        """Throughput per user of the first group over that of the second; NaN for one group."""
        if len(self.throughput_bps) < 2:
            return math.nan
        return self.throughput_bps[0] / self.throughput_bps[1] if self.throughput_bps[1] else math.inf

    @property
    def smaller_share(self) -> float:
        """Share of the user with the least throughput in that of all; NaN for one user."""
        total = sum(self.user_throughput_bps)
        return min(self.user_throughput_bps) / total if len(self.user_throughput_bps) > 1 and total > 0 else math.nan

    @property
    def speed(self) -> float:
        """Packets over the bottleneck per CPU-second."""
        return self.packets / self.cpu_seconds


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of both simulators."""

    name: str
    counts: bool
    fairlane: Interval
    ns3: Interval
    agrees: bool


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
    def agrees(self) -> bool:
        """Whether all measures that count agree."""
        return all(measure.agrees for measure in self.measures if measure.counts)

    @property
    def speed_ratio(self) -> float:
        """Fairlane's packets per CPU-second over those of ns-3, medians of the runs."""
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
    """Both simulators turn by turn."""
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
    """A measure of the runs of both, judged by the criterion."""
    a, b = [value(run) for run in ours], [value(run) for run in theirs]
    difference = abs(statistics.fmean(a) - statistics.fmean(b))
    near = difference <= TOLERANCE * abs(statistics.fmean(b))
    return Measure(name, counts, interval(a), interval(b), near or difference <= joint_half_width(a, b))


def table(outcomes: Sequence[Outcome], speed: Sequence[Outcome], skipped: Sequence[Case]) -> str:
    """The results in Markdown."""
    agreeing = sum(outcome.agrees for outcome in outcomes)
    counts = f"**{agreeing} of {len(outcomes)}** scenarios agree"
    judged: dict[str, list[bool]] = {}
    for measure in (m for o in outcomes for m in o.measures if not m.name.startswith("group")):
        judged.setdefault(measure.name, []).append(measure.agrees)
    by_measure = ", ".join(f"{name} {sum(all_)} of {len(all_)}" for name, all_ in judged.items())
    lines = [f"{counts} (throughput ratio, utilisation, mean queue).", f"By measure: {by_measure}.", ""]
    if speed:
        head = "| default scenario of abc2018 | Fairlane, packets per CPU-second | ns-3 | ratio |"
        rows = (
            f"| {o.case.name.split(',')[0]} | {o.fairlane_speed:,.0f} | {o.ns3_speed:,.0f} | {o.speed_ratio:.0f} |"
            for o in speed
        )
        how = f"200 s simulated; medians of {len(speed[0].ns3_runs)} runs of each, turn by turn."
        lines += [head, "|---|---|---|---|", *rows, "", f"Packets over the bottleneck, {how}", ""]
    lines += [
        "Fairlane / ns-3, mean ± half width of the 95 % interval; ✗ marks what differs beyond the criterion.",
        "",
        "| scenario | agrees | T_R | utilisation | mean queue | drop rate, % | Mbit/s of a user | speed ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    family = ""
    for outcome in outcomes:
        if outcome.case.family != family:
            family = outcome.case.family
            lines.append(f"| **{family}** | | | | | | | |")
        lines.append(_row(outcome))
    lines.append("")
    lines += [f"Skipped {count} scenarios of {family}: {reason}." for family, reason, count in _skipped(skipped)]
    return "\n".join(lines) + "\n"


def _skipped(cases: Sequence[Case]) -> list[tuple[str, str, int]]:
    counts = Counter((case.family, case.missing) for case in cases)
    return [(family, reason, count) for (family, reason), count in counts.items()]


def _row(outcome: Outcome) -> str:
    by_name = {measure.name: measure for measure in outcome.measures}
    counted = [cell_text(by_name.get(name)) for name in ("T_R", "utilisation", "queue")]
    groups = "; ".join(cell_text(m) for m in outcome.measures if m.name.startswith("group"))
    agrees = "yes" if outcome.agrees else "**no**"
    cells = [
        outcome.case.name,
        agrees,
        *counted,
        cell_text(by_name["drops"], 100.0),
        groups,
        f"{outcome.speed_ratio:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def cell_text(measure: Measure | None, factor: float = 1.0) -> str:
    """A measure in a table."""
    if measure is None:
        return "–"
    texts = [_scaled(side, factor) for side in (measure.fairlane, measure.ns3)]
    return " / ".join(texts) + ("" if measure.agrees else " ✗")


def _scaled(side: Interval, factor: float) -> str:
    half_width = None if side.half_width is None else side.half_width * factor
    if half_width is not None and half_width < 5e-5 * abs(side.mean * factor):
        half_width = None
    return str(Interval(side.mean * factor, half_width, side.n))


def _document(outcomes: Sequence[Outcome], speed: Sequence[Outcome], skipped: Sequence[Case]) -> Table:
    def written(outcome: Outcome) -> Table:
        return {
            "family": outcome.case.family,
            "name": outcome.case.name,
            "scenario": json.loads(outcome.case.canonical),
            "ns3_options": outcome.case.ns3_options,
            "agrees": outcome.agrees,
            "measures": [asdict(measure) for measure in outcome.measures],
            "speed": {"fairlane": outcome.fairlane_speed, "ns3": outcome.ns3_speed, "ratio": outcome.speed_ratio},
            "runs": {
                "fairlane": [asdict(r) for r in outcome.fairlane_runs],
                "ns3": [asdict(r) for r in outcome.ns3_runs],
            },
        }

    return {
        **_versions(),
        "outcomes": [written(outcome) for outcome in outcomes],
        "speed": [written(outcome) for outcome in speed],
        "skipped": [{"family": case.family, "name": case.name, "reason": case.missing} for case in skipped],
    }


def _versions() -> Table:
    return {"fairlane": version(), "ns3": ns3.version(), "cpu": cpu(), "python": platform.python_version()}


def cpu() -> str:
    """The processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _save(out: Path, docs: Path | None, document: Table, markdown: str) -> None:
    head = "Fairlane {fairlane}, ns-3 {ns3}, {cpu}.\n\n".format(**_versions())
    write_aside(out / "agreement.json", (json.dumps(document, indent=1) + "\n").encode())
    write_aside(out / "agreement.md", (head + markdown).encode())
    if docs is not None:
        before, _, rest = docs.read_text().partition(DOCS_MARKS[0])
        after = rest.partition(DOCS_MARKS[1])[2]
        write_aside(docs, f"{before}{DOCS_MARKS[0]}\n{head}{markdown}{DOCS_MARKS[1]}{after}".encode())


@click.command(help=__doc__.partition("\n")[0])
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/ns3"), help="Folder of the results.")
@click.option("--docs", type=click.Path(path_type=Path, exists=True), help="Page whose table of results is replaced.")
@click.option("--only", default="", help="Only scenarios whose family or name contains this.")
@click.option("--replications", type=click.IntRange(2), help="Runs of each scenario in each simulator.")
@click.option("--speed-runs", type=click.IntRange(0), default=SPEED_RUNS, help="Runs that compare the speed.")
def main(out: Path, docs: Path | None, only: str, replications: int | None, speed_runs: int) -> None:
    """See the module."""
    try:
        program = ns3.build()
    except ns3.NotInstalledError as missing:
        click.echo(f"skipped: {missing}")
        return
    chosen = [
        case for case in cases(ns3.HERE / "scenarios.toml", replications) if only in f"{case.family}: {case.name}"
    ]
    speed = [compare(program, default_case(queue), speed_runs) for queue in ("droptail", "abc") if speed_runs]
    for outcome in speed:
        click.echo(f"default scenario, {outcome.case.name}: {outcome.speed_ratio:.0f} times the speed of ns-3")
    skipped = [case for case in chosen if case.missing]
    for family, reason, count in _skipped(skipped):
        click.echo(f"skipped {count} scenarios of {family}: {reason}")
    outcomes = []
    runnable = [case for case in chosen if not case.missing]
    started = time.monotonic()
    for number, case in enumerate(runnable, 1):
        outcome = compare(program, case)
        outcomes.append(outcome)
        differing = ", ".join(f"{m.name} {m.fairlane} / {m.ns3}" for m in outcome.measures if m.counts and not m.agrees)
        # After each scenario, so that a kill loses one.
        _save(out, None, _document(outcomes, speed, skipped), table(outcomes, speed, skipped))
        verdict = "agrees" if outcome.agrees else f"DIFFERS in {differing}"
        click.echo(
            f"[{number}/{len(runnable)}, {time.monotonic() - started:.0f} s] {case.family}: {case.name}: {verdict}"
        )
    _save(out, docs, _document(outcomes, speed, skipped), table(outcomes, speed, skipped))
    click.echo(f"{sum(outcome.agrees for outcome in outcomes)} of {len(outcomes)} scenarios agree; {out}/agreement.md")


if __name__ == "__main__":
    main()
