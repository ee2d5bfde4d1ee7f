"""Tests files with recorded link traces, and the paths of these files in results."""

import json
import shutil
from pathlib import Path

import pytest

import fairlane
from conftest import SHORT, Cli
from fairlane import Scenario, ScenarioError, group, tcp
from fairlane.store.point import key


def traced(folder: Path, content: str) -> Scenario:
    """A scenario in a separate folder, whose bottleneck follows a trace."""
    folder.mkdir(exist_ok=True)
    (folder / "a.up").write_text(content)
    (folder / "traced.toml").write_text(f'{SHORT}\n[topology.bottleneck_trace]\nfile = "a.up"\n')
    return Scenario.from_toml(folder / "traced.toml")


def test_a_trace_is_found_beside_the_scenario_and_becomes_part_of_it(tmp_path: Path) -> None:
    scenario = traced(tmp_path / "x", "1\n3\n3\n")
    canonical = scenario.canonical()
    trace = json.loads(canonical)["topology"]["bottleneck_trace"]
    assert trace == {"file": "a.up", "gaps": "1 2 0", "opportunity": "1500 B"}
    # Three delivery opportunities in 3 ms.
    assert json.loads(canonical)["topology"]["bottleneck_rate"] == "12 Mbit/s"
    reverse = f"{SHORT}\n[topology.reverse]\ntrace = {{ file = 'a.up' }}\n"
    (tmp_path / "x" / "reverse.toml").write_text(reverse)
    of_reverse = json.loads(Scenario.from_toml(tmp_path / "x" / "reverse.toml").canonical())["topology"]["reverse"]
    assert (of_reverse["trace"], of_reverse["rate"]) == (trace, "12 Mbit/s")
    # The trace stays after changes and in any working directory, and the file is no longer needed.
    assert json.loads(scenario.replace("run.seed", 7).canonical())["topology"]["bottleneck_trace"] == trace
    shutil.rmtree(tmp_path / "x")
    again = Scenario.from_dict(json.loads(canonical))
    assert again.canonical() == canonical
    assert len(fairlane.run(again, replications=1, store=tmp_path / "store").runs) == 1


def test_gaps_beside_a_file_that_has_others_are_refused(tmp_path: Path) -> None:
    traced(tmp_path, "1\n3\n3\n")
    text = (tmp_path / "traced.toml").read_text()
    for gaps in ("1 2 0", "1 2*1 0"):
        (tmp_path / "traced.toml").write_text(f'{text}gaps = "{gaps}"\n')
        Scenario.from_toml(tmp_path / "traced.toml").canonical()
    (tmp_path / "traced.toml").write_text(f'{text}gaps = "1 2"\n')
    problem = r"traced\.toml: topology\.bottleneck_trace\.gaps: '1 2' is not what 'a\.up' has: leave gaps out"
    with pytest.raises(fairlane.UserError, match=problem):
        Scenario.from_toml(tmp_path / "traced.toml")
    # A canonical scenario works without the file, from the content alone.
    (tmp_path / "a.up").unlink()
    Scenario.from_toml(tmp_path / "traced.toml").canonical()


def test_stored_runs_belong_to_the_content_of_a_trace(tmp_path: Path) -> None:
    here, there = (traced(tmp_path / name, "1\n2\n").canonical() for name in ("x", "y"))
    assert key(here) == key(there)
    assert key(traced(tmp_path / "x", "1\n4\n").canonical()) != key(here)


def test_a_sweep_takes_traces_from_beside_its_scenario(cli: Cli, workdir: Path) -> None:
    traced(workdir / "x", "1\n2\n")
    (workdir / "x" / "b.up").write_text("4\n")
    (workdir / "x" / "sweep.toml").write_text(
        'scenario = "traced.toml"\nreplications = 1\n'
        'grid = { "topology.bottleneck_trace.file" = ["a.up", "b.up"], "queue.scheme" = ["abc", "droptail"] }\n'
    )
    points = cli.document("sweep", "x/sweep.toml", "--dry-run")["points"]
    assert len({point["key"] for point in points}) == 4


BROKEN = {
    "no file": (None, ["a.up", "No such file", "Mahimahi"]),
    "empty": (b"", ["a.up", "is empty, a trace has at least one opportunity"]),
    "no numbers": (b"1\nten\n", ["a.up", "line 2", '"ten"', "whole number from 0"]),
    "half a millisecond": (b"1.5\n", ["a.up", "line 1", '"1.5"', "whole number from 0"]),
    "backwards": (b"5\n9\n8\n", ["a.up", "line 3", '"8"', "from the line before, 9"]),
    "no time": (b"0\n0\n", ["a.up", "at least 1 ms"]),
    "not text": (b"1\n\xff\n", ["a.up", "not text at byte 2"]),
    "too slow": (b"1000000\n", ["a.up", "mean rate of 12 bit/s", "1 kbit/s"]),
}


@pytest.mark.parametrize(("content", "mentions"), BROKEN.values(), ids=BROKEN)
def test_an_unusable_trace_is_named(cli: Cli, workdir: Path, content: bytes | None, mentions: list[str]) -> None:
    if content is not None:
        (workdir / "a.up").write_bytes(content)
    setting = "topology.bottleneck_trace.file=a.up"
    cli.refuses(["run", "short.toml", "--set", setting], ["topology.bottleneck_trace.file", *mentions])


def test_a_trace_of_a_link_of_a_graph_is_named_by_its_place(tmp_path: Path) -> None:
    links = [{"name": "up", "rate": "1 Mbit/s"}, {"name": "down", "trace": {"file": "none.up"}}]
    users = group("users", tcp(), route=["up", "down"])
    scenario = Scenario("graph", users, queue="droptail", topology={"kind": "graph", "links": links})
    with pytest.raises(ScenarioError, match=r"^topology\.links\[1\]\.trace\.file: 'none\.up': No such file"):
        scenario.canonical()


def test_results_tell_of_losses_and_of_sources_that_stop(tmp_path: Path) -> None:
    loss = {"model": "gilbert_elliott", "p": "1 %", "r": "20 %"}
    scenario = Scenario(
        "lossy",
        group("users", tcp(flows=4, stop="1.5 s"), access_loss={"probability": 0.01}, start_until="0.1 s"),
        queue="droptail",
        run={"warmup": "0.5 s", "measure": "2 s", "replications": 1},
        topology={"bottleneck_loss": loss},
    )
    result = fairlane.run(scenario, store=tmp_path)
    assert [note.split(":")[0] for note in result.notes] == ["groups[0].sources[0].stop"]
    (record,) = result.runs
    lost = {drops["reason"]: drops["packets"] for drops in record["links"][0]["drops"]}
    assert list(lost) == ["aqm", "overlimit", "pushed_out", "lost"]
    assert lost["lost"] > 0
    assert record["groups"][0]["access_loss"]["lost_packets"] > 0
