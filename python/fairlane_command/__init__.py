"""Entry point of the command `fairlane`, outside of the package, to handle interrupts while the package loads."""

from __future__ import annotations

import gc
import os
import signal
import sys

from fairlane_command.as_module import end_quietly


def main() -> None:
    """Loads the command line and runs it."""
    try:
        if signal.getsignal(signal.SIGINT) is end_quietly:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _open_closed_streams()
        gc.disable()  # loading creates no garbage
        from fairlane.cli.main import command
        from fairlane.cli.main import main as run

        command("".join(sys.argv[1:2]))
        gc.freeze()
        gc.enable()
    except KeyboardInterrupt:
        # Nothing has started, and partly loaded modules should not report errors.
        end_quietly()
    run()


def _open_closed_streams() -> None:
    """Opens closed standard streams on the null device, so that no file of ours gets their descriptors."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is this one
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
