"""The function `check` simulates scenarios and checks their expectations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError, check_kind
from fairlane.base.files import write_aside
from fairlane.base.quantities import parsed
from fairlane.base.text import near, quoted
from fairlane.checks.junit import junit
from fairlane.judge.expectations import ExpectationVerdict, bins, judge
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.metrics import metric_names, series_names
from fairlane.results.result import Result
from fairlane.runs.run import prepared
from fairlane.simulate.expectation import Expectation
from fairlane.simulate.scenario import Scenario
from fairlane.store import Store
from fairlane.store.simulate import simulate

if TYPE_CHECKING:
    from fairlane.documents import CheckDocument, CheckedScenario


@dataclass(frozen=True, slots=True)
class Asked:
    """A scenario whose expectations are to be checked.

    Attributes:
        file: File of the scenario; None if it was built in Python.
        canonical: Canonical scenario.
        expectations: Expectations, at least one.
    """

    file: str | None
    canonical: str
    expectations: Sequence[Expectation]


@dataclass(frozen=True, repr=False)
class Check:
    """Verdicts on the expectations of scenarios.

    Attributes:
        asked: Scenarios to check.
        results: The result of each scenario.
    """

    asked: Sequence[Asked]
    results: Sequence[Result]

    @cached_property
    def scenarios(self) -> list[CheckedScenario]:
        """The scenarios with their verdicts, in order."""
        return [
            {
                "file": asked.file,
                "scenario": result.scenario["name"],
                "replications": len(result.runs_json),
                "notes": result.notes,
                "expectations": _verdicts(asked, result),
            }
            for asked, result in zip(self.asked, self.results, strict=True)
        ]

    @property
    def verdicts(self) -> list[ExpectationVerdict]:
        """Verdicts on all scenarios."""
        return [verdict for scenario in self.scenarios for verdict in scenario["expectations"]]

    @property
    def passed(self) -> bool:
        """True if all expectations hold."""
        return all(verdict.verdict == "held" for verdict in self.verdicts)

    def document(self) -> CheckDocument:
        """The verdicts as a document (`fairlane schema check`)."""
        return {
            "schema": 1,
            "version": _fairlane.version(),
            "confidence": CONFIDENCE,
            "passed": self.passed,
            "scenarios": self.scenarios,
        }

    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self.document(), allow_nan=False, ensure_ascii=False, default=asdict)

    def write_junit(self, file: str | Path) -> None:
        """Writes the verdicts as JUnit XML."""
        write_aside(Path(file), junit(self.scenarios))

    def __repr__(self) -> str:
        names = [verdict.verdict for verdict in self.verdicts]
        counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
        return f"<Check of {len(self.asked)} scenarios: {counts}>"


def check(
    scenarios: Scenario | str | Path | Iterable[Scenario | str | Path],
    *,
    replications: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    progress: bool = False,
) -> Check:
    """Simulates scenarios and checks their expectations.

    Args:
        scenarios: Scenarios or paths of their TOML files, each with at least one `[[expect]]`.
        replications: Replaces `run.replications`.
        seed: Replaces `run.seed`.
        settings: Keys to change in every scenario.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder that keeps finished replications if the work is interrupted.
        progress: Report progress on stderr.

    Raises:
        UserError: A file cannot be read, a scenario cannot be simulated, or an expectation cannot be checked.
        SchemeError: A scheme written in Python failed.
        Interrupted: Ctrl-C.
    """
    given = [scenarios] if isinstance(scenarios, Scenario | str | Path) else scenarios
    check_kind("scenarios", given, (Iterable,), "scenarios or paths of their files")
    asked = [_asked(one, replications, seed, settings or {}) for one in given]
    if not asked:
        raise UserError("scenarios: none given, must be at least one")
    canonical = [one.canonical for one in asked]
    runs = simulate(canonical, Store(store), keep=False, threads=threads, show_progress=progress, title="checking")
    return Check(asked, [Result.of(one, of_one) for one, of_one in zip(canonical, runs, strict=True)])


def _asked(
    given: Scenario | str | Path, replications: int | None, seed: int | None, settings: Mapping[str, Any]
) -> Asked:
    """Reads and validates the expectations of a scenario, before anything runs."""
    file = None if isinstance(given, Scenario) else str(given)
    scenario = prepared(given, None, None)
    try:
        scenario = prepared(scenario.changed(settings), replications, seed)
        asked = Asked(file, scenario.canonical(), scenario.expectations)
        _check_metrics(asked)
    except ScenarioError as error:
        raise UserError(f"{file}: {error}" if file else str(error)) from error
    return asked


def _check_metrics(asked: Asked) -> None:
    """Raises a ScenarioError for an expectation on a metric that the scenario does not measure."""
    if not asked.expectations:
        raise ScenarioError("expect: missing, there must be at least one [[expect]]")
    table = json.loads(asked.canonical)
    known: dict[bool, list[str]] = {}
    for index, one in enumerate(asked.expectations):
        place = f"expect[{index}]"
        is_window = one.window_s is not None
        if is_window and not table["probes"].get("series_interval"):
            raise ScenarioError(f"{place}: a window needs time series, which probes.series_interval asks for")
        if is_window not in known:
            known[is_window] = (series_names if is_window else metric_names)(asked.canonical)
        if one.metric not in known[is_window]:
            what = "has no time series in" if is_window else "is not measured by"
            raise ScenarioError(
                f"{place}.metric: {quoted(one.metric)} {what} this scenario; {near(one.metric, known[is_window])}"
            )
        if one.window_s:
            _check_window(place, one.window_s, table)


def _check_window(place: str, window_s: tuple[float | None, float | None], table: Mapping[str, Any]) -> None:
    run, bin_s = table["run"], _seconds(table["probes"]["series_interval"])
    end_s = _seconds(run["warmup"]) + _seconds(run["measure"])
    for name, time_s in zip(("from", "to"), window_s, strict=True):
        if time_s is not None and not 0 <= time_s <= end_s:
            raise ScenarioError(f"{place}.{name}: {time_s:g} s is out of range, the run is from 0 to {end_s:g} s")
    if not bins(window_s, bin_s, end_s):
        raise ScenarioError(f"{place}: no bin of {bin_s:g} s, as probes.series_interval has them, is in the window")


def _seconds(text: str) -> float:
    """Parses a time of a canonical scenario."""
    return parsed(text, "s") or 0.0


def _verdicts(asked: Asked, result: Result) -> list[ExpectationVerdict]:
    runs = result.runs
    return [judge(expectation, runs) for expectation in asked.expectations]
