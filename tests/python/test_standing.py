"""Claims that are not independent tests of their paper are marked and counted separately."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fairlane.judge.library import papers
from fairlane.judge.paper import Paper
from fairlane.judge.readings import load_readings
from generators import reproduction as report

READINGS = """
[[readings]]
open = "Whether a full buffer drops the newcomer or the head."
taken = "The newcomer."
numbers = '''
A ratio of 10.2 where the paper has 10;
with the head 3.1.'''
claims = ["abc2018.fig4a.droptail_ratio"]
"""


@pytest.fixture
def with_reading(tmp_path: Path) -> Paper:
    """abc2018 with a reading that one of its claims was used to choose."""
    paper = papers()["abc2018"]
    file = tmp_path / "readings.toml"
    file.write_text(READINGS)
    changed = replace(paper)
    changed.__dict__["readings"] = load_readings(file)
    return changed


def test_a_claim_that_chose_a_reading_is_marked_and_says_which(with_reading: Paper) -> None:
    fig4a = with_reading.experiments["abc2018.fig4a"]
    nothing = {fig4a.id: with_reading.table(fig4a, [])}
    verdicts = {claim["id"]: with_reading.judge(claim, nothing) for claim in fig4a.claims}
    marked = verdicts.pop("abc2018.fig4a.droptail_ratio")
    assert marked.standing == "not independent"
    assert marked.reading == "Whether a full buffer drops the newcomer or the head. The newcomer."
    assert {(verdict.standing, verdict.reading) for verdict in verdicts.values()} == {("independent", "")}


def test_the_page_counts_it_apart_and_has_the_numbers_under_each_reading(with_reading: Paper) -> None:
    own, apart = (sum(int(row[2]) for row in report.counts([with_reading]) if row[1] == report.KINDS[standing])
                  for standing in ("independent", "not independent"))  # fmt: skip
    assert (own, apart) == (2 * 236, 2)  # for the paper, and for all papers
    marked = [row[0] for row in report.claims(with_reading) if "not independent" in row[0]]
    assert len(marked) == 1
    assert marked[0].startswith("`fig4a.droptail_ratio` (not independent): ")
    assert report.readings(with_reading) == [
        [
            "Whether a full buffer drops the newcomer or the head.",
            "The newcomer.",
            "A ratio of 10.2 where the paper has 10; with the head 3.1.",
            "`fig4a.droptail_ratio`",
        ]
    ]


def test_the_papers_own_claims_are_550_and_nineteen_are_added() -> None:
    found = Counter(
        (paper.standing(claim) == "added", paper.key)
        for paper in papers().values()
        for experiment in paper.experiments.values()
        for claim in experiment.claims
    )
    assert {paper: count for (added, paper), count in found.items() if added} == {"p4abc": 19}
    assert sum(count for (added, _), count in found.items() if not added) == 550


def test_a_printed_inequality_has_no_tolerance() -> None:
    inequality = re.compile(
        r"'[^']*\b(in excess of|(more|less|lower) than|below|does not (exceed|fall)|only up to|over (a |\d))[^']*'"
    )
    wide = [
        claim["id"]
        for paper in papers().values()
        for experiment in paper.experiments.values()
        for claim in experiment.claims
        if claim["kind"] in {"at_most", "at_least"} and claim["strength"] == "quantitative"
        if inequality.search(claim["where"]) and any(claim.get(key) for key in ("tol_rel", "tol_abs", "tolerance"))
    ]
    assert not wide


def test_what_only_computes_a_number_again_is_counted_apart() -> None:
    arithmetic = Counter(
        paper.key
        for paper in papers().values()
        for experiment in paper.experiments.values()
        for claim in experiment.claims
        if paper.standing(claim) == "arithmetic"
    )
    assert arithmetic == {"abc2018": 7, "afpft": 2, "p4abc": 1}
    kinds = [row[1] for row in report.counts([papers()["p4abc"]])]
    assert report.KINDS["arithmetic"] in kinds


def test_no_two_claims_give_numbers_for_the_same_points_of_an_experiment() -> None:
    found = Counter(
        json.dumps(
            [experiment.id, *(claim.get(key) for key in ("scheme", "metric", "condition", "predicate", "reduce"))]
        )
        for paper in papers().values()
        for experiment in paper.experiments.values()
        for claim in experiment.claims
        if claim["kind"] in {"value", "near"} and claim["id"] not in paper.statistics
    )
    assert [points for points, claims in found.items() if claims > 1] == []
