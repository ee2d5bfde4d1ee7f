"""Readings of a paper: interpretations of an unclear text that were chosen by the paper's numbers (`readings.toml`).

    [[readings]]
    open = "How many packets CHOKe draws above max_th."      # the open question; its answers are discrete
    taken = "As many as above the middle of the thresholds."  # the answer that is the default here
    numbers = "894 kb/s where Table 1 has 841; a single draw gives 0.006."  # results of each answer
    claims = ["afc.table1.choke_5"]                           # claims whose numbers decided

A claim whose numbers were used to choose the reading under which it is tested proves nothing. It is always marked as
not independent and counted separately. Claims never choose a continuous parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from fairlane.base import toml

Standing = Literal["independent", "not independent", "arithmetic", "added"]
"""Standing of a claim. `independent`: tests the paper. `not independent`: tests nothing, since the claim's numbers were
used to choose the reading. `arithmetic`: repeats arithmetic printed in the paper. `added`: is not in the paper."""


STANDINGS: tuple[Standing, ...] = get_args(Standing)

MARKS: Mapping[Standing, str] = {
    "not independent": "not independent",
    "arithmetic": "arithmetic",
    "added": "not in the paper",
}
"""Remarks on claims of each standing."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A discrete choice that the paper's text leaves open and its numbers decide.

    Attributes:
        open: Question that the text leaves open.
        taken: The reading used by default.
        numbers: Results under each reading, next to the paper's numbers.
        claims: Ids of the claims whose numbers decided.
    """

    open: str
    taken: str
    numbers: str
    claims: Sequence[str]

    @property
    def words(self) -> str:
        """The choice as one line of text."""
        return f"{self.open} {self.taken}"


def load_readings(file: Path) -> list[Reading]:
    """Reads a readings.toml; empty if the file does not exist."""
    return [
        Reading(
            **{name: " ".join(table[name].split()) for name in ("open", "taken", "numbers")}, claims=table["claims"]
        )
        for table in toml.read_if_there(file).get("readings", ())
    ]
