"""Finds faults in the outcome of a case."""

from __future__ import annotations

import re

from fuzzer.case import Case
from fuzzer.pool import Outcome
from fuzzer.worker import Ending

INTERRUPTED = 130
LONGEST_LINE = 4000
"""Maximum number of characters in an error line. A longer line shows that a value of the user was not shortened."""

_PANIC = re.compile(r"panicked at ([^\n:]+:\d+)|(memory allocation of \d+ bytes failed|stack overflow)")
_PLACE = re.compile(r'File "[^"]*?((?:fairlane/(?:[a-z0-9_]+/)*|[^/"]+/)[^/"]+\.py)", line \d+, in (\S+)')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def fault(case: Case, outcome: Outcome) -> str:
    """A short name of the fault, equal for equal causes; empty if there is none."""
    if outcome.death:
        return f"worker: {outcome.death}"
    for step, ending in zip(case.steps, outcome.endings, strict=True):
        if found := _fault(case, step, ending, interrupted=outcome.interrupted):
            return found
    return ""


def _fault(case: Case, step: tuple[str, ...], ending: Ending, *, interrupted: bool) -> str:
    if panic := _PANIC.search(ending.stderr):
        return f"panic: {panic[1] or panic[2]}"
    if "Traceback (most recent call last)" in ending.stderr:
        last = ending.stderr.rstrip().splitlines()[-1]
        places = [place for place in _PLACE.findall(ending.stderr) if place[0].startswith("fairlane/")]
        where = " ".join((places or _PLACE.findall(ending.stderr) or [("", "")])[-1])
        return f"traceback: {last.partition(':')[0]} in {where}"
    if ending.code == INTERRUPTED and interrupted:
        return ""
    if ending.code not in ((0, 1, 2) if "check" in step else (0, 2)):
        return f"exit code {ending.code}"
    if "stderr" in case.streams:
        return ""
    errors = [line for line in ending.stderr.splitlines() if line.startswith("error: ")]
    if len(errors) != (ending.code == 2):
        return f"exit code {ending.code} with {len(errors)} error lines"
    if any(len(line) > LONGEST_LINE for line in errors):
        return "error of many characters"
    for name, written in (("stdout", ending.stdout), ("stderr", ending.stderr)):
        if _CONTROL.search(written):
            return f"control character on {name}"
    return ""
