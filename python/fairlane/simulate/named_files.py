"""Files named by a scenario: their content becomes part of the simulated scenario.

So a run, its key in the store and a machine of a cluster need only the content, wherever the file was.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlane.base.errors import ScenarioError
from fairlane.base.text import quoted

MOST_BYTES = 100_000_000
"""Maximum size of a file: ten million lines of up to ten bytes."""


def of_text(convert: Callable[[str], str]) -> Callable[[bytes], str]:
    """`convert` for the content of a file in UTF-8."""
    return lambda content: convert(content.decode())


def converted(key: str, name: str, folder: Path, kind: str, convert: Callable[[bytes], str]) -> str:
    """The content of a file of some kind as `convert` gives it to the simulator.

    Args:
        key: Key of the scenario that names the file.
        name: Its name, relative to
        folder: Folder of the scenario.
        kind: Required kind; completes "must be".
        convert: Raises a ValueError that says which line is wrong.

    Raises:
        ScenarioError: The file cannot be read, or is not of that kind.
    """
    place = f"{key}: {quoted(name)}"
    try:
        with (folder / name).open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise ScenarioError(f"{place}: {error.strerror}, must be {kind}") from error
    except ValueError as error:
        raise ScenarioError(f"{place}: not a path: {error}") from error
    if len(content) > MOST_BYTES:
        raise ScenarioError(f"{place}: is out of range, a file may have {MOST_BYTES} bytes")
    try:
        return convert(content)
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{place}: not text at byte {error.start}, must be {kind}") from error
    except ValueError as error:
        raise ScenarioError(f"{place}: {error}") from error
