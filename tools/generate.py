"""Writes all generated files (tables and diagrams of the documentation, typed modules): `make docs`.

`--check` changes nothing and exits with 1 if a file is stale.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from generators import diagrams, modules, pages

DOCS = Path(__file__).parents[1] / "docs"


def main() -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the generated tables and modules.")
    parser.add_argument("--check", action="store_true", help="change nothing, exit with 1 if a file is stale")
    check = parser.parse_args().check
    if not check and modules.write_catalogue():
        os.execv(sys.executable, [sys.executable, *sys.argv])  # load the new module
    return max(modules.write(check=check), pages.write(DOCS, check=check), diagrams.write(check=check))


if __name__ == "__main__":
    sys.exit(main())
