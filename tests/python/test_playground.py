"""The simulator for browsers gives the same numbers as the native one. Also tests the command `fairlane play`."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import webbrowser
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import fairlane
from conftest import EXAMPLES, ROOT, Cli
from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.cli import play
from playground import as_release, built

SEEDS = range(1, 3)
MOST_COMPRESSED = 700_000
SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
CONTROLS = [control["name"] for control in fairlane.congestion_controls()]
# All kinds of senders, and all inputs of schemes: weights, classes, marks, labels of several links.
MIX: dict[str, Any] = {
    "run": {"warmup": "1 s", "measure": "2 s"},
    "topology": {"kind": "parking_lot", "congested_links": 2, "bottleneck_rate": "5 Mbit/s"},
    "tcp": {"profile": "linux"},
    "probes": {"series_interval": "100 ms", "detail": "flow"},
    "groups": [
        {"name": "tcp", "weight": 2.0, "start_until": "1 s", "sources": [{"kind": "tcp", "flows": 3, "ecn": True}]},
        {
            "name": "bbr",
            "route": ["link2"],
            "start_until": "1 s",
            "sources": [{"kind": "tcp", "congestion_control": "bbr3"}],
        },
        {"name": "web", "users": 2, "start_until": "1 s", "sources": [{"kind": "web", "interval": "0.2 s"}]},
        {
            "name": "flood",
            "route": ["link1"],
            "start_until": "1 s",
            "sources": [{"kind": "poisson", "rate": "3 Mbit/s"}],
        },
        {
            "name": "bursts",
            "start_until": "1 s",
            "sources": [{"kind": "on_off", "rate": "2 Mbit/s", "on": "0.1 s", "off": "0.2 s"}],
        },
    ],
}

Jobs = list[tuple[str, int]]


def natively(jobs: Jobs) -> list[dict[str, Any]]:
    batch = _fairlane.Batch(jobs, 2)
    records: list[dict[str, Any]] = [{} for _ in jobs]
    while batch.remaining:
        done = batch.next(60.0)
        assert done is not None
        records[done[0]] = json.loads(done[1])
    return records


def in_node(jobs: Jobs) -> list[dict[str, Any]]:
    built()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    wasm = target / "wasm32-unknown-unknown/playground/fairlane_wasm.wasm"
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    command = ["node", "site/playground/build/records.mjs", str(wasm)]
    done = subprocess.run(command, check=False, input=lines, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """The record without the bytes of a scheme's state: a pointer has 4 bytes in WebAssembly and 8 here."""
    for state in [record["edge_state"], *(link["state"] for link in record["links"])]:
        assert state.pop("bytes") >= 0
    return record


def assert_equal(jobs: Jobs) -> None:
    for (scenario, replication), here, there in zip(jobs, natively(jobs), in_node(jobs), strict=True):
        what = json.loads(scenario)
        assert "problem" not in there, (what, there)
        assert comparable(here) == comparable(there), (what["queue"], what["run"], replication)


def canonical(scenario: dict[str, Any]) -> str:
    return fairlane.Scenario.from_dict({"name": "mix", **scenario}).canonical()


def test_every_scheme_gives_the_same_records_for_two_seeds() -> None:
    runs = [(scheme, MIX["run"] | {"seed": seed}) for scheme in SCHEMES for seed in SEEDS]
    assert_equal([(canonical({**MIX, "queue": {"scheme": scheme}, "run": run}), 0) for scheme, run in runs])


def test_every_congestion_control_gives_the_same_records() -> None:
    tables = [{"congestion_control": control, "profile": "linux"} for control in CONTROLS]
    scenarios = [canonical({**MIX, "queue": {"scheme": "abc"}, "tcp": table}) for table in tables]
    assert_equal([(scenario, replication) for scenario in scenarios for replication in range(2)])


def examples() -> Iterator[tuple[str, int]]:
    for path in sorted(EXAMPLES.glob("*.toml")):
        scenario = fairlane.Scenario.from_toml(path)
        yield scenario.changed({"run.warmup": "15 s", "run.measure": "2 s"}).canonical(), 3


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_every_example_gives_the_same_records(every: int) -> None:
    jobs = list(examples())
    assert len(jobs) > 10
    assert_equal(jobs[::every])


def test_mistakes_have_the_words_of_the_command() -> None:
    problems = in_node([('{"queue": {"scheme": "red", "limit": "0 packets"}, "groups": []}', 0), ("name = [", 0)])
    with pytest.raises(fairlane.ScenarioError) as error:
        fairlane.Scenario("x", queue={"scheme": "red", "limit": "0 packets"}).canonical()
    assert problems[0] == {"problem": str(error.value)}
    assert problems[1]["problem"].startswith("not TOML: line 1: ")


@pytest.mark.long
@pytest.mark.skipif(bool(as_release()), reason="compiled with other settings than for a release")
def test_the_page_is_small() -> None:
    size = len(gzip.compress(built().read_bytes()))
    assert 100_000 < size < MOST_COMPRESSED


def test_play_tells_where_the_page_is(cli: Cli) -> None:
    page = ROOT / "site/playground/dist/playground.html"
    done = cli("play", "--path")
    if page.exists():
        assert done.stdout == f"{page}\n"
    else:
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert f"make -C {ROOT} playground" in done.stderr


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes `fairlane play` find a checkout without the page, as if pip had installed the package from it."""
    folder = tmp_path / "a checkout"
    (folder / "site/playground").mkdir(parents=True)
    (folder / "site/playground/build.sh").touch()
    (folder / "Makefile").write_text(f"playground:\n\tmkdir -p {play.BUILT.parent}; echo page > {play.BUILT}\n")

    class Installed:
        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return json.dumps({"url": folder.as_uri(), "dir_info": {}})

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    monkeypatch.setattr(play, "__file__", str(tmp_path / "lib/python3/site-packages/fairlane/cli/play.py"))
    monkeypatch.setattr(play, "PACKED", tmp_path / "lib/python3/site-packages/fairlane/playground.html")
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text("#!/bin/sh\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(npm.parent), prepend=os.pathsep)
    monkeypatch.setattr(webbrowser, "open", lambda url: True)
    return folder


def played(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(play.play, arguments)
    problem = str(done.exception) if isinstance(done.exception, UserError) else ""
    return done.exit_code, done.stdout, problem


def test_an_installation_from_source_builds_the_page_once(source: Path) -> None:
    page = source / play.BUILT
    assert played("--path")[2] == f"the playground is not built; with Node.js and npm: make -C {source} playground"
    assert played()[:2] == (0, f"{page}\n")
    (source / "Makefile").unlink()
    assert played()[:2] == played("--path")[:2] == (0, f"{page}\n")


def test_what_a_build_lacks_is_said_in_one_line(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source / "Makefile").write_text("playground:\n\t@echo 'error: no target for browsers' >&2; exit 1\n")
    assert played()[2] == f"make -C {source} playground: no target for browsers"
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert "with Node.js and npm: make -C" in played()[2]
    shutil.rmtree(source)
    assert played()[2] == "this installation has no playground; in a checkout of Fairlane: make playground"


def test_the_page_of_the_package_comes_first(source: Path) -> None:
    play.PACKED.parent.mkdir(parents=True)
    play.PACKED.touch()
    assert played("--path")[:2] == (0, f"{play.PACKED}\n")
