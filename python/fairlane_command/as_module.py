"""Lets an interrupt of `python -m fairlane` print nothing even while the package loads.

`fairlane` imports this module first: Python loads the package before `__main__`, so code in `__main__` could not catch
an interrupt during the load.
"""

import os
import signal
import sys
from typing import NoReturn

EXIT_INTERRUPTED = 130


def end_quietly(*_: object) -> NoReturn:
    """Ends this process as SIGINT would, without output."""
    os._exit(EXIT_INTERRUPTED)


# The first argument is "-m" while Python looks for the module to run.
if (
    sys.argv[:1] == ["-m"]
    and not {"fairlane", "-mfairlane"}.isdisjoint(sys.orig_argv)
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, end_quietly)
