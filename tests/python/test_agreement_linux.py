"""The comparison with Linux: which kernel the profile `linux` was compared with, and in how many cells they agree."""

import json
from pathlib import Path

from click.testing import CliRunner

from fairlane.base.planes import COMPARED_KERNEL
from fairlane.cli.main import commands

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "agreement-linux.md").read_text(encoding="utf-8")
DATA = json.loads((DOCS.parent / "site" / "data" / "agreement-linux.json").read_text(encoding="utf-8"))


def test_page_lab_and_profile_name_the_kernel_of_the_comparison() -> None:
    for mark in ("results", "kernel-queue"):
        assert DATA[mark][0].startswith(f"Linux {COMPARED_KERNEL}.")
    assert f"**Linux {COMPARED_KERNEL}**" in PAGE
    profile = next(
        row for row in (DOCS / "tcp.md").read_text(encoding="utf-8").splitlines() if row.startswith("| `linux` |")
    )
    assert profile.endswith(f"compared with Linux {COMPARED_KERNEL}. |")
    assert f"Linux {COMPARED_KERNEL}" in CliRunner().invoke(commands, ["lab", "--help"]).output


def test_the_data_have_a_row_for_each_cell_and_count_those_that_agree_as_the_page_does() -> None:
    _, counted, _, table = DATA["results"]
    rows = table["rows"]
    agreeing = sum(row[1] == "yes" for row in rows)
    assert counted.startswith(f"**{agreeing} of {len(rows)}** cells agree")
    assert f"**{agreeing} of {len(rows)} cells agree.**" in PAGE
    # Six pairs of controls, two numbers of flows, two rates, three round trips.
    assert len(rows) == 6 * 2 * 2 * 3
    assert all(("✗" in " ".join(row)) == (row[1] == "**no**") for row in rows)
