"""Imported first by `fairlane`, so that an interrupt of `python -m fairlane` prints nothing while it loads, too.

Python loads the package before the module that it runs, so the module itself could not catch the interrupt.
"""

import os
import signal
import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130


def end_quietly(*_: object) -> NoReturn:
    """Ends this process as an interrupt does, without output."""
    os._exit(EXIT_INTERRUPTED)


# The first argument is "-m" while Python looks for the module to run.
if (
    sys.argv[:1] == ["-m"]
    and not {"fairlane", "-mfairlane"}.isdisjoint(sys.orig_argv)
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, end_quietly)
