"""Counts instructions per delivered packet and compares them with the committed baseline.

    make bench-instructions              # table; fails if a scenario is more than 5 % above the baseline
    make bench-instructions UPDATE=1     # writes baseline.toml

Counts, unlike times, do not depend on what else the machine does: valgrind executes the program instruction by
instruction. Same program, same scenario, same count, within a hundred-thousandth: the addresses and the environment
that the system gives the program matter a little. Counts depend on the compiler, so the baseline names it; with another
one, or without valgrind, nothing is compared and the exit code is 77.

A count is all that the program executes, from its start to its end, over the packets delivered. It does not see cache
misses: an engine can execute fewer instructions and be slower. `make bench` and `make bench-scale` have times.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

sys.path.insert(0, str(Path(__file__).parents[1]))

from measuring import build, instructions, rustc

HERE = Path(__file__).parent
BASELINE = HERE / "baseline.toml"
TOLERANCE = 0.05
SKIPPED = 77


def count(program: Path, scenario: str) -> float:
    """Instructions per delivered packet."""
    total, packets = instructions(program, scenario)
    return total / int(packets)


def skip(reason: str) -> int:
    """Say why nothing is compared."""
    print(f"skipped: {reason}")
    return SKIPPED


def check(baseline: dict[str, Any], counts: dict[str, float]) -> int:
    """Print the table; 1 if a scenario is above the baseline by more than the tolerance."""
    limits: dict[str, float] = baseline.get("instructions_per_packet", {})
    failed = False
    print(f"{'scenario':<18} {'instructions per packet':>24} {'baseline':>10} {'change':>8}")
    for name, value in counts.items():
        if name not in limits:
            print(f"{name:<18} {value:>24.1f} {'none':>10}          not in the baseline: run with --update")
            failed = True
            continue
        change = value / limits[name] - 1
        verdict = ""
        if abs(change) > TOLERANCE:
            verdict = "  above the tolerance of 5 %" if change > 0 else "  below: keep the gain with --update"
        failed |= change > TOLERANCE
        print(f"{name:<18} {value:>24.1f} {limits[name]:>10.1f} {change:>+8.1%}{verdict}")
    return int(failed)


def main() -> int:
    """Count, compare or update."""
    parser = argparse.ArgumentParser(description="Count instructions per delivered packet.")
    parser.add_argument("--update", action="store_true", help="write the baseline instead of comparing with it")
    update = parser.parse_args().update

    if shutil.which("valgrind") is None:
        return skip("valgrind is not installed (Debian and Ubuntu: apt install valgrind)")
    version, target = rustc()
    baseline = tomllib.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    known = baseline.get("rustc"), baseline.get("target")
    if not update and known != (version, target):
        return skip(f"the baseline is of {known[0]} for {known[1]}, here is {version} for {target}")

    program = build("count")
    scenarios = tomllib.loads((HERE / "scenarios.toml").read_text(encoding="utf-8"))
    counts = {name: count(program, json.dumps(scenario)) for name, scenario in scenarios.items()}
    if update:
        content = {
            "rustc": version,
            "target": target,
            "instructions_per_packet": {name: round(value, 1) for name, value in counts.items()},
        }
        head = "# Written by check.py --update. The commit that changes it says why.\n\n"
        BASELINE.write_text(head + tomli_w.dumps(content), encoding="utf-8")
        baseline = content
    return check(baseline, counts)


if __name__ == "__main__":
    sys.exit(main())
