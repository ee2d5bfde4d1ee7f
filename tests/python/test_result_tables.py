"""Tests tables of results in terminal, notebooks and pages: delays, links and access networks."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import fairlane
from conftest import EXAMPLES, SHORT_SCENARIO
from fairlane import Scenario
from fairlane.report import own_tables
from fairlane.results.access import access_tables, worst_nodes
from fairlane.results.intervals import interval
from fairlane.results.links import link_tables
from fairlane.results.paths import MOST_ROWS, path_tables
from fairlane.results.table import Json, Table, mean, quantile
from fairlane.results.tables import overview_table, overview_tables, summary_tables


@pytest.fixture(scope="module")
def detailed() -> Json:
    """A document with a row for each flow: twelve users with UDP, and one user with five TCP flows."""
    many = SHORT_SCENARIO.replace("groups[1].users", 12).replace("probes.detail", "flow")
    return fairlane.run(many.replace("groups[1].sources[0].rate", "700 kbit/s"), replications=2).document()


@pytest.fixture(scope="module")
def network() -> Json:
    scenario = Scenario.from_toml(EXAMPLES / "access-network.toml").replace("run.measure", "1 s")
    return fairlane.compare(scenario, ["droptail", "abc"], replications=2).document()


def by_title(tables: list[Table]) -> dict[str, Table]:
    return {table.title: table for table in tables if table.rows}


def test_groups_have_percentiles_of_delay_and_rtt(detailed: Json) -> None:
    tables = by_title(path_tables({"abc": detailed}))
    heavy, light = detailed["summary"]["groups"]
    delay = heavy["path"]["one_way_delay"]
    assert tables["One-way delay by group"].rows[0] == [
        "abc",
        "heavy",
        mean(delay["mean_s"], 1e3),
        *(quantile(delay[key], 1e3) for key in ("p50_s", "p95_s", "p99_s")),
        mean(heavy["path"]["lost_share"], 100),
        mean(heavy["path"]["marked_share"], 100),
    ]
    assert light["path"]["rtt"] is None
    assert [row[1] for row in tables["RTT by group"].rows] == ["heavy"]


def test_of_many_users_the_slowest_are_told_and_how_many_there_are(detailed: Json) -> None:
    table = by_title(path_tables({"abc": detailed}))["One-way delay by user"]
    paths = {
        (group["name"], str(user)): path["one_way_delay"]["p99_s"]["mean"]
        for group in detailed["summary"]["groups"]
        for user, path in enumerate(group["user_paths"])
    }
    assert len(paths) == 13
    shown = [(row[1], row[2]) for row in table.rows]
    assert [paths[one] for one in shown] == sorted(paths.values(), reverse=True)[:MOST_ROWS]
    assert table.note == "10 of 13 users, by p99 one-way delay, the longest first; --json has all, users.parquet"
    everybody = by_title(path_tables({"abc": detailed}, 13))["One-way delay by user"]
    assert [(row[1], row[2]) for row in everybody.rows] == list(paths)
    assert everybody.note == ""


def test_flows_are_means_over_the_runs(detailed: Json) -> None:
    table = by_title(path_tables({"abc": detailed}, 100))["One-way delay by flow"]
    assert [row[1:4] for row in table.rows] == [
        *(["heavy", str(flow), "TCP"] for flow in range(5)),
        *(["light", str(flow), "UDP"] for flow in range(12)),
    ]
    delays = [run["groups"][0]["tcp"]["flow_paths"][3]["one_way_delay"] for run in detailed["runs"]]
    # A flow that waits for a timeout during the whole run has no delay.
    assert table.rows[3][5] == str(interval([1e3 * delay["mean_s"] for delay in delays if delay]))


def test_a_scenario_without_detail_has_tables_of_groups_alone() -> None:
    document = fairlane.run(SHORT_SCENARIO, replications=1).document()
    assert list(by_title(path_tables({"abc": document}))) == ["One-way delay by group", "RTT by group"]
    assert access_tables({"abc": document}) == []


def test_a_page_has_the_schemes_of_a_user_below_each_other(detailed: Json) -> None:
    (users,) = [one for one in own_tables.tables({"abc": detailed, "again": detailed}) if "by user" in one.title][:1]
    assert users.keys == ["group", "user", "scheme"]
    assert [row.keys for row in users.rows[:3]] == [
        ["heavy", "0", "abc"],
        ["heavy", "0", "again"],
        ["light", "0", "abc"],
    ]
    (alone,) = [one for one in own_tables.tables({"abc": detailed}) if "by user" in one.title][:1]
    assert alone.keys == ["group", "user"]


def test_of_many_links_the_busiest_are_told(network: Json) -> None:
    documents = network["results"]
    (table,) = link_tables(documents)
    assert table.note == "the 10 busiest of 32 links; --json has all, and links.parquet of --out"
    use = {
        link["name"]: max(document["summary"]["links"][index]["utilisation"]["mean"] for document in documents.values())
        for index, link in enumerate(documents["abc"]["summary"]["links"])
    }
    assert list(dict.fromkeys(row[0] for row in table.rows)) == sorted(use, key=lambda name: (-use[name], name))[:10]
    overview = overview_table(network["overview"])
    assert [row[1] for row in overview.rows] == 3 * sorted(use, key=lambda name: (-use[name], name))[:3]
    assert overview.note.endswith("the 3 busiest of 32 links; --json has all, and links.parquet of --out")


def test_an_access_network_tells_of_users_applications_and_nodes(network: Json) -> None:
    documents = network["results"]
    titles = list(by_title(summary_tables({"abc": documents["abc"]})))
    wanted = ["Shares of the users", "Worst users", "Applications", "Worst nodes", "State and work", "Busiest links"]
    assert [title for title in titles if title in wanted] == wanted
    assert sum(len(table.rows) for table in summary_tables({"abc": documents["abc"]})) < 80  # one of 207 lines before
    brief = by_title(overview_tables(network))
    assert {"Shares of the users", "Applications", "Worst nodes"} <= brief.keys()
    shares = brief["Shares of the users"]
    found = [run["groups"][1]["user_summary"]["share"]["p50"] for run in documents["abc"]["runs"]]
    (row,) = [row for row in shares.rows if row[:2] == ["abc", "viewers"]]
    assert row[6] == str(interval(found))
    applications = brief["Applications"].rows
    assert [row[:2] for row in applications[:2]] == [["web", "droptail"], ["web", "abc"]]


def with_shares(document: Json, shares: dict[str, tuple[float, float]]) -> Any:
    """A document with given percentiles (5th and median) of users' shares below some nodes; other nodes have 1."""
    changed = copy.deepcopy(dict(document))
    for run in changed["runs"]:
        for node in run["access"]["nodes"]:
            node["share"] = dict(zip(("p5", "p50"), shares.get(node["name"], (1.0, 1.0)), strict=True))
    return changed


def test_equally_bad_nodes_are_in_order_of_the_median_and_then_of_the_name(network: Json) -> None:
    shares = {"site2.ap1": (0.0, 0.5), "site1.ap2": (0.0, 0.5), "site3.ap3": (0.0, 0.2), "site3": (0.1, 0.1)}
    document = with_shares(network["results"]["abc"], shares)
    assert [row[1] for row in worst_nodes({"abc": document}).rows[:4]] == [
        "site3.ap3",
        "site1.ap2",
        "site2.ap1",
        "site3",
    ]
    # In a comparison, the worse value of a node decides.
    other = with_shares(network["results"]["abc"], {"site3.ap4": (-1.0, 1.0)})
    table = worst_nodes({"abc": document, "other": other})
    assert [row[0] for row in table.rows[:2]] == ["site3.ap4", "site3.ap3"]
    assert table.heads == [
        "node",
        "users",
        ("abc", "share p5"),
        ("other", "share p5"),
        ("abc", "share p50"),
        ("other", "share p50"),
    ]
