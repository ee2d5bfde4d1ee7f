import json
import tomllib
from pathlib import Path

import pytest

import fairlane
from conftest import Cli
from fairlane.papers import papers
from fairlane.papers.abc2018.metrics import METRICS
from fairlane.papers.abc2018.scenarios import FOLDER, KEYS, scenario
from fairlane.papers.claims import judge, references
from fairlane.papers.grid import Table
from fairlane.scenario import Scenario

PAPER = papers()["abc2018"]
QUICK = ["--set", "run.warmup=13 s", "--set", "run.measure=2 s", "--replications", "2"]


def test_base_has_the_defaults_of_the_claims() -> None:
    defaults = tomllib.loads((FOLDER / "claims.toml").read_text())["defaults"]["abc2018"]
    base = Scenario.from_toml(FOLDER / "base.toml")
    changed = base
    for name, (key, text) in KEYS.items():
        if name in defaults and not isinstance(defaults[name], list):
            changed = changed.replace(key, defaults[name] if text is None else text.format(defaults[name]))
    assert json.loads(changed.canonical()) == json.loads(base.canonical())
    groups = base.to_dict()["groups"]
    assert [group["users"] for group in groups] == [defaults["u0"], defaults["u1"]]
    assert [group["sources"][0]["flows"] for group in groups] == [defaults["f0"], defaults["f1"]]


@pytest.mark.parametrize("experiment", PAPER.experiments.values(), ids=lambda experiment: experiment.id)
def test_every_point_is_a_scenario(experiment: fairlane.papers.Experiment) -> None:
    for at in experiment.points():
        scenario({**experiment.parameters, **at}).canonical()


@pytest.mark.parametrize("experiment", PAPER.experiments.values(), ids=lambda experiment: experiment.id)
def test_every_claim_can_be_tested(experiment: fairlane.papers.Experiment) -> None:
    assert experiment.claims
    assert (experiment.kind == "figure") == (experiment.id in PAPER.figures())
    for claim in experiment.claims:
        assert set([claim["metric"]] if isinstance(claim["metric"], str) else claim["metric"]) <= METRICS.keys()
        for other, _ in references(claim):
            assert other in PAPER.experiments
        # Nothing measured: the only reason not to have a verdict.
        names = {experiment.id, *(other for other, _ in references(claim))}
        empty = {name: Table(name, PAPER.experiments[name].grid, {}, []) for name in names}
        assert judge(claim, empty).measured == "nothing was measured at the points of the claim"


def test_scenarios_have_what_the_experiment_says() -> None:
    fig5a = PAPER.experiments["abc2018.fig5a"]
    table = json.loads(scenario({**fig5a.parameters, "Db_ms": 50, "a_EF": 3, "f0": 5}).canonical())
    assert table["topology"]["bottleneck_delay"] == "50 ms"
    assert table["queue"]["scheduler"] == "medf"
    assert table["marker"]["accounting_ef"] == 3.0
    assert [group["traffic_class"] for group in table["groups"]] == ["EF", "BE"]
    assert [group["sources"][0]["flows"] for group in table["groups"]] == [5, 1]
    fig8 = PAPER.experiments["abc2018.fig8"]
    table = json.loads(scenario({**fig8.parameters, "Db_ms": 5, "flows_per_user": 2, "s": 16}).canonical())
    assert [group["reference_rate"] for group in table["groups"]] == ["160 kbit/s", "10 kbit/s"]
    assert [group["sources"][0]["flows"] for group in table["groups"]] == [2, 2]
    fig6a = PAPER.experiments["abc2018.fig6a"]
    table = json.loads(scenario({**fig6a.parameters, "Db_ms": 5, "R0_mbps": 12.5}).canonical())
    assert table["groups"][0]["sources"][0]["kind"] == "poisson"
    assert table["groups"][0]["sources"][0]["rate"] == "12.5 Mbit/s"
    fig13a = PAPER.experiments["abc2018.fig13a"]
    table = json.loads(scenario({**fig13a.parameters, "Db_ms": 5}).canonical())
    assert len(table["groups"]) == 1
    assert table["probes"]["series_interval"] == "100 ms"


def record(rates_mbps: list[float], thresholds: list[float | None]) -> dict[str, object]:
    """A run whose flow starts in the third interval of 0.1 s."""
    rates = [rate * 1e6 for rate in rates_mbps]
    groups = [{"throughput_bps": [0.0, 0.0] + [1e6] * (len(rates) - 2), "rate_bps": rates}]
    return {"series": {"interval_s": 0.1, "start_s": 0.0, "groups": groups, "drop_threshold": thresholds}}


def test_time_to_full_rate_needs_nine_that_stay_above_eight_and_a_half() -> None:
    dips = [0, 0, 5, 9.1, 8.4] + [9.5] * 12
    assert METRICS["time_to_full_rate"](record(dips, []), {}) == pytest.approx(0.4)
    never = [0, 0] + [8.9] * 30
    assert METRICS["time_to_full_rate"](record(never, []), {}) == pytest.approx(3.0)


def test_drop_threshold_is_that_of_the_last_arrival() -> None:
    run = record([0, 0, 1, 1, 1], [None, None, 12.0, None, 20.0])
    values = [METRICS["drop_threshold"](run, {"t_s": t}) for t in (0.1, 0.2, 0.3)]
    assert values == [12.0, 12.0, 20.0]


def test_a_starved_group_makes_the_ratio_infinite() -> None:
    groups = [{"throughput_bps": 1e6}, {"throughput_bps": 0.0}]
    assert METRICS["T_R"]({"groups": groups}, {}) == float("inf")


def test_reproduce_lists_what_there_is(cli: Cli) -> None:
    done = cli("reproduce")
    assert done.returncode == 0
    assert "abc2018.fig4a" in done.stdout
    assert "abc2018.fig13b" in json.loads(cli("reproduce", "--json").stdout)["abc2018"]


def test_reproduce_draws_figures_and_judges_claims(cli: Cli, workdir: Path) -> None:
    done = cli("reproduce", "abc2018.fig4a", "abc2018.fig5a", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "droptail_ratio" in done.stdout
    assert "9 claims: " in done.stdout
    names = {path.name for path in (workdir / "results" / "abc2018").iterdir()}
    expected = {f"{name}.{suffix}" for name in ("fig4a", "fig5a") for suffix in ("png", "svg", "parquet")}
    assert names == expected | {"claims.json"}


def test_a_second_reproduce_simulates_nothing_and_says_the_same(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    settings = {"run.warmup": "13 s", "run.measure": "2 s"}
    first = fairlane.reproduce("abc2018.default", settings=settings, replications=2)
    monkeypatch.setattr("fairlane._fairlane.Batch", None)
    assert fairlane.reproduce("abc2018.default", settings=settings, replications=2).json() == first.json()


def test_claims_about_other_experiments_run_just_their_points(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workdir)
    settings = {"run.warmup": "14.9 s", "run.measure": "0.1 s"}
    reproduction = fairlane.reproduce("abc2018.fig3b", settings=settings, replications=1)
    rows = reproduction.tables["abc2018.fig3a"].rows
    assert {(row.at["scheme"], row.at["R1_mbps"]) for row in rows} == {("abc", 7.5)}
    assert len(rows) == 17


def test_check_fails_when_a_claim_is_no_longer_reproduced(cli: Cli) -> None:
    # A drop-tail sized buffer for ABC: nothing is fair any more.
    broken = ["--set", "queue.q_min=24 packets", "--set", "queue.q_base=24 packets"]
    done = cli("reproduce", "abc2018.default", "--check", "--replications", "3", *broken)
    assert done.returncode == 1
    assert "check: abc2018.default.abc_fair: differs, was reproduced" in done.stderr


def test_expected_verdicts_cover_every_claim() -> None:
    claims = [claim["id"] for experiment in PAPER.experiments.values() for claim in experiment.claims]
    assert list(PAPER.expected().claims) == claims


def test_no_replications_are_refused_not_replaced_by_the_papers(workdir: Path) -> None:
    with pytest.raises(fairlane.ScenarioError, match=r"run\.replications: 0"):
        fairlane.reproduce("abc2018.default", replications=0, store=workdir / "store")


def test_experiments_of_nothing_are_refused() -> None:
    with pytest.raises(fairlane.UserError, match="nothing"):
        fairlane.reproduce()
