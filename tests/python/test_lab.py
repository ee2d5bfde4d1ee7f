import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import FAIRLANE
from fairlane.errors import UserError
from fairlane.lab import namespaces, planes
from fairlane.lab.measure import tcp_goodput_bps
from fairlane.lab.namespaces import LabError, Namespaces, RejectedError
from fairlane.lab.runner import identity
from fairlane.lab.setup import setup_of
from fairlane.lab.verb import _check_machine
from fairlane.papers import papers
from fairlane.papers.p4abc.scenarios import scenario

PAPER = papers()["p4abc"]


def canonical(name: str, **at: object) -> str:
    return scenario({**PAPER.experiments[f"p4abc.{name}"].parameters, **at}).canonical()


def missing() -> str:
    try:
        _check_machine()
    except UserError as error:
        return str(error)
    return ""


needs_lab = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


def test_setup_is_that_of_the_scenario() -> None:
    setup = setup_of(canonical("fig6", R0_mbps=60))
    udp, tcp = (client.source for client in setup.clients)
    # 60 Mbit/s of 1478 B in the simulator are 5074.4 packets/s; here a packet has 1476 B at the IP layer.
    assert (udp.kind, udp.payload_bytes) == ("cbr", 1448)
    assert udp.rate_bps == round(60e6 * 1476 / 1478)
    assert (tcp.kind, tcp.flows, tcp.congestion_control) == ("tcp", 1, "cubic")
    assert (setup.measure_s, setup.bottleneck_bps) == (300, 50_000_000)


def test_eleven_users_have_addresses_of_their_own() -> None:
    clients = setup_of(canonical("eleven")).clients
    assert len({client.address for client in clients}) == len({client.mac for client in clients}) == 11
    assert [client.group for client in clients] == [0] + 10 * [1]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("topology.kind", "two_sided_dumbbell", "the lab can build one_sided_dumbbell"),
        ("groups[0].sources", [{"kind": "tcp", "transfer": "1 MB"}], "endless flows only"),
        ("groups[0].sources", [{"kind": "web", "sessions": 5}], "the lab has tcp, cbr and poisson"),
        ("groups[0].users", 101, "102 users, the lab can have 100"),
    ],
)
def test_what_cannot_be_built_is_refused(key: str, value: object, message: str) -> None:
    table = scenario({**PAPER.experiments["p4abc.fig5"].parameters, "f0": 2}).replace(key, value)
    with pytest.raises(UserError, match=message):
        setup_of(table.canonical())


def test_goodput_of_tcp_is_the_mean_of_the_window() -> None:
    def interval(start: float, size: int, *, omitted: bool = False) -> dict[str, object]:
        return {"sum": {"start": start, "omitted": omitted, "seconds": 1.0, "bytes": size}}

    intervals = [interval(0, 9_000_000, omitted=True), interval(0, 1_000_000), interval(1, 125_000), interval(2, 7)]
    # What comes behind the window does not count; that the server had to be ended does not matter.
    text = json.dumps({"intervals": intervals, "error": "interrupt - the server has terminated"})
    assert tcp_goodput_bps(text, 2.0) == 8 * 1_125_000 / 2
    for text in ("", json.dumps({"intervals": [], "error": "unable to connect"}), json.dumps({"intervals": intervals})):
        with pytest.raises(RejectedError):
            tcp_goodput_bps(text, 5.0)


def test_runs_of_planes_do_not_meet_those_of_the_simulator() -> None:
    one = canonical("fig5", f0=2)
    keys = {identity(one, plane).key for plane in planes.PLANES}
    assert len(keys) == len(planes.PLANES)
    assert identity(one, "user").is_measured


def test_names_tell_whose_a_namespace_is() -> None:
    own = f"{namespaces.PREFIX}-{os.getpid()}-{namespaces._started(os.getpid())}-node"
    assert not namespaces._is_left(own)
    # The same number, given to another process.
    assert namespaces._is_left(f"{namespaces.PREFIX}-{os.getpid()}-1-node")
    assert not namespaces._is_left("fairlane-lab-x-y")
    assert not namespaces._is_left("other-1-2-node")


@needs_lab
def test_the_end_of_the_block_leaves_neither_namespace_nor_process() -> None:
    made = Namespaces()
    name = made.add("node")
    with made:
        sleeper = made.start(name, ["sleep", "30"])
        with pytest.raises(LabError, match="no-such-program"):
            made.run(name, ["no-such-program"])
    assert name not in namespaces.run(["ip", "netns", "list"])
    assert sleeper.poll() is not None


def lab_command(store: Path, out: Path) -> list[str]:
    short = ["--set", "run.warmup=1 s", "--set", "run.measure=2 s", "--replications", "1"]
    return [str(FAIRLANE), "lab", "run", "p4abc.single", *short, "--store", str(store), "--out", str(out), "--json"]


@needs_lab
def test_a_run_gives_goodput_and_is_kept(tmp_path: Path) -> None:
    command = lab_command(tmp_path / "store", tmp_path / "out")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "rejected" in done.stderr:
        pytest.skip(f"the machine is too busy: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["user"]["experiments"][0]["points"]
    goodput = next(point["mean"] for point in points if point["metric"] == "G0")
    # One TCP flow over 50 Mbit/s: less than the payload's share, and not nothing.
    assert 10 < goodput < 50 * 1448 / 1500 + 1
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(again.stdout) == json.loads(done.stdout)  # to the last digit: the stored run


@needs_lab
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_after_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        lab_command(tmp_path / "store", tmp_path / "out"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    mark = f"{namespaces.PREFIX}-{process.pid}-"

    def left() -> list[str]:
        return [line for line in namespaces.run(["ip", "netns", "list"]).splitlines() if line.startswith(mark)]

    until = time.monotonic() + 20
    while len(left()) < 3 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.5)  # into the traffic
    process.send_signal(number)
    process.wait(30)
    if number == signal.SIGKILL:
        assert left()
        subprocess.run([str(FAIRLANE), "lab", "clean"], check=True, capture_output=True, timeout=60)
    assert not left()
