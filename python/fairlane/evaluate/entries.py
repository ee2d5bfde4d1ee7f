"""What is evaluated: a scheme with its defaults, or with other parameters, which is another entry and says so.

abc                         a scheme
fq_codel:share_per=user     with another parameter; several with commas between them
mine=abc:gamma=8 packets    under a name of its own
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError, check_kind
from fairlane.base.text import quoted
from fairlane.evaluate.suite import SuiteScenario
from fairlane.simulate.catalogue import Scheme, SchemeParameter, schemes
from fairlane.simulate.scenario import Scenario

ALL = "all"
SHARE_PER = "share_per"
"""The parameter that says whether a scheme shares among flows or users."""
_LABEL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Entry:
    """A scheme with its parameters.

    Attributes:
        label: What it is called in the tables.
        scheme: Name of the scheme.
        settings: Values of its parameters that differ, by key of the scenario.
        about: What the catalogue says; None for a scheme of the user's.
    """

    label: str
    scheme: str
    settings: Mapping[str, Any]
    about: Scheme | None

    @property
    def shares_per(self) -> str | None:
        """`user` or `flow`, if that is a parameter of the scheme."""
        for param in self.about["params"] if self.about else ():
            if param["name"] == SHARE_PER:
                return str(self.settings.get(f"{param['table']}.{SHARE_PER}", param["default"]))
        return None

    def canonical(self, one: SuiteScenario) -> str:
        """The scenario under this scheme: its buffer stays, parameters are the scheme's defaults.

        Schemes that order packets themselves have no scheduler for traffic classes: theirs is `fifo`.

        Raises:
            UserError: A parameter that the scheme does not take.
        """
        base = one.scenario
        try:
            return self._under(base)
        except ScenarioError as error:
            if not str(error).startswith("queue.scheduler"):
                raise UserError(f"{self.label}: {error}") from error
        return self._under(base.changed({"queue.scheduler": "fifo"}))

    def _under(self, base: Scenario) -> str:
        table = _fairlane.with_queue(base.canonical(), self.scheme)
        if not self.settings:
            return _fairlane.canonical(table)
        return Scenario.from_dict(json.loads(table)).changed(self.settings).canonical()


def entries(names: Iterable[str]) -> list[Entry]:
    """Entries as they are written; `all` are those of the catalogue, twice what shares among flows or users.

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
    """An entry as it is written.

    Raises:
        UserError: It is none.
    """
    check_kind("schemes", text, (str,), "the name of a scheme, such as abc or fq_codel:share_per=user")
    head, colon, rest = text.partition(":")
    label, equals, name = head.rpartition("=")
    about = None if name in _fairlane.registered_schemes() else schemes(name)[0]
    if equals and not _LABEL.fullmatch(label):
        raise UserError(f"{text}: {quoted(label)} is no name of an entry: letters, digits, ., - and _")
    settings = dict(_setting(about, text, one) for one in rest.split(",")) if colon else {}
    return Entry(label if equals else text, name, settings, about)


def _setting(about: Scheme | None, text: str, one: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in one.partition("="))
    if not equals or not key or not value:
        raise UserError(f"{text}: {quoted(one)} is not KEY=VALUE, as in fq_codel:share_per=user")
    own = [param for param in about["params"] if not param["shared"]] if about else []
    for param in own:
        if param["name"] == key:
            return f"{param['table']}.{key}", _value(param, value)
    known = ", ".join(param["name"] for param in own) or "none"
    raise UserError(f"{text}: {quoted(key)} is no parameter of its own; there are {known}")


def _value(param: SchemeParameter, value: str) -> Any:
    """As TOML has it: numbers and truth values without quotes."""
    if isinstance(param["default"], bool) and value in {"true", "false"}:
        return value == "true"
    if isinstance(param["default"], int | float) and _NUMBER.fullmatch(value):
        return int(value) if isinstance(param["default"], int) and value.lstrip("+-").isdecimal() else float(value)
    return value


def _all() -> list[Entry]:
    found = []
    for scheme in schemes():
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
    """What it asks of edge and operator, from the catalogue."""
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
