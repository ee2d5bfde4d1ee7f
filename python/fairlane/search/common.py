"""Common parts of searches: checks of numbers, and interrupts that report progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairlane.base.errors import Interrupted, UserError
from fairlane.base.text import quoted

MOST_EVALUATIONS = 10_000_000
MOST_SEED = 2**32 - 1


def check_count(name: str, value: int, least: int, most: int) -> None:
    """Raises a UserError unless `value` is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(f"{name}: {quoted(value)} is out of range, it must be from {least} to {most}")


@contextmanager
def interruptible(done: int, total: int) -> Iterator[None]:
    """Makes a Ctrl-C within the block report how much is done."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(done, total, "finished; the same command goes on from here", what="searches") from None
