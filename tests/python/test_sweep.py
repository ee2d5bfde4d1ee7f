"""Tests `fairlane sweep` as a user would call it."""

import json
import re
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import EXAMPLES, SHORT_SCENARIO, Cli, contents, ended, files
from fairlane import Scenario, SweepResult, UserError, _fairlane
from fairlane.base.progress import LINE_EVERY_S
from fairlane.results.plots import as_bytes, colours_of
from fairlane.simulate.variants import Variant
from fairlane.store import Store, key
from fairlane.sweeps.estimate import Estimate
from fairlane.sweeps.executors import Done, Job
from fairlane.sweeps.figure import draw
from fairlane.sweeps.keys import KEYS
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.point_work import PointWork
from fairlane.sweeps.stop import Stop
from fairlane.sweeps.targets import check_metrics
from fairlane.sweeps.work import Work

GRID = """
scenario = "short.toml"
replications = 2

[grid]
queue.scheme = ["droptail", "abc"]
topology.bottleneck_delay = ["5 ms", "50 ms"]

[[zip]]
"groups[0].sources[0].flows" = [2, 5, 8]
"groups[1].users" = [8, 5, 2]
"""

RULE = """
scenario = "short.toml"

[set]
run.measure = "0.5 s"

[grid]
queue.scheme = ["droptail", "abc"]
"groups[0].sources[0].flows" = [1, 5]

[stop]
min_replications = 3
max_replications = 40
relative_half_width = { utilisation.bottleneck = 0.02, "throughput_bps.light" = 0.03 }
"""


@pytest.fixture
def grid(workdir: Path) -> Path:
    (workdir / "grid.toml").write_text(GRID)
    return workdir / "grid.toml"


@pytest.fixture
def rule(workdir: Path) -> Path:
    (workdir / "rule.toml").write_text(RULE)
    return workdir / "rule.toml"


def test_product_and_zip_give_the_points_in_order(grid: Path) -> None:
    plan = Plan.read(grid)
    assert len(plan.points) == 2 * 2 * 3
    assert [tuple(point.at.values()) for point in plan.points[:4]] == [
        ("droptail", "5 ms", 2, 8),
        ("droptail", "5 ms", 5, 5),
        ("droptail", "5 ms", 8, 2),
        ("droptail", "50 ms", 2, 8),
    ]


def test_another_scheme_is_that_of_compare(grid: Path, workdir: Path) -> None:
    base = Scenario.from_toml(workdir / "short.toml").replace("queue.q_min", "11 packets")
    (workdir / "short.toml").write_text(base.to_toml())
    plan = Plan.read(grid, settings={})
    for point in plan.points:
        scenario = base.replace("topology.bottleneck_delay", point.at["topology.bottleneck_delay"])
        scenario = scenario.replace("groups[0].sources[0].flows", point.at["groups[0].sources[0].flows"])
        scenario = scenario.replace("groups[1].users", point.at["groups[1].users"])
        assert key(_fairlane.with_queue(scenario.canonical(), point.at["queue.scheme"])) == point.identity.key


def test_a_scheme_of_a_sweep_may_have_parameters_as_in_compare(tmp_path: Path) -> None:
    queues = ["abc:gamma=8 packets,marker.memory=1 s", "fq_codel:share_per=user", "abc"]
    plan = Plan.of(SHORT_SCENARIO, grid={"queue.scheme": queues})
    canonical = SHORT_SCENARIO.canonical()
    assert [point.at["queue.scheme"] for point in plan.points] == queues
    for point, queue in zip(plan.points, queues, strict=True):
        under = json.loads(Variant.parsed(queue).under(canonical))
        found = json.loads(point.scenario)
        assert (found["queue"], found["marker"]) == (under["queue"], under["marker"])
    with pytest.raises(UserError, match=r"'gama' is no parameter of its own; did you mean gamma"):
        Plan.of(SHORT_SCENARIO, grid={"queue.scheme": ["abc:gama=8 packets"]})
    swept = fairlane.sweep(SHORT_SCENARIO, grid={"queue.scheme": queues}, replications=2, store=tmp_path)
    assert "ABC, gamma 8 packets" in str(
        [text.get_text() for text in swept.plot("jain_index").axes[0].get_xticklabels()]
    )


def test_tables_have_a_row_per_run_and_per_point_and_metric(cli: Cli, grid: Path, workdir: Path) -> None:
    assert "12 points, 24 runs" in cli.output("sweep", "grid.toml", "--pdf")
    out = workdir / "results" / "grid"
    tables = ("costs", "points", "runs")
    pictures = [f"sweep.{kind}" for kind in ("pdf", "png", "svg")]
    assert files(out) == [
        *(f"{name}.{kind}" for name in tables for kind in ("csv", "parquet")),
        "sweep.json",
        *pictures,
    ]
    runs = pl.read_parquet(out / "runs.parquet")
    assert runs.height == 24
    assert runs["point"].to_list() == [index for index in range(12) for _ in range(2)]
    assert set(runs["version"]) == {fairlane.__version__}
    assert set(runs["engine"]) == {_fairlane.engine_version()}
    assert set(runs["seed"]) == {1}
    costs = pl.read_parquet(out / "costs.parquet")
    assert costs["cpu_seconds"].min() > 0  # type: ignore[operator]
    assert [costs[name].to_list() for name in ("point", "replication")] == [
        runs[name].to_list() for name in ("point", "replication")
    ]
    assert not {"cpu_seconds", "host", "finished_at"} & set(runs.columns)
    assert (runs["window_end_s"] - runs["window_start_s"]).unique().to_list() == [1.0]
    assert set(runs["point.queue.scheme"]) == set(runs["queue"]) == {"droptail", "abc"}
    assert runs["point.groups[1].users"].to_list() == runs["scenario.groups.1.users"].to_list()
    points = pl.read_parquet(out / "points.parquet")
    row = points.row(by_predicate=(pl.col("point") == 7) & (pl.col("metric") == "utilisation.bottleneck"), named=True)
    samples = runs.filter(pl.col("point") == 7)["utilisation.bottleneck"]
    assert row["mean"] == pytest.approx(samples.mean())
    # For two runs, the half width is t(0.975; 1) = 12.706 times the standard deviation divided by sqrt(2).
    assert row["half_width"] == pytest.approx(12.706 * samples.std() / 2**0.5, rel=1e-4)  # type: ignore[operator]
    assert (row["n"], row["unit"]) == (2, "1")
    units = json.loads(pl.read_parquet_metadata(out / "runs.parquet")["fairlane.units"])
    assert units["throughput_bps.heavy"] == "bit/s"
    assert pl.read_csv(out / "points.csv").height == points.height
    assert pl.read_csv(out / "runs.csv").columns == runs.columns


def test_the_same_numbers_as_run(cli: Cli, grid: Path, workdir: Path) -> None:
    document = cli.document("sweep", "grid.toml")
    jsonschema.validate(document, fairlane.schema("sweep-result"))
    scenario = Scenario.from_toml(workdir / "short.toml").replace("topology.bottleneck_delay", "50 ms")
    scenario = scenario.replace("groups[0].sources[0].flows", 8).replace("groups[1].users", 2)
    summary = fairlane.run(scenario, replications=2, store=workdir / "other").summary
    (point,) = (point for point in document["points"] if list(point["at"].values()) == ["abc", "50 ms", 8, 2])
    for part in ("mean", "half_width"):
        assert point["metrics"]["throughput_ratio"][part] == pytest.approx(summary["throughput_ratio"][part])


def test_a_second_call_simulates_nothing_and_says_the_same(
    cli: Cli, grid: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = cli.document("sweep", "grid.toml")
    before = contents(workdir / "results" / "store")
    monkeypatch.chdir(workdir)
    monkeypatch.setattr("fairlane._fairlane.Batch", None)
    again = dict(fairlane.sweep("grid.toml").document())
    assert again.pop("cost")["cpu_seconds"] == pytest.approx(expected.pop("cost")["cpu_seconds"])
    assert again == expected
    assert contents(workdir / "results" / "store") == before


def test_equal_points_run_once(workdir: Path) -> None:
    text = 'scenario = "short.toml"\nreplications = 2\n[grid]\ntopology.bottleneck_delay = ["5 ms", "0.005 s"]\n'
    (workdir / "equal.toml").write_text(text)
    result = fairlane.sweep(workdir / "equal.toml", store=workdir / "store")
    assert result.document()["runs"] == 2
    assert result.runs_frame().height == 4


def test_values_of_several_kinds_are_cells_of_text(workdir: Path) -> None:
    text = """
        scenario = "short.toml"
        replications = 1
        [grid]
        topology.bottleneck_schedule = [[], [{ at = "1 s", rate = "5 Mbit/s" }]]
        tcp.ecn = [false, true]
    """
    (workdir / "kinds.toml").write_text(text)
    frame = fairlane.sweep(workdir / "kinds.toml", store=workdir / "store").runs_frame()
    assert frame["point.tcp.ecn"].to_list() == [False, True, False, True]
    assert frame["point.topology.bottleneck_schedule"].to_list()[2] == '[{"at": "1 s", "rate": "5 Mbit/s"}]'


def test_dry_run_lists_what_is_stored_and_what_is_missing(cli: Cli, grid: Path, workdir: Path) -> None:
    planned = "12 points, 0 runs stored in results/store, 24 missing (CPU time not yet known)"
    assert planned in cli.output("sweep", "grid.toml", "--dry-run")
    assert files(workdir) == ["grid.toml", "short.toml"]
    cli("sweep", "grid.toml", "--replications", "1")
    document = cli.document("sweep", "grid.toml", "--dry-run")
    jsonschema.validate(document, fairlane.schema("sweep-plan"))
    assert (document["stored"], document["missing"]) == (12, 12)
    assert document["cpu_seconds"] > 0
    assert [(point["stored"], point["missing"], point["most"]) for point in document["points"]] == [(1, 1, 2)] * 12


# Stop rules.


def test_a_point_stops_when_its_intervals_are_narrow(cli: Cli, rule: Path) -> None:
    document = cli.document("sweep", "rule.toml")
    counts = [point["replications"] for point in document["points"]]
    assert min(counts) >= 3
    assert max(counts) <= 40
    assert len(set(counts)) > 1
    for point in document["points"]:
        metrics = point["metrics"]
        narrow = all(
            metrics[name]["half_width"] <= target * abs(metrics[name]["mean"])
            for name, target in (("utilisation.bottleneck", 0.02), ("throughput_bps.light", 0.03))
        )
        assert point["narrow_enough"] == narrow
        assert narrow or point["replications"] == 40


def test_neither_threads_nor_stored_runs_decide_how_many_runs_a_point_gets(cli: Cli, rule: Path, workdir: Path) -> None:
    def counts(*arguments: str) -> list[int]:
        return [point["replications"] for point in cli.document("sweep", "rule.toml", *arguments)["points"]]

    reference = counts("--store", "a", "--threads", "1")
    assert counts("--store", "b", "--threads", "4") == reference
    assert contents(workdir / "a") == contents(workdir / "b")
    # A store with more runs than the rule requires.
    plan = Plan.read(rule)
    longer = Scenario.from_dict(json.loads(plan.points[0].scenario)).replace("run.replications", 50)
    store = Store(workdir / "c")
    (workdir / "long.toml").write_text(longer.to_toml())
    (workdir / "more.toml").write_text('scenario = "long.toml"\nreplications = 50\n')
    assert cli("sweep", "more.toml", "--store", "c").returncode == 0
    assert len(store.load(plan.points[0].scenario)) == 50
    assert counts("--store", "c") == reference


def test_the_size_of_a_round_follows_from_the_width() -> None:
    stop = Stop({"x": 0.1}, 4, 100)
    # Four samples have the mean 10 and the standard deviation 2. With t(0.975; 3) = 3.182, the half width is 3.182 * 2
    # / sqrt(4) = 3.182, which is 3.182 times the required 1.
    samples = {"x": [10 - 3**0.5, 10 - 3**0.5, 10 + 3**0.5, 10 + 3**0.5]}
    assert stop.expected(samples, 4) == 41  # 4 * 3.182^2 = 40.5
    assert stop.next_round(samples, 4) == 8  # at most double
    assert Stop({"x": 0.1}, 4, 6).next_round(samples, 4) == 6
    assert Stop({"x": 0.32}, 4, 100).next_round(samples, 4) == 4
    assert Stop({"x": 0.3}, 4, 100).next_round(samples, 4) == 5


@pytest.mark.parametrize(
    ("values", "met"),
    [
        pytest.param([0.0, 0.0, 0.0], True, id="always zero"),
        pytest.param([1.0, -1.0, 0.0], False, id="zero on the mean"),
        pytest.param([1.0, None, 1.0], False, id="a run without the number"),
        pytest.param([1.0, float("inf"), 1.0], False, id="infinite"),
        pytest.param([1.0, 1.0, 1.0], True, id="always the same"),
    ],
)
def test_the_rule_at_its_edges(values: list[float | None], met: bool) -> None:
    assert Stop({"x": 0.5}, 3, 100).met({"x": values}) == met


# Progress.


def test_time_left_is_from_the_costs_of_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    identity = Plan.read(EXAMPLES / "sweeps" / "every-key.toml").points[0].identity
    cheap, dear = (PointWork("{}", identity, Stop.after(10), {}) for _ in range(2))
    estimate = Estimate([cheap, dear])
    assert estimate.words(2) == (0, 20, "time left not yet known")
    for point, cost in ((cheap, 1.0), (dear, 9.0)):
        point.finish(0, "", cost)
        estimate.finished(cost)
    now = 105.0  # 10 s of CPU time in 5 s: two threads
    # Remaining: 9 runs of 1 s and 9 of 9 s on two threads.
    assert estimate.words(2) == (2, 20, "about 45 s left")


def test_time_left_says_what_a_rule_may_want(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    identity = Plan.read(EXAMPLES / "sweeps" / "every-key.toml").points[0].identity
    point = PointWork("{}", identity, Stop({}, 4, 40), {})
    estimate = Estimate([point])
    for number in range(2):
        point.finish(number, "", 2.0)
        estimate.finished(2.0)
    now = 4.0
    assert estimate.words(1) == (2, 4, "about 4 s left, at most 76 s")


class Stuck:
    """Executes runs that never end; each poll advances the clock by a second."""

    batch_s, slots, has_room = 1.0, 1, True

    def __init__(self) -> None:
        self.now = 0.0

    def submit(self, jobs: Sequence[Job]) -> None:
        pass

    def wait(self, timeout_s: float) -> list[Done]:
        self.now += 1.0
        return []

    def reached(self) -> list[tuple[float, float, int]]:
        return [(7.0, 200.0, 3_000_000), (9.0, 200.0, 4_000_000)]

    def close(self) -> None:
        pass


def test_a_sweep_whose_runs_do_not_end_says_how_far_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    executor = Stuck()
    monkeypatch.setattr(time, "monotonic", lambda: executor.now)
    told: dict[float, str] = {}

    def report(_done: int, _total: int, left: str) -> None:
        told[executor.now] = left
        if executor.now > LINE_EVERY_S:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    plan = Plan.read(EXAMPLES / "sweeps" / "every-key.toml")
    with pytest.raises(KeyboardInterrupt), store.writer() as writer:
        Work(plan, store).execute(lambda: executor, writer, report)
    assert told[LINE_EVERY_S - 1] == "time left not yet known"
    assert told[LINE_EVERY_S] == "time left not yet known, simulated 7 of 200 s in 3 million events"


def test_progress_is_told_on_stderr(cli: Cli, workdir: Path) -> None:
    text = 'scenario = "short.toml"\nreplications = 100000\n[set]\nrun.measure = "20 s"\n'
    (workdir / "long.toml").write_text(text)
    process = cli.start("sweep", "long.toml", "--threads", "1")
    assert process.stderr
    assert re.fullmatch(r"long: \d+ of 100000 runs, about .* left\n", process.stderr.readline())
    told = r"interrupted: ([1-9]\d*) of 100000 runs finished and kept in results/store; the same command continues .*"
    interrupted = re.fullmatch(told, ended(process))
    assert interrupted
    assert cli.document("sweep", "long.toml", "--dry-run")["stored"] == int(interrupted[1])
    assert not (workdir / "results" / "long").exists()


# The file.


def test_the_example_shows_every_key_and_follows_the_schema() -> None:
    text = (EXAMPLES / "sweeps" / "every-key.toml").read_text()
    schema = fairlane.schema("sweep")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(text), schema)
    table = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    assert {*table, *(f"stop.{name}" for name in table["stop"])} == {one.name for one in KEYS}


def test_the_example_runs(cli: Cli, workdir: Path) -> None:
    quick = ["--set", "run.warmup=15 s", "--set", "run.measure=0.1 s", "--store", "store", "--out", "out"]
    cli.output("sweep", EXAMPLES / "sweeps" / "every-key.toml", *quick)
    assert pl.read_parquet(workdir / "out" / "points.parquet")["point"].n_unique() == 8


FILES = {
    "no scenario": ("", ["scenario", "missing"]),
    "missing scenario": ('scenario = "none.toml"', ["none.toml", "No such file"]),
    "scenario not a string": ("scenario = 3", ["scenario", "3", "string"]),
    "not TOML": ("a = = 1", ["line 1"]),
}
TARGET = "relative_half_width = { jain_index = 0.1 }"
SWEEPS = {
    "unknown key": ("gird = 1", ["gird", "grid"]),
    "name with a slash": ('name = "a/b"', ["name", "a/b"]),
    "no replications": ("replications = 0", ["replications", "0", "1", "100000"]),
    "half a replication": ("replications = 2.5", ["replications", "2.5"]),
    "grid no table": ("grid = 3", ["grid", "3", "table"]),
    "no array": ('[grid]\nqueue.scheme = "abc"', ["grid.queue.scheme", "abc", "array"]),
    "no values": ("[grid]\nqueue.scheme = []", ["grid.queue.scheme", "[]"]),
    "unknown scheme": ('[grid]\nqueue.scheme = ["x"]', ["queue.scheme", "x", "droptail"]),
    "value out of range": (
        '[grid]\ntopology.bottleneck_delay = ["5 ms", "2 h"]',
        ["topology.bottleneck_delay", "2 h", "1 h"],
    ),
    "unknown key of the scenario": ("[grid]\ntcp.foo = [1]", ["tcp.foo"]),
    "no such group": ('[grid]\n"groups[7].users" = [1]', ["groups[7].users"]),
    "counts vary": ("[grid]\nrun.replications = [1]", ["run.replications", "replications"]),
    "set and varied": ("[set]\nrun.seed = 1\n[grid]\nrun.seed = [1, 2]", ["run.seed"]),
    "varied twice": ("[grid]\nrun.seed = [1]\n[[zip]]\nrun.seed = [2]", ["run.seed", "two"]),
    "varied twice, written otherwise": (
        '[grid]\n"groups[0].users" = [1]\n"groups.00.users" = [2]',
        ["groups.00.users", "two"],
    ),
    "set and varied, written otherwise": (
        '[set]\n"groups[0].users" = 1\n[grid]\n"groups.0.users" = [2]',
        ["groups.0.users", "both set"],
    ),
    "zip of two lengths": (
        "[[zip]]\nrun.seed = [1, 2]\ntcp.delayed_ack = [1]",
        ["zip[0].tcp.delayed_ack", "1", "2", "run.seed"],
    ),
    "zip no array": ("[zip]\nrun.seed = [1]", ["zip", "array of tables"]),
    "empty zip": ("[[zip]]", ["zip[0]"]),
    "too many points": (f"[grid]\nrun.seed = {list(range(400))}\ntcp.min_rto = {['1 s'] * 400}", ["160000", "100000"]),
    "rule without target": ("[stop]", ["stop.relative_half_width", "missing"]),
    "target zero": (
        "[stop]\nrelative_half_width = { jain_index = 0 }",
        ["stop.relative_half_width.jain_index", "0", "0.0001", "1.0"],
    ),
    "target not a number": (
        "[stop]\nrelative_half_width = { jain_index = nan }",
        ["stop.relative_half_width.jain_index", "nan"],
    ),
    "unknown metric": (
        "[stop]\nrelative_half_width = { jain = 0.1 }",
        ["stop.relative_half_width.jain", "did you mean jain_index"],
    ),
    "no interval of one run": ("[stop]\nmin_replications = 1\n" + TARGET, ["stop.min_replications", "1", "2"]),
    "most below least": (
        "[stop]\nmin_replications = 9\nmax_replications = 8\n" + TARGET,
        ["stop.max_replications", "8", "9"],
    ),
    "rule and number": ("replications = 3\n[stop]\n" + TARGET, ["replications", "3", "stop"]),
    "unknown key of the rule": ("[stop]\nmetric = 1", ["stop.metric", "min_replications"]),
}
"""For each mistake: a sweep file without its first line (`scenario = ...`), and words that the error must contain."""


@pytest.mark.parametrize(("text", "mentions"), FILES.values(), ids=FILES)
def test_a_wrong_file_is_named(cli: Cli, workdir: Path, text: str, mentions: list[str]) -> None:
    (workdir / "wrong.toml").write_text(text)
    cli.refuses(["sweep", "wrong.toml"], ["wrong.toml: ", *mentions])


@pytest.mark.parametrize(("text", "mentions"), SWEEPS.values(), ids=SWEEPS)
def test_a_wrong_sweep_is_named(cli: Cli, workdir: Path, text: str, mentions: list[str]) -> None:
    (workdir / "wrong.toml").write_text(f'scenario = "short.toml"\n{text}')
    cli.refuses(["sweep", "wrong.toml"], ["wrong.toml: ", *mentions])


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        pytest.param(["none.toml"], ["none.toml"], id="no file"),
        pytest.param([], ["SWEEP.toml"], id="no argument"),
        pytest.param(["grid.toml", "--replications", "0"], ["--replications", "0"], id="no replications"),
        pytest.param(["grid.toml", "--threads", "0"], ["--threads", "0"], id="no threads"),
        pytest.param(["grid.toml", "--threads", "2", "--ray"], ["--threads", "2", "--ray"], id="threads and cluster"),
        pytest.param(["grid.toml", "--store", "short.toml"], ["--store", "short.toml"], id="store is a file"),
        pytest.param(["grid.toml", "--out", "short.toml"], ["--out", "short.toml"], id="output is a file"),
        pytest.param(["grid.toml", "--set", "tcp.foo=1"], ["tcp.foo"], id="setting"),
        pytest.param(["grid.toml", "--set", "queue.scheme=abc"], ["queue.scheme"], id="set what varies"),
    ],
)
@pytest.mark.usefixtures("grid")
def test_a_wrong_command_is_named(cli: Cli, arguments: list[str], mentions: list[str]) -> None:
    cli.refuses(["sweep", *arguments], mentions)


def test_a_rule_may_be_about_the_delay_and_the_losses_of_a_group() -> None:
    scenario = SHORT_SCENARIO.canonical()
    known = ("one_way_delay_p99_s.heavy", "one_way_delay_mean_s.light", "rtt_p95_s.heavy", "lost_share.light")
    check_metrics(dict.fromkeys(known, 0.1), scenario)
    with pytest.raises(fairlane.UserError, match="unknown metric"):
        check_metrics({"rtt_p95_s.light": 0.1}, scenario)  # only UDP


GRID_OF_PYTHON = {
    "queue.scheme": ("droptail", "abc"),
    "topology.bottleneck_delay": ["5 ms", "50 ms"],
}
ZIP_OF_PYTHON = [{"groups[0].sources[0].flows": range(2, 9, 3), "groups[1].users": [8, 5, 2]}]


def test_a_sweep_of_python_is_that_of_the_file(grid: Path, workdir: Path) -> None:
    scenario = Scenario.from_toml(workdir / "short.toml")
    made = Plan.of(scenario, grid=GRID_OF_PYTHON, zip=ZIP_OF_PYTHON, name="grid", replications=2)
    assert made == Plan.read(grid)
    store = workdir / "store"
    given = {"grid": GRID_OF_PYTHON, "zip": ZIP_OF_PYTHON, "name": "grid", "replications": 2, "store": store}
    swept = fairlane.sweep(scenario, **given)
    assert swept.document() == fairlane.sweep(grid, store=store).document()
    assert fairlane.sweep(workdir / "short.toml", **given).document() == swept.document()


def test_values_of_numpy_are_values(workdir: Path) -> None:
    import numpy as np

    plan = Plan.of(SHORT_SCENARIO, grid={"queue.limit": ["24 packets"], "groups[1].weight": np.linspace(1, 2, 3)})
    assert [point.at["groups[1].weight"] for point in plan.points] == [1.0, 1.5, 2.0]
    assert plan.name == "short"
    assert Plan.of(SHORT_SCENARIO.replace("name", "a b: c/d"), grid={"run.seed": [1]}).name == "a-b-c-d"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"grid": {"queue.scheme": "abc"}}, "grid.queue.scheme: 'abc' is not an array"),
        ({"grid": ["abc"]}, "grid: ['abc'] is not a table"),
        ({"zip": {"queue.scheme": ["abc"]}}, "zip: {'queue.scheme': ['abc']} is not a list of tables"),
        ({"grid": {}, "stop": {"least": 3}}, "stop.least: unknown key"),
        ({"grid": {}, "name": "../x"}, 'name: "../x" must consist of'),
        ({"name": "x"}, "grid: missing"),
    ],
)
def test_a_wrong_argument_of_a_sweep_is_one_line(given: Any, message: str) -> None:
    with pytest.raises(fairlane.UserError) as caught:
        fairlane.sweep(SHORT_SCENARIO, **given)
    assert str(caught.value).startswith(message)


def test_a_grid_needs_a_scenario_and_a_sweep_file_says_its_rules(grid: Path) -> None:
    with pytest.raises(fairlane.UserError, match="grid: has no effect on a Plan"):
        fairlane.sweep(Plan.read(grid), grid={"run.seed": [1, 2]})
    with pytest.raises(fairlane.UserError, match=r"^stop: has no effect without grid or zip"):
        fairlane.sweep(grid, stop={})


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    delays = ["5 ms", "20 ms", "100 ms"]
    axes = {"queue.scheme": ["droptail", "abc"], "groups[1].users": [1, 2], "topology.bottleneck_delay": delays}
    store = tmp_path_factory.mktemp("swept") / "store"
    return fairlane.sweep(SHORT_SCENARIO, grid=axes, replications=2, store=store)


def test_the_picture_has_a_line_for_each_combination_of_the_other_keys(swept: SweepResult) -> None:
    drawn = swept.plot("throughput_ratio")
    (axes,), (legend,) = drawn.axes, drawn.legends
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("bottleneck delay (ms)", "throughput ratio")
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["DropTail, users 1", "DropTail, users 2", "ABC, users 1", "ABC, users 2"]
    heights = [list(container.lines[0].get_ydata()) for container in axes.containers]
    places = [list(container.lines[0].get_xdata()) for container in axes.containers]
    means = [point["metrics"]["throughput_ratio"]["mean"] for point in swept.document()["points"]]
    assert [height for of_line in heights for height in of_line] == means
    # The values differ by a factor of 20, so the axis is logarithmic.
    assert places == [pytest.approx([0.005, 0.02, 0.1])] * 4
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "20", "100"]
    # A colour for each scheme, a pattern for each of its lines.
    lines = [container.lines[0] for container in axes.containers]
    colours = colours_of(["droptail", "abc"])
    assert [line.get_color() for line in lines] == [colours["droptail"]] * 2 + [colours["abc"]] * 2
    assert [line.get_linestyle() for line in lines] == ["-", "--"] * 2
    assert drawn._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_the_picture_without_a_metric_is_that_of_share_delay_and_use(swept: SweepResult, tmp_path: Path) -> None:
    drawn = swept.plot()
    titles = [axes.get_title("left").replace("\n", " ") for axes in drawn.axes]
    quantities = ("throughput over max-min share, {}", "one-way delay p99, {} (ms)")
    wanted = [quantity.format(group) for quantity in quantities for group in ("heavy", "light")]
    assert titles == [*wanted, "utilisation, bottleneck (%)"]
    # Panels of a metric have the same scale, from zero.
    limits = [axes.get_ylim() for axes in drawn.axes]
    assert (limits[0], limits[2]) == (limits[1], limits[3])
    assert {low for low, _ in limits} == {0.0}
    swept.write(tmp_path / "out", pdf=True)
    assert as_bytes(drawn, ".png") == (tmp_path / "out" / "sweep.png").read_bytes()
    assert as_bytes(swept.plot(column=True), ".pdf") == (tmp_path / "out" / "sweep.pdf").read_bytes()


@pytest.mark.parametrize(
    ("schemes", "panels", "first"),
    [(4, 2, ["users 1", "users 2"]), (8, 16, ["droptail0, users 1", "droptail0, users 2"])],
)
def test_many_lines_have_a_panel_for_each_value_of_a_key_or_else_one_each(
    swept: SweepResult, schemes: int, panels: int, first: list[str]
) -> None:
    # Two schemes at three delays are few enough for one pair of axes.
    assert len(swept.plot("utilisation.bottleneck", over="groups[1].users").axes) == 1
    document = swept.document()
    document["points"] = [
        {**point, "at": {**point["at"], "queue.scheme": f"{point['at']['queue.scheme']}{copy}"}}
        for copy in range(schemes // 2)
        for point in document["points"]
    ]
    drawn = draw(document, "utilisation.bottleneck")
    assert [axes.get_title("left") for axes in drawn.axes][:2] == first
    assert [len(axes.containers) for axes in drawn.axes] == [2 * schemes // panels] * panels
    many = ["throughput_ratio", "throughput_bps", "goodput_bps", "one_way_delay_p99_s", "one_way_delay_p95_s"]
    with pytest.raises(fairlane.UserError, match=rf"{9 * panels} panels, 16 fit into a column"):
        draw(document, many, column=True)


def test_a_picture_of_what_there_is_not_names_what_there_is(swept: SweepResult) -> None:
    with pytest.raises(fairlane.UserError, match=r"metric: 'throughput_ration'.*did you mean throughput_ratio"):
        swept.plot("throughput_ration")
    with pytest.raises(fairlane.UserError, match=r"over: 'x' is no key that varies; there are queue\.scheme"):
        swept.plot("throughput_ratio", over="x")
