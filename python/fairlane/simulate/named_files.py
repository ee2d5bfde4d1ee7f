"""Files that a scenario names; their content becomes part of the simulated scenario.

Therefore a run and its key in the store depend on the content, not on the path. A cluster needs no such files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlane.base.errors import ScenarioError
from fairlane.base.text import quoted

MOST_BYTES = 100_000_000
"""Maximum size of a file: ten million lines of up to ten bytes."""


def of_text(convert: Callable[[str], str]) -> Callable[[bytes], str]:
    """Applies `convert` to the content of a UTF-8 file."""
    return lambda content: convert(content.decode())


def converted(key: str, name: str, folder: Path, kind: str, convert: Callable[[bytes], str]) -> str:
    """The content of a file, converted for the simulator.

    Args:
        key: Key of the scenario that names the file.
        name: Name of the file, relative to `folder`.
        folder: Folder of the scenario.
        kind: Required kind; follows "must be" in messages.
        convert: Conversion; raises a ValueError that names the wrong line.

    Raises:
        ScenarioError: The file cannot be read, or is of another kind.
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
