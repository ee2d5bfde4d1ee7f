"""Keys that vary in a sweep, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairlane.base.text import for_figure

SCHEME = "queue.scheme"
_GROUP = re.compile(r"groups\[(\d+)\](?P<source>\.sources\[\d+\])?")


class Words:
    """Labels for keys of a scenario, with the names of groups instead of their numbers."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._groups = [name.partition(".")[2] for name in columns if name.startswith("throughput_bps.")]

    def of(self, key: str) -> str:
        """The last part of a key and its group or link: `users of light` for `groups[1].users`."""
        table, _, name = key.rpartition(".")
        found = _GROUP.fullmatch(table)
        if found and int(found[1]) < len(self._groups):
            table = self._groups[int(found[1])] + ("" if found["source"] in {None, ".sources[0]"} else found["source"])
        return for_figure(f"{name} of {table}" if "[" in key else name)

    def short(self, key: str, among: Sequence[str]) -> str:
        """The last part of a key if it is unique among the keys, else the label of the key."""
        last = key.rpartition(".")[2]
        return last if [other.rpartition(".")[2] for other in among].count(last) == 1 else self.of(key)
