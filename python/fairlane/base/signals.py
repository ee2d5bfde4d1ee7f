"""Signals that ask a command to end: batch systems send SIGTERM, a terminal that is closed sends SIGHUP."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)
REPEATED_S = 2.0
"""Time in s after a Ctrl-C in which a second one is ignored. A later one also ends the storing of finished work."""


class Received:
    """The received signal.

    Attributes:
        number: Signal number; None if no signal was received.
    """

    number: int | None = None

    def check(self) -> None:
        """Raises an interrupt again if Python dropped it: exceptions in finalizers and callbacks are only printed."""
        if self.number is not None:
            raise KeyboardInterrupt

    @property
    def exit_code(self) -> int:
        """128 plus the signal number, as in shells; without a signal, the code of Ctrl-C."""
        return 128 + (self.number or signal.SIGINT)


received = Received()
"""Signal received by this process; loops that wait for long work poll it."""


@contextmanager
def as_interrupts() -> Iterator[Received]:
    """Treats SIGTERM and SIGHUP within the block like Ctrl-C. Signals ignored before, as with `nohup`, stay ignored.

    After SIGTERM or SIGHUP, both signals are ignored while finished work is stored. After a Ctrl-C, another Ctrl-C is
    ignored for `REPEATED_S`.
    """
    received.number = None
    kinds = (signal.SIGINT, *ENDING)
    before = {number: signal.getsignal(number) for number in kinds if signal.getsignal(number) != signal.SIG_IGN}

    passed_over_until_s = 0.0

    def interrupt(number: int, _frame: object) -> None:
        nonlocal passed_over_until_s
        if number == signal.SIGINT:
            if time.monotonic() < passed_over_until_s:
                return
            passed_over_until_s = time.monotonic() + REPEATED_S
        received.number = number
        for one in before.keys() & {*ENDING} if number in ENDING else ():
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        received.number = None
