"""Tests properties of the experiments and claims of every paper."""

import json
import re
from itertools import islice

import pytest

from fairlane.judge.experiment import Experiment
from fairlane.judge.library import papers
from fairlane.judge.paper import Paper

PAPERS = papers()
EXPERIMENTS = [
    pytest.param(paper, experiment, id=experiment.id)
    for paper in PAPERS.values()
    for experiment in paper.experiments.values()
]
PUTS_IN_SCHEME = {"afc", "afpft", "ahab", "aifo2021", "codelaf", "fqpie", "packs", "qprot", "rifo2025", "scrr2025"}
"""Papers whose function `scenario` sets the scheme of the point. For other papers, `point_scenario` sets the scheme."""
MEASURED_BY_HAND = {"afpft.state.bounded"}
"""Claims that are not about a metric of a run."""


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS)
def test_every_point_is_a_scenario(paper: Paper, experiment: Experiment, every: int) -> None:
    for at in islice(paper.points(experiment), 0, None, every):
        made = json.loads(paper.scenario({**experiment.parameters, **at}).canonical())
        if paper.key in PUTS_IN_SCHEME:
            assert made["queue"]["scheme"] == paper.engine_schemes.get(at["scheme"], at["scheme"])


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS)
def test_every_figure_is_drawn(paper: Paper, experiment: Experiment) -> None:
    # The slides of noms2016 have only tables, and for some papers only numbers were available.
    assert (experiment.kind == "figure") == (experiment.id in paper.figures())


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS)
def test_every_claim_is_written(paper: Paper, experiment: Experiment) -> None:
    skeletons = [claim for claim in experiment.claims if claim["statement"].startswith("TODO")]
    assert not skeletons, "\n".join(f"{paper.folder}: {claim['id']}: {claim['statement']}" for claim in skeletons)


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS)
def test_every_claim_can_be_tested(paper: Paper, experiment: Experiment) -> None:
    assert experiment.claims
    for claim in experiment.claims:
        named = [claim["metric"]] if isinstance(claim["metric"], str) else claim["metric"]
        metrics = {part.strip() for metric in named for part in metric.split("+")}
        elsewhere = experiment.id in paper.computed or claim["id"] in paper.statistics.keys() | MEASURED_BY_HAND
        assert metrics <= paper.metrics.keys() or elsewhere
        assert "statistic" not in claim or claim["id"] in paper.statistics
        # Without measurements; this is the only reason for a missing verdict.
        names = {experiment.id, *(other for other, _ in paper.needs(claim))}
        empty = {name: paper.table(paper.experiments[name], []) for name in names}
        assert paper.judge(claim, empty).measured == "nothing was measured at the points of the claim"


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_expected_verdicts_cover_every_claim(paper: Paper) -> None:
    claims = [claim["id"] for experiment in paper.experiments.values() for claim in experiment.claims]
    assert list(paper.expected().claims) == claims


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_readings_name_claims_of_the_paper_once_each(paper: Paper) -> None:
    known = {claim["id"] for experiment in paper.experiments.values() for claim in experiment.claims}
    for reading in paper.readings:
        assert reading.claims
        assert set(reading.claims) <= known
        assert len(reading.claims) == len(set(reading.claims))


@pytest.mark.parametrize("key", ["abc2018", "noms2016", "afpft", "afc", "p4abc"])
def test_sentences_that_no_claim_tests_say_why_and_name_claims_that_exist(key: str) -> None:
    paper = PAPERS[key]
    ids = {
        claim["id"].split(".", 1)[1]
        for each in PAPERS.values()
        for e in each.experiments.values()
        for claim in e.claims
    }
    names = {experiment.name for each in PAPERS.values() for experiment in each.experiments.values()}
    assert len({words for _, words, _ in paper.not_testable}) == len(paper.not_testable) > 0
    for row in paper.not_testable:
        assert all(row)
        named = re.findall(r"\b(\w+)\.(\w+)\b", row[2])
        assert [f"{a}.{b}" for a, b in named if a in names and f"{a}.{b}" not in ids] == []
