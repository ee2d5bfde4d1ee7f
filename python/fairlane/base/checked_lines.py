"""Append-only files whose lines are a checksum and a JSON object. A line that a kill truncated is ignored."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def checked_line(entry: dict[str, Any]) -> bytes:
    """The line of an entry, with its line break."""
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def checked_entries(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of all complete lines."""
    with path.open("rb") as lines:
        for line in lines:
            checksum, _, text = line.partition(b" ")
            if line.endswith(b"\n") and checksum == b"%08x" % zlib.crc32(text[:-1]):
                yield json.loads(text)
