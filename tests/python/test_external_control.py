"""Tests congestion controls written in Python, as their author would use them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import fairlane
from conftest import EXAMPLES, Cli
from fairlane.pairs.plan import plan
from fairlane.simulate.external_control import CONTROLS
from fairlane.store import Store
from fairlane.store.simulate import simulate

MODULE = EXAMPLES / "my_congestion_control.py"


def scenario(control: str, **keys: Any) -> fairlane.Scenario:
    """Two flows on 10 Mbit/s with an RTT of about 40 ms and a buffer of one bandwidth-delay product."""
    tcp = {"profile": "linux", "whole_windows": False, "congestion_control": control, **keys}
    return fairlane.Scenario(
        "own",
        fairlane.group("all", fairlane.tcp(flows=2), start_until="0.5 s"),
        queue={"scheme": "droptail", "limit": "33 packets"},
        topology={"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "20 ms", "access_limit": "1000 packets"},
        tcp=tcp,
        run={"warmup": "2 s", "measure": "8 s", "replications": 2},
    )


def records(control: str, **options: Any) -> list[dict[str, Any]]:
    return fairlane.run(scenario(control), **options).runs


def test_reno_in_python_is_reno() -> None:
    CONTROLS.load(MODULE)
    ours, theirs = records("my-reno"), records("reno")
    assert ours == theirs
    assert all(run["groups"][0]["tcp"]["fast_recoveries"] > 2 for run in theirs), "losses show the rule"


def test_a_run_depends_on_its_seed_only() -> None:
    CONTROLS.load(MODULE)
    once = records("my-delay", threads=1)
    assert records("my-delay", threads=2) == once
    assert records("my-delay", seed=2) != once


def test_the_examples_run_from_the_command_line(cli: Cli) -> None:
    options = ["--set", "tcp.profile=linux", "--set", "tcp.congestion_control=my-delay"]
    document = cli.document("run", "short.toml", *options, "--congestion-control-module", MODULE)
    assert document["scenario"]["tcp"]["congestion_control"] == "my-delay"


def test_a_control_of_everything_sees_each_segment_and_its_window_is_obeyed() -> None:
    made: list[Any] = []

    @fairlane.register_congestion_control("fixed")
    class _Fixed:
        """A window of 20 segments, paced."""

        def __init__(self, connection: fairlane.Connection) -> None:
            assert connection.window == 10 * connection.mss == 14480  # RFC 6928, 1500 - 52 bytes
            connection.window = 20 * connection.mss
            connection.pacing_rate_bps = 8e6
            self.connection = connection
            self.sent: set[int] = set()
            self.arrived = self.lost = 0
            self.most, self.events = 0, set[str]()
            made.append(self)

        def on_sent(self, segment: fairlane.Segment) -> None:
            assert segment.now == segment.sent
            self.sent.add(segment.number)

        def on_delivered(self, segment: fairlane.Segment) -> None:
            assert segment.number in self.sent
            self.arrived += segment.size

        def on_lost(self, segment: fairlane.Segment) -> None:
            self.lost += 1

        def on_ack(self, ack: fairlane.Ack) -> None:
            assert ack.total_delivered == self.arrived
            self.most = max(self.most, ack.in_flight)

        def on_event(self, event: fairlane.Event) -> None:
            self.events.add(event.name)

    runs = fairlane.run(scenario("fixed"), replications=1, threads=1).runs
    assert len(made) == 2, "an object for each flow"
    for control in made:
        # Two windows of 20 segments fit into the path (33 segments) and the buffer (33 segments).
        assert (control.lost, control.events) == (0, {"open"})
        assert 15 * 1448 < control.most <= 20 * 1448
    assert runs[0]["links"][0]["utilisation"] > 0.9


HEAD = """
import fairlane

@fairlane.register_congestion_control("bad")
class Bad:
    def __init__(self, connection):
        self.connection = connection
"""
ACK = "    def on_ack(self, ack):\n        "
GROW = "    def grow(self, window, segments, now, smoothed_rtt):\n        "
REDUCE = "    def reduce(self, window, outstanding, in_flight, cause):\n        "
BYTES = "a positive number of bytes, at most 4294967295"
MISTAKES = {
    ACK + "return 1 / 0": "bad: Bad.on_ack: ZeroDivisionError: division by zero (bad.py, line 9)",
    ACK
    + "self.connection.window = float('nan')": f"Bad.on_ack: ValueError: window: NaN must be {BYTES} (bad.py, line 9)",
    ACK + "self.connection.window = -5": f"bad: Bad.on_ack: ValueError: window: -5 must be {BYTES} (bad.py",
    ACK + "self.connection.window = 0": f"bad: Bad.on_ack: ValueError: window: 0 must be {BYTES} (bad.py",
    ACK + "self.connection.pacing_rate_bps = 0": "pacing_rate_bps: 0 must be None, or from 1 to 1e15 bit/s (bad.py",
    ACK + "return 7": "bad: Bad.on_ack gave 7, it must be None",
    ACK
    + "pass\n    def on_sent(self, segment):\n        self.x": "bad: Bad.on_sent: AttributeError: 'Bad' object has no",
    GROW + "return window\n" + REDUCE + "return -1": f"bad: Bad.reduce gave -1, it must be {BYTES}",
    GROW + "return float('nan')\n" + REDUCE + "return window / 2": f"bad: Bad.grow gave nan, it must be {BYTES}",
    GROW + "return 'x'\n" + REDUCE + "return window / 2": f"bad: Bad.grow gave 'x', it must be {BYTES}",
    "        raise ValueError('no\\nroom')\n" + ACK + "pass": "bad: Bad: ValueError: no room (bad.py, line 8)",
    GROW + "return window": "bad: Bad must have the method on_ack, or grow and reduce; it has grow",
    ACK + "pass\n" + GROW + "return 1\n" + REDUCE + "return 1": "it has grow, on_ack, reduce",
    "    on_ack = 3\n    boom": "--congestion-control-module: bad.py: NameError: name 'boom' is not defined (",
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.items())
def test_a_mistake_ends_the_run_with_one_line(cli: Cli, workdir: Path, body: str, message: str) -> None:
    (workdir / "bad.py").write_text(HEAD + body + "\n")
    options = ["--set", "tcp.profile=linux", "--set", "tcp.congestion_control=bad"]
    told = cli.error("run", "short.toml", *options, "--congestion-control-module", "bad.py")
    assert message in told.replace(str(workdir) + "/", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--congestion-control-module: bad.py is not a Python file"),
        ("x = 1", "--congestion-control-module: bad.py registers no congestion control"),
        ("x = (1", "--congestion-control-module: bad.py: SyntaxError: '(' was never closed (bad.py, line 1)"),
        ("import sys\nsys.exit(3)", "--congestion-control-module: bad.py: SystemExit: 3 (bad.py, line 2)"),
        ("raise ValueError('a\\nb')", "--congestion-control-module: bad.py: ValueError: a b (bad.py, line 1)"),
        (
            "import fairlane\nfairlane.register_congestion_control('Bad')(int)",
            "'Bad' is not a name for a congestion control",
        ),
        (
            "import fairlane\nfairlane.register_congestion_control('a')(print)",
            "a: <built-in function print> is not a class",
        ),
        (HEAD.replace('"bad"', '"cubic"') + ACK + "pass", "cubic: Fairlane has a congestion control of this name"),
        (
            HEAD.replace('"bad"', '"bad", marks="all"') + ACK + "pass",
            "bad: marks must be classic, ect0 or ect1, not all",
        ),
    ],
)
def test_a_module_that_is_none_is_refused(cli: Cli, workdir: Path, content: str | None, message: str) -> None:
    if content:
        (workdir / "bad.py").write_text(content)
    told = cli.error("run", "short.toml", "--congestion-control-module", "bad.py")
    assert message in told.replace(str(workdir) + "/", "")


def test_a_sender_without_records_is_refused() -> None:
    CONTROLS.load(MODULE)
    with pytest.raises(
        fairlane.ScenarioError, match=r'tcp\.congestion_control: "my-reno" needs loss_detection = "rack"'
    ):
        scenario("my-reno", profile="ns3").canonical()


def test_errors_reach_python_as_scheme_errors_and_nothing_is_left(tmp_path: Path) -> None:
    @fairlane.register_congestion_control("failing")
    class _Failing:
        def __init__(self, connection: fairlane.Connection) -> None:
            pass

        def on_ack(self, ack: fairlane.Ack) -> None:
            raise RuntimeError("as planned")

    with pytest.raises(fairlane.SchemeError, match=r"on_ack: RuntimeError: as planned \(.*test_external_control"):
        fairlane.run(scenario("failing"), trace=tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_pairs_of_ones_own_sender_are_simulated_again_and_the_others_stored(cli: Cli, workdir: Path) -> None:
    options = ["--senders", "my-reno,reno", "--queues", "droptail", "--congestion-control-module", MODULE]
    options += [f"--set={key}={value}" for key, value in {"run.warmup": "1 s", "run.measure": "2 s"}.items()]
    document = cli.document("pairs", *options, "--set=tcp.whole_windows=false", "--replications", "2", "--store", "st")
    (itself, mixed, built_in) = document["pairs"]
    assert [(pair["row"], pair["column"]) for pair in (itself, mixed, built_in)] == [
        ("my-reno", "my-reno"),
        ("my-reno", "reno"),
        ("reno", "reno"),
    ]
    # It is the built-in control in Python, so its pairs have the same results.
    assert itself["share"] == mixed["share"] == built_in["share"]
    assert len(list((workdir / "st" / "runs").glob("*.parquet"))) == 1


def test_a_sweep_has_points_of_ones_own_control_and_stores_the_others(cli: Cli, workdir: Path) -> None:
    (workdir / "own.toml").write_text(
        """
scenario = "short.toml"
[set]
tcp.profile = "linux"
tcp.whole_windows = false
[grid]
tcp.congestion_control = ["my-reno", "reno"]
[stop]
min_replications = 2
max_replications = 3
[stop.relative_half_width]
throughput_ratio = 0.0001
"""
    )
    options = ["--congestion-control-module", MODULE, "--store", "st"]
    ours, theirs = cli.document("sweep", "own.toml", *options)["points"]
    assert ours["metrics"] == theirs["metrics"]
    assert ours["replications"] == theirs["replications"] == 3
    planned = cli.document("sweep", "own.toml", *options, "--dry-run")["points"]
    assert [point["stored"] for point in planned] == [0, 3]
    told = cli.error("sweep", "own.toml", *options, "--ray", "local")
    assert told == "--ray: my-reno is written in Python, which stays in this process"


def test_pairs_ask_for_marks_for_a_control_of_ones_own_that_answers_them_all() -> None:
    @fairlane.register_congestion_control("every-mark", marks="ect1")
    class _EveryMark:
        def __init__(self, connection: fairlane.Connection) -> None:
            pass

        def on_ack(self, ack: fairlane.Ack) -> None:
            pass

    CONTROLS.load(MODULE)
    (point,) = [one for one in plan(["every-mark", "my-reno"], ["codel"], {}, {}).plan.points if one.index == 1]
    sources = [group["sources"][0] for group in json.loads(point.scenario)["groups"]]
    assert [(source["congestion_control"], source["ecn"]) for source in sources] == [
        ("every-mark", True),
        ("my-reno", False),
    ]


def test_runs_of_python_controls_are_neither_stored_nor_taken_from_the_store(tmp_path: Path) -> None:
    CONTROLS.load(MODULE)
    store, canonical = Store(tmp_path / "store"), scenario("my-reno").canonical()
    simulate([canonical], store, keep=True)
    assert not list(store.folder.rglob("*.parquet"))
    refused = 'tcp.congestion_control: "my-reno" is written in Python, its runs cannot be stored'
    with pytest.raises(fairlane.UserError, match=re.escape(refused)):
        store.load(canonical)
