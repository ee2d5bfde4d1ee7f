"""`python -m fuzzer`: draws and runs cases, and prints each new fault with its smallest case."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from fuzzer.case import Case
from fuzzer.commands import case
from fuzzer.pool import Outcome, Pool
from fuzzer.shrink import shrink
from fuzzer.verdict import fault

FOUND = Path("results/fuzz")
LINE_EVERY_S = 10.0


def main() -> int:
    """Runs the command line; returns 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m fuzzer", description="Fuzz the command fairlane.")
    parser.add_argument("cases", nargs="*", type=Path, help="files with cases to run instead of drawn ones")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the cases [default: the clock]")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--count", type=int, help="number of cases [default: as many as --minutes allow]")
    parser.add_argument("--minutes", type=float, default=1.0, help="time limit without --count")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-shrink", action="store_true", help="print cases as they were drawn")
    chosen = parser.parse_args()
    with Pool(chosen.workers) as pool:
        if chosen.cases:
            drawn = stored(chosen.cases)
        else:
            print(f"seed {chosen.seed}", flush=True)
            drawn = draw(chosen.seed, chosen.first, chosen.count, 60 * chosen.minutes)
        faults = report(pool.run(drawn))
    with Pool(1) as pool:
        for name, failing in faults.items():
            small = failing if chosen.no_shrink else shrink(failing, partial(fails, pool, name))
            show(name, small)
    return 1 if faults else 0


def stored(files: Sequence[Path]) -> Iterator[tuple[int, Case]]:
    """The cases in files."""
    yield from enumerate(Case.from_json(file.read_text()) for file in files)


def draw(seed: int, first: int, count: int | None, seconds: float) -> Iterator[tuple[int, Case]]:
    """Yields numbered cases of a seed: `count` cases or, if it is None, cases until `seconds` have passed."""
    until = time.monotonic() + seconds
    number = first
    while number < first + count if count is not None else time.monotonic() < until:
        yield number, case(seed, number)
        number += 1


def report(outcomes: Iterator[tuple[int, Case, Outcome]]) -> dict[str, Case]:
    """Counts and prints outcomes; returns the first case of each fault."""
    began = said = time.monotonic()
    codes: Counter[int] = Counter()
    faults: Counter[str] = Counter()
    first: dict[str, Case] = {}
    total = interrupted = 0
    for number, one, outcome in outcomes:
        total += 1
        interrupted += outcome.interrupted
        codes.update(ending.code for ending in outcome.endings)
        if name := fault(one, outcome):
            faults[name] += 1
            if name not in first:
                first[name] = one
                print(f"case {number}: {name}", flush=True)
        if time.monotonic() - said > LINE_EVERY_S:
            said = time.monotonic()
            print(f"{total} cases in {said - began:.0f} s, {faults.total()} with faults", flush=True)
    shown = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    print(f"{total} cases in {time.monotonic() - began:.0f} s; exit codes: {shown}; {interrupted} interrupted as long")
    for name, count in faults.most_common():
        print(f"{count} x {name}")
    return first


def fails(pool: Pool, name: str, smaller: Case) -> bool:
    """True if a case has this fault."""
    return any(fault(one, outcome) == name for _, one, outcome in pool.run([(0, smaller)]))


def show(name: str, small: Case) -> None:
    """Prints a case and saves it as a file."""
    FOUND.mkdir(parents=True, exist_ok=True)
    file = FOUND / ("".join(character if character.isalnum() else "-" for character in name)[:80] + ".json")
    file.write_text(small.to_json() + "\n")
    shown = small.shell()
    print(f"\n{name}\n{shown if len(shown) < 3000 else shown[:1500] + ' ... ' + shown[-1500:]}\nkept as {file}")


if __name__ == "__main__":
    sys.exit(main())
