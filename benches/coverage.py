"""Shows the coverage of each scheme by its own tests; fails below 90 % (some minutes; needs llvm-tools of rustup).

A scheme's own tests are those in its module (`aqm::red::` for `aqm/red.rs`, `aqm::afc::` for `aqm/afc/`). They run
without other tests, so lines that only tests of other schemes execute are not covered. Lines of tests are ignored. The
last row is the code shared by several schemes, covered by the unit tests of all schemes. Exits with 1 if a row is below
the bound.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import click

from .harness import ROOT, Report, Skipped, bench

SOURCES = ROOT / "crates/schemes/src"
SCHEMES = {path.stem for path in (ROOT / "tests" / "vectors").glob("*.txt")}
VARIANTS = {"drr": ["drr_lds"]}
"""Schemes without a module: their code is in the module of the scheme that is the key, and their tests count for it."""
SHARED = "what schemes share"
NOT_COUNTED = {"lib.rs", "tests.rs"}
"""Files without code, and files that contain only tests."""


@dataclass
class Row:
    """Number of lines of one module, how many of them its tests cover, and the lines that they miss."""

    module: str
    lines: int
    covered: int
    missed: dict[Path, list[int]]

    @property
    def percent(self) -> float:
        """Covered lines in per cent of all lines."""
        return 100 * self.covered / self.lines


def tools() -> Path:
    """Folder of llvm-cov and llvm-profdata of the compiler in use."""
    libraries = subprocess.check_output(["rustc", "--print", "target-libdir"], cwd=ROOT, text=True).strip()
    folder = Path(libraries).parent / "bin"
    if not (folder / "llvm-cov").exists() or not (folder / "llvm-profdata").exists():
        raise Skipped("needs llvm-cov and llvm-profdata; rustup component add llvm-tools")
    return folder


def build(target: Path) -> Path:
    """Builds the unit tests of the schemes with coverage counters; returns the path of the binary."""
    environment = os.environ | {"RUSTFLAGS": "-C instrument-coverage", "LLVM_PROFILE_FILE": os.devnull}
    command = ["cargo", "test", "--package", "fairlane-schemes", "--lib", "--no-run", "--target-dir", str(target)]
    log = subprocess.run(command, cwd=ROOT, env=environment, check=False, stderr=subprocess.PIPE, text=True).stderr
    binaries = [line.split("(")[-1].rstrip(")") for line in log.splitlines() if "Executable" in line]
    if len(binaries) != 1:
        sys.exit(f"error: the tests do not build\n{log}")
    return ROOT / binaries[0]


def modules() -> dict[str, list[Path]]:
    """Files of every scheme's module, and files shared by schemes."""
    files: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(SOURCES.rglob("*.rs")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        if path.name in NOT_COUNTED or "testing" in parts:
            continue
        # A scheme is a file or a folder. It need not be in the folder of its group.
        depth = next((depth for depth, part in enumerate(parts, 1) if part in SCHEMES), 0)
        files["::".join(parts[:depth]) if depth else SHARED].append(path)
    return files


def tests_of(module: str) -> list[str]:
    """Filters of the test binary that select a module's tests; an empty list selects all."""
    if module == SHARED:
        return []
    *group, name = module.split("::")
    return ["::".join([*group, each, ""]) for each in (name, *VARIANTS.get(name, []))]


def code_lines(path: Path) -> int:
    """Number of lines of a file before its tests."""
    lines = path.read_text().splitlines()
    return lines.index("#[cfg(test)]") if "#[cfg(test)]" in lines else len(lines)


def counts(binary: Path, module: str, bin_folder: Path, folder: Path) -> dict[Path, dict[int, int]]:
    """Returns how often the tests of `module` execute each line of each file."""
    raw, merged = folder / "raw", folder / "merged"
    tests = subprocess.run(
        [binary, *tests_of(module), "--quiet"],
        cwd=ROOT / "crates/schemes",
        env=os.environ | {"LLVM_PROFILE_FILE": str(raw), "PROPTEST_RNG_SEED": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    if tests.returncode:
        sys.exit(f"error: the tests of {module} fail\n{tests.stdout}")
    subprocess.run([bin_folder / "llvm-profdata", "merge", "-sparse", raw, "-o", merged], check=True)
    export = [str(bin_folder / "llvm-cov"), "export", "-format=lcov", f"-instr-profile={merged}", str(binary)]
    report = subprocess.check_output(export, text=True)
    found: dict[Path, dict[int, int]] = defaultdict(dict)
    path = Path()
    for line in report.splitlines():
        kind, _, value = line.partition(":")
        if kind == "SF":
            path = Path(value)
        elif kind == "DA":
            number, count = value.split(",")[:2]
            found[path][int(number)] = int(count)
    return found


def row(module: str, paths: list[Path], found: dict[Path, dict[int, int]]) -> Row:
    """Coverage of `module` by its tests."""
    lines = 0
    missed: dict[Path, list[int]] = {}
    for path in paths:
        end = code_lines(path)
        of_code = {number: count for number, count in found.get(path, {}).items() if number <= end}
        lines += len(of_code)
        if never := sorted(number for number, count in of_code.items() if count == 0):
            missed[path] = never
    return Row(module, lines, lines - sum(map(len, missed.values())), missed)


@bench("coverage")
@click.argument("schemes", nargs=-1, metavar="[SCHEME]...")
@click.option("--least", default=90.0, show_default=True, help="Per cent that every row must reach.")
@click.option("--missed", is_flag=True, help="Print the line numbers that no test covers.")
def main(report: Report, schemes: tuple[str, ...], least: float, missed: bool) -> int:
    """Prints the table; returns the exit status."""
    bin_folder = tools()
    binary = build(ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "coverage")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for module, paths in sorted(modules().items(), key=lambda item: (item[0] == SHARED, item[0])):
            if not schemes or module.rsplit("::", 1)[-1] in schemes:
                rows.append(row(module, paths, counts(binary, module, bin_folder, Path(folder))))
    lines = [
        f"- {path.relative_to(ROOT)}: {' '.join(map(str, numbers))}"
        for each in rows
        for path, numbers in each.missed.items()
        if missed
    ]
    columns = {"module": "", "lines of code": "{}", "run by its own tests": "{}", "per cent": "{:.1f}"}
    shown = [[f"`{each.module}`", each.lines, each.covered, each.percent] for each in rows]
    report.table(columns, shown, below="\n".join(lines))
    low = [each.module for each in rows if each.percent < least]
    if low:
        click.echo(f"error: below {least:g} %: {', '.join(low)}", err=True)
    return 1 if low else 0
