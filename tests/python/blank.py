"""Files instead of figures, for tests that are about other things. Drawing takes most of the time of a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fairlane.results import plots

BLANK = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><defs></defs></svg>',
    ".pdf": b"%PDF-1.4\n",
}

draw = plots._save


@contextmanager
def undrawn() -> Iterator[None]:
    """Makes blank files instead of figures, in commands too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "_save", blank)
        yield


def blank(_drawn: Figure, to: Path | BytesIO, suffix: str) -> None:
    """Writes a blank file for any figure."""
    (to.write if isinstance(to, BytesIO) else to.write_bytes)(BLANK[suffix])


def only_svg(drawn: Figure, to: Path | BytesIO, suffix: str) -> None:
    """Draws only SVGs: a page shows no other files."""
    (draw if suffix == ".svg" else blank)(drawn, to, suffix)
