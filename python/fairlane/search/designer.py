"""The function `search.designer` tunes parameters on half of a scenario set and validates them on the other half."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.files import write_aside, written_below
from fairlane.base.progress import reporting
from fairlane.base.text import near, quoted
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.metrics import OBJECTIVES
from fairlane.runs.run import queue_names
from fairlane.search.common import MOST_EVALUATIONS, MOST_SEED, check_count, interruptible
from fairlane.search.evaluation import Evaluator
from fairlane.search.journal import journal
from fairlane.search.optimiser import CmaOptimiser, OptimiserFactory
from fairlane.search.result import Cost
from fairlane.search.scenario_set import Member, halves, read
from fairlane.search.space import Range, Space, read_range
from fairlane.search.tuning import Designer, Judged, criteria
from fairlane.simulate.replications import check_threads

if TYPE_CHECKING:
    from fairlane.documents import DesignerDocument

EVALUATIONS = 200
REPLICATIONS = 10
DIGITS = 3
OBJECTIVE = "worst_share"
SCHEMA = 1


@dataclass(frozen=True, repr=False)
class Tuned:
    """Tuned parameters compared with the defaults.

    Attributes:
        scheme: Name of the scheme.
        objective: Optimised criterion.
        ranges: Searched ranges, by key.
        settings: Tuned parameters; empty if the defaults were as good.
        defaults: The defaults of the same keys.
        tuned_on: Scenarios for tuning.
        held_out: Scenarios for validation.
        judged: Results of the defaults and of the tuned parameters, by half (`tuned_on`, `held_out`).
        cost: Cost of the search.
    """

    scheme: str
    objective: str
    ranges: Mapping[str, str]
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]
    tuned_on: Sequence[Member]
    held_out: Sequence[Member]
    judged: Mapping[str, tuple[Judged, Judged]]
    cost: Cost

    @property
    def _halves(self) -> list[tuple[Literal["tuned_on", "held_out"], Sequence[Member]]]:
        return [("tuned_on", self.tuned_on), ("held_out", self.held_out)]

    @property
    def entry(self) -> str:
        """The tuned scheme in the notation of `fairlane evaluate`."""
        words = ",".join(f"{key.partition('.')[2]}={value}" for key, value in self.settings.items())
        return f"{self.scheme}-tuned={self.scheme}{':' if words else ''}{words}"

    def toml(self) -> str:
        """The tuned entry as tables of a scenario file."""
        tables: dict[str, dict[str, Any]] = {"queue": {"scheme": self.scheme}}
        for key, value in self.settings.items():
            table, _, name = key.partition(".")
            tables.setdefault(table, {})[name] = value
        lines = [f"# {self.scheme}, tuned for {self.objective} on {len(self.tuned_on)} scenarios."]
        for place, values in tables.items():
            lines += ["", f"[{place}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        return "\n".join(lines) + "\n"

    def document(self) -> DesignerDocument:
        """The result as a document (`fairlane schema search-designer`)."""
        return {
            "schema": SCHEMA,
            "version": _fairlane.version(),
            "engine": _fairlane.engine_version(),
            "confidence": CONFIDENCE,
            "scheme": self.scheme,
            "objective": self.objective,
            "ranges": dict(self.ranges),
            "defaults": dict(self.defaults),
            "tuned": dict(self.settings),
            "entry": self.entry,
            "halves": [
                {
                    "half": half,
                    "scenarios": [member.file.as_posix() for member in members],
                    "criteria": [
                        {
                            "criterion": criterion,
                            "defaults": defaults.interval(criterion).document(),
                            "tuned": tuned.interval(criterion).document(),
                            "gain": tuned.gain(defaults, criterion).document(),
                        }
                        for criterion in OBJECTIVES
                    ],
                }
                for half, members in self._halves
                for defaults, tuned in [self.judged[half]]
            ],
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False)

    def write(self, folder: str | Path) -> None:
        """Writes the tuned entry and the document."""
        write_aside(Path(folder) / f"{self.scheme}-tuned.toml", self.toml().encode())
        write_aside(Path(folder) / f"{self.scheme}-tuned.json", self.json().encode() + b"\n")

    def __repr__(self) -> str:
        return f"<Tuned {self.entry}>"


def designer(
    scheme: str,
    tune: Mapping[str, str],
    scenarios: str | Path | Iterable[str | Path],
    *,
    objective: str = OBJECTIVE,
    evaluations: int = EVALUATIONS,
    replications: int = REPLICATIONS,
    seed: int = 1,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    out: str | Path = Path("results/search"),
    optimiser: OptimiserFactory = CmaOptimiser,
    progress: bool = False,
) -> Tuned:
    """Tunes parameters of a scheme on half of the scenarios, and compares them with the defaults on the other half.

    Args:
        scheme: Name of the scheme.
        tune: Ranges such as `1..60 packets`, `0.01..10 s:log`, by key such as `queue.gamma` or `marker.memory`.
        scenarios: Scenario files, or folders with them.
        objective: Criterion to optimise: `worst_share`, `jain_index_normalised`, `utilisation`, `delay_p99_s`.
        evaluations: Minimum number of parameter combinations to try.
        replications: Runs of each scenario for the comparison of defaults and tuned parameters.
        seed: Seed of the optimiser and of the division into halves.
        settings: Keys to change in every scenario.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        out: Folder for the tuned entry, and for the journal from which an interrupted search continues.
        optimiser: Creates the optimiser from the number of dimensions and the seed.
        progress: Report progress on stderr.

    Raises:
        UserError: Scheme, key, range, objective or scenario is wrong; the folder cannot be written.
        Interrupted: Ctrl-C; simulated runs are in the journal.
    """
    (name,) = queue_names([scheme])
    space = _space(tune)
    if objective not in OBJECTIVES:
        raise UserError(f"objective: {quoted(objective)} is not one of {', '.join(OBJECTIVES)}")
    check_count("evaluations", evaluations, 1, MOST_EVALUATIONS)
    check_count("replications", replications, 2, 100_000)
    check_count("seed", seed, 0, MOST_SEED)
    check_threads(threads)
    given = [scenarios] if isinstance(scenarios, str | Path) else list(scenarios)
    tuned_on, held_out = halves(read(given, dict(settings or {})), seed)
    made, started = optimiser(space.dimensions, seed), Cost.now()
    defaults = _defaults(tuned_on[0], name, tune)
    with written_below(Path(out), "--out"), journal(Path(out), "designer.jsonl") as kept:
        search = Designer(name, space, objective, Evaluator(kept, criteria, threads))
        with (
            interruptible(0, 1),
            reporting(f"tuning {name}", evaluations, show=progress, unit="combinations") as report,
        ):
            found = search.search(
                made,
                tuned_on,
                evaluations,
                lambda judged, best: report(min(judged, evaluations), evaluations, f"best {objective} {best:.4g}"),
            )
            judged = {}
            for half, members in (("tuned_on", tuned_on), ("held_out", held_out)):
                before, after = search.judge([{}, found], members, replications)
                judged[half] = before, after
        cost = Cost.since(search.evaluator.simulated, started)
        result = Tuned(name, objective, dict(tune), found, defaults, tuned_on, held_out, judged, cost)
        result.write(out)
    return result


def _space(tune: Mapping[str, str]) -> Space:
    """Parses and checks the ranges by key."""
    if not tune:
        raise UserError("tune: nothing to tune; give a range, as in queue.gamma=1..60 packets")
    ranges: dict[str, Range] = {}
    for key, text in tune.items():
        table, _, name = key.partition(".")
        if table not in {"queue", "marker"} or not name or key in {"queue.scheme", "queue.limit"}:
            raise UserError(f"{key}: is not a parameter of a scheme, such as queue.gamma or marker.memory")
        ranges[key] = read_range(key, text)
        if ranges[key].is_fixed:
            raise UserError(f"{key}: {quoted(text)} has one value only")
    return Space(ranges, DIGITS)


def _defaults(member: Member, scheme: str, keys: Iterable[str]) -> dict[str, Any]:
    """Defaults of the keys; raises a UserError for a key that the scheme lacks."""
    table = json.loads(_fairlane.with_queue(member.canonical, scheme))
    found = {}
    for key in keys:
        place, _, name = key.partition(".")
        if name not in table.get(place, {}):
            known = [f"{place}.{one}" for one in table.get(place, {}) if one not in {"scheme", "limit"}]
            hint = near(key, known) if known else f"there are none in {place}"
            raise UserError(f"{key}: {scheme} has no such parameter; {hint}")
        found[key] = table[place][name]
    return found
