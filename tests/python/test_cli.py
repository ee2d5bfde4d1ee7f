"""The command end to end."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import FAIRLANE, Cli, files


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"fairlane {fairlane.__version__}\n"


def test_run_prints_a_table_with_intervals(cli: Cli) -> None:
    done = cli("run", "short.toml")
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ("heavy", "light", "±", "utilisation", "throughput ratio", "aqm", "overlimit"):
        assert word in done.stdout


def test_run_prints_the_result_document(cli: Cli, workdir: Path) -> None:
    done = cli("run", "short.toml", "--json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, fairlane.schema("result"))
    assert document["summary"]["replications"] == 3
    assert files(workdir) == ["short.toml"]


def test_a_plain_run_stays_small(cli: Cli) -> None:
    document = json.loads(cli("run", "short.toml", "--json").stdout)
    assert document["cost"]["peak_memory_bytes"] < 50e6


def test_options_change_the_scenario(cli: Cli) -> None:
    options = ["--replications", "2", "--seed", "7", "--set", "tcp.delayed_ack=1", "--set", "queue.limit=30 packets"]
    scenario = json.loads(cli("run", "short.toml", "--json", *options).stdout)["scenario"]
    assert scenario["run"]["replications"] == 2
    assert scenario["run"]["seed"] == 7
    assert scenario["tcp"]["delayed_ack"] == 1
    assert scenario["queue"]["limit"] == "30 packets"


def test_one_replication_has_no_interval(cli: Cli) -> None:
    done = cli("run", "short.toml", "--replications", "1")
    assert done.returncode == 0
    assert "±" not in done.stdout.split("\n", 1)[1]


def test_out_writes_files_and_leaves_others_alone(cli: Cli, workdir: Path) -> None:
    out = workdir / "deep" / "out"
    out.mkdir(parents=True)
    (out / "mine.txt").write_text("mine")
    assert cli("run", "short.toml", "--out", "deep/out").returncode == 0
    assert files(out) == [
        "costs.parquet",
        "flows.parquet",
        "links.parquet",
        "mine.txt",
        "queue.png",
        "queue.svg",
        "result.json",
        "runs.parquet",
        "throughput.png",
        "throughput.svg",
        "users.parquet",
    ]


def test_compare_prints_a_row_per_queue(cli: Cli) -> None:
    done = cli("compare", "short.toml", "--queues", "droptail,abc", "--out", "new")
    assert done.returncode == 0
    assert done.stdout.count("droptail") >= 3
    document = json.loads(cli("compare", "short.toml", "--queues", "droptail, abc", "--json").stdout)
    assert list(document["results"]) == ["droptail", "abc"]


def test_schemes_topologies_and_schemas(cli: Cli) -> None:
    assert "Q_max" in cli("schemes", "droptail").stdout
    assert "queue.averager_memory" in cli("schemes", "abc").stdout
    assert "Drop-tail" in cli("schemes").stdout
    assert [scheme["name"] for scheme in json.loads(cli("schemes", "--json").stdout)][:2] == ["droptail", "abc"]
    assert "topology.bottleneck_rate" in cli("topologies").stdout
    assert json.loads(cli("topologies", "--json").stdout) == fairlane.topologies()
    for of in ("scenario", "result"):
        assert json.loads(cli("schema", of).stdout)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize(
    "command",
    [[], ["run"], ["compare"], ["reproduce"], ["sweep"], ["schemes"], ["topologies"], ["schema"], ["store"]]
    + [["store", verb] for verb in ("ls", "verify", "gc", "export")],
)
def test_help_is_there(cli: Cli, command: list[str]) -> None:
    done = cli(*command, "--help")
    assert done.returncode == 0
    assert "Usage: fairlane" in done.stdout


def test_a_reader_that_goes_away_is_no_error(workdir: Path) -> None:
    done = subprocess.run(
        f"{FAIRLANE} schema result | head -c 10", shell=True, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["run", "short.toml"], ["run", "short.toml", "--json"], ["schemes"], ["--help"]])
def test_an_output_that_is_full_is_one_line(workdir: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [FAIRLANE, *arguments], cwd=workdir, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_disturbs_nothing(workdir: Path, closed: str) -> None:
    done = subprocess.run(
        f"{FAIRLANE} run short.toml --out out {closed}",
        shell=True,
        cwd=workdir,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert bool(done.stdout) == (closed != ">&-")
    # No file of ours got the number of the stream, and with it what others write there.
    assert json.loads((workdir / "out" / "result.json").read_text())["scenario"]["name"] == "short"


@pytest.mark.parametrize("group", [[], ["lab"], ["p4"], ["store"]], ids=["fairlane", "lab", "p4", "store"])
def test_a_group_of_commands_alone_prints_its_help(cli: Cli, group: list[str]) -> None:
    done = cli(*group)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == cli(*group, "--help").stdout
