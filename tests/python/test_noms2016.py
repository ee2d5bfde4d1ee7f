import tomllib
from dataclasses import replace
from statistics import fmean

import pytest

from conftest import TINY, Cli, scenario_of
from fairlane.judge.grid import Row
from fairlane.judge.library import papers
from fairlane.papers.noms2016.metrics import METRICS
from fairlane.papers.noms2016.scenarios import FOLDER

PAPER = papers()["noms2016"]
CLAIMS = tomllib.loads((FOLDER / "claims.toml").read_text())


def test_all_claims_and_both_tables_are_there() -> None:
    assert len(CLAIMS["claims"]) == sum(len(experiment.claims) for experiment in PAPER.experiments.values()) == 35
    assert [table["id"] for table in CLAIMS["tables"]] == ["noms2016.gamma", "noms2016.upload"]


def test_claims_have_the_numbers_of_the_tables() -> None:
    gamma, upload = CLAIMS["tables"]
    claims = {claim["id"].split(".")[-1]: claim for claim in CLAIMS["claims"]}
    rows = {(row[0], row[1]): row[2:] for row in gamma["rows"]}
    assert claims["gamma0"]["values"] == [rows[delay, users][0] for delay in (50, 5) for users in ("1/10", "9/90")]
    for name, key in (("row_50ms_1_10", (50, "1/10")), ("row_5ms_1_10", (5, "1/10")), ("row_5ms_9_90", (5, "9/90"))):
        assert claims[name]["values"] == rows[key][1:]
    times = {(row[0], row[2]): row[3:] for row in upload["rows"]}
    for claim in claims.values():
        if claim.get("over") == "column":
            allowance = claim["condition"].get("B_MB", "n/a")
            assert claim["values"] == times[claim["condition"]["Db_ms"], allowance]


def test_scenarios_have_what_the_experiment_says() -> None:
    table = scenario_of("noms.table_gamma", users="9/90", Db_ms=5, gamma=2)
    assert [group["users"] for group in table["groups"]] == [9, 90]
    assert [group["sources"][0]["flows"] for group in table["groups"]] == [10, 1]
    assert (table["queue"]["scheme"], table["queue"]["gamma"]) == ("abc2016", 2.0)
    table = scenario_of("noms.ref_rate", Rr_over_fair=0.5, Db_ms=5)
    assert {group["reference_rate"] for group in table["groups"]} == {"454.545 kbit/s"}  # 10 Mbit/s / 11 / 2
    table = scenario_of("noms.table_upload", Db_ms=5, B_MB=0.25, f1=4, u1=20)
    assert table["groups"][0]["sources"][0]["transfer"] == "1 MB"
    assert table["marker"]["burst_allowance"] == "250 kB"


def test_without_abc_there_is_no_allowance_and_with_it_there_is() -> None:
    points = list(PAPER.points(PAPER.experiments["noms.table_upload"]))
    assert {at["B_MB"] for at in points if at["scheme"] == "abc_old"} == {0, 0.25, 0.5, 0.75, 1, 1.25}
    assert "none" in {at["B_MB"] for at in points if at["scheme"] == "droptail"}


def test_an_upload_that_never_ends_counts_with_the_time_seen() -> None:
    def run(finish_s: float | None) -> dict[str, object]:
        transfers = [{"user": 0, "bytes": 1_000_000, "start_s": 115.0, "finish_s": finish_s}]
        return {"groups": [{"transfers": transfers}], "window_s": [0.0, 415.0]}

    assert METRICS["upload_s"](run(117.5), {"probe_MB": 1}) == 2.5
    assert METRICS["upload_s"](run(None), {"probe_MB": 1}) == 300.0
    assert METRICS["upload_s"](run(117.5), {}) is None


def formula_shares(gamma: float) -> list[Row]:
    experiment = PAPER.experiments["noms.formula"]
    return list(PAPER.computed["noms.formula"](replace(experiment, parameters={"gamma": gamma})))


def test_the_formula_is_that_of_packets_that_the_scheme_drops() -> None:
    above, average, below = (fmean(row.metric("p_A")) for row in formula_shares(3))
    # Users send 4.8, 2.4 and four times 1.2 Mbit/s, 12 Mbit/s in all, over 10 Mbit/s. The excess of 1/6 is dropped,
    # except for Poisson noise.
    assert (4.8 * above + 2.4 * average + 4 * 1.2 * below) / 12 == pytest.approx(1 / 6, abs=0.01)
    assert above > 10 * average > 100 * below


def test_without_gamma_the_formula_drops_of_all_alike() -> None:
    above, average, below = (fmean(row.metric("p_A")) for row in formula_shares(0))
    assert (above, below) == pytest.approx((average, average), rel=0.05)


def test_the_best_gamma_is_closest_to_fair_over_all_rates() -> None:
    udp = PAPER.experiments["noms.udp"]
    ratios = {2: (4.0, 0.25), 3: (2.0, 0.5), 4: (1.0, 0.0)}  # mean |log2| is 2, 1, infinite
    rows = [
        Row({"scheme": "abc_old", "gamma": gamma, "R0_mbps": rate}, {"T_R": (ratio,)})
        for gamma, of_gamma in ratios.items()
        for rate, ratio in zip((5, 10), of_gamma, strict=True)
    ]
    table = PAPER.statistics["noms.udp.gamma3_best"].table({udp.id: PAPER.table(udp, rows)})
    assert table
    assert table.rows[0].samples["T_R"] == (3.0,)


def test_rows_and_columns_of_the_tables_select_points(cli: Cli) -> None:
    (experiment,) = cli.document("reproduce", "noms.table_gamma", *TINY)["experiments"]
    gamma0 = next(claim for claim in experiment["claims"] if claim["claim"].endswith("gamma0"))
    assert gamma0["findings"][0]["checks"] == 4


def test_a_cell_of_the_upload_table_without_abc_is_one_point() -> None:
    at = [at for at in PAPER.points(PAPER.experiments["noms.table_upload"]) if at["scheme"] == "droptail"]
    # The rows without ABC have a cell for each of two delays, two numbers of flows and two numbers of users.
    assert len(at) == 8
    assert {point["B_MB"] for point in at} == {"none"}
