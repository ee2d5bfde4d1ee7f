"""Files and commands of the how-tos run as written, with the outputs on the pages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from conftest import Cli
from fairlane import Scenario, run
from pages import Page


def commands_that_fail(page: Page, cli: Cli) -> list[str]:
    """Runs all commands and compares their output with the page; returns commands that fail."""
    failed = []
    for words, shown in page.commands:
        done = cli(*words)
        assert [line.rstrip() for line in done.stdout.splitlines()][: len(shown)] == shown, words
        assert done.returncode in (0, 1), done.stderr
        if done.returncode:
            failed.append(" ".join(words))
    return failed


@pytest.fixture
def here(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Runs Python code in the folder in which the commands run, and lets it import modules from there."""
    monkeypatch.chdir(workdir)
    monkeypatch.syspath_prepend(workdir)
    yield workdir
    sys.modules.pop("my_aqm", None)


def rows_of(shown: list[str], *names: str) -> list[list[float]]:
    """The means in the rows of shown tables that begin with the given names."""
    rows = [line.split() for line in shown if line.split()[: len(names)] == list(names)]
    return [[float(word) for word in row if re.fullmatch(r"[\d.]+", word)] for row in rows]


@pytest.mark.long
def test_compare_my_aqm(cli: Cli, here: Path) -> None:
    page = Page("compare-my-aqm")
    assert list(page.files) == ["my_aqm.py"]
    page.write(here)
    assert commands_that_fail(page, cli) == []
    names: dict[str, Any] = {}
    exec(page.code[0], names)
    delays = names["delays_ms"]
    assert len(delays) == 12
    assert all(abs(delay - 15) < 2 for (name, _, _), delay in delays.items() if name == "pie")
    own = {
        at: delay
        for (name, *at), delay in ((key, value) for key, value in delays.items())
        if name == "my-aqm"
        for at in [tuple(at)]
    }
    least, most = (re.search(rf"{word}\s(\d+) ms", page.text) for word in ("is", "but"))
    assert least
    assert most
    assert own[1, "200 ms"] == min(own.values()) == pytest.approx(int(least[1]), abs=2)
    assert own[8, "20 ms"] == max(own.values()) == pytest.approx(int(most[1]), rel=0.05)


def test_is_my_line_fair(cli: Cli, here: Path) -> None:
    page = Page("is-my-line-fair")
    page.write(here)
    assert list(page.files) == ["line.toml", "fair.toml"]
    assert commands_that_fail(page, cli) == ["check fair.toml"]
    # The worst share is close to 1 under CAKE and two ninths under FQ-CoDel, where eight connections get eight times as
    # much as one.
    shown = page.commands[0].shown
    shares = re.search(
        r"^Worst share .* CAKE is best \(([\d.]+).* FQ-CoDel \(([\d.]+).*, work\)", "\n".join(shown), re.M
    )
    assert shares
    under_cake, under_fq_codel = map(float, shares.groups())
    assert under_cake == pytest.approx(0.9, abs=0.05)
    assert under_fq_codel == pytest.approx(2 / 9, abs=0.001)
    rows = {line.split()[0]: re.split(r"\s{2,}", line.strip()) for line in shown if "throughput/user" in line}
    backup, work = (float(rows[group][2].split()[0]) for group in ("backup", "work"))
    assert backup / work == pytest.approx(8, abs=0.1)


@pytest.mark.long
def test_teach_a_class(cli: Cli, here: Path) -> None:
    page = Page("teach-a-class")
    page.write(here)
    assert list(page.files) == ["homework.py", "homework.toml"]
    fails = commands_that_fail(page, cli)
    assert fails == ["check homework.toml --scheme-module homework.py --set queue.scheme=droptail"]
    assert (here / "grade.xml").exists()
    names: dict[str, Any] = {}
    exec(page.code[0], names)
    points = names["swept"].points_frame()
    means = {
        (scheme, flows): mean
        for scheme, flows, metric, mean in points.select(
            "point.queue.scheme", "point.groups[0].sources[0].flows", "metric", "mean"
        ).iter_rows()
        if metric == "throughput_ratio"
    }
    # The ratio is the user's number of flows; under ABC it is at most 1.
    assert all(
        means[name, flows] == pytest.approx(flows, rel=0.15) for name in ("droptail", "fq_codel") for flows in (2, 16)
    )
    assert means["abc", 16] == pytest.approx(0.7, abs=0.05)
    assert all(means["abc", flows] < 1.1 for flows in (1, 2, 4, 8, 16))


@pytest.mark.usefixtures("undrawn")
def test_an_access_network_from_the_files_of_libreqos_to_the_map(cli: Cli, here: Path) -> None:
    page = Page("access-network")
    page.write(here)
    assert list(page.files) == ["network.json", "ShapedDevices.csv", "provider.toml", "sweep.toml"]
    done = cli("run", "provider.toml", "--out", "results/provider", "--set", "run.measure=1 s")
    assert done.returncode == 0, done.stderr
    # There are no other notes: sources have started before the measurement, and buffers are large enough.
    notes = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("note:")]
    assert notes == re.findall("^note: .*$", page.text, re.MULTILINE)
    assert cli("report", "results/provider").returncode == 0
    html = (here / "results" / "report" / "run-provider.html").read_text(encoding="utf-8")
    assert all(
        text in html for text in ("Worst nodes", "Applications", "State and work", "Shares of the users", "Mill")
    )


@pytest.mark.long
def test_all_commands_of_the_access_network(cli: Cli, here: Path) -> None:
    page = Page("access-network")
    page.write(here)
    assert commands_that_fail(page, cli) == []


RUN = {"warmup": "5 s", "measure": "15 s", "replications": 1, "seed": 1}


def shares(address: str, flows: dict[str, int] | None = None) -> dict[str, dict[str, float]]:
    """Throughput in Mbit/s of a user of each group, under each scheme that a playground address names.

    The native engine simulates the scenario of the address.
    """
    query = parse_qs(address.removeprefix("#"))
    groups = []
    for text in query["group"]:
        kind, users, number, control, rtt, weight, rate, _, name = text.split("~")
        tcp = {"kind": "tcp", "flows": (flows or {}).get(name, int(number)), "congestion_control": control}
        source = tcp if kind == "tcp" else {"kind": "poisson", "rate": f"{rate} Mbit/s"}
        timing = {"rtt": f"{rtt} ms", "start_until": "1 s"}
        groups.append({"name": name, "users": int(users), "weight": float(weight), **timing, "sources": [source]})
    found = {}
    for scheme in query["schemes"][0].split(","):
        scenario = {
            "name": "playground",
            "run": RUN,
            "topology": {"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "1 ms"},
            "tcp": {"profile": "linux"},
            "queue": {"scheme": scheme, "limit": f"{query.get('buffer', ['100'])[0]} packets"},
            "groups": groups,
        }
        summary = run(Scenario.from_dict(scenario)).summary
        found[scheme] = {one["name"]: one["throughput_bps"]["mean"] / 1e6 for one in summary["groups"]}
        found[scheme]["wait_ms"] = summary["links"][0]["delay"][0]["p99_s"]["mean"] * 1000
    return found


def test_the_exercises_show_what_the_lesson_says() -> None:
    who, buffer, flows, flood = map(str, Page("teach-a-class").addresses)
    # Flows get about equal rates of 10 Mbit/s: first 5 flows, then 10. In so short a run the rate of a single flow may
    # differ by half.
    two = shares(who)["droptail"]
    assert (two["one flow"], two["four flows"]) == (pytest.approx(2, abs=1), pytest.approx(8, abs=1))
    ten = shares(who, {"four flows": 9})["droptail"]
    assert (ten["one flow"], ten["four flows"]) == (pytest.approx(1, abs=0.4), pytest.approx(9, abs=0.4))
    # Serialisation delay of 500 packets of 1514 bytes at 10 Mbit/s.
    full = shares(buffer)
    most_ms = 500 * 1514 * 8 / 10e6 * 1000
    assert full["droptail"]["wait_ms"] == pytest.approx(most_ms, rel=0.05)
    assert full["codel"]["wait_ms"] < 12
    # The heavy user has ten of the 15 flows, and is one of six users.
    heavy = {scheme: of["heavy"] for scheme, of in shares(flows).items()}
    assert heavy["droptail"] == pytest.approx(20 / 3, abs=0.5)
    assert heavy["fq_codel"] == pytest.approx(20 / 3, abs=0.1)
    assert heavy["abc"] == pytest.approx(10 / 8, abs=0.15)
    # Eleven flows share 10 Mbit/s. The flood has one of them, a TCP user two.
    left = shares(flood)
    assert left["droptail"]["tcp"] == pytest.approx(0.1, abs=0.05)
    assert left["red"]["tcp"] == pytest.approx(0.3, abs=0.05)
    assert left["fq_codel"]["flood"] == pytest.approx(10 / 11, abs=0.05)
    assert left["fq_codel"]["tcp"] == pytest.approx(20 / 11, abs=0.05)
