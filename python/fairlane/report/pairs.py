"""The page of `fairlane pairs`: heat maps of all pairs of senders, and their shares as a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane.base.errors import UserError
from fairlane.base.files import read_json
from fairlane.report.pairs_figure import cells, describe
from fairlane.results.intervals import format_interval

if TYPE_CHECKING:
    from fairlane.documents import PairsDocument, SharedPair


@dataclass(frozen=True)
class PairsView:
    """Pairs, prepared for their page.

    Attributes:
        document: The parsed document.
        facts: Facts about the simulation.
        words: Text alternative of the figure.
        rows: Shares by pair, one per scheme.
    """

    document: PairsDocument
    facts: Sequence[tuple[str, str]]
    words: str
    rows: Mapping[tuple[str, str], Sequence[str]]


def read(file: Path) -> PairsView:
    """Reads a document of `fairlane pairs` (pairs.json, or the output with `--json`).

    Raises:
        UserError: The file cannot be read or is not such a document.
    """
    document = read_json(file, "--pairs")
    try:
        return _view(document)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UserError(f"--pairs: {file}: not a document of `fairlane pairs`") from error


def _view(document: PairsDocument) -> PairsView:
    rows: dict[tuple[str, str], list[str]] = {}
    for pair in document["pairs"]:
        rows.setdefault((pair["row"], pair["column"]), []).append(_text(pair))
    wanted = set(itertools.product(document["senders"], repeat=2))
    for queue in document["queues"]:
        if missing := wanted - cells(document, queue).keys():
            raise KeyError(missing)
    topology, run = document["scenario"]["topology"], document["scenario"]["run"]
    facts = [
        ("bottleneck", str(topology.get("bottleneck_rate", "as the topology has it"))),
        ("buffer", str(document["scenario"]["queue"]["limit"])),
        ("replications of each", str(run["replications"])),
        ("seed", str(run["seed"])),
        ("warm-up", str(run["warmup"])),
        ("measured", str(run["measure"])),
        ("version", f"fairlane {document['version']}"),
    ]
    return PairsView(document, facts, describe(document), rows)


def _text(pair: SharedPair) -> str:
    if (share := pair["share"]) is None:
        return "–"
    half_width = share["half_width"]
    return format_interval(100 * share["mean"], half_width and 100 * half_width)
