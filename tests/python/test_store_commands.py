"""Tests `fairlane store ls|verify|gc|export` as a user would call them."""

import gzip
import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import fairlane
from conftest import SHORT, Cli, execute, files
from fairlane.results.kept import Kept
from fairlane.store import Store, point, upkeep

SWEEP = """
scenario = "short.toml"
replications = 2

[set]
probes.series_interval = "0.25 s"

[grid]
queue.scheme = ["droptail", "abc"]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a sweep of two points of two runs each has ended."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "short.toml").write_text(SHORT)
    (folder / "sweep.toml").write_text(SWEEP)
    Cli(folder).output("sweep", "sweep.toml")
    return folder


@pytest.fixture
def filled(swept: Path, workdir: Path) -> Path:
    """A store with the points of `swept`."""
    shutil.copytree(swept, workdir, dirs_exist_ok=True)
    return workdir / "results" / "store"


def points(cli: Cli) -> list[dict[str, object]]:
    document = cli.document("store", "ls")
    jsonschema.validate(document, fairlane.schema("store"))
    return list(document["points"])


def test_ls_lists_the_points(cli: Cli, filled: Path) -> None:
    found = points(cli)
    assert sorted(str(point["queue"]) for point in found) == ["abc", "droptail"]
    assert [point["replications"] for point in found] == [2, 2]
    assert all(point["current"] and point["groups"] == ["heavy", "light"] for point in found)
    table = cli.output("store", "ls")
    assert str(found[0]["key"])[:12] in table
    assert "2 points, 4 runs" in table


def test_reading_a_store_says_how_far_it_is(
    filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fairlane.base.progress.LINE_EVERY_S", 0.0)
    upkeep.entries(Store(filled), show_progress=True)
    told = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == ["reading: 1 of 2 points", "reading: 2 of 2 points"]


def test_verify_finds_a_changed_byte(cli: Cli, filled: Path) -> None:
    assert cli.output("store", "verify", "--simulate", "1") == "2 points with 4 runs: 0 damaged, 0 differ\n"
    file = sorted((filled / "runs").iterdir())[0]
    content = bytearray(file.read_bytes())
    # Changes a byte of a data page. The footer and the page headers have minima and maxima, which nothing reads.
    footer = int.from_bytes(content[-8:-4], "little")
    content[(len(content) - footer) // 4] ^= 1
    file.write_bytes(content)
    done = cli("store", "verify")
    assert done.returncode == 1
    assert done.stdout.startswith(f"{file.stem}: ")
    assert "1 damaged" in done.stdout
    done = cli("store", "verify", "--json")
    assert done.returncode == 1
    jsonschema.validate(json.loads(done.stdout), fairlane.schema("store"))


def damage_costs(file: Path, change: pl.Expr) -> None:
    """Changes a value in a file of costs. Keeps the file's metadata, so that only the value is wrong."""
    metadata = {key: value for key, value in pl.read_parquet_metadata(file).items() if key.startswith("fairlane.")}
    pl.read_parquet(file).with_columns(change).write_parquet(file, metadata=metadata)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(pl.lit(None, pl.Float64).alias("cpu_seconds"), "has None s", id="no cost"),
        pytest.param(pl.lit(float("nan")).alias("cpu_seconds"), "has nan s", id="not a number"),
        pytest.param(pl.lit("much").alias("cpu_seconds"), "has much s", id="text"),
        pytest.param(-pl.col("cpu_seconds"), "has -0.", id="negative"),
        pytest.param(pl.lit(None, pl.String).alias("host"), "host None", id="no host"),
        pytest.param(pl.col("cpu_seconds") * 2, "does not match their digest", id="doubled"),
        pytest.param(pl.lit(0, pl.UInt32).alias("replication"), "does not match their digest", id="twice the same"),
    ],
)
def test_verify_finds_damaged_costs_and_the_runs_stay(cli: Cli, filled: Path, change: pl.Expr, says: str) -> None:
    file = sorted((filled / "costs").iterdir())[0]
    damage_costs(file, change)
    done = cli("store", "verify")
    assert done.returncode == 1
    assert re.search(rf"^{file.stem}: costs: .*({says})", done.stdout)
    assert "2 points with 4 runs: 1 damaged" in done.stdout
    assert [kept.cost for kept in point.read(filled, file.stem)[1].values()] == [None, None]
    removed = cli.document("store", "gc")["files"]
    assert [one["path"] for one in removed] == [f"results/store/costs/{file.name}"]
    assert cli("store", "verify").returncode == 0


def test_costs_from_before_they_had_a_digest_are_read(filled: Path) -> None:
    file = sorted((filled / "costs").iterdir())[0]
    _, before = point.read(filled, file.stem)
    pl.read_parquet(file).write_parquet(file, metadata={"fairlane.schema": "2"})
    assert point.read(filled, file.stem)[1] == before
    damage_costs(file, pl.lit(float("nan")).alias("cpu_seconds"))
    (entry,) = upkeep.entries(Store(filled), [file.stem])
    assert entry.damage.startswith("costs: ")


def may_only_read() -> list[str]:
    """Command prefix that drops root's privilege to ignore the permissions of files."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed, and root may write anywhere")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]


def test_a_store_that_cannot_be_written_serves_what_it_has(cli: Cli, filled: Path, workdir: Path) -> None:
    more = filled.parent / "more"  # a third run of each point, left in the journal by a kill
    cli.output("sweep", "sweep.toml", "--replications", "3", "--store", more, "--out", "whole")
    writer = Store(filled).writer()
    for file in sorted((more / "runs").iterdir()):
        identity, kept = point.read(more, file.stem)
        assert kept[2].cost
        writer.keep(identity, 2, kept[2].run, kept[2].cost)
    writer._journal.close()
    before = {name: (filled / name).read_bytes() for name in files(filled)}
    for path in (filled, *filled.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    sweep = ["sweep", "sweep.toml", "--out", "served", "--replications"]
    done = cli(*sweep, "3", before=may_only_read())
    assert (done.returncode, done.stderr) == (0, "")
    listed = cli.output("store", "verify", before=may_only_read())
    assert listed == "2 points with 6 runs: 0 damaged, 0 differ\n"
    assert {name: (filled / name).read_bytes() for name in files(filled)} == before
    runs = [pl.read_parquet(workdir / out / "runs.parquet")["utilisation.bottleneck"] for out in ("served", "whole")]
    assert runs[0].equals(runs[1])
    denied = cli.error(*sweep, "4", before=may_only_read())
    assert denied == "--store: cannot write to results/store: Permission denied"


def test_a_flipped_bit_is_found_or_changes_no_value(cli: Cli, filled: Path) -> None:
    file = sorted((filled / "runs").iterdir())[0]
    content = file.read_bytes()
    before = (pl.read_parquet(file), upkeep.entries(Store(filled), [file.stem])[0].runs)
    found = 0
    for place in range(0, len(content), 61):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        (entry,) = upkeep.entries(Store(filled), [file.stem])
        found += bool(entry.damage)
        if not entry.damage:
            after = pl.read_parquet(file)
            assert before[0].equals(after, null_equal=True), place
            assert before[1] == entry.runs, place
    # The other bytes are statistics and descriptions of columns, which nothing reads.
    assert found > 0.5 * len(range(0, len(content), 61))


def test_verify_finds_a_run_that_no_longer_comes_out(cli: Cli, filled: Path) -> None:
    file = sorted((filled / "runs").iterdir())[0]
    identity, kept = point.read(filled, file.stem)
    forged = {**kept, 1: Kept(kept[1].run.replace('"jain_index":0.', '"jain_index":0.0'), kept[1].cost)}
    point.write(filled, identity, forged)
    assert cli("store", "verify").returncode == 0  # it is intact
    done = cli("store", "verify", "--simulate", "2")
    assert done.returncode == 1
    assert f"{file.stem}: simulated again, replications 1 differ" in done.stdout
    document = json.loads(cli("store", "verify", "--simulate", "2", "--json").stdout)
    jsonschema.validate(document, fairlane.schema("store"))
    assert [entry["differing"] for entry in document["points"]] == [[1], []]


def test_gc_removes_other_engines_and_damage_and_nothing_else(cli: Cli, filled: Path) -> None:
    good, bad = sorted((filled / "runs").iterdir())
    bad.write_bytes(b"PAR1")
    identity, kept = point.read(filled, good.stem)
    old = point.Identity("1-00000000000000000000000000000000", identity.scenario)
    point.write(filled, old, kept)
    before = files(filled)
    planned = cli.output("store", "gc", "--dry-run")
    assert "of engine 1-0000" in planned
    assert "damaged" in planned
    assert files(filled) == before
    assert len(cli.document("store", "gc")["files"]) == 4
    left = [file for file in files(filled) if file.endswith(".parquet")]
    assert left == [f"costs/{good.name}", f"runs/{good.name}"]
    assert cli.output("store", "gc") == "0 files, 0 bytes removed\n"


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_export_writes_tables(cli: Cli, filled: Path, workdir: Path, form: str) -> None:
    cli.output("store", "export", "--out", "out", "--format", form)
    tables = ("costs", "flows", "links", "runs", "series", "users")
    assert files(workdir / "out") == [f"{name}.{form}" for name in tables]
    read = pl.read_parquet if form == "parquet" else pl.read_csv
    runs = read(workdir / "out" / f"runs.{form}")
    assert runs.height == 4
    assert set(runs["queue"]) == {"abc", "droptail"}


def test_export_of_one_point(cli: Cli, filled: Path, workdir: Path) -> None:
    key = str(points(cli)[0]["key"])
    cli.output("store", "export", key[:8], "--out", "out", "--format", "csv")
    assert set(pl.read_csv(workdir / "out" / "runs.csv")["scenario"].cast(pl.String)) == {key[:12]}


@pytest.fixture
def flent_file(cli: Cli, filled: Path, workdir: Path) -> Path:
    cli.output("store", "export", "--out", "flent", "--format", "flent")
    found = sorted((workdir / "flent").glob("*.flent.gz"))
    assert len(found) == 4
    return found[0]


def test_flent_files_are_as_its_documentation_says(flent_file: Path, cli: Cli) -> None:
    document = json.loads(gzip.decompress(flent_file.read_bytes()))
    assert document["version"] == 4
    assert document.keys() == {"version", "metadata", "x_values", "results", "raw_values"}
    # 2 s in bins of 0.25 s.
    assert document["x_values"] == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    assert {"TCP upload::heavy", "UDP upload::light", "TCP upload sum", "Queue (packets)"} <= document["results"].keys()
    assert all(len(values) == 8 for values in document["results"].values())
    assert document["metadata"]["STEP_SIZE"] == 0.25
    assert document["metadata"]["TOTAL_LENGTH"] == 2.0
    # TCP's round-trip times replace the pings in Flent's plots of this test; UDP has only delays.
    ping = document["results"]["Ping (ms) ICMP"]
    assert ping == document["results"]["Ping (ms)::heavy"]
    # The links have propagation delays of 5.1 ms each way.
    assert all(value is None or value > 10.2 for value in ping)
    assert ping[-1] is not None
    assert "Ping (ms)::light" not in document["results"]
    delays = document["results"]["One-way delay (ms)::light"]
    assert len([value for value in delays if value is not None]) > 4
    assert document["metadata"]["SERIES_META"]["One-way delay (ms)::light"] == {"UNITS": "ms"}
    assert document["metadata"]["SERIES_META"]["Lost (%)::heavy"] == {"UNITS": "%"}
    assert all(0 <= value <= 100 for value in document["results"]["Lost (%)::heavy"] if value is not None)
    # The Poisson users nearly fill the bottleneck of 10 Mbit/s in the last second.
    rates = [document["results"][name][-1] for name in ("TCP upload::heavy", "UDP upload::light")]
    assert 7 < sum(rates) < 10.5
    again = flent_file.read_bytes()
    cli("store", "export", "--out", "again", "--format", "flent")
    assert (flent_file.parents[1] / "again" / flent_file.name).read_bytes() == again


needs_flent = pytest.mark.skipif(
    importlib.util.find_spec("flent") is None, reason="flent is not installed (pip install flent)"
)


FLENT_LOADS = """
import json, sys
from flent import resultset
loaded = resultset.load(sys.argv[1])
series = {name: loaded.series(name) for name in loaded.series_names}
raw = list(loaded.raw_series("Queue (packets)"))
print(json.dumps([loaded.x_values, series, raw, loaded.meta("NAME"), loaded.title]))
"""


@needs_flent
def test_flent_reads_what_we_wrote(flent_file: Path) -> None:
    document = json.loads(gzip.decompress(flent_file.read_bytes()))
    done = execute(sys.executable, "-W", "ignore", "-c", FLENT_LOADS, flent_file)
    assert done.returncode == 0, done.stderr
    x_values, series, raw, name, title = json.loads(done.stdout)
    assert x_values == document["x_values"]
    assert series == document["results"]
    assert [tuple(pair) for pair in raw] == list(zip(x_values, document["results"]["Queue (packets)"], strict=True))
    assert name == "tcp_nup"
    assert title.startswith("tcp_nup - ")


@needs_flent
def test_the_command_of_flent_prints_our_rates(flent_file: Path) -> None:
    flent = Path(sys.executable).with_name("flent")
    table = flent_file.with_name("rates.csv")
    done = execute(flent, "-i", flent_file, "-f", "csv", "-o", table)
    assert done.returncode == 0, done.stderr
    head, *rows = table.read_text().strip().splitlines()
    assert "TCP upload::heavy" in head
    assert len(rows) == 8


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        pytest.param(["ls"], ["--store", "results/store", "no such folder"], id="no store"),
        pytest.param(["verify", "--simulate", "-1"], ["--simulate", "-1", "0"], id="less than nothing"),
        pytest.param(["export"], ["--out"], id="where to"),
        pytest.param(["export", "--out", "short.toml"], ["--out", "short.toml"], id="output is a file"),
        pytest.param(["export", "--out", "x", "--format", "xlsx"], ["xlsx", "flent"], id="unknown format"),
        pytest.param(["prune"], ["prune"], id="unknown command"),
    ],
)
def test_a_wrong_command_is_named(cli: Cli, arguments: list[str], mentions: list[str]) -> None:
    cli.refuses(["store", *arguments], mentions)


@pytest.mark.usefixtures("filled")
def test_an_unknown_key_is_named(cli: Cli) -> None:
    assert cli.error("store", "ls", "xyz") == "xyz: no such key in results/store; `fairlane store ls` lists them"


def test_export_without_series_says_what_is_missing(cli: Cli, workdir: Path) -> None:
    (workdir / "sweep.toml").write_text('scenario = "short.toml"\nreplications = 1\n')
    cli.output("sweep", "sweep.toml")
    cli.refuses(["store", "export", "--out", "out", "--format", "flent"], ["probes.series_interval"])
