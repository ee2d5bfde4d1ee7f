"""Results as a Markdown page: points and claims of all planes side by side, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from fairlane.base import toml
from fairlane.base.planes import FORWARDER, KERNEL, LINUX, P4, SIMULATOR
from fairlane.judge.claim import paper_text
from fairlane.results.intervals import format_interval

if TYPE_CHECKING:
    from fairlane.judge.experiment import Experiment
    from fairlane.judge.reproduce import Reproduction
    from fairlane.judge.verdicts import ClaimVerdict
    from fairlane.lab.table import Row

TITLES = {SIMULATOR: "simulator", FORWARDER: "forwarder", KERNEL: "kernel", P4: "P4 switch", LINUX: "Linux"}
"""Labels of the planes."""

Found = Mapping[str, "Reproduction"]
"""Results by plane."""


def page(found: Found, rows: Sequence[Row]) -> str:
    """The page, with figure, measurement quality, points and claims of each experiment.

    Args:
        found: Results by plane.
        rows: The runs.
    """
    first = next(iter(found.values()))
    parts = [f"# {first.paper.key} on {_and([TITLES[plane] for plane in found])}"]
    for experiment in first.experiments:
        parts += [f"## {experiment.id}: {experiment.title}", _sentence(conditions(found, experiment.id))]
        if experiment.kind == "figure":
            parts.append(f"![Goodput on all planes]({experiment.name}.png)")
        if noise := _noise([row for row in rows if row["experiment"] == experiment.name]):
            parts.append(noise)
        parts.append(_points(found, experiment))
        if experiment.claims:
            parts.append(_claims(found, experiment))
    return "\n\n".join(parts) + "\n"


def conditions(found: Found, experiment_id: str) -> str:
    """Replications and durations."""
    planes: dict[tuple[int, str], list[str]] = {}
    for plane, reproduction in found.items():
        how = reproduction.replications[experiment_id], reproduction.settings.get("run.measure", "300 s")
        planes.setdefault(how, []).append(TITLES[plane])
    if len(planes) == 1:
        runs = f"{_runs(*next(iter(planes)))} on each plane"
    else:
        runs = _and([f"{_runs(*how)} ({_and(titles)})" for how, titles in planes.items()])
    if all(count == 1 for count, _ in planes):
        return runs
    return f"means of {runs}, {next(iter(found.values())).paper.confidence:.0%} intervals"


def _runs(count: int, window: str) -> str:
    return f"one run of {window}" if count == 1 else f"{count} runs of {window}"


def _noise(rows: Sequence[Row]) -> str:
    """Quality of the measurement: lateness of emulated links, and time that switches waited for a processor."""
    sentences = []
    for plane, title in TITLES.items():
        own = [row for row in rows if row["plane"] == plane]
        if not (late := [row["late_mean_us"] for row in own if "late_mean_us" in row]):
            continue
        worst = max(row["late_p99_us"] for row in own)
        mean = sum(late) / len(late)
        text = f"{title}: {mean:.0f} µs late on average, {worst:.0f} µs at the 99th percentile of the worst run"
        if waits := [row["switch_wait_mean_us"] for row in own if "switch_wait_mean_us" in row]:
            text += f", the switch waited {sum(waits) / len(waits):.0f} µs each time for a processor"
        sentences.append(text)
    return f"Emulated links: {'; '.join(sentences)}." if sentences else ""


def explanations(reproduction: Reproduction) -> Mapping[tuple[str, str], str]:
    """Explanations of claims that differ on planes (the paper's lab.toml), by claim and plane."""
    entries = toml.read_if_there(reproduction.paper.folder / "lab.toml").get("explanations", ())
    pairs = ((entry, *pair) for entry in entries for pair in product(entry["claims"], entry["planes"]))
    return {(claim, plane): " ".join(entry["text"].split()) for entry, claim, plane in pairs}


def _points(found: Found, experiment: Experiment) -> str:
    """A row for each point and scheme, with the metrics of each plane."""
    metrics = experiment.metrics
    names = [*experiment.grid, "scheme", *(f"{metric}, {TITLES[plane]}" for metric in metrics for plane in found)]
    first = next(iter(found.values()))
    rows = []
    for at in first.tables[experiment.id].cells(experiment.schemes, metrics[:1]):
        where = {name: value for name, value in at.at.items() if name != "metric"}
        row = [str(where[name]) for name in (*experiment.grid, "scheme")]
        for metric, reproduction in product(metrics, found.values()):
            cells = reproduction.tables[experiment.id].cells([where["scheme"]], [metric], where)
            row += [format_interval(cell.interval.mean, cell.interval.half_width) for cell in cells] or [""]
        rows.append(row)
    return _table(names, rows)


def _claims(found: Found, experiment: Experiment) -> str:
    """A row for each metric of each claim, with value and outcome on each plane; then the explanations."""
    first = next(iter(found.values()))
    reasons = explanations(first)
    rows, notes = [], []
    for claim in experiment.claims:
        name = f"`{claim['id'].rpartition('.')[2]}`: {claim['statement']}"
        verdicts = {
            plane: next(verdict for verdict in reproduction.verdicts_of(experiment) if verdict.claim == claim["id"])
            for plane, reproduction in found.items()
        }
        metrics = dict.fromkeys(finding.metric for verdict in verdicts.values() for finding in verdict.findings)
        for metric in metrics or [""]:
            of = f" ({metric})" if len(metrics) > 1 else ""
            rows.append([name + of, paper_text(claim, metric), *(_outcome(one, metric) for one in verdicts.values())])
        for plane, verdict in verdicts.items():
            if verdict.verdict in {"differs", "deviates"}:
                reason = reasons.get((verdict.claim, plane)) or first.paper.explanations.get(verdict.claim)
                notes.append(f"- `{verdict.claim}`, {TITLES[plane]}: {reason or 'not explained'}")
    table = _table(["claim", "paper", *(TITLES[plane] for plane in found)], rows)
    return table + ("\n\nWhat differs:\n\n" + "\n".join(notes) if notes else "")


def _outcome(verdict: ClaimVerdict, metric: str) -> str:
    """Outcome and measured value of a claim's metric."""
    for finding in verdict.findings:
        if finding.metric == metric:
            outcome = verdict.verdict if len(verdict.findings) == 1 else finding.verdict
            return f"**{outcome}**: {finding.measured}" + (f"; {finding.worst}" if finding.worst else "")
    return f"**{verdict.verdict}**: {verdict.reason}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
