"""The comparison with a Linux kernel: version, counts, and the current results of the simulator."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import fairlane
from benches.linux_tcp.compare import COUNTED, RECORDED, RUNS, measures
from benches.linux_tcp.grid import AS_IN_LINUX, cells
from fairlane import Scenario
from fairlane.base.planes import COMPARED_KERNEL, SIMULATOR
from fairlane.cli.main import commands
from fairlane.linux import plan

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "agreement-linux.md").read_text(encoding="utf-8")
DATA = json.loads((DOCS.parent / "site" / "data" / "agreement-linux.json").read_text(encoding="utf-8"))
KEPT = json.loads(RECORDED.read_text(encoding="utf-8"))
CHEAP = [cell for cell in cells() if cell.rate_mbps <= 20 and cell.rtt_ms <= 40]


def test_page_lab_and_profile_name_the_kernel_of_the_comparison() -> None:
    assert KEPT["linux"].startswith(f"{COMPARED_KERNEL}.")
    assert DATA["results"][0].startswith(f"Linux {KEPT['linux']} ")
    assert f"**Linux {COMPARED_KERNEL}**" in PAGE
    profile = next(
        row for row in (DOCS / "tcp.md").read_text(encoding="utf-8").splitlines() if row.startswith("| `linux` |")
    )
    assert profile.endswith(f"compared with Linux {COMPARED_KERNEL}. |")
    assert f"Linux {COMPARED_KERNEL}" in " ".join(CliRunner().invoke(commands, ["lab", "--help"]).output.split())


def test_the_data_have_a_row_for_each_cell_and_count_those_that_agree_as_the_page_does() -> None:
    _, counted, _, table = DATA["results"]
    rows = table["rows"]
    agreeing = sum(row[1] == "yes" for row in rows)
    assert counted.startswith(f"**{agreeing} of {len(rows)}** cells agree")
    assert f"**{agreeing} of {len(rows)} cells agree.**" in PAGE
    assert [row[0] for row in rows] == [cell.name for cell in cells()] == list(KEPT["cells"])
    assert all(("✗" in " ".join(row[2 : 2 + len(COUNTED)])) == (row[1] == "**no**") for row in rows)


def test_every_queue_and_pair_of_controls_is_in_the_grid_at_every_rate() -> None:
    assert len(cells()) >= 240
    for scheme in AS_IN_LINUX:
        assert {cell.rate_mbps for cell in cells() if cell.scheme == scheme} >= {10, 100, 1000}


@pytest.mark.parametrize("cell", CHEAP[::12], ids=lambda cell: cell.name)
def test_the_simulator_does_what_was_recorded(cell) -> None:
    runs = [
        measures(run) for run in fairlane.run(Scenario.from_dict(cell.scenario()), replications=RUNS[SIMULATOR]).runs
    ]
    for name, sides in KEPT["cells"][cell.name].items():
        assert [float(f"{run[name]:.5g}") for run in runs] == sides["simulator"], name


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_the_kernel_can_have_every_cell(cell) -> None:
    plan.check(Scenario.from_dict(cell.scenario()).canonical())
