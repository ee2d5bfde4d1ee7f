"""Tests properties of all papers: names, quick runs, explanations, the page of docs, and several papers at once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import ROOT, TINY, Cli
from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Point, Row, Table
from fairlane.judge.library import find, papers, select
from fairlane.judge.paper import Paper
from fairlane.judge.run_rules import Rule, load_runs
from fairlane.judge.verdicts import Statistic
from generators import reproduction as report

PAPERS = list(papers().values())


def test_all_stands_for_every_experiment_once() -> None:
    chosen = select(["all", PAPERS[0].key, next(iter(PAPERS[0].experiments))])
    assert [paper.key for paper, _ in chosen] == [paper.key for paper in PAPERS]
    for paper, experiments in chosen:
        assert [experiment.id for experiment in experiments] == list(paper.experiments)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_an_experiment_has_its_id_and_the_papers_key_as_names(paper: Paper) -> None:
    for experiment in paper.experiments.values():
        assert find(experiment.id) == find(f"{paper.key}.{experiment.name}") == (paper, [experiment])


def simulated_s(paper: Paper, experiment: Experiment, at: Point) -> float:
    """Length of a run."""
    scenario = paper.scenario({**experiment.parameters, **at})
    for key in ("run.warmup", "run.measure"):
        if key in experiment.settings:
            scenario = scenario.replace(key, experiment.settings[key])
    run = scenario.to_dict().get("run", {})
    if not {"warmup", "measure"} <= run.keys():
        run = json.loads(scenario.canonical())["run"]  # with defaults
    lengths = (run[key].split() for key in ("warmup", "measure"))
    return sum(float(number) * {"s": 1.0, "ms": 1e-3}[unit] for number, unit in lengths)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_quick_runs_are_a_quarter_at_most(paper: Paper) -> None:
    def cost(of: Paper) -> float:
        return sum(
            experiment.replications * sum(simulated_s(of, experiment, at) for at in of.points(experiment))
            for experiment in of.experiments.values()
        )

    assert cost(paper.quick()) <= 0.25 * cost(paper)
    assert paper.quick().experiments.keys() == paper.experiments.keys()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_rules_name_experiments_and_give_reasons(paper: Paper) -> None:
    for rule in (*paper.runs.full, *paper.runs.quick):
        assert set(rule.experiments or ()) <= paper.experiments.keys()
    assert all(rule.why for rule in paper.runs.full)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_what_is_not_reproduced_is_explained(paper: Paper) -> None:
    verdicts = {claim: expected["verdict"] for claim, expected in paper.expected().claims.items()}
    # The interval explains an inconclusive claim.
    to_explain = {claim for claim, verdict in verdicts.items() if verdict not in {"reproduced", "inconclusive"}}
    assert to_explain <= paper.explanations.keys()
    assert paper.explanations.keys() <= verdicts.keys()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_the_page_counts_every_claim(paper: Paper) -> None:
    claims = [row for row in report.claims(paper) if row[0].startswith("`")]  # not the rows of their metrics
    whole = [row for row in report.counts([paper]) if row[0] == "all papers"]
    assert [sum(int(row[column]) for row in whole) for column in range(2, 3 + len(report.OUTCOMES))] == [
        len(claims),
        *(Counter(row[4] for row in claims)[word] for word in report.OUTCOMES.values()),
    ]
    kinds = [row for row in report.counts([paper]) if row[1] not in report.KINDS.values()]
    assert sum(int(row[2]) for row in kinds) == int(whole[0][2])
    assert f"site:reproduction {paper.key} -->" in (ROOT / "docs" / "reproduction.md").read_text()


def test_a_rule_changes_only_its_experiments(tmp_path: Path) -> None:
    file = tmp_path / "runs.toml"
    file.write_text(
        '[[quick]]\nreplications = 2\n[[quick]]\nexperiments = ["abc2018.fig4a"]\ngrid = { f0 = [1, 10] }\n'
    )
    (everywhere, narrow) = load_runs(file).quick
    fig4a, fig5a = (find(f"abc2018.{name}")[1][0] for name in ("fig4a", "fig5a"))
    assert everywhere.applied(fig4a) == replace(fig4a, replications=2)
    assert narrow.applied(fig4a).grid == {**fig4a.grid, "f0": [1, 10]}
    assert narrow.applied(fig5a) == fig5a
    assert Rule(settings={"run.seed": 2}).applied(fig5a).settings == {"run.seed": 2}


def test_a_statistic_stands_for_the_metric() -> None:
    paper = papers()["abc2018"]
    experiment = paper.experiments["abc2018.fig4a"]
    rows = [Row({"scheme": "abc", "f0": f0, "Db_ms": 5}, {"T_R": (float(f0), float(f0))}) for f0 in (1, 2, 4)]
    tables = {experiment.id: paper.table(experiment, rows)}

    def largest(measured: dict[str, Table]) -> Table:
        (cell, *_) = sorted(measured[experiment.id].cells(["abc"], ["T_R"]), key=lambda cell: -cell.interval.mean)
        return paper.table(experiment, [Row({"scheme": "abc"}, {"T_R": cell.samples})])

    claim = {"id": "c", "experiment": experiment.id, "scheme": "abc", "metric": "T_R", "statistic": "the largest"}
    claim |= {"kind": "near", "value": 4.0, "statement": "", "where": ""}
    assert paper.judge(claim, tables).measured == "no test for the statistic 'the largest'"
    with_test = replace(paper, statistics={"c": Statistic(largest, needs=["abc2018.default"])})  # type: ignore[arg-type]
    assert with_test.judge(claim, tables).verdict == "reproduced"
    assert ("abc2018.default", {}) in with_test.needs(claim)


@pytest.mark.long
def test_several_papers_go_to_a_folder_each(cli: Cli, workdir: Path) -> None:
    names = [next(name for name in paper.experiments if name not in paper.computed) for paper in PAPERS]
    document = cli.document("reproduce", *names, "--out", "out", *TINY)
    jsonschema.validate(document, fairlane.schema("reproductions"))
    assert [of["paper"] for of in document["reproductions"]] == [paper.key for paper in PAPERS]
    assert all((workdir / "out" / paper.key / "claims.json").exists() for paper in PAPERS)


def test_quick_runs_say_so(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    reproduction = fairlane.reproduce("abc2018.default", quick=True, settings={"run.warmup": "15 s"}, replications=1)
    assert reproduction.document()["quick"]
    (experiment,) = reproduction.experiments
    assert experiment.settings["run.measure"] == "20 s"


@pytest.mark.parametrize("option", ["--check", "--write-verdicts"])
def test_quick_runs_have_no_verdicts_that_count(cli: Cli, option: str) -> None:
    cli.refuses(["reproduce", "abc2018.default", "--quick", option], ["--quick", option])


def test_wide_tables_go_downwards(cli: Cli) -> None:
    assert "f0" in cli.output("reproduce", "abc2018.fig4a", *TINY)
    wide = cli.output("reproduce", "noms.table_upload", "--replications", "1",
               "--set", "groups[0].start_from=15 s", "--set", "groups[0].start_until=15 s",
               "--set", "run.measure=16 s")  # fmt: skip
    lines = wide.splitlines()
    assert any(line.split()[:4] == ["abc_old,", "50,", "0.25", "1"] for line in lines)
    assert not any("…" in line for line in lines)
