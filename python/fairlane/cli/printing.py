"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from rich.text import Text

from fairlane.base.progress import duration
from fairlane.base.text import counted, name, visible
from fairlane.checks.junit import measured
from fairlane.cli.output import say
from fairlane.cli.terminal import Numbers, Terminal, lines, texts
from fairlane.judge.expectations import VerdictName as ExpectationName
from fairlane.judge.readings import MARKS
from fairlane.judge.verdicts import QUICK, VerdictName
from fairlane.results.answers import differences, means_of, sentences
from fairlane.results.intervals import format_interval
from fairlane.results.metrics import metric_of
from fairlane.results.notes import joined, notes_in
from fairlane.results.table import Table as NamesAndNumbers
from fairlane.results.table import cell as text_of
from fairlane.results.table import mean
from fairlane.results.tables import every_table, headline, summary_tables
from fairlane.simulate.display import PARAMETER_HEADS, parameter_cells
from fairlane.sweeps.table import points_table

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from fairlane.checks.check import Check
    from fairlane.documents import PlanDocument
    from fairlane.judge.experiment import Experiment
    from fairlane.judge.grid import Cell
    from fairlane.judge.paper import Paper
    from fairlane.judge.readings import Standing
    from fairlane.judge.reproduce import Reproduction
    from fairlane.lab.comparison import PlaneResult
    from fairlane.lab.difference import Difference
    from fairlane.pairs.result import Pairs
    from fairlane.results.metric import Metric
    from fairlane.results.result import Comparison, Result
    from fairlane.search.designer import Tuned
    from fairlane.search.result import Adversaries
    from fairlane.simulate.catalogue import CongestionControl, Parameter, Scheme, Topology
    from fairlane.store.upkeep import Entry
    from fairlane.sweeps.result import SweepResult

VERDICTS: dict[VerdictName, tuple[str, str]] = {
    "reproduced": ("green", "reproduced"),
    "consistent": ("green", "consistent"),
    "as ns-3": ("cyan", "agree with ns-3, which differs from the paper"),
    "inconclusive": ("magenta", "inconclusive"),
    "differs": ("yellow", "differ"),
    "deviates": ("yellow", "deviate"),
    "not applicable": ("dim", "not applicable"),
}
"""Style of each verdict, and its wording after a count, as in `3 differ`."""


def print_result(result: Result) -> None:
    """Prints groups, links and ratios of one scenario."""
    document = result.document()
    out = Terminal()
    out.head(document["scenario"]["name"], headline(document))
    _print_tables(out, summary_tables({result.queue: document}))
    _print_notes(out, notes_in(document))
    out.print(_performance(document))


def print_comparison(comparison: Comparison, *, everything: bool = False) -> None:
    """Prints three sentences and the metrics that differ; with `everything`, prints all result tables instead."""
    document = comparison.document()
    documents = document["results"]
    first = next(iter(documents.values()))
    out = Terminal()
    out.head(first["scenario"]["name"], headline(first))
    if everything:
        _print_tables(out, every_table(document), gap=2, most=None if out.is_terminal else COLUMNS_OF_FILES)
    else:
        _print_differences(out, documents)
    _print_notes(out, joined({name: notes_in(document) for name, document in documents.items()}))


COLUMNS_OF_FILES = 80
"""Width of the many tables of a comparison in a file or a pipe."""


def _print_differences(out: Terminal, documents: Mapping[str, Any]) -> None:
    means = means_of(documents)
    for sentence in sentences(means):
        out.print(sentence)
    found = differences(means)
    if found.table.rows and len(found.table.heads) > 1:
        _print_tables(out, [found.table], gap=2)
    if found.alike:
        out.print(f"no two intervals are disjoint: {', '.join(found.alike)}")
    out.print("; ".join(filter(None, [found.left_out, "--all has every table"])))


def _print_tables(out: Terminal, tables: Iterable[NamesAndNumbers], gap: int = 3, most: int | None = None) -> None:
    for table in tables:
        heads = (lines(*head) if isinstance(head, tuple) else head for head in table.heads)
        shown = Numbers(*heads, keys=table.keys, gap=gap)
        for row in table.rows:
            shown.add_row(*row)
        out.numbers(shown, most)
        if table.note:
            out.print(table.note)


FAMILIES = {
    "label": "labels from the edge decide",
    "aqm": "one queue, drops or marks",
    "fairqueue": "several queues or sorted ones",
}
"""Families of schemes in the order in which they are listed."""


def print_schemes(schemes: Sequence[Scheme], *, everything: bool = False) -> None:
    """Prints the names of schemes by family; with `everything`, prints a row for each."""
    if not everything:
        out = Terminal()
        for family, title in FAMILIES.items():
            names = sorted(scheme["name"] for scheme in schemes if scheme["family"] == family)
            out.print(Text.assemble((title, "bold"), ": ", ", ".join(names)))
        out.print(f"{len(schemes)} schemes; `fairlane schemes NAME` describes one, --all has a row for each")
        return
    table = texts("scheme", "title", "kind", "state in the core", "marker", "source")
    for scheme in schemes:
        about = scheme["name"], scheme["title"], scheme["kind"], scheme["state"], scheme["marker"], scheme["source"]
        table.add_row(*about)
    Terminal().print(table)


def print_scheme(scheme: Scheme) -> None:
    """A scheme with all parameters."""
    out = Terminal()
    out.head(scheme["name"], f": {scheme['title']}. {scheme['summary']}")
    out.print(f"source: {scheme['source']}; state in the core: {scheme['state']}; marker: {scheme['marker']}")
    out.print(_parameters({f"{parameter['table']}.{parameter['name']}": parameter for parameter in scheme["params"]}))


def print_congestion_controls(controls: Sequence[CongestionControl]) -> None:
    """One row per congestion control."""
    table = texts("congestion control", "what it does", "decides on", "marks", "loss_detection")
    for control in controls:
        about = control["name"], control["summary"], control["decides"], control["marks"], control["loss_detection"]
        table.add_row(*about)
    Terminal().print(table)


def print_congestion_control(control: CongestionControl) -> None:
    """A congestion control with its keys."""
    out = Terminal()
    out.head(control["name"], f": {control['summary']}")
    out.print(
        f"decides on: {control['decides']}; marks: {control['marks']}; loss_detection: {control['loss_detection']}"
    )
    if control["params"]:
        out.print(_parameters({f"tcp.{parameter['name']}": parameter for parameter in control["params"]}))


def print_topologies(topologies: Sequence[Topology]) -> None:
    """Every topology with its parameters."""
    out = Terminal()
    for topology in topologies:
        out.head(topology["name"], f": {topology['summary']}")
        out.print(Text(topology["picture"]))
        out.print(_parameters({f"topology.{parameter['name']}": parameter for parameter in topology["params"]}))


def print_papers(papers: Iterable[Paper], threads: int) -> None:
    """Prints all experiments of papers, with the estimated time on `threads` threads."""
    out = Terminal()
    for paper in papers:
        seconds = paper.expected().cpu_seconds
        out.head(paper.key, f": {paper.title}")
        table = texts("name", "what", "where", "runs", "claims", f"time on {threads} threads")
        for experiment in paper.experiments.values():
            runs = experiment.replications * sum(1 for _ in paper.points(experiment))
            time = f"{seconds[experiment.id] / threads:.0f} s" if experiment.id in seconds else "?"
            claims = str(len(experiment.claims))
            table.add_row(experiment.id, experiment.title, experiment.where, str(runs), claims, time)
        out.print(table)
    out.print("`all` stands for every experiment of every paper")


def print_reproduction(reproduction: Reproduction) -> None:
    """Prints measured points and claims of every experiment, and the number of claims that hold."""
    out = Terminal()
    for experiment in reproduction.experiments:
        count = _replications(reproduction, experiment)
        out.head(experiment.id, f": {experiment.title} ({experiment.where}; n = {count})")
        for metric in experiment.metrics[:2]:
            cells = reproduction.tables[experiment.id].cells(experiment.schemes, [metric])
            if cells and experiment.id not in reproduction.paper.computed:
                out.numbers(_points(experiment, metric, cells))
        out.print(_claims(reproduction, experiment))
        _print_notes(out, reproduction.notes(experiment))
    for standing, counts in reproduction.counts().items():
        parts = [f"{counts[name]} {words}" for name, (_, words) in VERDICTS.items() if counts[name]]
        out.print(f"{counts.total()} {STANDING_WORDS[standing]}: {', '.join(parts)}")
    if reproduction.quick:
        out.print("quick runs are a first look; only full runs can reproduce a claim")


STANDING_WORDS: dict[Standing, str] = {
    "independent": "claims of the paper",
    "not independent": "claims of the paper that are not independent, since their numbers chose a reading",
    "arithmetic": "claims of the paper that only repeat its arithmetic",
    "added": "claims added by this project",
}


def print_figures(figures: Sequence[Path]) -> None:
    """A line for each figure that was written."""
    for figure in figures:
        say(f"figure: {figure} and {figure.with_suffix('.svg').name}")


def _replications(reproduction: Reproduction, experiment: Experiment) -> str:
    count, most = reproduction.replications[experiment.id], reproduction.most[experiment.id]
    return str(count) if most <= count else f"{count}, up to {most} where a claim is inconclusive"


def print_difference(found: Difference) -> None:
    """Prints both traces side by side around the first packet that differs."""
    shown = found.document()
    table = Numbers(
        "", "simulator (s)", "", "group, user, flow", "segment", "Linux (s)", "", "group, user, flow", "segment", keys=1
    )
    for row in shown["events"]:
        cells = [text for plane in ("simulator", "linux") for text in _event(row[plane])]
        table.add_row(f"{'>' if row['number'] == found.first else ' '} {row['number']}", *cells)
    out = Terminal()
    parts = "no difference" if found.first is None else f"they part at packet {found.first}"
    out.head(
        shown["scenario"],
        f": {found.queue}, {found.link}, Linux {found.release}; of {shown['compared']} packets: {parts}",
    )
    out.numbers(table)


def _event(row: Mapping[str, Any] | None) -> list[str]:
    if row is None:
        return ["", "", "", ""]
    segment = "" if row["segment"] is None else "SYN" if row["segment"] < 0 else f"{row['segment']:.10g}"
    return [f"{row['time_s']:.6f}", row["event"], f"{row['group']} {row['user']} {row['flow']}", segment]


MOST_COLUMNS = 120
"""Width of tables of planes, which have many metrics."""


def print_planes(found: Sequence[PlaneResult]) -> None:
    """A row for each queue and plane of a scenario that was run in the lab."""
    from fairlane.lab.comparison import OF_PATHS, document  # slow: loads all planes

    shown = document(found)
    groups = [group["name"] for group in found[0].result.scenario["groups"]]
    columns = {f"goodput_bps.{group}": (lines(name(group), "(Mbit/s per user)"), 1e-6) for group in groups}
    columns["goodput_ratio"] = lines("ratio"), 1.0
    for of_link in map(metric_of, ("jain_index", "utilisation", "queue_mean_packets", "dropped_share")):
        columns[of_link.name] = _head(of_link), of_link.factor
    table = Numbers("queue", "plane", "runs", *(head for head, _ in columns.values()), keys=2, gap=2)
    for one, row in zip(found, shown["rows"], strict=True):
        means = (mean(row["metrics"].get(metric), factor) for metric, (_, factor) in columns.items())
        table.add_row(one.queue, one.plane, str(len(one.result.runs_json)), *means)
    seen = {metric.partition(".")[0] for row in shown["rows"] for metric in row["metrics"]}
    of_paths = {name: metric for name, metric in OF_PATHS.items() if name in seen}
    paths = Numbers("queue", "plane", "group", *map(_head, of_paths.values()), keys=3, gap=2)
    for row, group in product(shown["rows"], groups):
        met = (text_of(metric, row["metrics"].get(f"{name}.{group}")) for name, metric in of_paths.items())
        paths.add_row(row["queue"], row["plane"], group, *met)
    out = Terminal()
    planes = " and ".join(dict.fromkeys(one.plane for one in found))
    out.head(shown["scenario"], f": goodput on {planes}; means ± half width of the 95% interval")
    out.numbers(table, MOST_COLUMNS)
    out.numbers(paths, MOST_COLUMNS)
    _print_notes(out, shown["notes"])


def _head(metric: Metric) -> Text:
    """Heading, with the unit below."""
    return lines(*metric.heading.rsplit(" ", 1), *([f"({metric.suffix})"] if metric.suffix else []))


def print_plan(plan: PlanDocument) -> None:
    """A row per point: stored and missing runs."""
    out = Terminal()
    table = Numbers("point", *map(_in_lines, plan["points"][0]["at"]), "stored", "missing", "most", "key")
    for point in plan["points"]:
        counts = (str(point["stored"]), str(point["missing"]), str(point["most"]))
        table.add_row(str(point["point"]), *map(str, point["at"].values()), *counts, point["key"][:12])
    out.numbers(table)
    cost = plan["cpu_seconds"]
    time = "CPU time not yet known" if cost is None else f"about {duration(cost)} of CPU time"
    out.print(
        f"{plan['name']}: {counted(len(plan['points']), 'point')}, {counted(plan['stored'], 'run')} stored in "
        f"{plan['store']}, {plan['missing']} missing ({time})"
    )
    if any(point["most"] > point["stored"] + point["missing"] for point in plan["points"]):
        out.print("[stop] may require more, up to `most` at every point")


def print_sweep(result: SweepResult, folder: Path) -> None:
    """A row per point: replications, metrics of the stopping rule, and default metrics."""
    document = result.document()
    out = Terminal()
    _print_tables(out, [points_table(document, list(result.plan.stop.targets))])
    out.print(
        f"{document['name']}: {counted(len(document['points']), 'point')}, {counted(document['runs'], 'run')}; "
        f"means ± half width of the 95% interval; runs and points (Parquet, CSV) and sweep.json are in {folder}"
    )
    _print_notes(out, document["notes"])
    wide = sum(point["narrow_enough"] is False for point in document["points"])
    if wide:
        out.print(f"{wide} points have reached max_replications with intervals wider than [stop] allows")


def print_pairs(result: Pairs, folder: Path) -> None:
    """A row per pair: share of the first sender against the second, under each scheme."""
    document = result.document()
    out = Terminal()
    table = Numbers("share of", "against", *(lines(queue, "(%)") for queue in document["queues"]), keys=2)
    rows: dict[tuple[str, str], list[str]] = {}
    for pair in document["pairs"]:
        sign = {"row": " >", "column": " <", None: ""}[pair["ahead"]]
        rows.setdefault((pair["row"], pair["column"]), []).append(mean(pair["share"], 100) + sign)
    for senders, cells in rows.items():
        table.add_row(*senders, *cells)
    out.numbers(table)
    run = document["scenario"]["run"]
    out.print(
        f"{counted(len(rows), 'pair')}, {counted(run['replications'], 'run')} of {run['measure']} each; means ± half "
        f"width of the 95% interval; > or <: it excludes equal shares; tables (Parquet, CSV), figure and pairs.json "
        f"are in {folder}"
    )
    _print_notes(out, document["notes"])


def print_adversaries(result: Adversaries, folder: Path) -> None:
    """A row per scheme: the part of its max-min share that the light user gets, and the heavy users' behaviour."""
    out = Terminal()
    groups = ("light", "heavy", "crowd")
    numbers = Numbers("scheme", "shares by", lines("share of the", "light user"), lines("under", "WFQ"))
    words = texts("scheme", *groups)
    for one in result.document()["found"]:
        shares = (format_interval(share["mean"], share["half_width"]) for share in (one["share"], one["ideal_share"]))
        numbers.add_row(one["name"], one["shares_by"], *shares)
        words.add_row(one["name"], *(one["groups"].get(group, "") for group in groups))
    out.numbers(numbers)
    out.print(words)
    out.print(
        f"{len(result.beaten)} of {len(result.found)} leave the light user less than half of its max-min share; "
        f"means ± half width of the 95% interval; {result.cost.words}; scenario files are in {folder}"
    )


def print_tuned(result: Tuned, folder: Path) -> None:
    """Prints the parameters. Then prints each criterion on both halves of the scenarios: defaults, tuned, gain."""
    out, document = Terminal(), result.document()
    parameters = texts("parameter", "range", "default", "tuned")
    for key, text in document["ranges"].items():
        default = result.defaults[key]
        parameters.add_row(key, text, str(default), str(result.settings.get(key, default)))
    out.print(parameters)
    table = Numbers("scenarios", "criterion", "defaults", "tuned", "gain", keys=2)
    for half in document["halves"]:
        name = f"{half['half'].replace('_', ' ')} ({len(half['scenarios'])})"
        for one in half["criteria"]:
            cells = (mean(estimate) for estimate in (one["defaults"], one["tuned"], one["gain"]))
            table.add_row(name, one["criterion"], *cells)
    out.numbers(table)
    out.print(
        f"means over scenarios ± half width of the 95% interval; {result.cost.words}; the tuned entry is in {folder}; "
        f"in evaluations: {result.entry}"
    )


def print_check(check: Check) -> None:
    """A row per expectation: expected value, measured value, verdict."""
    out = Terminal()
    scenarios = check.scenarios
    for scenario in scenarios:
        file = f"{scenario['file']}: " if scenario["file"] else ""
        out.head(f"{file}{scenario['scenario']}", f": {counted(scenario['replications'], 'replication')}")
        table = texts("metric", "expected", "measured", "verdict")
        for one in scenario["expectations"]:
            verdict = Text.assemble((one.verdict, EXPECTATIONS[one.verdict]))
            if one.verdict != "held":
                verdict.append(visible("".join(f"\n{words}" for words in (one.reason, one.why) if words), keep="\n"))
            table.add_row(one.metric, one.expected, measured(one), verdict)
        out.print(table)
    _print_notes(out, joined({scenario["file"] or scenario["scenario"]: scenario["notes"] for scenario in scenarios}))
    names = [verdict.verdict for verdict in check.verdicts]
    counts = ", ".join(f"{names.count(name)} {name}" for name in EXPECTATIONS if name in names)
    out.print(f"{len(names)} expectations: {counts}; means ± half width of the 95% interval")


EXPECTATIONS: dict[ExpectationName, str] = {"held": "green", "inconclusive": "magenta", "violated": "red"}
"""Style of each verdict."""


def print_store(entries: Sequence[Entry]) -> None:
    """A row per point of the store."""
    table = Numbers("key", "queue", "groups", "seed", "runs", "CPU (s)", "size (kB)", "state")
    for entry in entries:
        row = entry.to_dict()
        state = f"damaged: {entry.damage}" if entry.damage else "" if entry.is_current else f"engine {row['engine']}"
        seed = "" if row["seed"] is None else str(row["seed"])
        about = entry.key[:12], row["queue"] or "", ", ".join(row["groups"]), seed, str(row["replications"])
        table.add_row(*about, f"{row['cpu_seconds']:.2f}", f"{row['bytes'] / 1e3:.0f}", state)
    out = Terminal()
    out.numbers(table)
    out.print(f"{counted(len(entries), 'point')}, {counted(sum(len(entry.runs) for entry in entries), 'run')}")


def print_kernels(kernels: Sequence[Mapping[str, Any]]) -> None:
    """A row per kernel that was built."""
    table = Numbers("version", "release", "identity", "size (MB)", "built", "state")
    for one in kernels:
        state = "up to date" if one["is_current"] else "stale: other files than this Fairlane's"
        size = f"{one['bytes'] / 1e6:.1f}"
        table.add_row(one["version"], one["release"], one["identity"], size, one["built"], state)
    Terminal().numbers(table)


def _in_lines(key: str) -> Text:
    """Breaks a long key into lines, for the heading of a column."""
    return lines(*key.replace(".", ".\n").split("\n"))


def _print_notes(out: Terminal, lines: Iterable[str]) -> None:
    """Prints notes, which are caveats about the numbers."""
    for line in lines:
        out.print(Text.assemble(("note:", "yellow"), " ", visible(line)))


def _performance(document: dict[str, Any]) -> str:
    delivered, cost = document["performance"]["delivered_packets"], document["cost"]
    seconds, memory = cost["cpu_seconds"], cost["peak_memory_bytes"] / 1e6
    speed = f" ({delivered / seconds / 1e6:.2f} million per CPU second)" if seconds else ""
    return f"{delivered} packets delivered in {seconds:.2f} CPU seconds{speed}, peak memory {memory:.0f} MB"


def _parameters(parameters: Mapping[str, Parameter]) -> Table:
    """Table of parameters, by their keys in a scenario."""
    table = texts(*PARAMETER_HEADS)
    for key, one in parameters.items():
        table.add_row(key, *parameter_cells(one))
    return table


MAX_COLUMNS = 8


def _points(experiment: Experiment, metric: str, cells: Sequence[Cell]) -> Numbers:
    """Tabulates cells: the last variable in rows, the others in columns.

    With more than `MAX_COLUMNS` columns, the first variables are in rows and the last in columns.
    """
    variables = ("scheme", *experiment.grid)
    down, across = variables[-1:], variables[:-1]
    if len({_at(cell, across) for cell in cells}) > MAX_COLUMNS:
        suffixes = range(1, len(variables) + 1)
        width = next(n for n in suffixes if len({_at(cell, variables[n:]) for cell in cells}) <= MAX_COLUMNS)
        down, across = variables[:width], variables[width:]
    columns = dict.fromkeys(_at(cell, across) for cell in cells)
    heads = (lines(*(_value(*item) for item in zip(across, column, strict=True))) for column in columns)
    table = Numbers(lines(metric, ", ".join(down)), *(heads if across else ("",)))
    for row in dict.fromkeys(_at(cell, down) for cell in cells):
        means = {_at(cell, across): str(cell.interval) for cell in cells if _at(cell, down) == row}
        table.add_row(", ".join(map(str, row)), *(means.get(column, "") for column in columns))
    return table


def _at(cell: Cell, variables: Sequence[str]) -> tuple[Any, ...]:
    return tuple(cell.at[variable] for variable in variables)


def _value(name: str, value: Any) -> str:
    return str(value) if name == "scheme" else f"{name} {value}"


def _claims(reproduction: Reproduction, experiment: Experiment) -> Table:
    """A row for each claim, or for each of its metrics."""
    table = texts("claim", "paper", "measured", "verdict")
    for verdict in reproduction.verdicts_of(experiment):
        mark = f" ({MARKS[verdict.standing]})" if verdict.standing in MARKS else ""
        claim = f"{verdict.claim.removeprefix(experiment.id + '.')}{mark}: {verdict.statement}"
        outcome = Text(verdict.verdict, style=VERDICTS[verdict.verdict][0])
        if len(verdict.findings) != 1:
            table.add_row(claim, verdict.where, lines(*filter(None, [verdict.reason, verdict.ns3])), outcome)
        for finding in verdict.findings:
            runs = f"n = {finding.runs}" if finding.runs > reproduction.replications[experiment.id] else ""
            found = [finding.measured, f"worst at {finding.worst}" if finding.worst else "", runs]
            if len(verdict.findings) == 1:
                found.append(verdict.ns3)
                row: list[str | Text] = [claim, lines(finding.paper, verdict.where)]
            else:
                unit = f" ({finding.unit})" if finding.unit else ""
                row = [f"  {finding.metric}{unit}", lines(finding.paper)]
                of_metric = QUICK.get(finding.verdict, finding.verdict) if reproduction.quick else finding.verdict
                outcome = Text(of_metric, style=VERDICTS[of_metric][0])
            table.add_row(*row, lines(*filter(None, found)), outcome)
    return table
