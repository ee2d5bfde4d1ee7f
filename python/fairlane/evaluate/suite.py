"""A suite is a folder with scenario files in families and the rules that score them.

    suite.toml               name, version, families in order, digest of all other files
    FAMILY/family.toml       title, source, subject; file and scoring of each scenario
    FAMILY/SCENARIO.toml     an ordinary scenario, which `fairlane run` accepts

A suite whose files do not match its digest is rejected, so changed content needs a new version.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.text import near, quoted
from fairlane.results.metrics import CRITERIA
from fairlane.simulate.scenario import Scenario

SUITES = Path(__file__).parents[1] / "suites"
DEFAULT = "fairlane-1.0"
_HEAD, _FAMILY = "suite.toml", "family.toml"
HARM = "harm"
"""The criterion that compares scenarios with others."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A period in which shares should reach given targets.

    Attributes:
        from_s: Time in s of the change that starts the phase.
        to_s: End of the phase in s.
        shares: Target shares of the groups, in any unit.
    """

    from_s: float
    to_s: float
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Harm:
    """Two scenarios that are compared with the measured one. They show how much another sender harms a victim.

    Attributes:
        victim: Name of the victim's group.
        alone: Scenario in which the victim is alone.
        itself: Scenario in which the other sender is of the victim's kind.
    """

    victim: str
    alone: str
    itself: str


@dataclass(frozen=True)
class SuiteScenario:
    """A scenario of a suite.

    Attributes:
        name: Family and scenario, such as `many-flows/16-flows`.
        path: Path of its file.
        measures: Subject, in one sentence.
        source: Origin of the scenario.
        scores: Criteria of the scenario.
        judged: Groups whose users are judged; all if empty.
        quick: True if the scenario is part of a quick evaluation.
        phases: Periods in which shares should settle.
        harm: Scenarios for comparison, if the scenario measures harm.
    """

    name: str
    path: Path
    measures: str
    source: str
    scores: Sequence[str]
    judged: Sequence[str] = ()
    quick: bool = False
    phases: Sequence[Phase] = ()
    harm: Harm | None = None

    @property
    def family(self) -> str:
        """Key of the family."""
        return self.name.partition("/")[0]

    def document(self) -> dict[str, Any]:
        """Subject and scoring, ready for JSON."""
        return {
            "scenario": self.name,
            "file": str(self.path),
            "measures": self.measures,
            "source": self.source,
            "scores": list(self.scores),
            "judged": list(self.judged),
            "quick": self.quick,
        }

    @cached_property
    def scenario(self) -> Scenario:
        """Content of the file."""
        return Scenario.from_toml(self.path)


@dataclass(frozen=True, slots=True)
class Family:
    """Scenarios about one subject.

    Attributes:
        key: Name of the folder.
        title: Title.
        source: Section of the document that requires the family.
        measures: Subject.
        scenarios: Scenarios, in order.
    """

    key: str
    title: str
    source: str
    measures: str
    scenarios: Sequence[SuiteScenario]


@dataclass(frozen=True)
class Suite:
    """A named, versioned set of scenarios.

    Attributes:
        name: Name.
        version: Version; changes with the content.
        title: Title.
        digest: SHA-256 of its files, from `suite.toml`.
        folder: Folder of the suite.
        families: Families, in order.
    """

    name: str
    version: str
    title: str
    digest: str
    folder: Path
    families: Sequence[Family] = field(repr=False)

    @property
    def key(self) -> str:
        """Name and version."""
        return f"{self.name}-{self.version}"

    @cached_property
    def scenarios(self) -> dict[str, SuiteScenario]:
        """All scenarios by name, in order."""
        return {one.name: one for family in self.families for one in family.scenarios}

    def document(self) -> dict[str, Any]:
        """Families and scenarios with their scoring, ready for JSON."""
        return {
            "suite": self.key,
            "title": self.title,
            "digest": self.digest,
            "folder": str(self.folder),
            "families": [
                {
                    "family": family.key,
                    "title": family.title,
                    "source": family.source,
                    "measures": family.measures,
                    "scenarios": [one.document() for one in family.scenarios],
                }
                for family in self.families
            ],
        }

    def selected(self, *, quick: bool = False, only: Sequence[str] = ()) -> list[SuiteScenario]:
        """Scenarios that match a pattern or the name of a family; with `quick`, only those of a quick evaluation.

        Raises:
            UserError: A pattern matches no scenario.
        """
        for pattern in only:
            if not any(_fits(one, pattern) for one in self.scenarios.values()):
                families = ", ".join(family.key for family in self.families)
                raise UserError(f"only: {quoted(pattern)} fits no scenario; there are the families {families}")
        chosen = [
            one
            for one in self.scenarios.values()
            if (one.quick or not quick) and (not only or any(_fits(one, pattern) for pattern in only))
        ]
        if not chosen:
            raise UserError(f"only: none of {', '.join(only)} is part of a quick evaluation")
        needed = {name for one in chosen if one.harm for name in (one.harm.alone, one.harm.itself)}
        names = {one.name for one in chosen} | needed
        return [one for one in self.scenarios.values() if one.name in names]


def suites() -> list[str]:
    """The names of the suites in Fairlane."""
    return sorted(path.parent.name for path in SUITES.glob(f"*/{_HEAD}"))


def read(name: str | Path = DEFAULT) -> Suite:
    """Reads a suite by name or from a folder.

    Raises:
        UserError: The suite does not exist, a file is wrong, or the files do not match the digest.
    """
    folder = SUITES / name if str(name) in suites() else Path(name)
    if not (folder / _HEAD).is_file():
        raise UserError(f"suite: {quoted(str(name))} is no suite and no folder of one; {near(str(name), suites())}")
    head = _table(folder / _HEAD)
    try:
        families = [_family(folder, key) for key in head["families"]]
        suite = Suite(head["name"], head["version"], head["title"], head["digest"], folder, families)
    except KeyError as error:
        raise UserError(f"{folder}: a suite needs {error.args[0]}") from error
    if (found := digest(folder)) != suite.digest:
        raise UserError(
            f"{folder / _HEAD}: digest: the files of {suite.key} have {found}, not {suite.digest}: "
            "a change of content is a new version"
        )
    _check(suite)
    return suite


def digest(folder: Path) -> str:
    """SHA-256 of names and content of all files of a suite except `suite.toml`."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        if path.is_file() and path != folder / _HEAD and "__pycache__" not in path.parts:
            content = path.read_bytes()
            found.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


def _fits(scenario: SuiteScenario, pattern: str) -> bool:
    return scenario.family == pattern or fnmatchcase(scenario.name, pattern)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: {error}") from error


def _family(folder: Path, key: str) -> Family:
    table = _table(folder / key / _FAMILY)
    scenarios = [_scenario(folder / key, table["source"], one) for one in table["scenarios"]]
    return Family(key, table["title"], table["source"], table["measures"], scenarios)


def _scenario(folder: Path, source: str, table: dict[str, Any]) -> SuiteScenario:
    harm = table.get("harm")
    return SuiteScenario(
        name=f"{folder.name}/{Path(table['file']).stem}",
        path=folder / table["file"],
        measures=table["measures"],
        source=table.get("source", source),
        scores=table["scores"],
        judged=table.get("judged", ()),
        quick=table.get("quick", False),
        phases=[Phase(one["from_s"], one["to_s"], one["shares"]) for one in table.get("phases", ())],
        harm=Harm(harm["victim"], harm["alone"], harm["itself"]) if harm else None,
    )


def _check(suite: Suite) -> None:
    """Raises a UserError for a scenario that cannot be scored as its family requires."""
    for one in suite.scenarios.values():
        for key in one.scores:
            if key not in CRITERIA:
                raise UserError(f"{one.path}: scores: {quoted(key)} is no criterion; {near(key, CRITERIA)}")
        if (HARM in one.scores) != (one.harm is not None):
            raise UserError(f"{one.path}: harm: to be given if, and only if, it is scored")
        for name in (one.harm.alone, one.harm.itself) if one.harm else ():
            if name not in suite.scenarios:
                raise UserError(f"{one.path}: harm: {quoted(name)} is no scenario of the suite")
