"""Tests the comparison with a Linux kernel: its version, its counts, and the current results of the simulator."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benches.linux_tcp import compare, dynamics
from benches.linux_tcp.compare import COUNTED, simulated
from benches.linux_tcp.grid import AS_IN_LINUX, cells
from fairlane import Scenario
from fairlane.base.planes import COMPARED_KERNEL
from fairlane.cli.main import commands
from fairlane.linux import plan

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "agreement-linux.md").read_text(encoding="utf-8")
DATA = json.loads((DOCS.parent / "site" / "data" / "agreement-linux.json").read_text(encoding="utf-8"))
GRIDS = (compare.GRID, dynamics.GRID)
KEPT = {grid.prefix: json.loads(grid.recorded.read_text(encoding="utf-8")) for grid in GRIDS}
CHEAP = [(grid, cell) for grid in GRIDS for cell in grid.cells if cell.rate_mbps <= 20 and cell.rtt_ms <= 40]


def test_page_lab_and_profile_name_the_kernel_of_the_comparison() -> None:
    for prefix, kept in KEPT.items():
        assert kept["linux"].startswith(f"{COMPARED_KERNEL}.")
        assert DATA[f"{prefix}results"][0].startswith(f"Linux {kept['linux']} ")
    assert f"**Linux {COMPARED_KERNEL}**" in PAGE
    profile = next(
        row for row in (DOCS / "tcp.md").read_text(encoding="utf-8").splitlines() if row.startswith("| `linux` |")
    )
    assert profile.endswith(f"compared with Linux {COMPARED_KERNEL}. |")
    assert f"Linux {COMPARED_KERNEL}" in " ".join(CliRunner().invoke(commands, ["lab", "--help"]).output.split())


@pytest.mark.parametrize("grid", GRIDS, ids=("flows", "dynamics"))
def test_the_data_have_a_row_for_each_cell_and_count_those_that_agree_as_the_page_does(grid) -> None:
    _, counted, _, table = DATA[f"{grid.prefix}results"]
    rows = table["rows"]
    agreeing = sum(row[1] == "yes" for row in rows)
    assert counted.startswith(f"**{agreeing} of {len(rows)}** cells agree")
    assert f"**{agreeing} of {len(rows)} cells agree" in PAGE
    assert [row[0] for row in rows] == [cell.name for cell in grid.cells] == list(KEPT[grid.prefix]["cells"])
    counting = len(COUNTED) if grid is compare.GRID else len(rows[0])
    assert all(("✗" in " ".join(row[2 : 2 + counting])) == (row[1] == "**no**") for row in rows)


def test_every_queue_and_pair_of_controls_is_in_the_grid_at_every_rate() -> None:
    assert len(cells()) >= 240
    for scheme in AS_IN_LINUX:
        assert {cell.rate_mbps for cell in cells() if cell.scheme == scheme} >= {10, 100, 1000}


def test_short_dynamics_have_every_size_alone_and_next_to_a_flow_and_three_sizes_of_incast() -> None:
    found = dynamics.cells()
    for kind in (dynamics.ALONE, dynamics.BULK):
        assert {cell.segments for cell in found if cell.kind == kind} == {1, 3, 10, 30, 100, 300, 1000}
        assert {cell.mix[0] for cell in found if cell.kind == kind} == {"reno", "cubic", "bbr1"}
    for scheme in ("droptail", "red"):
        assert [c.flows[0] for c in found if c.kind == dynamics.INCAST and c.scheme == scheme] == [8, 32, 64]


@pytest.mark.parametrize(("grid", "cell"), CHEAP[::12], ids=lambda value: getattr(value, "name", ""))
def test_the_simulator_does_what_was_recorded(grid, cell) -> None:
    kept = KEPT[grid.prefix]["cells"][cell.name]
    for name, values in simulated(cell, grid.measures).items():
        assert [float(f"{value:.5g}") for value in values] == kept[name]["simulator"], name


@pytest.mark.parametrize("cell", [cell for grid in GRIDS for cell in grid.cells], ids=lambda cell: cell.name)
def test_the_kernel_can_have_every_cell(cell) -> None:
    plan.check(Scenario.from_dict(cell.scenario()).canonical())
