"""Tests plans of the plane `linux`: the lines that the guest reads, and what the plane refuses."""

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fairlane
from conftest import EXAMPLES, Cli
from fairlane import Scenario, cbr, group, on_off, poisson, tcp
from fairlane.base.errors import UserError
from fairlane.linux import disciplines, keys, plan
from fairlane.linux.disciplines import DISCIPLINES, Fixed, Link
from fairlane.simulate.catalogue import schemes
from linux_fake import RECORDED, of_scheme, scenario, text


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
    bursts = {"model": "gilbert_elliott", "p": "25 %", "r": "50 %", "until": "2.5 s"}
    loss = [bursts, {"probability": 1, "from": "3 s", "until": "4 s"}]
    detour = {"delay": "50 ms", "from": "1 s"}
    steps = [{"at": "1.5 s", "rate": "1 Mbit/s"}, {"at": "1.7 s", "rate": "10 Mbit/s"}]
    of_link = {"topology.bottleneck_loss": loss, "topology.bottleneck_detour": detour}
    lines = text(scenario(users, **of_link, **{"topology.bottleneck_schedule": steps})).splitlines()
    assert lines[2:4] == ["rate 0 1500000000 1000000", "rate 0 1700000000 10000000"]
    # Jitter replaces the delay of the device in front of it.
    assert "link 1 100000000 0" in lines
    streams = [line.split() for line in lines if line.startswith("stream ")]
    assert [words[2:] for words in streams] == [["-", "0", "2"], ["normal", "1000000000", "2"]]
    quarter = 1 << 50
    assert [line for line in lines if line.startswith(("impair ", "lose "))] == [
        f"impair 0 0 0 0 50000000 1000000000 {1 << 62} 0 0",
        f"lose 0 1 {quarter} {2 * quarter} 0 {4 * quarter} 0 2500000000",
        f"lose 0 0 {4 * quarter} 0 0 0 3000000000 4000000000",
        f"impair 1 1 1 100000 0 0 0 0 {1 << 62}",
        f"impair 2 1 1 100000 0 0 0 0 {1 << 62}",
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
        ("cake", {"bandwidth": "20 Mbit/s"}, 'queue.quantum: "1514 B", CAKE with bandwidth 20 Mbit/s has 610 B'),
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


def test_the_shaper_of_cake_becomes_options_of_tc() -> None:
    shaper = {"bandwidth": "20 Mbit/s", "overhead": "18 B", "mpu": "64 B", "framing": "atm", "quantum": "610 B"}
    (words,) = disciplines.commands(Link("nosuchdevice", 10_000_000, {**of_scheme("cake"), **shaper}))
    assert "root cake bandwidth 20000000bit besteffort no-ack-filter raw" in " ".join(words)
    assert "overhead 18 mpu 64 atm" in " ".join(words)
    done = subprocess.run(["tc", *words], capture_output=True, text=True, check=False)
    assert 'Cannot find device "nosuchdevice"' in done.stderr, (words, done.stderr)


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


def test_dctcp_without_ecn_is_refused() -> None:
    with pytest.raises(UserError, match="dctcp always asks for ECN"):
        text(scenario(group("a", tcp(congestion_control="dctcp"))))


def test_a_datagram_that_is_longer_than_a_packet_is_refused() -> None:
    source = {"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1501 B"}
    with pytest.raises(UserError, match=r"^groups\[0\]\.sources\[0\]\.packet_size: "):
        text(scenario(group("a", source)))
