"""Progress of long work on stderr: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINE_EVERY_S = 5.0

Advance = Callable[[], None]


@contextmanager
def progress(title: str, total: int, *, show: bool) -> Iterator[Advance]:
    """Gives a function to call after each of `total` pieces of work."""
    if not show or total == 0:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(title, total) as advance:
            yield advance
    else:
        yield _lines(title, total)


@contextmanager
def _bar(title: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _lines(title: str, total: int) -> Advance:
    start = last_line = time.monotonic()
    done = 0

    def advance() -> None:
        nonlocal done, last_line
        done += 1
        now = time.monotonic()
        if now - last_line >= LINE_EVERY_S:
            last_line = now
            left_s = (now - start) / done * (total - done)
            print(f"{title}: {done} of {total} runs, about {left_s:.0f} s left", file=sys.stderr, flush=True)  # noqa: T201

    return advance
