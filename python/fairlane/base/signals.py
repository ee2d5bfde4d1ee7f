"""Signals that ask a command to end: batch systems send SIGTERM, a terminal that is closed sends SIGHUP."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)


class Received:
    """What has asked for the end.

    Attributes:
        number: Of the signal; None if none came.
    """

    number: int | None = None

    @property
    def exit_code(self) -> int:
        """128 and the number, as shells have it; that of Ctrl-C if no other signal came."""
        return 128 + (self.number or signal.SIGINT)


@contextmanager
def as_interrupts() -> Iterator[Received]:
    """SIGTERM and SIGHUP within the block are as Ctrl-C, unless they were ignored before, as `nohup` does.

    What has come once does not come again: finished work is being kept.
    """
    received = Received()
    before = {number: signal.getsignal(number) for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}

    def interrupt(number: int, _frame: object) -> None:
        received.number = number
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
