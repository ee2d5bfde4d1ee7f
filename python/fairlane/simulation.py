"""The verbs `run` and `compare`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.catalogue import schemes
from fairlane.errors import UserError
from fairlane.results import Comparison, Result
from fairlane.runner import simulate
from fairlane.scenario import Scenario
from fairlane.store import Store


def run(
    scenario: Scenario | str | Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Result:
    """Simulates the replications of a scenario.

    Args:
        scenario: A scenario, or the path of its TOML file.
        replications: In place of `run.replications`.
        seed: In place of `run.seed`.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder that keeps finished replications if the work is interrupted.
        progress: Whether to report on stderr.

    Raises:
        ScenarioError: The scenario cannot be simulated.
        UserError: The file cannot be read.
        Interrupted: Ctrl-C.
    """
    canonical = _prepare(scenario, replications, seed).canonical()
    (result,) = _results([canonical], threads=threads, store=store, progress=progress)
    return result


def compare(
    scenario: Scenario | str | Path,
    queues: Iterable[str],
    *,
    replications: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Comparison:
    """Simulates a scenario under each of the queues, which keep limit and scheduler of the scenario's own queue.

    Args:
        scenario: A scenario, or the path of its TOML file.
        queues: Names of schemes, as `fairlane schemes` lists them.
        replications: In place of `run.replications`.
        seed: In place of `run.seed`.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder that keeps finished replications if the work is interrupted.
        progress: Whether to report on stderr.

    Raises:
        ScenarioError: The scenario cannot be simulated.
        UserError: The file cannot be read; a queue is unknown or named twice, or none is named.
        Interrupted: Ctrl-C.
    """
    names = list(queues)
    if not all(names) or not names or len(set(names)) < len(names):
        raise UserError(f"queues: {','.join(names) or 'nothing'} given; name each scheme once, as in droptail,abc")
    for name in names:
        schemes(name)  # raises if there is none
    canonical = _prepare(scenario, replications, seed).canonical()
    scenarios = [_fairlane.with_queue(canonical, name) for name in names]
    results = _results(scenarios, threads=threads, store=store, progress=progress)
    return Comparison(dict(zip(names, results, strict=True)))


def _prepare(scenario: Scenario | str | Path, replications: int | None, seed: int | None) -> Scenario:
    prepared = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    given: dict[str, Any] = {"run.replications": replications, "run.seed": seed}
    for key, value in given.items():
        if value is not None:
            prepared = prepared.replace(key, value)
    return prepared


def _results(scenarios: list[str], *, threads: int | None, store: str | Path | None, progress: bool) -> list[Result]:
    runs = simulate(scenarios, Store(store), keep=False, threads=threads, show_progress=progress)
    return [Result(scenario, tuple(records)) for scenario, records in zip(scenarios, runs, strict=True)]
