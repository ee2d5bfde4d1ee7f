"""Tests access networks: shares in a tree against progressive filling, input files of LibreQoS, and the page."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import fairlane
from blank import undrawn
from fairlane import Scenario, ScenarioError, group, tcp
from fairlane.report import access_map, figures
from fairlane.results.notes import notes_of
from fairlane.simulate.replications import Pace

EXAMPLES = Path(__file__).parents[2] / "examples"
MBIT = 1e6


def tree(**topology: object) -> Scenario:
    """Two sites, each with two access points with three subscribers, all with unlimited demand."""
    counts = {"kind": "access", "sites": 2, "access_points": 2, "subscribers": 3}
    rates = {
        "gateway_rate": "30 Mbit/s",
        "site_rate": "20 Mbit/s",
        "access_point_rate": "9 Mbit/s",
        "plan": "100 Mbit/s",
    }
    times = {"start_until": "1 s", "rtt": "30 ms"}
    return Scenario(
        "tree",
        group("down", tcp(flows=2), share=1.0, **times),
        group("up", tcp(), share=0.5, direction="up", **times),
        group("local", tcp(), share=0.4, direction="local", start_until="1 s", rtt="10 ms"),
        queue={"scheme": "wfq", "limit": "300 packets"},
        topology={**counts, **rates, **topology},
        run={"warmup": "10 s", "measure": "30 s", "replications": 1},
        probes={"user_rows": True},
    )


def filled(capacities: dict[str, float], routes: list[tuple[list[str], float]]) -> list[float]:
    """Max-min shares by progressive filling: all rates rise together until a link is full or the plan is reached."""
    rates = [0.0] * len(routes)
    rising = set(range(len(routes)))
    while rising:
        steps = [routes[user][1] - rates[user] for user in rising]
        for link, capacity in capacities.items():
            across = [user for user, (route, _) in enumerate(routes) if link in route]
            if moving := rising.intersection(across):
                steps.append((capacity - sum(rates[user] for user in across)) / len(moving))
        step = min(steps)
        for user in rising:
            rates[user] += step
        full = {
            link
            for link, capacity in capacities.items()
            if sum(rates[user] for user, (route, _) in enumerate(routes) if link in route) >= capacity * (1 - 1e-9)
        }
        rising = {
            user
            for user in rising
            if not full.intersection(routes[user][0]) and rates[user] < routes[user][1] * (1 - 1e-9)
        }
    return rates


def test_wfq_gives_the_max_min_shares_that_progressive_filling_finds() -> None:
    run = fairlane.run(tree(), replications=1).runs[0]
    capacities = {"gateway": 30 * MBIT, "site": 20 * MBIT, "ap": 9 * MBIT}
    links = {
        f"{name}/{way}": rate
        for way in ("down", "up")
        for name, rate in (
            ("gateway", capacities["gateway"]),
            *((f"site{site}", capacities["site"]) for site in (1, 2)),
            *((f"site{site}.ap{point}", capacities["ap"]) for site in (1, 2) for point in (1, 2)),
        )
    }
    counts = {group["name"]: group["users"] for group in run["groups"]}
    # Half of the 12 subscribers send upstream, one or two at each access point. A share of 0.4 is local.
    assert counts == {"down": 12, "up": 6, "local": 5}
    found = {one["name"]: one["user_throughput_bps"] for one in run["groups"]}
    shares = {one["name"]: one["max_min_share_bps"] for one in run["groups"]}
    routes, users = [], []
    placed = where(run)
    for name, nodes in placed.items():
        for number, node in enumerate(nodes):
            site, point = node.split(".")
            other = f"{site}.ap{3 - int(point[2:])}"
            route = {
                "down": ["gateway/down", f"{site}/down", f"{node}/down"],
                "up": [f"{node}/up", f"{site}/up", "gateway/up"],
                "local": [f"{node}/up", f"{other}/down"],
            }[name]
            plan = 100.0 if name == "down" else 20.0
            routes.append((route, plan * MBIT))
            users.append((name, number))
    rates = filled(links, routes)
    for (name, number), rate in zip(users, rates, strict=True):
        assert math.isclose(found[name][number], rate, rel_tol=0.03), (name, number, found[name][number], rate)
    for name in counts:
        own = [rate for (other, _), rate in zip(users, rates, strict=True) if other == name]
        assert math.isclose(shares[name], sum(own) / len(own), rel_tol=1e-6)


def where(run: fairlane.results.records.RunRecord) -> dict[str, list[str]]:
    """The access point of each user, by group.

    Only the list of the worst users contains it. A group of this network has at most 20 users, so all are in the list.
    """
    compact = fairlane.run(tree().replace("probes", {"user_rows": False}), replications=1).runs[0]
    nodes = {}
    for one in compact["groups"]:
        worst = one["user_summary"]["worst"]
        assert len(worst) == one["users"] <= 20
        nodes[one["name"]] = [str(user["node"]) for user in sorted(worst, key=lambda user: user["user"])]
    assert run["jain_index"] == compact["jain_index"]
    return nodes


def test_files_of_libreqos_are_read_and_stay_in_the_canonical_scenario(tmp_path: Path) -> None:
    nodes = {"A": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 50, "children": {}}}
    (tmp_path / "network.json").write_text(json.dumps(nodes))
    head = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps\n"
    (tmp_path / "ShapedDevices.csv").write_text(head + "1,A,5,2,50,10\n2,A,5,2,50,10\n3,A,5,2,20,5\n")
    files = {"network": "network.json", "devices": "ShapedDevices.csv"}
    table = {**tree().to_dict(), "topology": {"kind": "access", "files": files}}
    scenario = Scenario.from_dict(table, tmp_path)
    canonical = json.loads(scenario.canonical())
    assert canonical["groups"][0]["users"] == 3
    (tmp_path / "network.json").unlink()
    assert json.loads(Scenario.from_dict(canonical).canonical()) == canonical
    with pytest.raises(ScenarioError, match=r"topology\.files\.network: 'network\.json': No such file"):
        Scenario.from_dict(table, tmp_path).canonical()


NODE = '{"A": {"downloadBandwidthMbps": 100, "uploadBandwidthMbps": 50}}'
HEAD = "Circuit ID,Parent Node,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps\n"


def of_files(folder: Path, network: str, devices: str | bytes, **keys: object) -> Scenario:
    """An access network from two files of LibreQoS with this content. All subscribers use their full plan."""
    (folder / "net.json").write_text(network, encoding="utf-8")
    (folder / "dev.csv").write_bytes(devices if isinstance(devices, bytes) else devices.encode())
    topology = {"kind": "access", "files": {"network": "net.json", "devices": "dev.csv"}}
    flood = group("all", {"kind": "cbr", "rate": "30 Mbit/s"}, start_until="0.5 s")
    run = {"warmup": "1 s", "measure": "4 s", "replications": 1}
    table = Scenario("files", flood, queue="droptail", run=run).to_dict()
    return Scenario.from_dict({**table, "topology": topology, **keys}, folder)


@pytest.mark.parametrize(
    ("network", "devices", "problem"),
    [
        (NODE.replace("100", "0"), "1,A,5,2,50,10", "network: 'net.json': A.downloadBandwidthMbps: 0 is not a rate in"),
        (NODE[:-1], "1,A,5,2,50,10", "network: 'net.json': line 1: not JSON: EOF while parsing"),
        ("{" + f"{NODE[1:-1]},{NODE[1:-1]}" + "}", "1,A,5,2,50,10", "network: 'net.json': line 1: \"A\" comes twice"),
        (NODE.replace("A", "gateway"), "1,A,5,2,50,10", "network: 'net.json': \"gateway\" is reserved"),
        (NODE, "1,B,5,2,50,10", "devices: 'dev.csv': line 2: Parent Node: \"B\" is not a node of network.json"),
        (NODE, ",A,5,2,50,10", "devices: 'dev.csv': line 2: Circuit ID: missing, every circuit needs one"),
        (
            NODE,
            "1,A,5,2,155,20,1",
            "devices: 'dev.csv': line 2: 7 cells, the header has 6; a cell with commas, such as",
        ),
    ],
)
def test_an_error_of_a_file_names_the_file_that_it_is_in(
    network: str, devices: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as caught:
        of_files(tmp_path, network, HEAD + devices).canonical()
    assert str(caught.value).startswith(f"topology.files.{problem}")
    assert "\n" not in str(caught.value)


def test_files_may_begin_with_a_byte_order_mark_and_circuits_without_a_parent_are_noted(tmp_path: Path) -> None:
    devices = f"\ufeff# of spring\n{HEAD}1,A,5,2,50,10\n2,none,5,2,50,10\n3,,5,2,50,10\n"
    scenario = of_files(tmp_path, f"\ufeff{NODE}", devices)
    result = fairlane.run(scenario, replications=1)
    assert result.notes == [
        "topology.files.devices: 2 circuits have no parent node: at the gateway, behind no other link"
    ]
    assert result.runs[0]["groups"][0]["throughput_bps"] == pytest.approx(30 * MBIT, rel=0.01)


def test_least_rates_of_the_files_are_those_of_the_classes(tmp_path: Path) -> None:
    # The sum of their guaranteed rates is the access point's rate: 0.95 * 0.95 * 26.6 Mbit/s = 24 Mbit/s.
    network = NODE.replace("100", "26.6")
    devices = HEAD + "1,A,20,2,30,10\n2,A,4,2,30,10\n"
    queue = {"scheme": "htb", "limit": "50 packets", "leaf": "droptail", "quantum": "1500 B"}
    run = fairlane.run(
        of_files(tmp_path, network, devices, queue=queue, probes={"user_rows": True}), replications=1
    ).runs[0]
    of_file = sorted(run["groups"][0]["user_throughput_bps"])
    # The 5 % between the rate and the ceiling of the class are lent in equal parts.
    beyond = 26.6 * 0.95 * 0.05 / 2
    assert of_file == pytest.approx([(4 + beyond) * MBIT, (20 + beyond) * MBIT], rel=0.02)


def test_encodings_and_line_ends_of_spreadsheets_are_read_and_what_is_ignored_is_named(tmp_path: Path) -> None:
    head = HEAD.replace("Parent Node", "Circuit Name,Parent Node,Anchor Node ID,sqm")
    rows = '1,"Caf\xe9\rBruck",A,,cake,5,2,50,10\r2,Ben,,a,,5,2,50,10\r'
    scenario = of_files(
        tmp_path, NODE.replace("100,", '100, "id": "a", "latitude": 1,'), (head + rows).encode("latin-1")
    )
    result = fairlane.run(scenario, replications=1)
    assert result.notes == [
        'topology.files.network: keys without effect: "latitude"',
        f"topology.files.devices: not UTF-8 at byte {len(head) + 6}: read as Windows-1252 (Latin-1)",
        'topology.files.devices: columns without effect: "Circuit Name", "sqm"',
    ]
    assert result.runs[0]["groups"][0]["users"] == 2
    assert result.runs[0]["groups"][0]["throughput_bps"] == pytest.approx(30 * MBIT, rel=0.01)


@pytest.mark.parametrize("mark", ['"virtual": true', '"type": "virtual"'])
def test_a_virtual_node_limits_nothing(mark: str, tmp_path: Path) -> None:
    network = f'{{"V": {{"downloadBandwidthMbps": 10, "uploadBandwidthMbps": 10, {mark}, "children": {NODE}}}}}'
    scenario = of_files(tmp_path, network, HEAD + "1,A,5,2,50,10\n2,V,5,2,50,10\n")
    result = fairlane.run(scenario, replications=1)
    # Both users get their sending rate; behind a node of 10 Mbit/s each would get 5 Mbit/s.
    assert result.runs[0]["groups"][0]["throughput_bps"] == pytest.approx(30 * MBIT, rel=0.01)
    assert 'topology.files.network: virtual, so they limit nothing: "V"' in result.notes


def test_least_rates_are_assured_where_access_points_have_more_than_their_site(tmp_path: Path) -> None:
    node = '{{"downloadBandwidthMbps": {0}, "uploadBandwidthMbps": {0}{1}}}'
    points = f', "children": {{"S": {node.format(200, "")}, "O": {node.format(200, "")}}}'
    devices = HEAD + "1,S,40,40,50,50\n2,O,1,1,50,50\n3,O,1,1,50,50\n"
    queue = {"scheme": "htb", "limit": "50 packets", "leaf": "droptail", "quantum": "1500 B"}
    scenario = of_files(
        tmp_path, f'{{"T": {node.format(60, points)}}}', devices, queue=queue, probes={"user_rows": True}
    ).replace("groups[0].sources[0].rate", "60 Mbit/s")
    run = fairlane.run(scenario, replications=1).runs[0]
    of_first, *others = run["groups"][0]["user_throughput_bps"]
    # The site has a ceiling of 57 Mbit/s and is assured 54.15 Mbit/s: 40 Mbit/s for the first user and 14.15 Mbit/s for
    # the access point of the others. The difference of 2.85 Mbit/s is lent to the three users in equal parts.
    assert of_first == pytest.approx((40 + 2.85 / 3) * MBIT, rel=0.01)
    assert others == pytest.approx([(14.15 / 2 + 2.85 / 3) * MBIT] * 2, rel=0.02)
    over = of_files(tmp_path, f'{{"T": {node.format(40, points)}}}', devices, queue=queue)
    assert notes_of(over.canonical())[0] == (
        'topology.files.devices: least rates below "T" are 42 Mbit/s together, its class is assured 36.1 Mbit/s down: '
        "nobody there is assured the whole"
    )


def test_counts_beside_files_are_refused(tmp_path: Path) -> None:
    scenario = of_files(tmp_path, NODE, HEAD + "1,A,5,2,50,10\n").replace("topology.plan", "5 Mbit/s")
    with pytest.raises(ScenarioError, match=r'topology\.plan: "5 Mbit/s" has no effect with files'):
        scenario.canonical()


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("groups[0].share", 0.0, "groups[0].share: 0 is out of range, no subscriber falls to it"),
        ("groups[1].node", "site9", 'groups[1].node: "site9" is not a node, there are gateway, site1'),
        ("groups[0].route", ["gateway/down"], "groups[0].route: has no effect on an access network"),
        ("groups[0].users", 5, "groups[0].users: 5 is not what its share gives, 12: leave it out"),
        ("topology.failovers", [{"node": "x", "at": "1 s"}], 'topology.failovers[0].node: "x" is not a node'),
    ],
)
def test_what_does_not_fit_the_tree_is_refused_in_one_line(key: str, value: object, problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        tree().replace(key, value).canonical()
    assert str(caught.value).startswith(problem)


SMALL = {"topology.sites": 2, "topology.access_points": 2, "topology.subscribers": 8, "run.measure": "1 s"}


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_run_has_a_map_and_the_worst_nodes(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(EXAMPLES / "access-network.toml")
    short = scenario.changed(SMALL)
    (tmp_path / "run.json").write_text(fairlane.run(short, replications=1).json())
    page = fairlane.report(tmp_path / "run.json", out=tmp_path / "report").parent / "run-access-network.html"
    html = page.read_text(encoding="utf-8")
    for text in ("Map of the network", "Worst nodes", "State and work", "site1.ap1", "gaming"):
        assert text in html, text


def test_the_page_of_a_comparison_has_a_map_of_each_scheme(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(EXAMPLES / "access-network.toml")
    comparison = fairlane.compare(scenario.changed(SMALL), ["htb", "abc"], replications=1)
    (tmp_path / "compared.json").write_text(comparison.json())
    with undrawn():
        folder = fairlane.report(tmp_path / "compared.json", out=tmp_path / "report").parent
    html = (folder / "comparison-access-network.html").read_text(encoding="utf-8")
    for text in ("Applications", "Worst nodes", "State and work", "Shares of the users", "Under htb the busiest link"):
        assert text in html, text
    assert (folder / "comparison-access-network-map.svg").exists()
    assert '<object class="wide" type="image/svg+xml" data="comparison-access-network-map.svg"' in html
    (table,) = re.findall(r'<h2 id="of-applications">.*?</table>', html, re.DOTALL)
    assert re.findall(r'class="metric">(\w+)', table) in (["htb", "abc"], ["abc", "htb"])
    assert len(re.findall("<td>", table)) == 2 * len(re.findall("<tr>", table)) - 2
    for text in ("video", "bitrate (Mbit/s)", "start-up (s)"):
        assert text in table, text
    assert not re.search("<h2[^>]*>[^<]*(Bitrate|Start-up)", html)  # only in that table
    documents = comparison.document()["results"]
    (drawn,) = access_map.pictures(documents)
    wide = drawn.wide()
    assert len(wide.axes) == 2 * 3 + 3  # a map for each quantity, and its legend
    figures.write(wide, tmp_path / "map", [".svg"])
    assert (tmp_path / "map.svg").stat().st_size < 300_000
    (alone,) = access_map.pictures({"abc": documents["abc"]})
    assert len(alone.wide().axes) == 4 + 3  # both directions have the legend of their links
    many = {f"{scheme}{number}": documents[scheme] for number in range(5) for scheme in documents}
    (drawn,) = access_map.pictures(many)
    assert "the first 8 of 10" in drawn.caption
    assert len(drawn.narrow().axes) == 8 * 3 + 3


def test_a_node_of_the_map_says_what_it_is_where_it_is_pointed_at(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(EXAMPLES / "access-network.toml")
    short = scenario.replace("run.warmup", "15 s").replace("run.measure", "1 s")
    documents = {"abc": fairlane.run(short, replications=1).document()}
    (drawn,) = access_map.pictures(documents)
    figures.write(drawn.wide(), tmp_path / "map", [".svg"])
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    titles = re.findall(r'<g id="described-\d+" pointer-events="all"><title>([^<]*)</title>', svg)
    nodes = documents["abc"]["runs"][0]["access"]["nodes"]
    assert len(titles) == 4 * len(nodes)  # in each of the four maps
    for node, title in zip(nodes, titles, strict=False):
        first, rates, *numbers = title.splitlines()
        assert first == f"{node['name']}, {node['users']} users"
        assert re.fullmatch(r"[\d.]+ Mbit/s to subscribers, [\d.]+ Mbit/s from them", rates)
        assert [line.partition(": ")[0] for line in numbers] == [one.words for one in access_map.OF_ONE]
    assert ElementTree.fromstring(svg).tag.endswith("svg")


def test_names_on_the_map_are_text_and_no_markup() -> None:
    svg = '<g id="described-0"><path/></g><g id="patch_1"/>'
    titled = figures.with_titles(svg, {"described-0": "a <b> & c"})
    assert titled == (
        '<g id="described-0" pointer-events="all"><title>a &lt;b&gt; &amp; c</title><path/></g><g id="patch_1"/>'
    )


def test_colours_and_legend_of_a_map_say_the_same() -> None:
    # From good to bad, for quantities that are bad if large and for those that are bad if small.
    assert access_map.DOWN.steps() == ["below 50 %", "50 to 80 %", "80 to 95 %", "at least 95 %"]
    assert [access_map.DOWN.colour(use) for use in (0.49, 0.5, 0.8, 0.95)] == list(access_map.STEPS)
    assert access_map.SHARE.steps() == ["at least 0.9", "0.7 to 0.9", "0.5 to 0.7", "below 0.5"]
    assert [access_map.SHARE.colour(share) for share in (0.9, 0.89, 0.5, 0.49)] == list(access_map.STEPS)
    assert access_map.SHARE.colour(None) == access_map.NOTHING


def test_the_pace_says_how_long_the_slowest_run_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = iter([100.0, 110.0, 120.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now_s))
    pace = Pace()
    assert pace.say([(1.0, 10.0, 0)]) == "simulated 1 of 10 s in 0 million events"
    # 2 simulated seconds took 10 s, so 7 more take 35 s.
    assert pace.say([(3.0, 10.0, 0), (5.0, 10.0, 0)]).endswith("about 35 s left of it")
    # The estimate starts again for another run.
    assert "left" not in pace.say([(0.5, 10.0, 0)])


def shaped(**queue: object) -> Scenario:
    """One site with one access point, and a shaper at the gateway. Every user sends more than its plan of 10 Mbit/s."""
    flood = {"kind": "cbr", "rate": "30 Mbit/s"}
    topology = {"kind": "access", "sites": 1, "access_points": 1, "subscribers": 4, "gateway_rate": "100 Mbit/s"}
    rates = {"site_rate": "80 Mbit/s", "access_point_rate": "75 Mbit/s", "plan": "10 Mbit/s", "plan_up": "10 Mbit/s"}
    return Scenario(
        "shaped",
        group("right", flood, share=0.5, start_until="0.5 s"),
        group("wrong", flood, share=0.5, start_until="0.5 s", configured_plan="20 Mbit/s"),
        group("up", flood, share=0.5, start_until="0.5 s", direction="up"),
        group("local", {"kind": "cbr", "rate": "12 Mbit/s"}, share=0.25, start_until="0.5 s", direction="local"),
        queue={"scheme": "droptail", "limit": "100 packets"},
        topology={**topology, **rates, "gateway_queue": {"scheme": "htb", "limit": "50 packets", **queue}},
        run={"warmup": "1 s", "measure": "5 s", "replications": 1},
    )


def throughputs(scenario: Scenario) -> dict[str, float]:
    """Throughput per user of each group in Mbit/s."""
    run = fairlane.run(scenario, replications=1).runs[0]
    return {group["name"]: group["throughput_bps"] / MBIT for group in run["groups"]}


def test_a_tree_at_the_gateway_keeps_plans_as_they_are_configured_and_not_what_passes_it_by() -> None:
    found = throughputs(shaped())
    # Two plans of 10 Mbit/s and two of 20 Mbit/s fit below the access point, whose ceiling is 95 % of 75 Mbit/s.
    assert (found["right"], found["wrong"], found["up"]) == pytest.approx((10, 20, 10), rel=0.01)
    # The access point carries upstream and downstream traffic and is not full: 60 of 75 Mbit/s are used in each
    # direction.
    assert found["local"] == pytest.approx(12, rel=0.01)


def test_users_of_a_tree_share_what_their_access_point_has() -> None:
    # The ceiling of the access point is 38 Mbit/s. It is lent equally: 9.5 Mbit/s per user, less than the plans.
    less = {"topology.access_point_rate": "40 Mbit/s", "groups[3].sources[0].rate": "1 Mbit/s"}
    found = throughputs(shaped(quantum="1500 B").changed(less))
    assert (found["right"], found["wrong"]) == pytest.approx((9.5, 9.5), rel=0.02)


def test_the_edge_keeps_plans_where_no_tree_does() -> None:
    found = throughputs(shaped().replace("topology.gateway_queue", {"scheme": "droptail", "limit": "50 packets"}))
    assert (found["right"], found["wrong"], found["local"]) == pytest.approx((10, 20, 10), rel=0.01)
