"""Tests the plane `linux` with a kernel, if one was built."""

import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import pytest

import fairlane
from fairlane import cbr, group, on_off, poisson, tcp
from fairlane.base.errors import UserError
from fairlane.lab import difference
from fairlane.linux import capture, guest, plan, runs
from fairlane.linux.disciplines import DISCIPLINES
from linux_fake import of_scheme, scenario
from linux_flows import COUNT, FLOWS, TOLERANCE_S, recorded, rows


@pytest.fixture(scope="module")
def kernel() -> Any:
    """A built kernel, if there is one."""
    try:
        return runs.find(None)
    except UserError as error:
        pytest.skip(str(error))


def test_the_capture_of_a_kernel_has_what_its_record_counts(kernel: Any, tmp_path: Path) -> None:
    of_udp = scenario(group("a", poisson("11 Mbit/s"))).changed({"run.warmup": "0 s", "run.replications": 1})
    file = tmp_path / "a.pcapng"
    run = fairlane.run(of_udp, plane="linux", kernel=kernel.version, pcap=file, pcap_drops=True).runs[0]
    kinds = [one.kind for one in difference.captured(file.read_bytes())]
    assert kinds.count(difference.DROPPED) == run["links"][0]["drops"][1]["packets"] > 0
    assert kinds.count(difference.STARTED) == pytest.approx(run["links"][0]["throughput_bps"] / 12_000, abs=1)


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
        ({}, {"loss": [BURSTY, {"probability": 1, "from": "2 s", "until": "2.5 s"}, {"probability": "3 %"}]}),
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


def test_a_transmission_ends_before_a_packet_arrives_at_the_same_time(kernel: Any) -> None:
    made = plan.made(FLOWS["reno"].canonical(), 0, plan.Extra(trace=(0, 400)))
    content = guest.run(kernel, made, Event(), ("trace.bin",)).files["trace.bin"]
    events = [(time_ns, kind, sequence) for time_ns, sequence, *_, kind, _, _ in capture.TRACED.iter_unpack(content)]
    pairs = [(one[1:], other[1:]) for one, other in pairwise(events) if one[0] == other[0]]
    assert sum(one[0] == capture.STARTED for one, _ in pairs) > 20
    # An idle link starts with the packet that arrives.
    assert all(one[1] == other[1] for one, other in pairs if other[0] == capture.STARTED)


@pytest.mark.parametrize("name", FLOWS)
def test_recorded_packets_of_lone_flows_are_those_of_the_kernel(kernel: Any, name: str) -> None:
    found = difference.difference(FLOWS[name], count=COUNT, tolerance_s=TOLERANCE_S, kernel=kernel.version)
    assert rows(found.kernel[: found.first]) == recorded()[name]


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


@pytest.mark.parametrize("framing", ["noatm", "atm", "ptm"])
def test_the_shaper_of_cake_sends_when_the_simulator_does(kernel: Any, framing: str) -> None:
    # The target is so high that COBALT drops nothing.
    shaper = {"bandwidth": "4 Mbit/s", "overhead": "18 B", "mpu": "64 B", "framing": framing}
    queue = {**of_scheme("cake"), **shaper, "isolation": "flow", "interval": "2 s", "target": "100 ms"}
    del queue["quantum"]
    users = group("a", poisson("2.5 Mbit/s"), cbr("0.3 Mbit/s", packet_size="100 B"), start_until="0.1 s")
    of_cake = scenario(users, **{"run.measure": "5 s"}).replace("queue", queue)
    found = difference.difference(of_cake, count=1500, tolerance_s=1e-6, kernel=kernel.version)
    assert found.first is None
    assert len(found.kernel) == 1500


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
