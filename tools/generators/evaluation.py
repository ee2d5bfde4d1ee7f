"""Tables of the evaluation: criteria, suite, the league, and the strengths and weaknesses of each entry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlane.evaluate import league as leagues
from fairlane.evaluate import suite as suites
from fairlane.evaluate.entries import Entry, asks, parsed
from fairlane.evaluate.figures import PAIRS, describe
from fairlane.evaluate.ranks import Rank, Values, all_ranks
from fairlane.evaluate.sentences import findings
from fairlane.evaluate.standing import Standing
from fairlane.results.intervals import Interval, format_number
from fairlane.results.metrics import CRITERIA
from fairlane.results.names import display_name

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Headings of the columns, and rows."""
FIGURES = Path(__file__).parents[2] / "docs" / "figures"
"""Folder of figures that `make league` draws, in a checkout."""
CAPABILITIES: Mapping[str, tuple[str, str, str, Callable[[Entry], bool]]] = {
    "no labels": (
        "Edge",
        "no labels",
        "No edge node writes a label into packets.",
        lambda entry: _about(entry)["marker"] == "none",
    ),
    "no flow state": (
        "Core",
        "no per-flow state",
        "A port's memory does not depend on flows or users.",
        lambda entry: _about(entry)["flow_state"] == "none",
    ),
    "table": (
        "Core",
        "at most a table",
        "A port remembers flows or users in a table of limited size, or not at all.",
        lambda entry: _about(entry)["flow_state"] in {"none", "table"},
    ),
    "fifo": (
        "Core",
        "one FIFO queue",
        "A port has one queue for a traffic class and sends in the order of arrival.",
        lambda entry: _about(entry)["order"] == "fifo",
    ),
    "no rule for users": (
        "Core",
        "no rule for users",
        "A port need not know which packets belong to the same user.",
        lambda entry: _about(entry)["marker"] != "none" or entry.shares_per != "user",
    ),
    "marks": (
        "Hosts",
        "marks for ECN hosts",
        "By default a port marks packets of hosts that understand ECN.",
        lambda entry: bool(_about(entry)["marks"]),
    ),
}
"""Limits that a network may impose, by key: affected part of the network, name, sentence, and test.

The test tells whether an entry can be used in spite of the limit.
"""
LIMITS = (("no labels",), ("no flow state",), ("no labels", "no flow state"), ("marks",))
"""Limits of networks for which the page recommends schemes, as keys of `CAPABILITIES`."""
GUARDS = ("worst_share", "delay_p99", "completion", "use")
"""Criteria against one-sided advice: an entry in the last quarter by at least two of them is recommended last."""
_COUNTED = (leagues.COST_CORE, leagues.COST_EDGE)
"""Criteria that are not measured in scenarios."""
ADVICE = """
Answer five questions to get the three schemes that fit best. Schemes and picture come from the league's data.

<div class="advice-place"><p>The questions need JavaScript.</p></div>
"""
"""A part of the site's page; `site/static/pictures.js` fills it."""
_NONE = "\nNo results yet: `make league` evaluates all schemes on the whole suite and writes the results here.\n"


def criteria() -> Table:
    """A row for each criterion."""
    rows = [
        [f"`{name}`", one.title, one.suffix or "1", one.better, one.doc, one.source] for name, one in CRITERIA.items()
    ]
    return ["criterion", "", "unit", "better", "meaning", "source"], rows


def suite() -> Table:
    """A row for each family."""
    rows = []
    for family in suites.read().families:
        keys = {key for one in family.scenarios for key in one.scores}
        scored = ", ".join(f"`{key}`" for key in CRITERIA if key in keys)
        names = ", ".join(f"`{one.path.stem}`" for one in family.scenarios)
        rows.append([f"`{family.key}`", family.source, family.measures, names, scored])
    return ["family", "source", "measured property", "scenarios", "criteria"], rows


def standing() -> Standing:
    """Returns all entries of the league, without new measurements."""
    read = suites.read()
    return Standing(read, list(read.scenarios.values()), False, [], {}, leagues.read(read), [])


def league() -> Table | str:
    """Returns a row for each entry: value and rank for every criterion, and requirements."""
    found = standing()
    if not found.values:
        return _NONE
    keys = list(found.places)
    rows = [
        [
            f"`{label}`",
            *(f"{of_entry[key]} · {_place(found.places[key][label])}" if key in of_entry else "–" for key in keys),
            "; ".join(asks(parsed(label))),
        ]
        for label, of_entry in sorted(found.values.items())
    ]
    return ["entry", *(CRITERIA[key].head for key in keys), "asks"], rows


def choice() -> Table:
    """Returns a row for each of `LIMITS` with the three fairest schemes, chosen as the site's questions choose."""
    found = standing()
    rows = []
    for limits in LIMITS:
        able = [label for label in found.values if all(CAPABILITIES[key][-1](parsed(label)) for key in limits)]
        schemes: dict[str, str] = {}
        for label in sorted(able, key=lambda label: _order(found, label)):
            schemes.setdefault(parsed(label).scheme, label)
        cells = [_advised(scheme, label, found.values[label]) for scheme, label in list(schemes.items())[:3]]
        rows.append([", ".join(CAPABILITIES[key][1] for key in limits), ", ".join(cells)])
    return ["network", "fairest schemes (worst share, delay p99 in ms)"], rows


def _order(found: Standing, label: str) -> tuple[bool, int]:
    """Sorts entries by worst share; those in the last quarter by at least two other `GUARDS` are last."""
    share, *others = (found.places[key][label] for key in GUARDS)
    return sum(one.rank > 0.75 * one.of for one in others) >= 2, share.rank


def _advised(scheme: str, label: str, values: Mapping[str, Interval]) -> str:
    share, delay = values["worst_share"].mean, values["delay_p99"].mean
    return f"[`{label}`](schemes/{scheme}.md) ({share:.2f}, {1000 * delay:.0f})"


def first() -> Table:
    """The first three entries by each criterion, except criteria by which over a third of the entries may be first."""
    found = standing()
    rows = []
    for key, places in found.places.items():
        if sum(rank.first == 1 for rank in places.values()) * 3 > len(places):
            continue
        best, *others = sorted(places, key=lambda label: (places[label].rank, label))[:3]
        value = format_number(found.values[best][key].mean)
        rows.append([CRITERIA[key].head, ", ".join([f"`{best}` {value}", *(f"`{label}`" for label in others)])])
    return ["criterion", "first three, value of the first"], rows


def data() -> dict[str, Any]:
    """Returns the league for the site's figure: values as text with ranks, by criterion, family and entry."""
    found = standing()
    labels = sorted(found.values, key=lambda label: display_name(label).lower())
    values: dict[str, dict[str, list[Any]]] = {}
    for family in [None, *found.suite.families]:
        if family is None:
            of_family: Values = found.values
        else:
            names = [one.name for one in family.scenarios]
            of_family = {label: one.values(names) for label, one in found.placed.items()}
        for key, places in all_ranks(of_family).items():
            if family is None or key not in _COUNTED:
                cells = [_cell(of_family[label].get(key), places.get(label)) for label in labels]
                values.setdefault(key, {})["" if family is None else family.key] = cells
    return {
        "capabilities": {key: rest[:3] for key, rest in CAPABILITIES.items()},
        "guards": GUARDS,
        "criteria": {
            key: {"title": one.title, "head": one.head.partition(" (")[0], "unit": one.suffix, "doc": one.doc}
            for key, one in CRITERIA.items()
            if key in values
        },
        "families": {one.key: {"title": one.title, "measures": one.measures} for one in found.suite.families},
        "entries": [_entry(label) for label in labels],
        "values": values,
    }


def _about(entry: Entry) -> Any:
    assert entry.about
    return entry.about


def _cell(value: Interval | None, rank: Rank | None) -> list[str | int] | None:
    return [str(value), rank.rank, rank.first, rank.last] if value and rank else None


def _entry(label: str) -> dict[str, Any]:
    entry = parsed(label)
    return {
        "label": label,
        "name": display_name(entry.scheme),
        "per": label.partition("=")[2],
        "page": f"schemes/{entry.scheme}.html",
        "asks": asks(entry),
        "state": _about(entry)["state"],
        "does": _about(entry)["summary"],
        "fits": [key for key, (*_, fits) in CAPABILITIES.items() if fits(entry)],
    }


def embedded() -> str:
    """Returns the league's data for the page. The table after the data is for browsers without JavaScript."""
    if not leagues.read(suites.read()).entries:
        return ""
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return f'\n<script type="application/json" class="league">{text}</script>\n'


def pictures() -> str:
    """The Pareto figures with their text alternatives."""
    found = standing()
    drawn = [pair for pair in PAIRS if {pair.across, pair.up} <= found.places.keys()]
    if not drawn:
        return _NONE
    return "".join(
        f"\n![{pair.title}](figures/evaluation-{pair.stem}.png)\n\n{describe(found.values, pair)}\n"
        for pair in drawn
        if (FIGURES / f"evaluation-{pair.stem}.png").exists()
    )


def entries() -> str:
    """Returns a section for each entry, with strengths and weaknesses."""
    found = standing()
    return "\n".join(_section(found, label) for label in sorted(found.values)) or _NONE


def _section(found: Standing, label: str) -> str:
    one = findings(label, found.placed, found.values, found.places, [scenario.name for scenario in found.scenarios])
    return "\n".join(
        [
            f"\n## {label}\n",
            "Strengths:\n",
            *_list(one.wins),
            "\nWeaknesses:\n",
            *_list(one.fails),
            "",
        ]
    )


def _list(sentences: Sequence[str]) -> Iterator[str]:
    return iter([f"- {sentence}" for sentence in sentences] or ["- None stands out."])


def _place(rank: Rank) -> str:
    return f"{rank.rank} ({rank.first}–{rank.last})" if rank.first < rank.last else str(rank.rank)
