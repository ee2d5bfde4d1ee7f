"""The function `search.adversary`, which searches against one scheme after another."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairlane.base.errors import ScenarioError, UserError
from fairlane.base.files import written_below
from fairlane.base.progress import reporting
from fairlane.runs.run import queue_names
from fairlane.search.attack import SEARCHED, Adversary, Found, light_share
from fairlane.search.bounds import Bounds, read_bounds
from fairlane.search.common import MOST_EVALUATIONS, MOST_SEED, check_count, interruptible
from fairlane.search.evaluation import Evaluator
from fairlane.search.journal import journal
from fairlane.search.optimiser import CmaOptimiser, OptimiserFactory
from fairlane.search.result import Adversaries, Cost
from fairlane.search.world import scenario
from fairlane.simulate.replications import check_threads
from fairlane.simulate.scenario import Scenario

EVALUATIONS = 500
DEFAULT_FOLDER = Path("results/search")
Say = Callable[[int, float], None]


def adversary(
    schemes: Iterable[str],
    *,
    bounds: str | Path | None = None,
    evaluations: int = EVALUATIONS,
    seed: int = 1,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    out: str | Path = DEFAULT_FOLDER,
    optimiser: OptimiserFactory = CmaOptimiser,
    progress: bool = False,
) -> Adversaries:
    """Finds, for each scheme, the scenario in which an honest light user gets the smallest part of its max-min share.

    Args:
        schemes: Names of schemes, `["all"]` for every scheme of the catalogue.
        bounds: TOML file of the ranges to search; if None, the default ranges.
        evaluations: Minimum number of scenarios to simulate for each scheme.
        seed: Seed of the optimiser.
        settings: Keys of `queue` and `marker` that differ from the defaults of the scheme.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        out: Folder for scenario files, and for the journal from which an interrupted search continues.
        optimiser: Creates the optimiser from the number of dimensions and the seed.
        progress: Report progress on stderr.

    Raises:
        UserError: A scheme, the bounds or a number is wrong; the folder cannot be written.
        ScenarioError: The scheme does not have a setting.
        Interrupted: Ctrl-C; simulated runs are in the journal.
    """
    names, chosen = queue_names(schemes), read_bounds(bounds)
    check_count("evaluations", evaluations, 1, MOST_EVALUATIONS)
    check_count("seed", seed, 0, MOST_SEED)
    check_threads(threads)
    given = dict(settings or {})
    labels = [_label(name, given) for name in names]
    tables = [_checked(label, name, given, chosen) for label, name in zip(labels, names, strict=True)]
    optimiser(chosen.space.dimensions, seed)  # fails early if it cannot be created
    found: dict[str, Found] = {}
    commands: dict[str, str] = {}
    started = Cost.now()
    with written_below(Path(out), "--out"), journal(Path(out), "journal.jsonl") as kept:
        evaluator = Evaluator(kept, light_share, threads)
        for number, (label, name, parts) in enumerate(zip(labels, names, tables, strict=True)):
            with interruptible(number, len(names)), _told(label, number, len(names), evaluations, progress) as say:
                search = Adversary(f"adversary-{label}", parts, chosen, evaluator)
                found[label] = search.search(optimiser, seed, evaluations, say)
            commands[label] = _command(name, given, bounds, evaluations, seed)
            result = Adversaries(found, commands, Cost.since(evaluator.simulated, started))
            result.write(out)
    return result


def _checked(label: str, scheme: str, settings: Mapping[str, Any], bounds: Bounds) -> dict[str, dict[str, Any]]:
    """The tables `queue` and `marker` of a scheme; raises a ScenarioError if they are invalid in a scenario."""
    tables: dict[str, dict[str, Any]] = {"queue": {"scheme": scheme}}
    for key, value in settings.items():
        table, _, name = key.partition(".")
        if table not in {"queue", "marker"} or not name or key in {"queue.scheme", "queue.limit"}:
            raise UserError(f"{key}: is not a parameter of the scheme, such as queue.share_per or marker.memory")
        tables.setdefault(table, {})[name] = value
    middle = bounds.space.values([0.5] * bounds.space.dimensions)
    try:
        Scenario.from_dict(scenario(label, middle, tables, SEARCHED, 1)).canonical()
    except ScenarioError as error:
        raise ScenarioError(f"{scheme}: {error}") from error
    return tables


def _label(scheme: str, settings: Mapping[str, Any]) -> str:
    """Name of a scheme with its settings, also used for its file."""
    return "-".join([scheme, *(re.sub(r"[^A-Za-z0-9_.]+", "_", str(value)) for value in settings.values())])


def _command(scheme: str, settings: Mapping[str, Any], bounds: str | Path | None, evaluations: int, seed: int) -> str:
    """The command that repeats this search."""
    words = ["fairlane", "search", "adversary", scheme]
    for key, value in settings.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    words += ["--bounds", Path(bounds).name] if bounds is not None else []
    words += ["--evaluations", str(evaluations)] if evaluations != EVALUATIONS else []
    words += ["--seed", str(seed)] if seed != 1 else []
    return shlex.join(words)


@contextmanager
def _told(label: str, number: int, total: int, evaluations: int, progress: bool) -> Iterator[Say]:
    """Reports the number of simulated scenarios and the smallest share so far."""
    title = f"{label} ({number + 1} of {total})" if total > 1 else label
    with reporting(title, evaluations, show=progress, unit="scenarios") as report:
        yield lambda judged, least: report(min(judged, evaluations), evaluations, f"least share {least:.3f}")
