"""Imported before all else by `fairlane`: an interrupt of `python -m fairlane` is quiet while it loads, too.

Python loads the package before the module that it runs, so that nothing there could catch it.
"""

import os
import signal
import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130


def end_quietly(*_: object) -> NoReturn:
    """Ends this process as an interrupt does, without a word."""
    os._exit(EXIT_INTERRUPTED)


# The first argument is "-m" while Python looks for the module that it shall run.
if (
    sys.argv[:1] == ["-m"]
    and not {"fairlane", "-mfairlane"}.isdisjoint(sys.orig_argv)
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, end_quietly)
