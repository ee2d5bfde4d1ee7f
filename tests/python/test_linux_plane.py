"""Tests the plane `linux`: plans, rejections, records and errors without a kernel; determinism with a kernel, if one
was built."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import polars as pl
import pytest

import fairlane
from conftest import EXAMPLES, ROOT, Cli, execute
from fairlane import Scenario, cbr, group, on_off, poisson, tcp
from fairlane.base.errors import UserError
from fairlane.cli.main import commands
from fairlane.lab import difference
from fairlane.lab.comparison import compare
from fairlane.linux import capture, disciplines, guest, keys, plan, runs
from fairlane.linux.disciplines import DISCIPLINES, Fixed, Link
from fairlane.linux.plan import Extra
from fairlane.linux.record import lacks, record
from fairlane.results.metrics import metric_names, metrics
from fairlane.simulate.catalogue import schemes

RECORDED = Path(__file__).parent / "linux_plane"

FAKE = f"""\
#!{sys.executable}
import json, os, sys, time
from pathlib import Path

MODE = os.environ.get("FAKE", "") or Path(__file__).with_name("mode").read_text()
plan = [line.split() for line in Path("plan").read_text().splitlines()]
seed = int(next(word for word in sys.argv if word.startswith("fairlane.seed=")).split("=")[1])
assert Path("init").resolve().exists()
assert "tmp" not in " ".join(sys.argv[1:]), "a path would seed random numbers"
if MODE == "panic":
    print("Kernel panic - not syncing: out of memory\\nmore")
elif MODE == "hang":
    print("booting", flush=True)
    if os.fork() == 0:
        time.sleep(300)
    time.sleep(300)
elif MODE == "error":
    Path("error").write_text("tc qdisc add dev l0 root codel: no such thing\\n")
elif MODE == "nothing":
    pass
else:
    begin, end = map(int, plan[0][1:])
    user = dict.fromkeys(["arrived_packets", "sent_packets", "delay_most_ns"], 10 + seed % 3)
    user |= {{"arrived_bytes": 15000, "sent_bytes": 15000, "dropped_packets": 1, "dropped_bytes": 1500}}
    user |= {{"marked_packets": 0, "delay_ns": 100, "delay_histogram": [[10, 10]]}}
    user |= dict.fromkeys(["lost_packets", "lost_bytes", "sending_ns", "held_ns"], 0)
    paths = [words for words in plan if words[0] == "path"]
    links = [
        {{
            "name": "l" + words[1], "sent_packets": 10, "sent_bytes": 15000, "busy_ns": end - begin,
            "queue_packet_ns": end - begin, "queue_byte_ns": 0, "queue_most_packets": 1,
            "queue_histogram": [[1, end - begin]], "drops": [[1, 1500], [0, 0], [0, 0], [0, 0]],
            "users": [{{"host": int(path[1]), **user}} for path in paths if words[1] in path[4:]],
        }}
        for words in plan if words[0] == "link"
    ]
    flows = [
        {{"kind": words[0], "received_bytes": 1000, "retransmitted_segments": 0, "sent_packets": 5,
          "received_packets": 5, "transfers": []}}
        for words in plan if words[0] in ("tcp", "udp")
    ]
    found = {{"schema": 1, "release": "6.12.0-fake", "window_ns": [begin, end], "links": links, "flows": flows}}
    Path("result.json").write_text(json.dumps(found))
"""


@dataclass
class Fake:
    """A script instead of a kernel, with the interface of `fairlane.kernel.Built`."""

    linux: Path
    init: Path
    version: str = "6.12"
    release: str = "6.12.0-fake"
    identity: str = "fake"

    def does(self, mode: str) -> "Fake":
        self.linux.with_name("mode").write_text(mode)
        return self


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake(tmp_path / "linux", tmp_path / "init")
    made.linux.write_text(FAKE)
    made.linux.chmod(0o755)
    made.init.touch()
    monkeypatch.setattr(runs, "find", lambda _: made)
    return made.does("result")


def scenario(*groups: dict[str, Any], **changes: Any) -> Scenario:
    """A small scenario that the plane supports."""
    found = Scenario("small", *(groups or (group("a", tcp(), start_until="0.1 s"),)), queue="droptail")
    found = found.changed({"tcp.profile": "linux", "run.warmup": "1 s", "run.measure": "1 s", "run.replications": 2})
    return found.changed(changes)


def text(of: Scenario, replication: int = 0) -> str:
    canonical = of.canonical()
    plan.check(canonical)
    return plan.made(canonical, replication).text


def of_scheme(name: str) -> dict[str, Any]:
    """The table of a scheme. Where the kernel does not support a default, the table has the kernel's value."""
    found: dict[str, Any] = scenario().replace("queue", {"scheme": name}).to_dict()["queue"]
    table: dict[str, Any] = json.loads(Scenario("x", group("a", tcp()), queue=found).canonical())["queue"]
    for key, rule in DISCIPLINES[name].rules.items():
        if isinstance(rule, Fixed) and table.get(key) not in rule.values:
            table[key] = rule.values[0]
    if name == "cake":
        table["quantum"] = "1514 B"
    if name == "dualpi2":
        table |= {"step_end": table["step_start"], "classic_share": 0.1}
    return table


def test_the_plan_of_an_example_is_the_recorded_one() -> None:
    example = Scenario.from_toml(EXAMPLES / "two-users.toml").replace("queue", {"scheme": "codel"})
    assert text(example, 1) == (RECORDED / "two-users.plan").read_text()


def test_links_of_every_topology_are_devices() -> None:
    lot = Scenario.from_toml(EXAMPLES / "parking-lot.toml").replace("queue", {"scheme": "droptail", "limit": "50 kB"})
    lines = text(lot).splitlines()
    assert lines[1:3] == ["link 0 10000000 1000000", "link 1 10000000 1000000"]
    assert "tc qdisc add dev l1 root bfifo limit 50000" in lines
    # The first user crosses both links after its own access link; datagrams have no reverse path.
    assert "path 0 21 0 2 0 1" in lines
    assert "path 1 22 0 3 0" in lines
    assert "path 11 32 0 13 1" in lines
    graph = Scenario.from_toml(EXAMPLES / "graph.toml").changed({"queue": {"scheme": "pie"}, "tcp.profile": "linux"})
    graph = graph.replace("probes", {})
    lines = text(graph).splitlines()
    assert "tc qdisc add dev l0 root pfifo limit 100" in lines
    assert any(line.startswith("tc qdisc add dev l2 root pie limit 24") for line in lines)
    assert any(line.startswith("path 0 10 ") and line.endswith(" 3 0 2") for line in lines)


def test_acks_take_the_delays_back_and_the_time_of_their_bytes() -> None:
    users = group("a", tcp(), rtt="50 ms", start_until="0.1 s")
    lines = text(scenario(users, **{"topology.bottleneck_delay": "5 ms"})).splitlines()
    sent_ns = 52 * 8 * 100 + 52 * 8 * 10  # at 10 and at 100 Mbit/s
    assert f"path 0 1 {25_000_000 + sent_ns} 1 0" in lines
    assert "link 1 100000000 20000000" in lines


def test_starts_are_those_of_the_simulator() -> None:
    drawn = scenario(group("a", tcp(flows=2), users=2, start_from="0.1 s", start_until="0.9 s"))
    found = [int(line.split()[5]) for line in text(drawn).splitlines() if line.startswith("tcp ")]
    layout = json.loads(fairlane._fairlane.layout(drawn.canonical(), 0))
    assert found == [round(flow["start_ps"] / 1000) for flow in layout["tcp"]]
    assert all(100_000_000 <= start <= 900_000_000 for start in found)
    others = [int(line.split()[5]) for line in text(drawn, 1).splitlines() if line.startswith("tcp ")]
    assert not set(found) & set(others)


def test_tcp_keys_become_options_of_sockets_and_namespaces() -> None:
    source = tcp(
        transfer="1 MB",
        repeat=3,
        pause="20 ms",
        stop="1.5 s",
        congestion_control="reno",
        ecn=True,
        segment_payload=1000,
        after_idle="keep",
        tlp=False,
        frto=False,
        min_rto="100 ms",
        tso="0 B",
        socket_buffer="1 MB",
        app_rate="3 Mbit/s",
        app_limited_from="0.5 s",
    )
    lines = text(scenario(group("a", source, start_until="0 s"))).splitlines()
    back_ns = next(line for line in lines if line.startswith("path 0 1 ")).split()[3]
    assert f"tcp 0 1 reno 1 0 1500000000 1000000 3 20000000 1012 {back_ns} 3000000 500000000 0" in lines
    assert "host 0 no-tso" in lines
    settings = dict(line.split(maxsplit=3)[2:] for line in lines if line.startswith("sysctl 0 "))
    assert settings == {
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_wmem": "4096 8000000 8000000",
        "net.ipv4.tcp_notsent_lowat": "1000000",
        "net.ipv4.tcp_slow_start_after_idle": "0",
        "net.ipv4.tcp_frto": "0",
        "net.ipv4.tcp_early_retrans": "0",
        "net.ipv4.tcp_rto_min_us": "100000",
    }


def test_udp_keys_become_a_line() -> None:
    bursts = on_off("8 Mbit/s", on="0.1 s", off="0.2 s", distribution="pareto", shape=1.2)
    steady = cbr("2 Mbit/s", packet_size="500 B", jitter=0.5, ecn="ect1")
    of_users = scenario(group("a", steady, poisson("1 Mbit/s", stop="1.5 s"), bursts))
    lines = [line.split() for line in text(of_users).splitlines() if line.startswith("udp ")]
    drawn = json.loads(fairlane._fairlane.layout(of_users.canonical(), 0))["udp"]
    first, second, third = [
        [str(one["start_ps"]), stop, str(one["seed"])]
        for one, stop in zip(drawn, ("0", "1500000000", "0"), strict=True)
    ]
    assert lines == [
        ["udp", "0", "1", "cbr", "2000000000", "500", "1", *first, "0.5"],
        ["udp", "0", "1", "poisson", "12000000000", "1500", "0", *second],
        ["udp", "0", "1", "on_off", "1000000000", "1000", "0", *third, "100000000000", "200000000000", "1.2"],
    ]


def test_keys_of_a_changing_link_become_lines() -> None:
    users = group("a", tcp(), users=2, access_jitter={"deviation": "1 ms", "distribution": "normal"})
    loss = {"model": "gilbert_elliott", "p": "25 %", "r": "50 %", "until": "2.5 s"}
    detour = {"delay": "50 ms", "from": "1 s"}
    steps = [{"at": "1.5 s", "rate": "1 Mbit/s"}, {"at": "1.7 s", "rate": "10 Mbit/s"}]
    of_link = {"topology.bottleneck_loss": loss, "topology.bottleneck_detour": detour}
    lines = text(scenario(users, **of_link, **{"topology.bottleneck_schedule": steps})).splitlines()
    assert lines[2:4] == ["rate 0 1500000000 1000000", "rate 0 1700000000 10000000"]
    # Jitter replaces the delay of the device in front of it.
    assert "link 1 100000000 0" in lines
    streams = [line.split() for line in lines if line.startswith("stream ")]
    assert [words[2:] for words in streams] == [["-", "0", "1"], ["normal", "1000000000", "2"]]
    quarter = 1 << 50
    assert [line for line in lines if line.startswith("impair ")] == [
        f"impair 0 0 2 {quarter} {2 * quarter} 0 {4 * quarter} 0 0 50000000 1000000000 {1 << 62} 0 2500000000 0 0",
        f"impair 1 1 0 0 0 0 0 1 100000 0 0 0 0 0 0 {1 << 62}",
        f"impair 2 1 0 0 0 0 0 1 100000 0 0 0 0 0 0 {1 << 62}",
    ]


def test_a_trace_becomes_lines_that_the_guest_can_read(tmp_path: Path) -> None:
    times = [time for time in range(1, 400, 2) for _ in range(1 + time % 4)]
    (tmp_path / "a.up").write_text("".join(f"{time}\n" for time in times))
    of_trace = scenario().changed({"topology.bottleneck_trace": {"file": str(tmp_path / "a.up")}})
    lines = [line for line in text(of_trace).splitlines() if line.startswith("opportunities ")]
    assert len(lines) > 1
    assert max(map(len, lines)) < 500
    words = [word for line in lines for word in line.split()[3:]]
    gaps = [int(gap) for word in words for gap in [word.split("*")[0]] * int(f"{word}*1".split("*")[1])]
    assert list(itertools.accumulate(gaps)) == times


@pytest.mark.parametrize("name", DISCIPLINES)
def test_every_parameter_of_a_scheme_has_a_rule(name: str) -> None:
    (scheme,) = schemes(name)
    assert {param["name"] for param in scheme["params"]} == set(DISCIPLINES[name].rules)


@pytest.mark.parametrize("name", [name for name in DISCIPLINES if name != "dualpi2"])
def test_tc_takes_what_a_scheme_becomes(name: str) -> None:
    link = Link("nosuchdevice", 10_000_000, of_scheme(name), users=[("10.1.0.1", 1.0, "BE")])
    for words in disciplines.commands(link):
        done = subprocess.run(["tc", *words], capture_output=True, text=True, check=False)
        assert 'Cannot find device "nosuchdevice"' in done.stderr, (words, done.stderr)


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in DISCIPLINES for key, rule in DISCIPLINES[name].rules.items() if isinstance(rule, Fixed)],
)
def test_a_parameter_without_an_option_must_be_the_kernels(name: str, key: str) -> None:
    table = {**of_scheme(name), key: "another"}
    with pytest.raises(UserError, match=rf'^queue\.{key}: "another", Linux has '):
        disciplines.commands(Link("l0", 10_000_000, table))


def test_the_automatic_bin_of_sfb_is_rounded_as_in_the_simulator() -> None:
    (words,) = disciplines.commands(Link("l0", 10_000_000, {**of_scheme("sfb"), "limit": "42 packets"}))
    assert words[words.index("target") + 1] == "4"  # packets: 1.5 * 42 / 16 = 3.94, rounded


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("abc", {}, 'queue.scheme: "abc", the plane linux has droptail, red,'),
        ("drr", {}, 'queue.scheme: "drr", sch_drr has a buffer for each class'),
        ("codel", {"limit": "36000 B"}, 'queue.limit: "36000 B", the kernel counts in packets here'),
        ("red", {"weight": 0.003}, "queue.weight: 0.003, the kernel takes powers of two"),
        ("red", {"min_th": "0 packets"}, "queue.min_th: .*adaptive RED has other rules"),
        ("pie", {"alpha": 0.1}, "queue.alpha: 0.1, the kernel takes sixteenths"),
        ("pie", {"delay": "link_rate"}, 'queue.delay: "link_rate", the kernel does not know the rate'),
        ("cake", {"quantum": None}, "queue.quantum: absent, CAKE without a shaper has 1514 B"),
        ("cake", {"target": "6 ms"}, "queue.target: .* `rtt` makes it a 20th of the interval"),
        ("sfb", {"profile": "ns"}, '^queue.profile: "ns", Linux has "linux": sfb_enqueue$'),
        ("red", {"profile": "ns", "weight": 0.003}, "^queue.profile: .*; queue.weight: 0.003, the kernel takes powers"),
        ("fq_codel", {"fresh": 1}, "queue.fresh: 1, the plane linux does not know this key"),
        ("dualpi2", {"step_end": "2 ms"}, "queue.step_end: .* the kernel has one threshold"),
        ("dualpi2", {"classic_share": 0.0625}, "queue.classic_share: 0.0625, the kernel takes whole percents"),
    ],
)
def test_a_queue_that_the_kernel_has_not_is_refused(name: str, changes: dict[str, Any], message: str) -> None:
    table = {**(of_scheme(name) if name in DISCIPLINES else {"scheme": name}), **changes}
    table = {key: value for key, value in table.items() if value is not None or key not in changes}
    with pytest.raises(UserError, match=message):
        disciplines.commands(Link("l0", 10_000_000, table))


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("droptail", "62500 B", "bfifo limit 62500"),
        # 41 full packets fit in 62500 bytes; each takes 2304 bytes of memory.
        ("fq_codel", "62500 B", "memory_limit 94464 limit 1048576"),
        ("fq_codel", "41 packets", "memory_limit 1073741824 limit 41"),
        ("htb", "62500 B", "bfifo limit 62500"),
        ("htb", "41 packets", "pfifo limit 41"),
    ],
)
def test_a_limit_in_bytes_is_one_where_the_kernel_has_it(name: str, limit: str, words: str) -> None:
    link = Link("nosuchdevice", 10_000_000, {**of_scheme(name), "limit": limit}, users=[("10.1.0.1", 1.0, "BE")])
    found = disciplines.commands(link)
    assert sum(words in " ".join(command) for command in found) == 1
    for command in found:
        done = subprocess.run(["tc", *command], capture_output=True, text=True, check=False)
        assert 'Cannot find device "nosuchdevice"' in done.stderr, (command, done.stderr)


def test_a_scenario_of_init_runs_on_this_plane_too(cli: Cli, workdir: Path) -> None:
    cli.output("init", "mine.toml", "--scheme", "droptail")
    plan.check(Scenario.from_toml(workdir / "mine.toml").canonical())


def test_all_keys_that_the_plane_has_not_are_in_one_message() -> None:
    changes = {
        "tcp.delayed_ack": 1,
        "probes.series_interval": "0.5 s",
        "queue": {"scheme": "fq_codel", "drop_batch": 64},
    }
    other = group("b", tcp(congestion_control="copa"), tcp(congestion_control="copa"), cbr("1 Mbit/s", ecn="ect1"))
    wrong = scenario(group("a", fairlane.web(interval="1 s")), other).changed(changes)
    with pytest.raises(UserError) as error:
        plan.check(wrong.canonical())
    assert str(error.value).split("; ") == [
        "tcp.delayed_ack: 1, Linux has no option for it that the plane uses: leave it as in the profile linux",
        'probes.series_interval: "500 ms", the plane linux has no time series: leave it out',
        'groups[0].sources[0].kind: "web", the plane linux has tcp, cbr, poisson, on_off',
        'groups[1].sources[0].congestion_control, groups[1].sources[1].congestion_control: "copa", the plane linux has '
        "reno, cubic, bbr1, dctcp, vegas",
        'queue.short_queue: "own", Linux has "port": codel_should_drop compares the backlog of the whole qdisc (set '
        '"port")',
    ]
    # The problems of several scenarios are listed together, each once. An unsupported profile is a single problem.
    with pytest.raises(UserError) as error:
        plan.check(wrong.canonical(), wrong.replace("queue", {"scheme": "codel", "limit": "9 kB"}).canonical())
    assert str(error.value).endswith('queue.limit: "9000 B", the kernel counts in packets here: set "6 packets"')
    with pytest.raises(UserError) as error:
        plan.check(scenario().replace("tcp.profile", "ns2").canonical())
    assert str(error.value) == 'tcp.profile: "ns2", the plane linux has the TCP of a kernel: set "linux"'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tcp.profile": "ns2"}, 'tcp.profile: "ns2", the plane linux has the TCP of a kernel: set "linux"'),
        ({"tcp.delayed_ack": 1}, "tcp.delayed_ack: 1, Linux has no option for it"),
        ({"tcp.initial_window": 4}, "tcp.initial_window: 4, Linux has no option for it"),
        ({"tcp.after_idle": "restart"}, r"groups\[0\].sources\[0\].after_idle: .* has decay, keep"),
        ({"tcp.congestion_control": "copa"}, "congestion_control: .*the plane linux has reno, cubic, bbr1"),
        ({"tcp.segment_payload": 4000}, "segment_payload: 4000, packets have 1500 bytes at most"),
        ({"probes.series_interval": "0.1 s"}, "probes.series_interval: .*no time series"),
        ({"topology.reverse": {"rate": "1 Mbit/s"}}, "topology.reverse: .*the plane linux has no reverse link"),
        (
            {"topology.bottleneck_slot": {"min": "1 ms"}},
            "topology.bottleneck_slot: .*have loss, jitter and detours only",
        ),
        (
            {"groups[0].access_corrupt": {"probability": 1}},
            r"groups\[0\].access_corrupt: .*loss, jitter and detours only",
        ),
        ({"groups[0].weight": 2.0}, r"groups\[0\].weight: 2, of the kernel's schemes only htb has weights"),
        ({"groups[0].ingresses": 2}, r"groups\[0\].ingresses: 2, the plane linux has no edge"),
        ({"groups[0].users": 2000}, "groups: 2000 users, with 1 links the plane linux can have 1023"),
        ({"queue": {"scheme": "abc"}}, 'queue.scheme: "abc"'),
        ({"marker": {"scheme": "abc"}}, 'marker.scheme: "abc", the plane linux has no edge'),
    ],
)
def test_what_the_plane_has_not_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan.check(scenario().changed(change).canonical())


def test_sources_of_a_user_must_agree_on_what_its_host_decides() -> None:
    both = group("a", tcp(), tcp(ecn=True), start_until="0.1 s")
    with pytest.raises(UserError, match=r"groups\[0\].sources\[1\].ecn: true, sources of a user are on one host"):
        plan.check(scenario(both).canonical())


def test_other_sources_are_refused() -> None:
    canonical = scenario(group("a", fairlane.web(interval="1 s"))).canonical()
    with pytest.raises(
        UserError, match=r'groups\[0\].sources\[0\].kind: "web", the plane linux has tcp, cbr, poisson, on_off'
    ):
        plan.check(canonical)


def test_a_scenario_without_tcp_may_have_any_profile() -> None:
    plan.check(scenario(group("a", cbr("1 Mbit/s"))).replace("tcp.profile", "ns2").canonical())


def test_every_key_has_a_rule() -> None:
    schema = json.loads(fairlane._fairlane.scenario_schema())["properties"]
    for section in ("run", "topology", "tcp", "probes"):
        known = {key.partition(".")[2] for key in keys.RULES if key.startswith(f"{section}.")}
        assert known == set(schema[section]["properties"])
    of_groups = {key.removeprefix("groups[].") for key in keys.RULES if key.startswith("groups[].")}
    assert of_groups >= set(schema["groups"]["items"]["properties"]) - {"sources"}


def test_metrics_that_the_plane_lacks_are_null_in_its_records() -> None:
    found, scenario = metrics(recorded()), (RECORDED / "scenario.toml")
    names = metric_names(Scenario.from_toml(scenario).canonical())
    lacking = [name for name in names if lacks(name)]
    assert {name.partition(".")[0] for name in lacking} >= {"one_way_delay_p99_s", "rtt_mean_s", "state_bytes"}
    assert not any(found.get(name) for name in lacking)
    present = {name for name, value in found.items() if value is not None}
    assert {"one_way_delay_mean_s.a", "throughput_bps.a", "utilisation.bottleneck"} <= present - set(lacking)


def test_the_record_of_a_recorded_result() -> None:
    found = recorded()
    (first, second, third) = found["groups"]
    assert found["lab"] == {"plane": "linux", "kernel": "6.12", "identity": "recorded"}
    link = found["links"][0]
    result = json.loads((RECORDED / "result.json").read_text())
    window_s = 4.0
    assert link["utilisation"] == pytest.approx(result["links"][0]["busy_ns"] / 4e9)
    assert link["queue"]["mean_packets"] == pytest.approx(
        sum(index * share for index, share in enumerate(link["queue"]["distribution"])), rel=1e-6
    )
    assert sum(link["queue"]["distribution"]) == pytest.approx(1)
    sent = [user["sent_packets"] for user in result["links"][0]["users"]]
    assert [one["path"]["delivered_packets"] for one in found["groups"]] == sent
    assert first["goodput_bps"] == pytest.approx(
        8 / window_s * sum(flow["received_bytes"] for flow in result["flows"][:2])
    )
    # A packet of 1500 bytes has 1448 of payload.
    assert first["goodput_bps"] / first["throughput_bps"] == pytest.approx(1448 / 1500, rel=0.01)
    assert sum(first["tcp"]["flow_throughput_bps"]) == pytest.approx(first["throughput_bps"])
    assert first["path"]["smoothed_rtt"]["mean_s"] == pytest.approx(0.024, abs=0.003)
    assert second["transfer_times"]["completed"] == sum(one["completed"] for one in second["transfer_times"]["by_time"])
    assert second["transfer_times"]["completed"] == sum(one["completed"] for one in second["transfer_times"]["by_size"])
    assert second["transfer_times"]["completed"] > 0
    assert second["transfer_times"]["slowdown"]["mean"] > 1
    assert third["udp"]["sent_bps"] == pytest.approx(1e6, rel=0.01)
    # A packet may be behind the link when the measurement begins or ends.
    assert third["path"]["delivered_packets"] == pytest.approx(third["udp"]["received_packets"], abs=1)
    # The delay consists of the queue of the other users, the serialisation of a full packet on both links, and 5.1 ms.
    way_s = third["path"]["one_way_delay"]["mean_s"]
    assert way_s == pytest.approx(link["delay"][0]["mean_s"] + 12e-4 + 12e-5 + 5.1e-3, rel=0.1)
    p50, p95 = link["delay"][0]["p50_s"], link["delay"][0]["p95_s"]
    assert p50 < link["delay"][0]["mean_s"] < p95 < link["delay"][0]["max_s"]


def test_a_record_has_the_tables_of_the_simulators() -> None:
    from fairlane.results.frames import all_frames
    from fairlane.results.kept import Kept
    from fairlane.results.result import Result

    canonical = Scenario.from_toml(RECORDED / "scenario.toml").replace("run.replications", 1).canonical()
    result = Result.of(canonical, [Kept(json.dumps(recorded(), separators=(",", ":")), None)])
    assert set(all_frames([result])) >= {"runs", "users", "flows", "links", "transfers"}
    assert result.summary["links"][0]["utilisation"]["mean"] == pytest.approx(1, abs=0.01)


def test_a_transfer_that_is_open_has_started_and_not_completed() -> None:
    result = json.loads((RECORDED / "result.json").read_text())
    before = recorded()["groups"][1]["transfer_times"]
    result["flows"][2]["transfers"].append([5_900_000_000, 0])
    after = recorded(result)["groups"][1]["transfer_times"]
    assert (after["started"], after["completed"]) == (before["started"] + 1, before["completed"])
    assert after["offered_bps"] > before["offered_bps"]
    assert after["by_size"] == before["by_size"]


def recorded(result: dict[str, Any] | None = None) -> dict[str, Any]:
    """The record from `result.json`, which a kernel wrote for replication 0 of `scenario.toml`."""
    canonical = Scenario.from_toml(RECORDED / "scenario.toml").canonical()
    result = result or json.loads((RECORDED / "result.json").read_text())
    about = {"kernel": "6.12", "identity": "recorded"}
    samples = (RECORDED / "info.csv").read_text()
    found: dict[str, Any] = json.loads(record(canonical, 0, plan.made(canonical, 0), result, samples, about))
    return found


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("panic", "the guest's kernel: Kernel panic - not syncing: out of memory"),
        ("hang", "the guest: no end within 0.5 s, last line: booting"),
        ("error", "the guest: tc qdisc add dev l0 root codel: no such thing"),
        ("nothing", "the guest: ended without a result, and said nothing"),
    ],
)
def test_a_guest_without_a_result_is_reported_in_a_line(fake: Fake, mode: str, message: str) -> None:
    made = plan.made(scenario().canonical(), 0)
    limit = 0.5 if mode == "hang" else 30.0
    with pytest.raises(guest.GuestError) as error:
        guest.run(fake.does(mode), made, Event(), limit=limit)
    assert str(error.value) == message
    assert nothing_runs(fake)


def test_a_kernel_that_cannot_be_started_is_reported(fake: Fake) -> None:
    fake.linux.chmod(0o644)
    with pytest.raises(guest.GuestError, match="linux: Permission denied"):
        guest.run(fake, plan.made(scenario().canonical(), 0), Event())


def nothing_runs(fake: Fake) -> bool:
    """True if no process of the script is left."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str(fake.linux).encode() in (entry / "cmdline").read_bytes()
                and (entry / "stat").read_text().split()[2] != "Z"
            ):
                return False
        except OSError:
            continue
    return True


def test_runs_are_kept_and_resumed(fake: Fake, tmp_path: Path) -> None:
    store = tmp_path / "store"
    found = fairlane.run(scenario(), plane="linux", store=store)
    assert len(found.runs) == 2
    assert found.runs[0]["lab"]["plane"] == "linux"
    assert not store.exists()
    first = compare(scenario(), ["droptail"], planes=["linux"], store=store)
    fake.does("panic")
    again = compare(scenario(), ["droptail"], planes=["linux"], store=store)
    assert [run for one in again for run in one.result.runs] == [run for one in first for run in one.result.runs]
    with pytest.raises(guest.GuestError):
        compare(scenario(), ["pie"], planes=["linux"], store=store)
    fake.identity = "another"
    with pytest.raises(guest.GuestError):
        compare(scenario(), ["droptail"], planes=["linux"], store=store)


@pytest.mark.usefixtures("fake")
def test_a_scheme_may_have_parameters_of_its_own(tmp_path: Path) -> None:
    queues = ["fq_codel:short_queue=port", "red:profile=linux"]
    found = compare(scenario(), queues, planes=["linux"], store=tmp_path)
    assert [one.queue for one in found] == queues
    assert set(found[0].result.users_frame()["queue"]) == {queues[0]}
    frame = found.summary_frame()
    assert frame.columns[:2] == ["plane", "queue"]
    assert set(frame.select("plane", "queue").rows()) == {("linux", queue) for queue in queues}
    goodput = frame.filter(queue=queues[1], metric="goodput_bps")["mean"]
    assert list(goodput) == [found[1].metrics()[f"goodput_bps.{group}"].mean for group in "a"]
    with pytest.raises(UserError, match=r'queue\.short_queue: "own", Linux has "port"'):
        compare(scenario(), ["fq_codel"], planes=["linux"], store=tmp_path)


def test_ctrl_c_ends_all_guests_and_keeps_what_has_finished(fake: Fake, tmp_path: Path) -> None:
    store, code = tmp_path / "store", tmp_path / "code.py"
    code.write_text(
        textwrap.dedent(f"""\
        import sys
        from pathlib import Path
        from types import SimpleNamespace
        sys.path.insert(0, {str(ROOT / "tests" / "python")!r})
        from fairlane.linux import runs
        linux = Path({str(fake.linux)!r})
        runs.find = lambda _: SimpleNamespace(linux=linux, init=linux, release="fake", identity="fake")
        from fairlane.cli.main import main
        main()
        """)
    )
    toml = tmp_path / "small.toml"
    toml.write_text(scenario().to_toml())
    command = [sys.executable, str(code), "lab", "compare", str(toml), "--queues", "droptail", "--plane", "linux"]
    fake.does("hang")
    with subprocess.Popen([*command, "--store", str(store)], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while nothing_runs(fake) and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "interrupted: 0 of 2 runs" in said
    assert nothing_runs(fake)


def test_nothing_of_a_run_is_left(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    fairlane.run(scenario(), plane="linux")
    fake.does("error")
    with pytest.raises(guest.GuestError):
        fairlane.run(scenario(), plane="linux")
    assert not list(own.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plane": "forwarder"}, 'plane: "forwarder" runs in real time; use `fairlane lab compare --plane forwarder`'),
        ({"plane": "lunix"}, 'plane: "lunix" is not one of linux, simulator'),
        ({"plane": "linux", "qlog": "t.qlog"}, "qlog: has no effect on the plane linux"),
        ({"plane": "linux", "trace": "t", "link": "bottleneck"}, "link: has no effect on the plane linux without pcap"),
        ({"plane": "linux", "pcap": "t", "link": "l0"}, "--link: l0 is not a link"),
        (
            {"plane": "linux", "trace": "t", "trace_interval": "0 s"},
            "trace_interval: 0 s, the plane linux takes samples",
        ),
        ({"kernel": "6.12"}, "kernel: has no effect without plane linux"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_arguments_that_have_no_effect_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        fairlane.run(scenario(), **arguments)


@pytest.mark.usefixtures("fake")
def test_a_comparison_may_be_of_a_kernel() -> None:
    found = fairlane.compare(scenario(), ["droptail", "mine=codel:target=7 ms"], plane="linux", kernel="6.12")
    assert list(found) == ["droptail", "mine"]
    assert set(found.runs_frame()["lab_plane"]) == {"linux"}
    assert found["droptail"].runs_json == fairlane.run(scenario(), plane="linux").runs_json
    with pytest.raises(UserError, match=r"^kernel: has no effect without plane linux"):
        fairlane.compare(scenario(), ["droptail"], kernel="6.12")
    with pytest.raises(UserError, match=r"^plane: .* use `fairlane lab compare --plane p4`"):
        fairlane.compare(scenario(), ["droptail"], plane="p4")


@pytest.mark.parametrize("command", [["run"], ["compare", "--queues", "droptail"]])
def test_the_command_names_the_lab_for_planes_in_real_time(cli: Cli, command: list[str]) -> None:
    assert "use `fairlane lab compare --plane kernel`" in cli.error(*command, "x.toml", "--plane", "kernel")


@pytest.mark.usefixtures("fake")
def test_a_report_leaves_out_what_the_plane_does_not_measure(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(fairlane.run(scenario(), plane="linux").json())
    fairlane.report(tmp_path / "run.json", out=tmp_path / "pages")
    words = re.sub(r"<[^>]+>", " ", (tmp_path / "pages" / "run-small.html").read_text())
    assert not re.search(r"\b(None|nan|null)\b", words)
    assert re.search(r"plane\s+linux, kernel 6.12.0-fake", words)
    assert not (tmp_path / "pages" / "run-small-delay.svg").exists()


@pytest.mark.usefixtures("fake")
def test_printed_heads_and_written_frames_name_the_plane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(scenario().to_toml())
    for command in (["run"], ["compare", "--queues", "droptail,codel"]):
        commands.main([*command, "small.toml", "--plane", "linux"], standalone_mode=False)
        assert capsys.readouterr().out.startswith("small on linux, kernel 6.12.0-fake: 2 replications of 1 s after 1 s")
    both = ["--queues", "droptail", "--plane", "linux", "--plane", "simulator", "--out", "out"]
    commands.main(["lab", "compare", "small.toml", *both], standalone_mode=False)
    text = capsys.readouterr().out
    assert text.startswith("small: goodput on linux and simulator;")
    assert max(map(len, text.splitlines())) <= 120
    for file in Path("out").glob("*.parquet"):
        assert set(pl.read_parquet(file)["lab_plane"]) == {"linux", "simulator"}


SWEEP = {"grid": {"queue.scheme": ["droptail", "codel"]}, "plane": "linux"}


def test_a_sweep_on_a_kernel_is_kept_and_resumed(fake: Fake, tmp_path: Path) -> None:
    swept = fairlane.sweep(scenario(), **SWEEP, store=tmp_path)
    frame = swept.runs_frame()
    assert frame.height == 4
    assert set(frame["lab_plane"]) == {"linux"}
    assert swept.document()["engine"] == runs.engine(fake)
    fake.does("panic")
    assert fairlane.sweep(scenario(), **SWEEP, store=tmp_path).runs_frame().equals(frame)
    compare(scenario(), ["codel"], planes=["linux"], store=tmp_path)  # the same runs
    simulated = fairlane.sweep(scenario(), grid=SWEEP["grid"], store=tmp_path)
    assert "lab_plane" not in simulated.runs_frame().columns
    with pytest.raises(guest.GuestError):
        fairlane.sweep(scenario(), **SWEEP, store=tmp_path, replications=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {"queue.scheme": ["codel", "abc"]}}, r'^queue\.scheme: "abc", the plane linux has '),
        (
            {"stop": {"relative_half_width": {"one_way_delay_p99_s.a": 0.1}}},
            r"^stop\.relative_half_width\.one_way_delay_p99_s\.a: the plane linux does not measure it",
        ),
        ({"ray": "auto"}, "^ray: has no effect on the plane linux"),
        ({"plane": "simulator", "kernel": "6.12"}, "^kernel: has no effect without plane linux"),
        ({"plane": "p4"}, '^plane: "p4" runs in real time'),
    ],
)
@pytest.mark.usefixtures("fake")
def test_a_sweep_that_a_kernel_cannot_have_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        fairlane.sweep(scenario(), **{**SWEEP, **arguments})


def test_a_preview_of_a_sweep_counts_runs_of_the_kernel(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(scenario().to_toml())
    (tmp_path / "sweep.toml").write_text('scenario = "small.toml"\n[grid]\n"queue.scheme" = ["droptail", "codel"]\n')
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "sweep.toml", "--plane", "linux", "--store", "store", "--json"]
    for missing, words in ((4, ["--dry-run"]), (None, ["--out", "out"]), (0, ["--dry-run"])):
        commands.main([*command, *words], standalone_mode=False)
        found = json.loads(capsys.readouterr().out)
        assert found["engine"] == runs.engine(fake)
        assert found.get("missing") == missing


def test_a_trace_and_samples_are_asked_for() -> None:
    lines = plan.made(scenario().canonical(), 0, Extra(trace=(0, 500), info_ns=1000)).text.splitlines()
    assert lines[-2:] == ["trace 0 500", "info 1000"]


EVENTS = [
    # time, sequence, flow, host, length, waiting, kind, ECN, reason
    (1_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, 0, 0, 0),
    (1_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, capture.STARTED, 0, 0),
    (2_000_000, 0, 0, 0, 1500, 0, capture.STARTED, 2, 0),
    (3_000_001, 7, 1, 1, 1500, 5, capture.STARTED, 0, 0),
    (4_000_000, 1448, 0, 0, 1500, 9, capture.DROPPED, 2, 1),
    (5_000_000, 2896, 0, 0, 200, 9, capture.STARTED, 3, 0),
    (6_000_000, capture.BEFORE_FIRST, 0, 0, 60, 0, capture.STARTED, 0, 0),
    (6_500_000, 0, 0, 0, 52, 0, capture.STARTED, 0, 0),
    (7_000_000, 0, 0, 0, 1500, 0, capture.STARTED, 2, 0),
]


def traces(fake: Fake, events: list[tuple[int, ...]]) -> bytes:
    """The trace of these events, which the script writes from now on."""
    content = b"".join(capture.TRACED.pack(*event) for event in events)
    fake.linux.with_name("events").write_bytes(content)
    writes = 'Path("trace.bin").write_bytes(Path(__file__).with_name("events").read_bytes())'
    fake.linux.write_text(fake.linux.read_text().replace("MODE =", f"{writes}\nMODE =", 1))
    return content


@pytest.mark.parametrize(("drops", "snaplen"), [(True, 0), (False, 65_535)])
def test_a_capture_has_the_traced_packets(fake: Fake, tmp_path: Path, drops: bool, snaplen: int) -> None:
    content = traces(fake, EVENTS)
    both = scenario(group("a", tcp(transfer="3 kB", repeat=2)), group("b", poisson("1 Mbit/s"), traffic_class="EF"))
    file = tmp_path / "a.pcapng"
    fairlane.run(both, plane="linux", pcap=file, pcap_drops=drops, pcap_snaplen=snaplen, link="bottleneck")
    expected = [one for one in difference.traced(content, ["tcp", "cbr"]) if drops or one.kind == difference.STARTED]
    assert list(difference.captured(file.read_bytes())) == expected
    assert (b"dropped (overlimit), 9 packets waiting" in file.read_bytes()) == drops
    assert (file.stat().st_size > 3 * 1500) == (snaplen > 0)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (Debian: tshark)")
def test_tshark_accepts_the_capture_of_a_kernel(fake: Fake, tmp_path: Path) -> None:
    traces(fake, EVENTS)
    both = scenario(group("a", tcp(transfer="3 kB", repeat=2)), group("b", poisson("1 Mbit/s"), traffic_class="EF"))
    # Whole packets: tshark sees every checksum, and each is good.
    fairlane.run(both, plane="linux", pcap=tmp_path / "a.pcapng", pcap_drops=True, pcap_snaplen=65_535)
    checks = [word for one in ("ip", "tcp", "udp") for word in ("-o", f"{one}.check_checksum:TRUE")]
    names = ["frame.time_epoch", "ip.src", "ip.dsfield", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len"]
    names += ["udp.length", "frame.comment", "tcp.checksum.status", "udp.checksum.status"]
    fields = [word for name in names for word in ("-e", name)]
    done = execute("tshark", "-r", tmp_path / "a.pcapng", *checks, "-T", "fields", *fields, "-E", "separator=|")
    assert done.stdout.splitlines() == [
        # Sequence numbers begin at 0 with the SYN. Headers take 52 of the 1500 bytes of a segment, and all bytes of a
        # SYN.
        "0.001000000|10.0.0.1|0x00|50000|40000|0|0|||1|",
        "0.002000000|10.0.0.1|0x02|50000|40000|1|1448|||1|",
        "0.003000001|10.0.0.2|0xb8|||||1480|||1",
        "0.004000000|10.0.0.1|0x02|50000|40000|1449|1448||dropped (overlimit), 9 packets waiting|1|",
        "0.005000000|10.0.0.1|0x03|50000|40000|2897|148|||1|",
        # The second connection of the flow has the number 2^20 = 104 * 10000 + 8576.
        "0.006000000|10.0.0.1|0x00|58576|40104|0|0|||1|",
        "0.006500000|10.0.0.1|0x00|58576|40104|1|0|||1|",
        "0.007000000|10.0.0.1|0x02|58576|40104|1|1448|||1|",
    ]


def test_a_capture_with_more_events_than_the_guest_keeps_is_refused(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces(fake, EVENTS)
    monkeypatch.setattr(capture, "MOST_EVENTS", len(EVENTS))
    with pytest.raises(UserError, match=r"^pcap: the link has more than the 9 events"):
        fairlane.run(scenario(group("a", tcp(flows=2))), plane="linux", pcap=tmp_path / "a.pcapng")
    assert not (tmp_path / "a.pcapng").exists()


def test_the_capture_of_a_kernel_has_what_its_record_counts(kernel: Any, tmp_path: Path) -> None:
    of_udp = scenario(group("a", poisson("11 Mbit/s"))).changed({"run.warmup": "0 s", "run.replications": 1})
    file = tmp_path / "a.pcapng"
    run = fairlane.run(of_udp, plane="linux", kernel=kernel.version, pcap=file, pcap_drops=True).runs[0]
    kinds = [one.kind for one in difference.captured(file.read_bytes())]
    assert kinds.count(difference.DROPPED) == run["links"][0]["drops"][1]["packets"] > 0
    assert kinds.count(difference.STARTED) == pytest.approx(run["links"][0]["throughput_bps"] / 12_000, abs=1)


def test_the_table_of_senders_has_the_recorded_samples(fake: Fake, tmp_path: Path) -> None:
    writes = f'Path("info.csv").write_bytes(Path({str(RECORDED / "info.csv")!r}).read_bytes())'
    script = fake.linux.read_text().replace("MODE =", f"{writes}\nMODE =", 1)
    fake.linux.write_text(script)
    of_recorded = Scenario.from_toml(RECORDED / "scenario.toml")
    fairlane.run(of_recorded, plane="linux", trace=tmp_path / "t", store=tmp_path / "store")
    found = pl.read_parquet(tmp_path / "t" / "tcp.parquet")
    samples = pl.read_csv(RECORDED / "info.csv", schema_overrides={"pacing_Bps": pl.UInt64})
    assert found.height == samples.height
    assert found["cwnd_bytes"].to_list() == [1448 * cwnd for cwnd in samples["cwnd"]]
    assert set(found["group"]) == {"a", "b"}
    assert set(found["state"]) <= {"syn_sent", "open", "disorder", "cwr", "recovery", "loss"}
    assert {"state", "srtt_s", "in_flight_bytes", "pacing_rate_bps"} <= set(found.columns)
    assert found.row(-1, named=True)["srtt_s"] == pytest.approx(samples.row(-1, named=True)["srtt_us"] / 1e6)


@pytest.fixture(scope="module")
def kernel() -> Any:
    """A built kernel, if there is one."""
    try:
        return runs.find(None)
    except UserError as error:
        pytest.skip(str(error))


def test_a_kernel_gives_the_same_bytes_twice_and_others_for_another_seed(kernel: Any) -> None:
    of_pie = scenario(group("a", tcp(flows=2), poisson("1 Mbit/s"), start_until="0.1 s")).replace(
        "queue", {"scheme": "pie"}
    )
    first, second = (fairlane.run(of_pie, plane="linux", kernel=kernel.version).runs_json for _ in range(2))
    assert first == second
    assert first[0] != first[1]
    assert fairlane.run(of_pie, plane="linux", kernel=kernel.version, seed=2).runs_json != first


@pytest.mark.parametrize("name", [name for name in DISCIPLINES if name != "dualpi2"])
def test_a_kernel_has_every_scheme(kernel: Any, name: str) -> None:
    found = fairlane.run(scenario().replace("queue", of_scheme(name)), plane="linux", kernel=kernel.version)
    # SFB soon classifies a flow as unresponsive and limits it to almost nothing.
    assert name == "sfb" or found.runs[0]["links"][0]["utilisation"] > 0.9


def test_a_kernel_needs_no_root(kernel: Any) -> None:
    if os.geteuid():
        pytest.skip("the other tests ran without root")
    made = plan.made(scenario().canonical(), 0)
    with TemporaryDirectory() as name:  # pytest's folder is only accessible to its owner
        folder = Path(name)
        folder.chmod(0o777)
        (folder / "plan").write_text(made.text)
        for program in (kernel.linux, kernel.init):
            (folder / program.name).write_bytes(program.read_bytes())
            (folder / program.name).chmod(0o755)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "./linux", *guest.ARGUMENTS.split()]
        command.append(f"fairlane.seed={made.seed}")
        subprocess.run(command, cwd=folder, timeout=120, check=False, stdout=subprocess.DEVNULL, env={"HOME": "."})
        assert json.loads((folder / "result.json").read_text())["links"]


UDP = [
    poisson("2 Mbit/s"),
    cbr("1.5 Mbit/s", jitter=0.5),
    on_off("4 Mbit/s", on="0.1 s", off="0.2 s"),
    on_off("3 Mbit/s", on="50 ms", off="0.2 s", distribution="pareto", packet_size="500 B"),
]
JITTER = {"deviation": "3 ms", "distribution": "normal", "reorder": True}
PARETO = {"deviation": "3 ms", "distribution": "pareto", "reorder": True}
BURSTY = {"model": "gilbert_elliott", "p": "2 %", "r": "30 %", "bad_loss": "80 %", "good_loss": "0.5 %"}
DETOUR = {"delay": "50 ms", "from": "2 s", "until": "3 s"}
STEPS = [{"at": f"{at} s", "rate": rate} for at, rate in ((2, "3.1 Mbit/s"), (4.0001, "1 kbit/s"), (4.5, "9 Mbit/s"))]


@pytest.mark.parametrize(
    ("of_group", "of_link"),
    [
        ({}, {}),
        ({}, {"schedule": STEPS}),
        ({}, {"trace": {"file": "a.up"}}),
        ({}, {"loss": {"probability": "3 %"}}),
        ({}, {"loss": BURSTY}),
        ({}, {"loss": {"model": "periodic", "period": 7}}),
        ({}, {"jitter": {"deviation": "3 ms"}}),
        ({}, {"jitter": JITTER}),
        ({}, {"jitter": PARETO, "loss": {"probability": "3 %"}}),
        ({}, {"detour": DETOUR}),
        ({}, {"loss": {**BURSTY, "from": "2 s", "until": "4 s"}}),
        ({}, {"jitter": {**JITTER, "until": "3 s"}}),
        ({"access_jitter": JITTER, "access_loss": BURSTY, "user_rtts": ["40 ms", "60 ms"]}, {}),
        ({"access_detour": DETOUR, "access_jitter": {"deviation": "1 ms"}, "rtt": "60 ms", "rtt_spread": 0.1}, {}),
    ],
)
def test_links_and_datagrams_are_those_of_the_simulator_packet_by_packet(
    kernel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_group: dict[str, Any], of_link: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.up").write_text("".join(f"{ms}\n" for ms in (1, 1, 1, 2, 5, 5, 9, 10, 10, 10, *range(30, 39))))
    links = [{"name": "one", "rate": "20 Mbit/s", "delay": "10 ms", **of_link}]
    links += [{"name": "two", "rate": "12.34567 Mbit/s", "delay": "5 ms"}]
    users = group("a", *UDP, users=2, route=["one", "two"], **of_group)
    of_graph = scenario(users, topology={"kind": "graph", "links": links}, **{"run.measure": "5 s"})
    found = difference.difference(of_graph, link="two", count=4000, tolerance_s=1e-7, kernel=kernel.version)
    assert found.first is None
    assert len(found.kernel) > 2000


def test_the_record_of_a_lossy_link_is_that_of_the_simulator(kernel: Any, tmp_path: Path) -> None:
    loss = {"probability": "3 %"}
    of_link = {"topology.bottleneck_loss": loss, "topology.bottleneck_jitter": PARETO, "queue.limit": "1000 packets"}
    lossy = scenario(group("a", *UDP), **of_link, **{"run.replications": 1, "run.measure": "5 s"})
    file = tmp_path / "a.pcapng"
    more = {"plane": "linux", "kernel": kernel.version, "pcap": file, "pcap_drops": True}
    of_linux, simulated = (fairlane.run(lossy, **keys).runs[0] for keys in (more, {}))
    for ours, theirs in zip(simulated["links"][0]["drops"], of_linux["links"][0]["drops"], strict=True):
        assert {**ours, "queue_histogram": []} == {**theirs, "queue_histogram": []}
    assert of_linux["links"][0]["user_dropped_packets"] == simulated["links"][0]["user_dropped_packets"]
    assert of_linux["links"][0]["drops"][-1]["packets"] > 50
    assert b"lost on the wire" in file.read_bytes()
    ours, theirs = (run["groups"][0] for run in (simulated, of_linux))
    assert theirs["user_throughput_bps"] == pytest.approx(ours["user_throughput_bps"], rel=1e-3)
    assert theirs["path"]["dropped_packets"] == ours["path"]["dropped_packets"]
    assert theirs["path"]["one_way_delay"]["mean_s"] == pytest.approx(ours["path"]["one_way_delay"]["mean_s"], rel=0.01)


@pytest.mark.parametrize(
    "keys",
    [
        {"app_rate": "1 Mbit/s"},
        {"app_rate": "1 Mbit/s", "segment_payload": 1000, "transfer": "20 kB", "repeat": 20, "pause": "0.1 s"},
        {"app_rate": "0 bit/s", "app_limited_from": "0.15 s", "app_limited_until": "2 s"},
        {"app_rate": "2 Mbit/s", "app_limited_from": "0.2 s", "app_limited_until": "2 s"},
        {"stop": "0.5 s"},
    ],
)
def test_an_application_writes_and_pauses_as_in_the_simulator(kernel: Any, keys: dict[str, Any]) -> None:
    of_application = scenario(group("a", tcp(**keys), start_until="0.1 s", rtt="40 ms")).changed(
        {"queue.limit": "1000 packets", "topology.access_limit": "1000 packets", "run.measure": "2 s"}
    )
    found = difference.difference(of_application, tolerance_s=2e-4, kernel=kernel.version)
    assert found.first is None
    assert len(found.kernel) > 100


@pytest.mark.parametrize(
    "queue",
    [
        {**of_scheme("droptail"), "limit": "10 packets"},
        {**of_scheme("codel"), "root": "newton", "limit": "18 packets"},
        {**of_scheme("fq_codel"), "root": "newton", "limit": "10 packets"},
        {**of_scheme("pie"), "profile": "linux", "limit": "10 packets"},
        {**of_scheme("fq_pie"), "profile": "linux", "limit": "15 packets"},
        {**of_scheme("red"), "limit": "30 packets", "min_th": "4 packets", "max_th": "25 packets"},
        {**of_scheme("choke"), "limit": "24 packets", "min_th": "18 packets", "max_th": "23 packets"},
        {**of_scheme("sfb"), "limit": "10 packets"},
        {**of_scheme("sfq"), "limit": "10 packets"},
    ],
    ids=lambda queue: queue["scheme"],
)
def test_reasons_of_drops_are_those_of_the_simulator(kernel: Any, queue: dict[str, Any]) -> None:
    users = group("a", tcp(congestion_control="reno", flows=8), poisson("3 Mbit/s"), start_until="0.1 s", rtt="40 ms")
    of_queue = scenario(users, **{"run.measure": "10 s"}).replace("queue", queue)
    of_linux, simulated = (
        {one["reason"]: one["packets"] for one in fairlane.run(of_queue, **more).runs[0]["links"][0]["drops"]}
        for more in ({"plane": "linux", "kernel": kernel.version}, {})
    )
    assert sum(of_linux.values()) > 0
    for reason, packets in simulated.items():
        assert of_linux[reason] == pytest.approx(packets, rel=0.4, abs=60), (of_linux, simulated)
        assert (of_linux[reason] > 0) == (packets > 0), (of_linux, simulated)


def test_a_rate_of_the_application_bounds_all_transfers_together(kernel: Any) -> None:
    source = tcp(transfer="50 kB", repeat=1000, app_rate="1 Mbit/s")
    found = fairlane.run(scenario(group("a", source)), plane="linux", kernel=kernel.version)
    assert found.runs[0]["groups"][0]["goodput_bps"] < 1.05e6


def test_a_transfer_under_way_is_counted_as_started_and_completed_after_its_stop(kernel: Any) -> None:
    source = tcp(transfer="1 MB", repeat=1000, stop="1.5 s")
    times = fairlane.run(scenario(group("a", source)), plane="linux", kernel=kernel.version).runs[0]["groups"][0]
    assert times["transfer_times"]["started"] >= times["transfer_times"]["completed"] > 0


def test_summaries_and_tables_of_many_users_take_records_of_a_kernel(kernel: Any) -> None:
    found = fairlane.run(scenario(group("a", tcp(), users=20)), plane="linux", kernel=kernel.version)
    assert found.summary_frame().height > 0
    assert "a" in str(found)


def test_dctcp_without_ecn_is_refused() -> None:
    with pytest.raises(UserError, match="dctcp always asks for ECN"):
        text(scenario(group("a", tcp(congestion_control="dctcp"))))


def test_a_datagram_that_is_longer_than_a_packet_is_refused() -> None:
    source = {"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1501 B"}
    with pytest.raises(UserError, match=r"^groups\[0\]\.sources\[0\]\.packet_size: "):
        text(scenario(group("a", source)))
