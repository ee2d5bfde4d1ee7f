"""Every key of a scenario has an effect in the lab, or is rejected by name."""

import ast
import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fairlane
from fairlane import Scenario
from fairlane.base.errors import ScenarioError, UserError
from fairlane.lab import keys, measure, node, schedule
from fairlane.lab.keys import KEYS, Honoured, Refused
from fairlane.lab.planes import PLANES, plane
from fairlane.lab.setup import IN_LINUX, setup_of
from fairlane.lab.table import identity

SOURCES = {
    "tcp": {"kind": "tcp"},
    "cbr": {"kind": "cbr", "rate": "1 Mbit/s"},
    "poisson": {"kind": "poisson", "rate": "1 Mbit/s"},
}
OF_LINUX = {
    "impatient_timer": True,
    "recovery_sends_at_once": True,
    "sack_duplicates": True,
    "rtt_of_first": True,
    "pacing_catches_up": False,
    "recovery": "newreno",
    "loss_detection": "dupack",
    "tlp": False,
    "frto": False,
    "undo": False,
    "hystart": "off",
    "after_idle": "keep",
    "cubic_clock": "always",
    "pacing": "on",
    "tso": "3000 B",
    "autotuning": False,
    "accurate_ecn": True,
    "gro_timeout": "1 ms",
    "whole_windows": False,
    "clock_tick": "1 ms",
    "sack_delay": "0 s",
    "app_rate": "1 Mbit/s",
    "app_limited_from": "1 s",
    "app_limited_until": "2 s",
}
"""Values of `[tcp]` keys that differ from the profile linux; without them, some keys have no effect."""
NEEDED = {
    "accurate_ecn": ("tcp.ecn", True),
    "flight_size": ("tcp.congestion_control", "reno"),
    "bbr3_ecn": ("tcp.ecn", True),
    "dctcp_gain": ("tcp.ecn", True),
    "dctcp_initial_alpha": ("tcp.ecn", True),
    "dctcp_alpha_steps": ("tcp.ecn", True),
    "prague_gain": ("tcp.ecn", True),
    "app_limited_from": ("tcp.app_rate", "1 Mbit/s"),
    "app_limited_until": ("tcp.app_rate", "1 Mbit/s"),
    "rtt_spread": ("groups[0].rtt", "40 ms"),
    "direction": ("topology.reverse", {"rate": "20 Mbit/s"}),
    "ingress_parts": ("groups[0].ingresses", 2),
}
"""Other settings that a key needs to have an effect."""
ALWAYS_IN_LINUX = ("tso_defer", "ack_delay_adapts")
"""Linux always does these, so both values are accepted."""
REFUSED_FIRST = ("tcp.app_rate", "groups[0].rtt", "groups[0].ingresses", "topology.reverse")
"""Keys in `NEEDED` that the lab rejects before it reads the tested key."""
READER = {own["name"]: control["name"] for control in fairlane.congestion_controls() for own in control["params"]}
"""For each key of `[tcp]` that belongs to one congestion control, that control."""
OTHER_VALUES: dict[str, Any] = {
    "name": "other",
    "run.seed": 2,
    "run.warmup": "3 s",
    "run.measure": "4 s",
    "topology.bottleneck_schedule": [{"at": "1 s", "rate": "1 Mbit/s"}],
    "topology.bottleneck_trace": {"file": "a.up", "gaps": "1"},
    "topology.reverse": {"rate": "20 Mbit/s"},
    "topology.bottleneck_loss": {"probability": 0.01},
    "topology.bottleneck_jitter": {"deviation": "1 ms"},
    "topology.bottleneck_detour": {"delay": "1 ms", "from": "1 s"},
    "topology.bottleneck_slot": {"min": "1 ms"},
    "topology.bottleneck_policer": {"rate": "5 Mbit/s", "burst": "10 kB"},
    "groups[].access_loss": {"model": "periodic", "period": 100},
    "groups[].access_jitter": {"deviation": "1 ms"},
    "groups[].access_detour": {"delay": "1 ms", "from": "1 s"},
    "groups[].access_slot": {"min": "1 ms"},
    "groups[].access_policer": {"rate": "5 Mbit/s", "burst": "10 kB"},
    **{f"topology.bottleneck_{name}": {"probability": 0.01} for name in ("reorder", "duplicate", "corrupt")},
    **{f"groups[].access_{name}": {"probability": 0.01} for name in ("reorder", "duplicate", "corrupt")},
    "groups[].ingress_parts": [1.0, 2.0],
    "groups[].rtt": "40 ms",
    "groups[].rtt_spread": 0.1,
    "groups[].user_rtts": ["40 ms"],
    "groups[].sources[tcp].stop": "3 s",
    "groups[].sources[cbr].stop": "3 s",
    "groups[].sources[poisson].stop": "3 s",
    "groups[].name": "other",
    "groups[].start_from": "0.15 s",
    "groups[].start_until": "1 s",
    "groups[].route": ["bottleneck", "bottleneck"],
    "probes.series_interval": "0.1 s",
    "probes.series_link": "bottleneck",
    "probes.transfer_times": ["1 s"],
    "probes.transfer_sizes": ["1 kB"],
    "groups[].sources[tcp].transfer": "1 MB",
    "groups[].sources[cbr].packet_size": "1000 B",
    "groups[].sources[poisson].packet_size": "1000 B",
    "topology.gateway_queue": {"scheme": "droptail"},
    "topology.site_queue": {"scheme": "droptail"},
    "topology.access_point_queue": {"scheme": "droptail"},
    "topology.failovers": [{"node": "site1", "at": "1 s"}],
    "topology.files": {"network": "network.json", "devices": "ShapedDevices.csv"},
    "groups[].node": "site1",
    "groups[].sources[tcp].application": "bulk",
    "groups[].sources[cbr].application": "bulk",
    "groups[].sources[poisson].application": "bulk",
    "topology.links": [{"name": "a", "rate": "1 Mbit/s", "delay": "1 ms"}],
}
"""Values that no rule can generate, for keys that are texts or lists or that depend on others."""
IN_NO_DUMBBELL = ("groups[].route", "groups[].sources[tcp].repeat")
"""Keys for which the simulator accepts only the default: routes on a one-sided dumbbell, and `repeat` with endless
flows."""
IN_NO_LINUX = {
    *("rto_granularity", "keep_backoff", "each_timeout_reduces", "retransmit_restarts_timer", "rtt_tick"),
    *("limited_transmit", "sack", "full_ack_window"),
}
"""Keys of `[tcp]` for which the simulator, with the profile linux, accepts only the profile's value."""
IN_THE_RECORD = ("name", "run.replications", "groups[].name")
NOT_IN_THE_KEY = ("name", "run.replications")


def scenario(kind: str = "tcp", scheme: str = "abc") -> Scenario:
    group = {"name": "users", "start_until": "0.2 s", "sources": [SOURCES[kind]]}
    run = {"warmup": "2 s", "measure": "2 s", "replications": 1}
    return Scenario.from_dict({"queue": {"scheme": scheme}, "run": run, "groups": [group]})


def declared() -> dict[str, dict[str, Any]]:
    """The schemas of all keys except those of `queue` and `marker`, for the sources of the lab."""
    schema = fairlane.schema("scenario")["properties"]
    found = {"name": schema["name"]}
    for section in ("run", "topology", "tcp", "probes"):
        found |= {f"{section}.{name}": one for name, one in schema[section]["properties"].items()}
    group = schema["groups"]["items"]["properties"]
    found |= {f"groups[].{name}": one for name, one in group.items() if name != "sources"}
    for source in group["sources"]["items"]["oneOf"]:
        kind = source["properties"]["kind"]["const"]
        if kind in SOURCES:
            own = {name: one for name, one in source["properties"].items() if name != "kind"}
            found |= {f"groups[].sources[{kind}].{name}": one for name, one in own.items()}
            found["groups[].sources[].kind"] = source["properties"]["kind"]
    return found


def other(key: str, schema: dict[str, Any]) -> Any:
    """A value different from the default."""
    if key in OTHER_VALUES:
        return OTHER_VALUES[key]
    default = schema.get("default")
    if "enum" in schema:
        return next(choice for choice in schema["enum"] if choice not in (default, "linux"))
    if schema["type"] == "boolean":
        return not default
    if schema["type"] == "integer":
        return default + 1 if default < schema["maximum"] else default - 1
    if schema["type"] == "number" and default == schema["maximum"]:
        return (default + schema["minimum"]) / 2
    if schema["type"] == "number":
        return 0.6 if default is None else (default + schema["maximum"]) / 2 if schema["maximum"] < 2 else default + 0.5
    number, unit = (default or schema["examples"][0]).split()
    factor = 0.5 if default == schema.get("x-maximum") else 2
    return f"{factor * float(number) or 1:g} {unit}"


def replaced(key: str, value: Any, scheme: str = "abc") -> tuple[str, str]:
    """The canonical scenario with another value of a key, and the key with indices."""
    kind = key.partition("sources[")[2].partition("]")[0] or "tcp"
    named = key.replace(f"sources[{kind}]", "sources[0]").replace("groups[]", "groups[0]")
    plain = scenario(kind, scheme)
    name = key.rpartition(".")[2]
    if "tcp" in key:
        value = OF_LINUX.get(name, value)
    if name in READER:
        plain = plain.replace("tcp.congestion_control", READER[name])
    if name in NEEDED:
        plain = plain.replace(*NEEDED[name])
    return plain.replace(named, value).canonical(), named


class RecordedNamespaces:
    """Replaces namespaces and records the commands in them, with the files that they read."""

    def __init__(self, clock: "Clock") -> None:
        self.log: list[str] = []
        self._clock = clock

    def add(self, role: str) -> str:
        return role

    def set(self, name: str, key: str, value: int | str) -> None:
        self.log.append(f"{name}: {key}={value}")

    def run(self, name: str, command: Sequence[str]) -> str:
        self.log.append(f"{name}: {self._read(command)}")
        return "{}"

    def start(self, name: str, command: Sequence[str], *_: object) -> None:
        self.log.append(f"{name} at {self._clock.now_s}: {self._read(command)}")

    def mount_bpf(self) -> Path:
        return Path("/run/bpf")

    @staticmethod
    def _read(command: Sequence[str]) -> list[str]:
        return [Path(word).read_text() if word.endswith(".toml") else word for word in command]


class RecordedReporter:
    """Replaces a forwarder or sink."""

    def __init__(self, namespaces: RecordedNamespaces, at: str, arguments: list[str]) -> None:
        namespaces.run(at, arguments)

    def ask(self) -> None:
        pass

    answer = ask


class Clock:
    """A clock that advances only while something waits."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Returns a function that lists the commands of a plane for a scenario."""
    clock = Clock()
    monkeypatch.setattr(measure, "time", clock)
    monkeypatch.setattr("fairlane.lab.hosts.run", lambda _command: "")
    for module in (plane, measure):
        monkeypatch.setattr(module, "Reporter", RecordedReporter)
    monkeypatch.setattr(node, "program", lambda: "fairlane-node")
    monkeypatch.setattr(node, "has_kernel_plane", lambda: True)

    def build(canonical: str, name: str) -> list[str]:
        recorded: Any = RecordedNamespaces(clock)
        setup = setup_of(canonical)
        network = PLANES[name](recorded, setup)
        traffic = measure._Traffic(recorded, network, setup, tmp_path, 0)
        traffic.warm_up()
        network.close()
        recorded.log.append(f"the window begins at {clock.now_s}")
        clock.now_s = 0.0
        return [str(entry) for entry in recorded.log]

    return build


def refusal(canonical: str, name: str) -> str:
    """The lab's error for a scenario; empty if it is supported."""
    try:
        schedule.check([canonical], name)
    except UserError as error:
        return str(error)
    return ""


def test_every_key_is_listed() -> None:
    assert KEYS.keys() == declared().keys()


@pytest.mark.parametrize(
    "key", [key for key, rule in KEYS.items() if isinstance(rule, Refused) and not key.endswith(ALWAYS_IN_LINUX)]
)
def test_what_has_no_effect_is_refused(key: str) -> None:
    value = other(key, declared()[key])
    name = key.rpartition(".")[2]
    if KEYS[key] is keys.NOT_A_DUMBBELL or key in IN_NO_DUMBBELL or name in IN_NO_LINUX:
        with pytest.raises(ScenarioError, match=name):
            replaced(key, value)
        return
    canonical, named = replaced(key, value)
    needed = NEEDED.get(name, ("", None))[0]
    # Only the forwarder has ecn; a control that Linux lacks is rejected first.
    refused = needed if needed in REFUSED_FIRST else named
    if READER.get(name, "reno") not in IN_LINUX:
        refused = "groups[0].sources[0].congestion_control"
    for plane_name in ("forwarder",) if needed == "tcp.ecn" else PLANES:
        assert refusal(canonical, plane_name).startswith(f"{refused}: ")
    if name != "profile":  # it stays, since the keys of a source depend on it
        assert measured_key(canonical) == measured_key(json.dumps(without(json.loads(canonical), named)))


@pytest.mark.parametrize("key", [key for key, rule in KEYS.items() if isinstance(rule, Honoured)])
def test_what_is_honoured_changes_what_is_built(key: str, built: Any) -> None:
    rule = KEYS[key]
    assert isinstance(rule, Honoured)
    kind = key.partition("sources[")[2].partition("]")[0] or "tcp"
    if key == "groups[].sources[].kind":
        assert len({tuple(built(scenario(one).canonical(), "forwarder")) for one in SOURCES}) == len(SOURCES)
        assert refusal(
            scenario().replace("groups[0].sources[0]", {"kind": "web", "sessions": 1}).canonical(), "forwarder"
        )
        return
    plain, (changed, named) = scenario(kind).canonical(), replaced(key, other(key, declared()[key]))
    assert plain != changed
    for name in ("forwarder", "kernel"):
        if key == "topology.kind" or rule.only not in ("", name):
            assert refusal(changed, name).startswith(f"{named}: ")
            continue
        assert refusal(changed, name) == ""
        assert (built(plain, name) == built(changed, name)) == (key in IN_THE_RECORD)
    assert (measured_key(plain) == measured_key(changed)) == (key in NOT_IN_THE_KEY)


def measured_key(canonical: str) -> str:
    """Key of the measured runs of a scenario."""
    return identity(canonical, "lab/forwarder/1").key


def without(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The scenario without a key, as before the key was introduced."""
    *path, last = re.split(r"[.\[\]]+", key)
    inner: Any = table
    for name in path:
        inner = inner[int(name) if name.isdigit() else name]
    inner.pop(last, None)
    return table


def test_a_key_that_the_simulator_gains_leaves_those_of_measured_runs() -> None:
    before = json.loads(scenario().replace("tcp.profile", "linux").canonical())
    after = json.loads(json.dumps(before))
    group = after["groups"][0]
    for table in (after["run"], after["topology"], after["tcp"], after["probes"], group, group["sources"][0]):
        table["gained"] = "1 s"
    assert measured_key(json.dumps(after)) == measured_key(json.dumps(before))
    # The stored scenario can be read again, with all defaults.
    again = identity(json.dumps(before), "lab/forwarder/1").canonical(before["name"], before["run"]["replications"])
    assert json.loads(again) == before


def test_the_forwarder_has_all_of_queue_and_marker(built: Any) -> None:
    for scheme in fairlane.schemes():
        canonical = scenario(scheme=scheme["name"]).canonical()
        assert refusal(canonical, "forwarder") == ""
        config = next(entry for entry in built(canonical, "forwarder") if "[[ports]]" in entry or "ports = [" in entry)
        table = json.loads(canonical)
        (forward,) = (tomllib.loads(word) for word in ast.literal_eval(config.partition(": ")[2]) if "ports" in word)
        egress = forward["ports"][-1]["egress"]
        assert (egress["queue"], egress.get("marker")) == (table["queue"], table.get("marker"))


@pytest.mark.parametrize("scheme", ["droptail", "abc", "csfq"])
def test_the_node_has_a_key_of_queue_or_marker_or_it_is_refused(scheme: str, built: Any) -> None:
    plain = scenario(scheme=scheme)
    schema = fairlane.schema("scenario")["properties"]
    for section, variants in (("queue", schema["queue"]["oneOf"]), ("marker", schema["marker"]["anyOf"])):
        own = [one["properties"] for one in variants if one["properties"]["scheme"].get("const") == scheme]
        for name, one in own[0].items() if own else ():
            # An exchange needs users with several ingress nodes, which the lab refuses.
            if name in ("scheme", "exchange"):
                continue
            changed = first_accepted(plain, f"{section}.{name}", one)
            if name in keys.in_node(scheme)[section]:
                assert refusal(changed, "kernel") == ""
                assert built(changed, "kernel") != built(plain.canonical(), "kernel"), name
            else:
                assert refusal(changed, "kernel").startswith(f"{section}.{name}: ")


def first_accepted(plain: Scenario, key: str, schema: dict[str, Any]) -> str:
    """The scenario with the first value of a key that is valid with the other keys."""
    values = [choice for choice in schema.get("enum", ()) if choice != schema.get("default")]
    if isinstance(schema.get("default"), str) and not values:
        number, unit = schema["default"].split()
        values = [f"{changed:g} {unit}" for changed in (2 * float(number), float(number) / 2, 1) if changed]
    for value in values or [other(key, schema)]:
        with suppress(ScenarioError):
            return plain.replace(key, value).canonical()
    raise AssertionError(f"no value for {key}")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tcp.min_rto", "0.3 s", "tcp.min_rto: \"300 ms\", the lab's TCP is that of this machine's kernel"),
        ("groups[0].ingresses", 4, "groups[0].ingresses: 4, the lab has one ingress"),
        ("groups[0].start_until", "3 s", 'groups[0].start_until: "3 s", in the lab all start before the window'),
        ("queue.limit", "30 kB", 'queue.limit: "30000 B", the plane kernel counts in packets'),
    ],
)
def test_a_refusal_says_why(key: str, value: Any, message: str) -> None:
    changed = scenario().replace("queue", {"scheme": "droptail"}).replace(key, value)
    assert refusal(changed.canonical(), "kernel").startswith(message)


def test_a_profile_that_is_given_is_not_twenty_keys() -> None:
    linux = scenario().replace("tcp", {"profile": "linux"})
    assert refusal(linux.canonical(), "forwarder") == ""
    assert refusal(linux.replace("tcp.profile", "ns2").canonical(), "forwarder").startswith('tcp.profile: "ns2"')
    own = linux.replace("groups[0].sources[0].profile", "ns3.26").canonical()
    assert refusal(own, "forwarder").startswith('groups[0].sources[0].profile: "ns3.26"')


def test_a_key_that_nobody_has_decided_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(keys.KEYS, "groups[].users")
    assert refusal(scenario().canonical(), "forwarder") == ""
    changed = scenario().replace("groups[0].users", 2).canonical()
    assert refusal(changed, "forwarder") == "groups[0].users: 2, the lab does not know this key"


def test_sources_start_within_their_window(built: Any) -> None:
    late = scenario().replace("groups[0].start_from", "1 s").replace("groups[0].start_until", "2 s").canonical()
    (sender,) = (entry for entry in built(late, "forwarder") if "iperf3', '-c'" in entry)
    # The sending time is the warm-up (2 s), the window (2 s), a reserve of 2 s and TCP's head start, minus the sender's
    # start time of 1 to 2 s. iperf3 gets it in whole seconds.
    assert 4.5 <= int(sender.split("'-t', '")[1].split("'")[0]) <= 6
    # 0.3 s until the server listens, four round trips of 10.2 ms until iperf3 has opened its flow, then the warm-up.
    begins_s = float(built(late, "forwarder")[-1].removeprefix("the window begins at "))
    assert begins_s == pytest.approx(0.3 + 4 * 0.0102 + 2)


def launches(built: Any, flows: tuple[int, ...], until: str) -> list[float]:
    """Start times of iperf3 for users with these numbers of flows."""
    groups = [
        {"name": f"users {number}", "start_until": until, "sources": [SOURCES["tcp"] | {"flows": count}]}
        for number, count in enumerate(flows)
    ]
    run = {"warmup": "2 s", "measure": "2 s", "replications": 1}
    canonical = Scenario.from_dict({"queue": {"scheme": "droptail"}, "run": run, "groups": groups}).canonical()
    clients = [entry for entry in built(canonical, "forwarder") if "iperf3', '-c'" in entry]
    at = {entry.partition(" at ")[0]: float(entry.partition(" at ")[2].partition(":")[0]) for entry in clients}
    return [at[f"client{number}"] for number in range(len(flows))]


def test_users_start_at_times_of_their_own_in_a_short_window_too(built: Any) -> None:
    first, second = launches(built, (1, 1), "0.1 s")
    assert 0.3 <= min(first, second) < max(first, second) <= 0.4
    assert launches(built, (1, 1), "0 s") == pytest.approx([0.3, 0.3])


def test_users_with_few_flows_wait_until_the_others_have_opened_theirs(built: Any) -> None:
    # iperf3 opens flows one after another, so seven more flows take seven more round trips of 10.2 ms.
    many, one = launches(built, (8, 1), "0 s")
    assert one - many == pytest.approx(7 * 0.0102)


def test_hosts_keep_the_order_of_frames_and_send_as_much_as_with_offloads(built: Any) -> None:
    log = built(scenario().canonical(), "forwarder")
    ordered = [entry for entry in log if "rps_cpus" in entry]
    assert len(ordered) == sum("'up']" in entry for entry in log)  # every interface
    # tcp_wmem counts 2280 bytes of memory for a segment with 1448 bytes of payload. The limit corresponds to 4 MiB of
    # payload.
    limits = [entry.rsplit(" ", 1)[1] for entry in log if "tcp_wmem" in entry]
    assert limits == [str(4 * 1024 * 1024 * 2280 // 1448)] * 2


def test_a_default_of_the_machine_that_paces_does_not_pace_what_the_scenario_asks_for(built: Any) -> None:
    log = built(scenario().canonical(), "forwarder")
    defaults = [entry.rsplit("=", 1)[1] for entry in log if "net.ipv4.tcp_congestion_control" in entry]
    assert defaults == ["reno"] * 2
