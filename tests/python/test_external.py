"""Tests schemes written in Python, as their author would use them."""

import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fairlane
from conftest import EXAMPLES, Cli, Process, ended, execute, wait_for_simulated_work
from fairlane import _fairlane
from fairlane.simulate.external import SCHEMES
from fairlane.store import Store, key
from fairlane.store.simulate import simulate

MODULE = EXAMPLES / "my_scheme.py"


def scenario(queue: str | dict[str, Any], **tables: Any) -> fairlane.Scenario:
    """A heavy and a light user share 10 Mbit/s; each of them sends more than half of it."""
    return fairlane.Scenario(
        "two-users",
        fairlane.group("heavy", fairlane.poisson("15 Mbit/s"), fairlane.tcp(flows=3), start_until="0.5 s"),
        fairlane.group("light", fairlane.poisson("7 Mbit/s"), start_until="0.5 s"),
        queue=queue,
        run={"warmup": "1 s", "measure": "4 s", "replications": 2},
        **tables,
    )


def records(queue: str | dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    return fairlane.run(scenario(queue), **options).runs


@fairlane.register_scheme("all-pass")
class AllPass:
    """Drop-tail that admits everything."""

    def __init__(self, port: fairlane.Port) -> None:
        pass

    def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
        return True


@fairlane.register_scheme("own-fifo")
class OwnFifo:
    """Drop-tail with its own queue."""

    def __init__(self, port: fairlane.Port) -> None:
        self.port = port
        self.queue: deque[fairlane.Packet] = deque()

    def enqueue(self, packet: fairlane.Packet, now: float) -> None:
        assert packet.arrival == now
        if self.port.has_room(packet):
            self.queue.append(packet)
        else:
            self.port.drop(packet)

    def dequeue(self, now: float) -> fairlane.Packet | None:
        return self.queue.popleft()


@pytest.mark.parametrize("name", ["all-pass", "own-fifo"])
@pytest.mark.parametrize("limit", ["24 packets", "30 kB"])
def test_drop_tail_in_python_is_drop_tail(name: str, limit: str) -> None:
    ours = records({"scheme": name, "limit": limit})
    theirs = records({"scheme": "droptail", "limit": limit})
    for run in ours + theirs:
        del run["links"][0]["state"]  # an external scheme keeps handles of packets
    assert ours == theirs


def test_the_examples_run_from_the_command_line(cli: Cli) -> None:
    queues = "droptail,my-red,my-drr"
    results = cli.document("compare", "short.toml", "--queues", queues, "--scheme-module", MODULE)["results"]
    assert list(results) == queues.split(",")
    for name, result in results.items():
        assert result["scenario"]["queue"]["scheme"] == name
        for run in result["runs"]:
            account = run["links"][0]["accounting"]
            assert account["arrived"] == account["departed"] + account["dropped"] + account["queued"]
    drops = {drop["reason"]: drop["packets"]["mean"] for drop in results["my-red"]["summary"]["links"][0]["drops"]}
    assert drops["aqm"] > 0


def test_drr_in_python_gives_each_user_its_half() -> None:
    SCHEMES.load(MODULE)
    for run in fairlane.run(scenario("my-drr")).runs:
        # Each user gets 5 Mbit/s. Packets have equal sizes, so the shares differ by at most a few packets of 12 kbit in
        # 4 s.
        assert [group["throughput_bps"] for group in run["groups"]] == pytest.approx([5e6, 5e6], rel=0.003)
        drops = {drop["reason"]: drop["packets"] for drop in run["links"][0]["drops"]}
        assert drops["pushed_out"] > 0


def test_a_run_depends_on_its_seed_only() -> None:
    SCHEMES.load(MODULE)
    once = records("my-red", threads=1)
    assert records("my-red", threads=4) == once
    assert records("my-red", seed=2) != once


def test_marks_and_labels_reach_the_scheme() -> None:
    labels = []

    @fairlane.register_scheme("marker")
    class _Marker(AllPass):
        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> Any:
            labels.append((packet.label, packet.ecn_capable, packet.traffic_class, packet.user))
            assert (port.limit_packets, port.limit_bytes, port.link_rate_bps) == (24, None, 10e6)
            return "mark" if port.packets > 5 else "accept"

    runs = fairlane.run(scenario("marker", marker="abc", tcp={"ecn": True}), replications=1).runs
    link = runs[0]["links"][0]
    assert link["marks"] > 0
    assert {drop["reason"]: drop["packets"] > 0 for drop in link["drops"]}["aqm"], "datagrams cannot be marked"
    assert len({label for label, *_ in labels}) > 100
    assert {fields[1:] for fields in labels} == {(True, "BE", 0), (False, "BE", 0), (False, "BE", 1)}


def test_changes_of_the_rate_are_seen() -> None:
    rates = set()

    @fairlane.register_scheme("rates")
    class _Rates(AllPass):
        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
            rates.add(port.link_rate_bps)
            return True

    changes = {"bottleneck_schedule": [{"at": "2 s", "rate": "5 Mbit/s"}]}
    fairlane.run(scenario("rates", topology=changes), replications=1)
    assert rates == {10e6, 5e6}


HEAD = """
import fairlane

@fairlane.register_scheme("bad")
class Bad:
    def __init__(self, port):
        self.port, self.queue = port, []
"""
ADMIT = "    def admit(self, packet, port, now):\n        "
ENQUEUE = "    def enqueue(self, packet, now):\n        "
STORE = ENQUEUE + "self.queue.append(packet)\n"
DEQUEUE = "    def dequeue(self, now):\n        "
MISTAKES = {
    ADMIT + "return 1 / 0": "bad: Bad.admit: ZeroDivisionError: division by zero (bad.py, line 9)",
    ADMIT + "return 7": "bad: Bad.admit gave 7, it must be True, False, 'accept', 'mark' or 'drop'",
    ADMIT + "pass": "bad: Bad.admit gave None, it must be True, False",
    ADMIT
    + "return packet.colour": "bad: Bad.admit: AttributeError: 'fairlane.Packet' object has no attribute 'colour'",
    ADMIT
    + "port.drop(packet)\n        port.drop(packet)\n        return True": "bad: Bad.admit dropped a packet that does",
    ADMIT
    + "port.mark(packet)\n        return True": "bad: Bad.admit marked a packet whose transport does not understand",
    STORE + DEQUEUE + "return self.queue.pop(0)": "left Backlog { packets: 25, bytes: 37500 } waiting, the limit is 24",
    STORE + DEQUEUE + "return self.queue[0]": "bad: Bad.dequeue gave a packet that does not wait: it was given or",
    STORE + DEQUEUE + "return None": "bad: Bad.dequeue gave nothing although packets wait: 1",
    STORE + DEQUEUE + "return 'x'": "bad: Bad.dequeue gave 'x', it must be a Packet or None",
    ENQUEUE + "return False\n" + DEQUEUE + "return None": "bad: Bad.enqueue gave False, it must be None",
    ENQUEUE + "self.port.drop(3)\n" + DEQUEUE + "return None": "bad: Bad.enqueue: TypeError:",
    "        raise ValueError('no\\nroom')\n" + ADMIT + "return True": "bad: Bad: ValueError: no room (bad.py, line 8)",
    DEQUEUE + "return None": "bad: Bad must have the method admit, or enqueue and dequeue; it has dequeue",
    STORE + DEQUEUE + "return None\n" + ADMIT + "return True": "it has admit, dequeue, enqueue",
    "    admit = 3\n    boom": "--scheme-module: bad.py: NameError: name 'boom' is not defined (",
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.items())
def test_a_mistake_ends_the_run_with_one_line(cli: Cli, workdir: Path, body: str, message: str) -> None:
    (workdir / "bad.py").write_text(HEAD + body + "\n")
    told = cli.error("run", "short.toml", "--set", "queue.scheme=bad", "--scheme-module", "bad.py")
    assert message in told.replace(str(workdir) + "/", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--scheme-module: bad.py is not a Python file"),
        ("x = 1", "--scheme-module: bad.py registers no scheme"),
        ("import fairlane\nfairlane.register_scheme('abc')(print)", "abc: Fairlane has a scheme of this name"),
        ("import fairlane\nfairlane.register_scheme('My Red')(print)", "'My Red' is not a name for a scheme"),
    ],
)
def test_a_module_that_is_none_is_refused(cli: Cli, workdir: Path, content: str | None, message: str) -> None:
    if content:
        (workdir / "bad.py").write_text(content)
    assert message in cli.error("run", "short.toml", "--scheme-module", "bad.py")


def test_keys_of_other_schemes_are_refused() -> None:
    with pytest.raises(fairlane.ScenarioError, match=r"queue\.gamma: unknown key"):
        scenario({"scheme": "all-pass", "gamma": "16 packets"}).canonical()
    with pytest.raises(fairlane.ScenarioError, match=r"queue\.scheduler: .* must be fifo: all-pass orders packets"):
        scenario({"scheme": "all-pass", "scheduler": "strict"}).canonical()
    with pytest.raises(fairlane.ScenarioError, match="nobody"):
        scenario("nobody").canonical()


def test_errors_reach_python_as_scheme_errors(tmp_path: Path) -> None:
    @fairlane.register_scheme("failing")
    class _Failing(AllPass):
        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
            raise RuntimeError("as planned")

    with pytest.raises(fairlane.SchemeError, match=r"admit: RuntimeError: as planned \(.*test_external"):
        fairlane.run(scenario("failing"))
    with pytest.raises(fairlane.SchemeError, match="as planned"):
        fairlane.run(scenario("failing"), trace=tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


LINKS: dict[str, Any] = {
    "kind": "graph",
    "links": [
        {"name": "first", "rate": "20 Mbit/s"},
        {"name": "second", "rate": "10 Mbit/s", "queue": {"scheme": "all-pass"}},
    ],
}


def on_a_link() -> fairlane.Scenario:
    """A scenario with the scheme `all-pass` at a link. A scenario can name a scheme there, or in its table `queue`."""
    route = ["first", "second"]
    heavy, light = (
        fairlane.group(name, fairlane.poisson("7 Mbit/s"), route=route, start_until="0.5 s")
        for name in ("heavy", "light")
    )
    run = {"warmup": "0.5 s", "measure": "0.1 s", "replications": 1}
    return fairlane.Scenario("links", heavy, light, queue="droptail", topology=LINKS, run=run)


@pytest.mark.parametrize(
    ("python", "key_of_it"),
    [
        pytest.param(lambda: scenario("all-pass"), "queue.scheme", id="queue of the scenario"),
        pytest.param(on_a_link, "topology.links[1].queue.scheme", id="queue of a link"),
    ],
)
def test_runs_of_python_schemes_are_neither_stored_nor_taken_from_the_store(
    tmp_path: Path, python: Callable[[], fairlane.Scenario], key_of_it: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(AllPass, "__init__", lambda self, port: made.append(port))
    store = Store(tmp_path / "store")
    droptail, canonical = scenario("droptail").canonical(), python().canonical()
    simulate([canonical, droptail], store, keep=True)
    assert [entry.name for entry in (store.folder / "runs").iterdir()] == [f"{key(droptail)}.parquet"]
    before = len(made)
    simulate([canonical], store, keep=True)
    assert len(made) == 2 * before > 0
    refused = f'{key_of_it}: "all-pass" is written in Python, its runs cannot be stored'
    with pytest.raises(fairlane.UserError, match=re.escape(refused)):
        store.load(canonical)


@pytest.fixture
def endless(cli: Cli) -> Iterator[Process]:
    """A run of a Python scheme that would take hours."""
    options = ["--set", "queue.scheme=my-drr", "--set", "run.measure=100 h", "--scheme-module", MODULE]
    with cli.start("run", "short.toml", *options) as process:
        yield process
        process.kill()


def test_an_interrupt_ends_a_run_of_a_python_scheme(endless: Process) -> None:
    wait_for_simulated_work(endless.pid, 0.2)
    assert ended(endless) == "interrupted: 0 of 3 runs finished, nothing to keep"


@fairlane.register_scheme("thread-counts")
class CountsInItsThread:
    """Counts its calls in a thread-local variable, which is lost with the thread's state."""

    calls: list[int] = []  # noqa: RUF012 shared on purpose
    own = threading.local()

    def __init__(self, port: fairlane.Port) -> None:
        self.own.count = 0
        self.calls.append(0)

    def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
        self.own.count += 1
        self.calls[-1] = self.own.count
        return True


def test_a_run_keeps_the_state_of_its_thread_from_call_to_call() -> None:
    CountsInItsThread.calls.clear()
    fairlane.run(scenario("thread-counts"), replications=2, threads=1)
    # 22 Mbit/s of 1500-byte packets are 8250 packets in the 4.5 s after the last start. Four standard deviations less
    # are 7887 packets.
    assert len(CountsInItsThread.calls) == 2
    assert min(CountsInItsThread.calls) > 7886


def test_other_threads_go_on_while_schemes_run() -> None:
    own = scenario("all-pass").replace("run.measure", "1000 s").canonical()
    batch = _fairlane.Batch([(own, 0), (own, 1)], 2)
    turns = 0
    while turns < 200 and batch.remaining == 2:
        assert batch.next(0.0) is None  # releases and reacquires the interpreter lock
        turns += 1
    batch.cancel()
    assert turns == 200


UNDER_WAY = """
import json, os, sys, threading, tomllib
import fairlane
from fairlane import _fairlane

@fairlane.register_scheme("forever")
class Forever:
    def __init__(self, port):
        began.set()
    def admit(self, packet, port, now):
        return True

began = threading.Event()
scenario = fairlane.Scenario(
    "endless", fairlane.group("all", fairlane.poisson("10 Mbit/s"), start_until="0 s"), queue="forever",
    run={"warmup": "0 s", "measure": "700 h", "replications": 2},
).canonical()
batch = _fairlane.Batch([(scenario, 0), (scenario, 1)], 2)
while not began.is_set():
    batch.next(0.01)
"""


@pytest.mark.parametrize(
    "end",
    [
        pytest.param("", id="exit"),
        pytest.param("del batch", id="end of the last reference"),
        pytest.param(
            "child = os.fork()\nif child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))", id="fork"
        ),
    ],
)
def test_an_interpreter_ends_though_runs_of_python_schemes_are_under_way(end: str) -> None:
    done = execute(sys.executable, "-W", "ignore", "-c", UNDER_WAY + end, timeout_s=60)
    assert (done.returncode, done.stderr) == (0, "")
