"""Runs the test suite of the ns-3 module in planes/ns3/, and its example under every scheme."""

import functools
import os
import re
from pathlib import Path

import pytest

import fairlane
from conftest import ROOT, Done, daily, execute

BUILD = ROOT / "planes" / "ns3" / "build.sh"
NOT_INSTALLED = 3
SCHEMES = {scheme["name"]: scheme["marker"] for scheme in fairlane.schemes()}


@functools.cache
def _built() -> Done:
    # The optimiser takes longer than what it saves: nearly all the time of a run is spent in the libraries.
    return execute(BUILD, timeout_s=900, env=os.environ | {"CXXFLAGS": "-O0"})


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of the compiled programs."""
    done = _built()
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def sharing(programs: Path, scheme: str, marker: str, *options: str) -> str:
    """Output of the example."""
    tables = [f'--queue=scheme = "{scheme}"', f'--marker=scheme = "{marker}"']
    done = execute(programs / "fairlane-sharing", *tables, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text: str, pattern: str) -> list[float]:
    found = re.search(pattern, text)
    assert found, text
    return [float(number) for number in found.groups()]


def test_the_module_passes_its_own_suite(programs: Path) -> None:
    done = execute(programs / "fairlane-test", "--suite=fairlane", "--verbose")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS fairlane" in done.stdout


def test_abc_shares_what_droptail_does_not(programs: Path) -> None:
    ratios = {}
    for scheme in ("abc", "droptail"):
        printed = sharing(programs, scheme, "abc", "--rate=20Mbps", "--warmup=2s", "--measure=4s")
        (ratios[scheme],) = numbers(printed, r"ratio: ([\d.]+)")
    # 16 flows against one, with the bounds of the lab, docs/howto/lab.md.
    assert 0.8 < ratios["abc"] < 1.25
    assert ratios["droptail"] > 5


@pytest.mark.parametrize("scheme", daily(SCHEMES, *list(SCHEMES)[::8]))
def test_every_scheme_runs_and_loses_account_of_no_packet(programs: Path, scheme: str) -> None:
    options = ["--rate=10Mbps", "--flows0=4", "--warmup=0s", "--measure=1s"]
    printed = sharing(programs, scheme, SCHEMES[scheme], *options)
    pattern = r"received (\d+), sent (\d+), dropped (\d+), waiting (\d+) packets"
    received, sent, dropped, waiting = numbers(printed, pattern)
    assert received == sent + dropped + waiting
    (together,) = numbers(printed, r"together ([\d.]+) Mbit/s")
    # Throughput counts from the first packet on; 1448 of 1502 bytes are payload. CP-AQM has the lowest throughput, with
    # its default allowance of 50 kbit/s per user.
    assert 0.5 < together < 10 * 1448 / 1502
    assert printed == sharing(programs, scheme, SCHEMES[scheme], *options)


def test_another_run_draws_other_numbers(programs: Path) -> None:
    options = ["--rate=10Mbps", "--flows0=4", "--warmup=1s", "--measure=1s"]
    first, second = (sharing(programs, "red", "none", *options, f"--RngRun={run}") for run in (1, 2))
    assert first != second


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('--queue=scheme = "abc"\nlimit = "no"', 'FairlaneQueueDisc::Config: queue.limit: "no" is not a queue limit'),
        ("--marker=memory = 3", "FairlaneMarker::Config: marker.memory"),
    ],
)
def test_a_mistake_is_told_with_attribute_key_and_value(programs: Path, option: str, message: str) -> None:
    done = execute(programs / "fairlane-sharing", option)
    assert done.returncode != 0
    assert message in done.stderr
