"""Report cards and suites as tables for people."""

from __future__ import annotations

import shlex
from pathlib import Path

from fairlane.cli.terminal import Numbers, Terminal, lines, texts
from fairlane.evaluate.entries import Entry, asks
from fairlane.evaluate.league_check import LeagueCheck
from fairlane.evaluate.ranks import Rank, best
from fairlane.evaluate.result import Evaluation
from fairlane.evaluate.suite import Suite
from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA

MOST_CARDS = 4
"""Maximum number of cards; more entries are printed as one table."""


def print_evaluation(evaluation: Evaluation, folder: Path) -> None:
    """Prints a report card for each entry; for many entries, one table of values and ranks."""
    out = Terminal()
    if len(evaluation.entries) > MOST_CARDS:
        _print_table(out, evaluation)
    else:
        for entry in evaluation.entries:
            _print_card(out, evaluation, entry)
    for note in evaluation.notes:
        out.print(f"note: {note}")
    runs = {len(rows) for measured in evaluation.measured.values() for rows in measured.rows.values()}
    out.print(
        f"{evaluation.suite.key}: {len(evaluation.scenarios)} scenarios, {'/'.join(map(str, sorted(runs)))} runs each; "
        f"means ± half width of the 95% interval; pages, tables (Parquet) and evaluation.json are in {folder}"
    )
    for label, requirement in evaluation.unmet:
        value = evaluation.values[label].get(requirement.criterion)
        out.print(f"not met: {label}: {requirement}, it is {'not measured' if value is None else value}")


def _print_card(out: Terminal, evaluation: Evaluation, entry: Entry) -> None:
    """Prints an entry's value for each criterion, next to the best and the nearest entries."""
    near = evaluation.nearest(entry.label)
    out.head(entry.label, f": {about(entry)}")
    table = Numbers("criterion", "", "value", "place", "best", *near, keys=2)
    for key, value in evaluation.values[entry.label].items():
        criterion = CRITERIA[key]
        better = "higher is better" if criterion.better == "high" else "lower is better"
        first = best(evaluation.places, key)
        leader = first[0] if len(first) == 1 else f"{first[0]} and {len(first) - 1} more"
        others = [_value(evaluation.values[name].get(key)) for name in near]
        table.add_row(
            lines(criterion.title, f"  {key}, {better}"),
            criterion.suffix,
            str(value),
            place(evaluation.places[key][entry.label]),
            lines(_value(evaluation.values[first[0]][key]), leader),
            *others,
        )
    out.numbers(table)


def _print_table(out: Terminal, evaluation: Evaluation) -> None:
    """A row for each entry: value and rank for each criterion."""
    keys = list(evaluation.places)
    table = Numbers("entry", *(lines(CRITERIA[key].heading, f"({CRITERIA[key].suffix or '1'})") for key in keys))
    for entry in evaluation.entries:
        of_entry = evaluation.values[entry.label]
        table.add_row(
            entry.label,
            *(
                lines(str(of_entry[key]), place(evaluation.places[key][entry.label])) if key in of_entry else "–"
                for key in keys
            ),
        )
    out.numbers(table)


def about(entry: Entry) -> str:
    """Unit that an entry shares among, and its requirements, in words."""
    shares = f"shares per {entry.shares_per}; " if entry.shares_per else ""
    return f"{shares}needs {'; '.join(asks(entry))}" if asks(entry) != ["nothing"] else f"{shares}needs nothing"


def place(rank: Rank) -> str:
    """`3 (2 to 5) of 57`."""
    room = f" ({rank.first} to {rank.last})" if rank.first < rank.last else ""
    return f"{rank.rank}{room} of {rank.of}"


def _value(value: Interval | None) -> str:
    return "–" if value is None else str(value)


def print_league_check(check: LeagueCheck) -> None:
    """Prints the number of equal cells, and lists the changed cells."""
    out = Terminal()
    if check.differing:
        table = Numbers("entry", "scenario", "criterion", "committed", "now", keys=3)
        for cell in check.differing:
            both = cell.document()
            table.add_row(*(both[key] or "–" for key in ("entry", "scenario", "criterion", "committed", "found")))
        out.numbers(table)
        entries = " ".join(dict.fromkeys(shlex.quote(cell.entry) for cell in check.differing))
        out.print(f"if the change is intended, run: fairlane evaluate {entries} --write-league")
    out.print(f"{check.suite}: {check}")


def print_suite(suite: Suite) -> None:
    """A row for each scenario: what it measures, its source, its scores."""
    out = Terminal()
    for family in suite.families:
        out.head(f"{family.title} ({family.key})", f": {family.measures}")
        table = texts("scenario", "what it measures", "source", "scored by", "judged", "quick")
        for one in family.scenarios:
            judged = ", ".join(one.judged) or "all"
            table.add_row(one.name, one.measures, one.source, ", ".join(one.scores), judged, "yes" if one.quick else "")
        out.print(table)
    out.print(
        f"{suite.key}: {len(suite.scenarios)} scenarios in {len(suite.families)} families, files in {suite.folder}; "
        f"digest {suite.digest}"
    )
