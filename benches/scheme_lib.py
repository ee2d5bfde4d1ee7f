"""Compares drop-tail in a shared library, written in C or Rust, with built-in drop-tail (needs a C compiler)."""

from __future__ import annotations

import os
import re
import subprocess

from .harness import ROOT, Report, bench, build, cargo, conditions

SOURCE = "examples/scheme-lib-c/my_schemes.c"


@bench("scheme-lib")
def main(report: Report) -> None:
    """Builds the libraries, measures and prints."""
    target = cargo("build", "--package", "fairlane-plugin", "--example", "droptail")
    library = target / "libmy_schemes_c.so"
    compiler = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-I", "crates/capi/include"]
    subprocess.run([*compiler, "-o", library, SOURCE], cwd=ROOT, check=True)
    rust = target / "examples" / "libdroptail.so"
    done = subprocess.run(
        [build("scheme_lib"), library, "my-fifo", rust, "my-droptail"], check=True, stdout=subprocess.PIPE, text=True
    )
    rows = [
        [name, float(rate), float(share)]
        for name, rate, share in re.findall(r"(\S+) +([\d.]+) M packets/CPU-s +([\d.]+) %", done.stdout)
    ]
    columns = {"scheme": "", "M packets per CPU s": "{:.2f}", "of the built-in one": "{:.1f} %"}
    report.table(columns, rows, above=f"Medians, {conditions()}.")
