"""Tests how claims that also differ in ns-3 are judged (judge/ns3.py)."""

from dataclasses import replace

import pytest

from fairlane.judge import library as papers
from fairlane.judge.grid import Row, Table
from fairlane.judge.ns3 import Ns3, agree, load, with_ns3
from fairlane.judge.verdicts import judge

CLAIM = {
    "id": "p.e.low", "experiment": "p.e", "scheme": "abc", "metric": "T_R", "kind": "at_most", "value": 1.0,
    "tol_abs": 0.1, "statement": "Low.", "where": "1",
}  # fmt: skip


def table(*means: float) -> Table:
    rows = [Row({"scheme": "abc", "x": x}, {"T_R": (mean - 0.01, mean, mean + 0.01)}) for x, mean in enumerate(means)]
    return Table("p.e", {"x": list(range(len(means)))}, {}, rows)


def ns3(*means: float) -> Ns3:
    return Ns3("3.37", {"p.e.low": {"p.e": table(*means).rows}})


def outcome(ours: Table, theirs: Ns3 | None) -> tuple[str, str]:
    tables = {"p.e": ours}
    verdict = with_ns3(judge(CLAIM, tables), CLAIM, tables, theirs)
    return verdict.verdict, verdict.ns3


def test_a_claim_that_both_miss_by_the_same_number_agrees():
    verdict, text = outcome(table(0.9, 2.0), ns3(0.9, 2.05))
    assert verdict == "as ns-3"
    assert text.startswith("ns-3 3.37: 2.05")


def test_another_number_or_a_claim_that_ns3_meets_still_differs():
    assert outcome(table(0.9, 2.0), ns3(0.9, 3.0))[0] == "differs"
    assert outcome(table(0.9, 1.2), ns3(0.9, 1.0))[0] == "differs"
    # ns-3 differs at another point.
    assert outcome(table(0.9, 1.2), ns3(1.4, 1.0))[0] == "differs"


def test_a_claim_that_ns3_as_shipped_meets_still_differs():
    as_shipped = replace(ns3(0.9, 2.0), shipped={"p.e.low": {"p.e": table(0.9, 1.0).rows[1:]}})
    assert outcome(table(0.9, 2.0), as_shipped)[0] == "differs"
    # It also differs from the claim, with another number.
    as_shipped = replace(ns3(0.9, 2.0), shipped={"p.e.low": {"p.e": table(0.9, 1.5).rows[1:]}})
    verdict, text = outcome(table(0.9, 2.0), as_shipped)
    assert verdict == "as ns-3"
    assert "; as shipped: 1.5" in text


def test_the_largest_number_may_be_at_another_point_in_ns3():
    tables, claim = {"p.e": table(2.0, 2.01)}, {**CLAIM, "reduce": "max"}
    assert with_ns3(judge(claim, tables), claim, tables, ns3(2.01, 2.0)).verdict == "as ns-3"


def test_what_is_reproduced_or_was_not_asked_stays():
    assert outcome(table(0.9, 1.0), ns3(0.9, 2.0)) == ("reproduced", "")
    assert outcome(table(0.9, 2.0), None) == ("differs", "")


def test_means_agree_within_five_percent_and_an_interval_no_wider_than_that():
    assert agree([1.0, 1.0], [1.05, 1.05])
    assert not agree([1.0, 1.0], [1.06, 1.06])
    # Half width of the difference: t(0.975; 4) * sqrt(2 * 0.01**2 / 3) = 0.0227, within 5 % of 1.
    assert agree([0.99, 1.0, 1.01], [0.99, 1.0, 1.01])
    # The intervals are ten times as wide, and the means differ by 0.1. Noise must not help.
    assert not agree([0.9, 1.0, 1.1], [0.9, 1.0, 1.1])
    assert not agree([0.5, 1.5, 1.0], [1.0, 2.0, 1.5])
    assert not agree([1.0], [1.0])
    assert not agree([], [1.0])


def test_the_numbers_of_ns3_are_of_points_and_claims_that_exist():
    ((paper, experiments),) = papers.select(["abc2018"])
    found = load(paper.folder / "ns3.toml")
    assert found
    claims = {claim["id"]: claim for experiment in experiments for claim in experiment.claims}
    for name, tables in found.rows.items():
        for experiment, rows in tables.items():
            points = list(paper.points(paper.experiments[experiment]))
            for row in rows:
                assert row.at in points
                assert set(row.samples) == {claims[name]["metric"]}
                assert all(len(samples) >= 3 for samples in row.samples.values())
    assert load(paper.folder / "none.toml") is None


@pytest.mark.parametrize("mean", [float("inf")])
def test_infinite_means_agree_with_infinite_ones_alone(mean):
    assert agree([mean], [mean])
    assert not agree([mean], [1.0])
