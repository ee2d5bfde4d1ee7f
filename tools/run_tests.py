"""Runs the steps of `make test` and `make test-live`, continues after failures, and prints the total counts.

Usage: run_tests.py LANE... A lane is a list of Makefile targets that run one after another; lanes run concurrently. The
    output of a step is shown when the step ends. The counts are from the last lines of cargo test and pytest; a step
    without such lines counts as one test.
"""

import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
PYTEST = re.compile(r"^(?=.*\bin [\d.]+s)(?:=+ )?((?:\d+ \w+(?:, )?)+) in ", re.MULTILINE)
WORDS = {"passed": 0, "xfailed": 0, "failed": 1, "error": 1, "errors": 1, "skipped": 2}


def counts(output: str) -> list[int]:
    """Passed, failed and skipped tests, from the last lines of cargo test and pytest."""
    sums = [0, 0, 0]
    for match in CARGO.finditer(output):
        for place, number in enumerate(match.groups()):
            sums[place] += int(number)
    for match in PYTEST.finditer(output):
        for number, word in re.findall(r"(\d+) (\w+)", match[1]):
            if word in WORDS:
                sums[WORDS[word]] += int(number)
    return sums


def run(step: str) -> list[int]:
    """Runs a target, shows its output, and counts its tests."""
    print(f"{step} ...", flush=True)
    begin = time.monotonic()
    # Otherwise compilers would look for a job server that only make can reach.
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(
        ["make", "--no-print-directory", step],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    result = counts(done.stdout)
    if not any(result):
        result = [int(done.returncode == 0), 0, 0]
    if done.returncode and not result[1]:
        result[1] = 1  # for example, a test that does not compile
    passed, failed, skipped = result
    summary = f"{step}: {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - begin:.0f} s"
    print(f"{done.stdout}{summary}", flush=True)
    return result


def run_lane(steps: list[str], interrupted: threading.Event) -> list[tuple[str, list[int]]]:
    """Runs the steps of a lane until an interruption."""
    return [(step, run(step)) for step in steps if not interrupted.is_set()]


def main() -> None:
    """Runs the lanes and prints the total counts."""
    lanes = [lane.split() for lane in sys.argv[1:]]
    interrupted = threading.Event()
    with ThreadPoolExecutor(len(lanes)) as executor:
        running = [executor.submit(run_lane, lane, interrupted) for lane in lanes]
        try:
            results = [result for lane in running for result in lane.result()]
        except KeyboardInterrupt:
            interrupted.set()
            sys.exit("interrupted: no further step begins")
    failures = [step for step, (_, failed, _) in results if failed]
    if failures:
        print(f"Failed: {', '.join(failures)}. Each is a target: make {failures[0]}")
    passed, failed, skipped = (sum(column) for column in zip(*(result for _, result in results), strict=True))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
