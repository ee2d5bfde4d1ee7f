"""Tests transfers with sizes from a file."""

import json
from pathlib import Path

import pytest

import fairlane
from conftest import Cli
from fairlane import Scenario, group, transfers

SCENARIO = """
[run]
warmup = "0.1 s"
measure = "0.5 s"
replications = 1
[queue]
scheme = "droptail"
[[groups]]
name = "all"
start_until = "0 s"
[[groups.sources]]
kind = "transfers"
load = "50 %"
cdf = { file = "sizes.txt" }
"""


def written(folder: Path, content: bytes | None) -> Path:
    folder.mkdir(exist_ok=True)
    if content is not None:
        (folder / "sizes.txt").write_bytes(content)
    (folder / "load.toml").write_text(SCENARIO)
    return folder / "load.toml"


def test_sizes_come_from_beside_the_scenario_and_become_part_of_it(tmp_path: Path) -> None:
    # The start of HPCC's WebSearch_distribution.txt, with percentages.
    path = written(tmp_path / "x", b"0 0\n10000 15\n20000 20\n30000 100\n")
    canonical = Scenario.from_toml(path).canonical()
    cdf = json.loads(canonical)["groups"][0]["sources"][0]["cdf"]
    assert cdf == {"file": "sizes.txt", "points": "0:0 10000:0.15 20000:0.2 30000:1"}
    (tmp_path / "x" / "sizes.txt").unlink()
    again = Scenario.from_dict(json.loads(canonical))
    assert again.canonical() == canonical
    (run,) = fairlane.run(again, store=tmp_path / "store").runs
    assert run["groups"][0]["transfer_times"]["started"] > 0


BROKEN = {
    "no file": (None, ["sizes.txt", "No such file"]),
    "empty": (b"", ["is empty, a distribution has at least one point"]),
    "falls": (b"0 0\n10 0.5\n20 0.4\n30 1\n", ["line 3", "0.4", "the one before, 0.5", "never falls"]),
    "does not reach 1": (b"0 0\n10 0.5\n20 0.9\n", ["line 3", "0.9", "it must be 1, or 100"]),
    "no numbers": (b"0 0\nten 1\n", ["line 2", "ten 1", "a size in bytes and a share"]),
    "not text": (b"0 0\n\xff\n", ["not text at byte 4"]),
}


@pytest.mark.parametrize(("content", "mentions"), BROKEN.values(), ids=BROKEN)
def test_an_unusable_distribution_is_named(cli: Cli, workdir: Path, content: bytes | None, mentions: list[str]) -> None:
    written(workdir, content)
    cli.refuses(["run", "load.toml"], ["groups[0].sources[0].cdf.file", *mentions])


def test_a_file_may_be_named_in_python(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("500 0\n500 1\n")
    source = transfers(cdf=str(tmp_path / "sizes.txt"), interval="10 ms")
    run = {"warmup": "0 s", "measure": "1 s", "replications": 1}
    users = group("all", source, start_until="0 s")
    result = fairlane.run(Scenario("python", users, queue="droptail", run=run), store=tmp_path / "store")
    times = result.runs[0]["groups"][0]["transfer_times"]
    assert times["mean_bytes"] == 500
    assert abs(times["started"] - 100) < 5 * 10  # Poisson: five standard deviations


def test_the_share_of_short_transfers_counts_their_headers(tmp_path: Path) -> None:
    # A single user demands 6 of 10 Mbit/s on the wire, in transfers of 1 to 100 bytes with one segment each. Its share
    # is its demand, within four standard deviations of a Poisson process.
    path = written(tmp_path, b"0 0\n100 100\n")
    path.write_text(SCENARIO.replace("50 %", "60 %").replace('measure = "0.5 s"', 'measure = "2 s"'))
    (run,) = fairlane.run(Scenario.from_toml(path), store=tmp_path / "store").runs
    (users,) = run["groups"]
    started = users["transfer_times"]["started"]
    assert users["max_min_share_bps"] == pytest.approx(6e6, rel=4 / started**0.5)
