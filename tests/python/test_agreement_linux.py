"""docs/agreement-linux.md: which kernel the profile `linux` was compared with, and in how many cells they agree."""

import re
from pathlib import Path

from click.testing import CliRunner

from fairlane.base.planes import COMPARED_KERNEL
from fairlane.cli.main import commands

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "agreement-linux.md").read_text(encoding="utf-8")


def test_page_lab_and_profile_name_the_kernel_of_the_comparison() -> None:
    measured = re.findall(r"^Linux (\d+\.\d+)\.\S+, ", PAGE, re.MULTILINE)
    assert len(measured) == 2  # the grid and the kernel's own queue
    assert set(measured) == {COMPARED_KERNEL}
    assert f"**Linux {COMPARED_KERNEL}**" in PAGE
    profile = next(
        row for row in (DOCS / "tcp.md").read_text(encoding="utf-8").splitlines() if row.startswith("| `linux` |")
    )
    assert profile.endswith(f"compared with Linux {COMPARED_KERNEL}. |")
    assert f"Linux {COMPARED_KERNEL}" in CliRunner().invoke(commands, ["lab", "--help"]).output


def test_the_page_has_a_row_for_each_cell_and_counts_those_that_agree() -> None:
    table = PAGE.partition("<!-- results -->")[2].partition("<!-- end -->")[0]
    rows = [row for row in table.splitlines() if re.match(r"\| \d+ \w+ and ", row)]
    agreeing = sum("| yes |" in row for row in rows)
    assert f"**{agreeing} of {len(rows)}** cells agree" in table
    # Six pairs of controls, two numbers of flows, two rates, three round trips.
    assert len(rows) == 6 * 2 * 2 * 3
    assert all((" ✗" in row) == ("| **no** |" in row) for row in rows)
