"""Inconclusive claims get more replications until they are decided or a limit is reached."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fairlane
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Measured
from fairlane.judge.library import papers
from fairlane.judge.measurements import Measurements, places
from fairlane.judge.paper import Paper
from fairlane.judge.rounds import Judged, Rounds

ABC2018 = papers()["abc2018"]
FIG4A = ABC2018.experiments["abc2018.fig4a"]
Samples = Callable[[Mapping[str, Any], int], float]
"""T_R of a replication of a scenario."""


class Made:
    """A paper with one or two experiments, with artificial runs; records the requested runs."""

    def __init__(self, samples: Samples, claims: Sequence[dict[str, Any]], most: int = 40) -> None:
        common = {"scheme": "abc", "metric": "T_R", "statement": "", "where": "", "strength": "quantitative"}
        own = [{"experiment": FIG4A.id, "id": f"{FIG4A.id}.{i}", **common, **claim} for i, claim in enumerate(claims)]
        experiment = replace(FIG4A, schemes=["abc"], grid={"Db_ms": [5], "f0": [1, 2]}, claims=own, limit=most)
        self.paper: Paper = replace(ABC2018, experiments={FIG4A.id: experiment}, statistics={})
        self.samples = samples
        self.asked: list[tuple[int, int]] = []

    def judge(self, granted: Callable[[Mapping[int, int]], bool] = lambda _: True) -> Judged:
        counts = {FIG4A.id: 10}
        found = list(places(self.paper, self.experiments, {}, counts))
        measured = Measurements(self.paper, found, self._simulate)
        measured.extend(dict.fromkeys(range(len(found)), 10))
        most = {name: experiment.most for name, experiment in self.paper.experiments.items()}
        return Rounds(self.paper, measured, {}, counts, most).judge(self.experiments, granted)

    @property
    def experiments(self) -> list[Experiment]:
        return list(self.paper.experiments.values())

    def _simulate(self, scenarios: Sequence[str]) -> list[list[Measured]]:
        runs = []
        for text in scenarios:
            table = json.loads(text)
            flows, count = table["groups"][0]["sources"][0]["flows"], table["run"]["replications"]
            self.asked.append((flows, count))
            runs.append([Measured({"T_R": self.samples({"f0": flows}, number)}) for number in range(count)])
        return runs


def noise(amplitude: float) -> Samples:
    """Samples with mean 1: without noise for f0 = 1, with alternating noise of +amplitude and -amplitude for f0 = 2."""
    return lambda at, number: 1 + (amplitude * (-1) ** number if at["f0"] == 2 else 0)


NEAR_ONE = {"kind": "near", "value": 1.0, "tol_abs": 0.1}


def test_the_points_that_keep_a_claim_open_get_twice_as_many_until_it_is_decided() -> None:
    # The half width is t(0.975; n-1) * 0.2 * sqrt(n/(n-1)) / sqrt(n), that is, 0.151 for n = 10 and 0.096 for n = 20.
    made = Made(noise(0.2), [NEAR_ONE])
    (verdict,) = made.judge().verdicts
    assert verdict.verdict == "reproduced"
    assert verdict.runs == 20
    assert made.asked == [(1, 10), (2, 10), (2, 20)]


def test_at_the_limit_it_stays_inconclusive() -> None:
    # 0.32 for n = 40.
    made = Made(noise(1.0), [NEAR_ONE])
    (verdict,) = made.judge().verdicts
    assert verdict.verdict == "inconclusive"
    assert verdict.runs == 40
    assert made.asked[2:] == [(2, 20), (2, 40)]
    assert Made(noise(1.0), [NEAR_ONE], most=15).judge().verdicts[0].runs == 15


def test_what_is_decided_gets_no_more_runs() -> None:
    made = Made(noise(1.0), [{**NEAR_ONE, "value": 2.0}])
    assert made.judge().verdicts[0].verdict == "differs"  # certain at f0 = 1
    assert made.asked == [(1, 10), (2, 10)]


def test_a_verdict_does_not_depend_on_the_runs_that_other_claims_got() -> None:
    # The second claim is decided with 10 runs, since its whole interval is within the bound.
    bound = {"kind": "at_most", "value": 3.0}
    alone = Made(noise(0.2), [bound]).judge().verdicts[0]
    _, beside = Made(noise(0.2), [NEAR_ONE, bound]).judge().verdicts
    assert beside.findings == alone.findings
    assert beside.runs == 10


def test_the_table_has_all_runs_that_its_own_claims_got() -> None:
    judged = Made(noise(0.2), [NEAR_ONE]).judge()
    cells = judged.tables[FIG4A.id].cells(["abc"], ["T_R"])
    assert [len(cell.samples) for cell in cells] == [10, 20]


def test_what_is_not_granted_is_not_run_and_the_claim_stays_as_it_is() -> None:
    made = Made(noise(0.2), [NEAR_ONE])
    (verdict,) = made.judge(granted=lambda more: max(more.values()) < 20).verdicts
    assert (verdict.verdict, verdict.runs) == ("inconclusive", 10)
    assert made.asked == [(1, 10), (2, 10)]


SHORT = {"run.warmup": "15 s", "run.measure": "0.3 s"}


def test_rounds_are_the_same_for_any_number_of_threads_and_use_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fairlane.reproduce("abc2018.default", settings=SHORT, threads=1, store=tmp_path / "one")
    # The runs are too short for a decision, so the claim on the ratio gets the maximum of runs. The claim on the access
    # links needs no more.
    runs = {verdict.claim: verdict.runs for verdict in first.verdicts}
    assert runs == {"abc2018.default.droptail_ratio": 40, "abc2018.default.access_empty": 10}
    assert (
        first.json() == fairlane.reproduce("abc2018.default", settings=SHORT, threads=3, store=tmp_path / "two").json()
    )
    monkeypatch.setattr("fairlane._fairlane.Batch", None)
    assert first.json() == fairlane.reproduce("abc2018.default", settings=SHORT, store=tmp_path / "one").json()
    few = fairlane.reproduce("abc2018.default", settings=SHORT, replications=10, store=tmp_path / "one")
    assert {verdict.runs for verdict in few.verdicts} == {10}


def test_quick_runs_reproduce_nothing(tmp_path: Path) -> None:
    quick = fairlane.reproduce("abc2018.numbers", "abc2018.default", quick=True, settings=SHORT, store=tmp_path)
    names = {verdict.verdict for verdict in quick.verdicts}
    assert "consistent" in names
    assert not names & {"reproduced", "differs"}
    assert {count["standing"] for count in quick.document()["counts"]} == {"independent", "arithmetic"}
