"""Progress of long work: a bar on a terminal or in a notebook, a plain line on stderr every few seconds elsewhere.

The work continues if stderr cannot be written or the terminal has gone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from fairlane.base.text import visible

LINE_EVERY_S = 5.0
ELEMENT_EVERY_S = 0.2
"""Minimum time between two updates in a notebook, in seconds."""


Report = Callable[[int, int, str], None]


@contextmanager
def progress(title: str, total: int, *, show: bool, unit: str = "runs") -> Iterator[Advance]:
    """Returns a function to call after each of `total` pieces of work of similar duration."""
    with reporting(title, total, show=show and total > 0, unit=unit) as report:
        yield Advance(total, report)


class Advance:
    """Counts pieces of work; call it after each."""

    def __init__(self, total: int, report: Report) -> None:
        self._total = total
        self._report = report
        self._done = 0
        self._left = ""
        self._start = self._last = time.monotonic()

    def __call__(self, note: str = "") -> None:
        """Counts a finished piece of work, and sets the note shown next to the remaining time."""
        self._done += 1
        self._last = time.monotonic()
        left_s = (self._last - self._start) / self._done * (self._total - self._done)
        self._left = f"about {duration(left_s)} left"
        self._say(note)

    def waiting(self, say: Callable[[], str]) -> None:
        """Shows the note that `say` returns, if no piece of work was finished for `LINE_EVERY_S`."""
        if time.monotonic() - self._last >= LINE_EVERY_S:
            self._say(say())

    def _say(self, note: str) -> None:
        self._report(self._done, self._total, ", ".join(filter(None, [self._left, note])))


@contextmanager
def reporting(title: str, total: int, *, show: bool, unit: str = "runs") -> Iterator[Report]:
    """Returns a function that reports finished and total runs (or other units) and the remaining time."""
    if not show or sys.stderr is None:
        yield lambda _done, _total, _left: None
    elif _is_notebook():
        with _element(title) as report:
            yield report
    elif sys.stderr.isatty():
        with _bar(title, total) as report:
            yield report
    else:
        yield _lines(title, unit)


def tell(line: str, *, show: bool) -> None:
    """Prints a line on stderr before the work begins."""
    if show and sys.stderr is not None:
        with suppress(OSError):
            print(visible(line), file=sys.stderr, flush=True)  # noqa: T201


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def _bar(title: str, total: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(visible(title), total=total, left="")

    def report(done: int, total: int, left: str) -> None:
        with suppress(OSError):
            bar.update(task, completed=done, total=total, left=visible(left))

    with suppress(OSError):
        bar.start()
    try:
        yield report
    finally:
        with suppress(OSError):
            bar.stop()


def _is_notebook() -> bool:
    """Returns true if output is displayed in a notebook: IPython with a kernel is running."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _element(title: str) -> Iterator[Report]:
    """A bar as an element of the notebook, removed at the end."""
    from IPython.display import HTML, display

    from fairlane.base import html

    shown = display(HTML(""), display_id=True)
    last_s = -ELEMENT_EVERY_S

    def report(done: int, total: int, left: str) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        if now_s - last_s >= ELEMENT_EVERY_S:
            last_s = now_s
            words = html.text(f"{title} {done}/{total} {left}")
            shown.update(HTML(f'<label>{words} <progress value="{done}" max="{total}"></progress></label>'))

    try:
        yield report
    finally:
        shown.update(HTML(""))


def _lines(title: str, unit: str) -> Report:
    last_line = time.monotonic()

    def report(done: int, total: int, left: str) -> None:
        nonlocal last_line
        now = time.monotonic()
        if now - last_line >= LINE_EVERY_S:
            last_line = now
            with suppress(OSError):
                print(visible(f"{title}: {done} of {total} {unit}, {left}"), file=sys.stderr, flush=True)  # noqa: T201

    return report
