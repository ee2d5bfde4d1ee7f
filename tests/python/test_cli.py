"""Tests the command `fairlane` end to end."""

import json
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import FAIRLANE, Cli, daily, execute, files


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"fairlane {fairlane.__version__}\n"


def test_run_prints_a_table_with_intervals(cli: Cli) -> None:
    done = cli("run", "short.toml")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("heavy", "light", "±", "utilisation", "throughput ratio", "aqm", "overlimit"):
        assert word in done.stdout


def test_run_prints_the_result_document(cli: Cli, workdir: Path) -> None:
    document = cli.document("run", "short.toml")
    jsonschema.validate(document, fairlane.schema("result"))
    assert document["summary"]["replications"] == 3
    assert files(workdir) == ["short.toml"]


def test_a_plain_run_stays_small(cli: Cli) -> None:
    # A forked command would have loaded all modules.
    assert cli.document("run", "short.toml", before=["env"])["cost"]["peak_memory_bytes"] < 50e6


def test_options_change_the_scenario(cli: Cli) -> None:
    options = ["--replications", "2", "--seed", "7", "--set", "tcp.delayed_ack=1", "--set", "queue.limit=30 packets"]
    scenario = cli.document("run", "short.toml", *options)["scenario"]
    assert (scenario["run"]["replications"], scenario["run"]["seed"]) == (2, 7)
    assert scenario["tcp"]["delayed_ack"] == 1
    assert scenario["queue"]["limit"] == "30 packets"


def test_one_replication_has_no_interval(cli: Cli) -> None:
    assert "±" not in cli.output("run", "short.toml", "--replications", "1").split("\n", 1)[1]


@pytest.mark.usefixtures("undrawn")
def test_out_writes_files_and_leaves_others_alone(cli: Cli, workdir: Path) -> None:
    out = workdir / "deep" / "out"
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("mine")
    cli.output("run", "short.toml", "--out", "deep/out")
    tables = [f"{name}.parquet" for name in ("costs", "flows", "links", "runs", "users")]
    figures = [f"{name}.{form}" for name in ("delay", "queue", "shares", "throughput") for form in ("png", "svg")]
    assert files(out) == sorted([*tables, *figures, "mine.txt", "result.json"])


@pytest.mark.usefixtures("undrawn")
def test_compare_prints_a_row_per_queue(cli: Cli) -> None:
    compare = ["compare", "short.toml", "--queues", "droptail,abc", "--out", "new", "--all"]
    assert cli.output(*compare).count("droptail") >= 3
    document = cli.document("compare", "short.toml", "--queues", "droptail, abc")
    assert list(document["results"]) == ["droptail", "abc"]


def test_schemes_topologies_and_schemas(cli: Cli) -> None:
    assert "Q_max" in cli.output("schemes", "droptail")
    assert "queue.averager_memory" in cli.output("schemes", "abc")
    assert "Drop-tail" in cli.output("schemes", "--all")
    assert "one queue, drops or marks: afc, afd" in cli.output("schemes")
    assert [scheme["name"] for scheme in cli.document("schemes")][:2] == ["droptail", "abc"]
    assert "topology.bottleneck_rate" in cli.output("topologies")
    assert cli.document("topologies") == fairlane.topologies()
    assert [control["name"] for control in cli.document("congestion-controls")][:2] == ["reno", "cubic"]
    assert "tcp.vegas_alpha" in cli.output("congestion-controls", "vegas")
    assert "rack, scoreboard, packet_threshold" in cli.output("congestion-controls")
    for of in ("scenario", "result"):
        assert json.loads(cli("schema", of).stdout)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["run"],
        ["compare"],
        ["reproduce"],
        ["sweep"],
        ["schemes"],
        ["congestion-controls"],
        ["topologies"],
        ["schema"],
        ["store"],
    ]
    + [["store", verb] for verb in ("ls", "verify", "gc", "export")],
)
def test_help_is_there(cli: Cli, command: list[str]) -> None:
    assert "Usage: fairlane" in cli.output(*command, "--help")


def test_a_reader_that_goes_away_is_no_error() -> None:
    assert execute("sh", "-c", f"{FAIRLANE} schema result | head -c 10").stderr == ""


@pytest.mark.parametrize("arguments", [["run", "short.toml"], ["run", "short.toml", "--json"], ["schemes"], ["--help"]])
def test_an_output_that_is_full_is_one_line(cli: Cli, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = cli(*arguments, stdout=full)
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")


@pytest.mark.parametrize("closed", daily(["<&-", ">&-", "2>&-"], ">&-"))
def test_a_closed_stream_disturbs_nothing(cli: Cli, workdir: Path, closed: str) -> None:
    done = cli("run", "short.toml", "--out", "out", before=["sh", "-c", f'exec "$@" {closed}', "sh"])
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (closed != ">&-")
    # No file of ours got the descriptor of the closed stream, and with it the output of other code.
    assert json.loads((workdir / "out" / "result.json").read_text())["scenario"]["name"] == "short"


GROUPS = [[], ["kernel"], ["lab"], ["p4"], ["store"]]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group[0] if group else "fairlane")
def test_a_group_of_commands_alone_prints_its_help(cli: Cli, group: list[str]) -> None:
    done = cli(*group)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == cli(*group, "--help").stdout
