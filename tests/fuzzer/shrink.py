"""Shrinks a failing case as long as it fails in the same way."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fuzzer.case import Case
from fuzzer.draw import document
from fuzzer.schemas import at, places

MOST_TRIES = 400

Fails = Callable[[Case], bool]


def shrink(case: Case, fails: Fails) -> Case:
    """The smallest case found. `fails` returns true if a smaller case still fails in the same way."""
    tries = 0
    progress = True
    while progress and tries < MOST_TRIES:
        progress = False
        for smaller in _smaller(case):
            tries += 1
            if fails(smaller):
                case, progress = smaller, True
                break
            if tries >= MOST_TRIES:
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one part removed, largest parts first."""
    for index in range(len(case.steps) if len(case.steps) > 1 else 0):
        yield replace(case, steps=case.steps[:index] + case.steps[index + 1 :])
    for index, step in enumerate(case.steps):
        for width in (2, 1):
            for start in range(len(step) - width, 0, -1):
                less = step[:start] + step[start + width :]
                yield replace(case, steps=(*case.steps[:index], less, *case.steps[index + 1 :]))
    for name in case.files:
        yield replace(case, files={other: text for other, text in case.files.items() if other != name})
    for name in case.environment:
        yield replace(case, environment={key: value for key, value in case.environment.items() if key != name})
    if case.own_process and not case.streams:
        yield replace(case, own_process=False)
    for name, text in case.files.items():
        for shorter in _less_text(text):
            yield replace(case, files={**case.files, name: shorter})


def _less_text(text: str) -> Iterator[str]:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        yield from _pieces_less(text)
        return
    for place in sorted(places(table), key=len):
        less = tomllib.loads(text)
        holder = at(less, place[:-1])
        del holder[place[-1]]
        yield from _written(less)
        value = at(table, place)
        if isinstance(value, str) and len(value) > 1:
            for half in (value[: len(value) // 2], value[len(value) // 2 :]):
                shorter = tomllib.loads(text)
                at(shorter, place[:-1])[place[-1]] = half
                yield from _written(shorter)


def _written(table: dict[str, Any]) -> Iterator[str]:
    try:
        yield document(table)
    except (ValueError, RecursionError):
        return


def _pieces_less(text: str) -> Iterator[str]:
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 4
