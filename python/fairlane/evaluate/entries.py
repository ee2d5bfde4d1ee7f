"""Evaluated entries: a scheme with its defaults or with other parameters.

abc                         a scheme
fq_codel:share_per=user     with a parameter; several are separated by commas
mine=abc:gamma=8 packets    with a label
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError, check_kind
from fairlane.evaluate.suite import SuiteScenario
from fairlane.simulate.catalogue import schemes
from fairlane.simulate.variants import ALL, Variant

SHARE_PER = "share_per"
"""The parameter that selects whether a scheme shares among flows or users."""


@dataclass(frozen=True)
class Entry(Variant):
    """An evaluated scheme with its parameters."""

    @property
    def shares_per(self) -> str | None:
        """`user` or `flow`, if the scheme has this parameter."""
        for param in self.about["params"] if self.about else ():
            if param["name"] == SHARE_PER:
                return str(self.settings.get(f"{param['table']}.{SHARE_PER}", param["default"]))
        return None

    def canonical(self, one: SuiteScenario) -> str:
        """Returns the scenario under this scheme, with the entry's parameters and the scenario's buffer.

        All other parameters have their defaults. If the scheme orders packets itself and so rejects `queue.scheduler`,
        this key becomes `fifo`.

        Raises:
            UserError: The scheme lacks one of the entry's parameters.
        """
        base = one.scenario
        try:
            return _fairlane.canonical(self.under(base.canonical()))
        except ScenarioError as error:
            if not str(error).startswith("queue.scheduler"):
                raise UserError(f"{self.label}: {error}") from error
        return _fairlane.canonical(self.under(base.changed({"queue.scheduler": "fifo"}).canonical()))


def entries(names: Iterable[str]) -> list[Entry]:
    """Parses entries; `all` means every scheme of the catalogue, twice if it can share among flows or users.

    Raises:
        UserError: A scheme or parameter is unknown, or a name is given twice.
    """
    check_kind("schemes", names, (Iterable,), "a list of names of schemes")
    written = [names] if isinstance(names, str) else list(names)
    found = [entry for text in written for entry in (_all() if text == ALL else [parsed(text)])]
    labels = [entry.label for entry in found]
    if not found:
        raise UserError("schemes: none given; name some, as in abc fq_codel, or all")
    for label in labels:
        if labels.count(label) > 1:
            raise UserError(f"schemes: {label} is given twice; name one of them otherwise, as in again={label}")
    return found


def parsed(text: str) -> Entry:
    """Parses an entry.

    Raises:
        UserError: The text is not an entry.
    """
    return Entry.parsed(text)


def _all() -> list[Entry]:
    found = []
    for scheme in schemes():
        if scheme["shapes"]:
            continue  # needs each user's rate, which no scenario of a suite gives
        found.append(Entry(scheme["name"], scheme["name"], {}, scheme))
        for param in scheme["params"]:
            if param["name"] == SHARE_PER:
                found += [
                    parsed(f"{scheme['name']}:{SHARE_PER}={choice}")
                    for choice in param["choices"] or ()
                    if choice != param["default"]
                ]
    return found


def asks(entry: Entry) -> list[str]:
    """Requirements on edge and operator, from the catalogue."""
    if entry.about is None:
        return ["code of your own"]
    names = {param["name"] for param in entry.about["params"] if not param["shared"]}
    found = []
    if entry.about["marker"] != "none":
        found.append("edge: labels on every packet")
    elif entry.shares_per == "user":
        found.append("core: a rule that tells users apart")
    if "ecn" in names:
        found.append("hosts: ECN, if marks are to replace drops")
    return found or ["nothing"]
