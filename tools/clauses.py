"""Compares the lists of clauses of RFCs with the code: `python tools/clauses.py` prints the differences.

A list (site/data/clauses/rfcNNNN.toml) has each clause in our words. Code that follows a clause has a comment `//= RFC
8033 4.2-1: text of the list`. Code that departs from it has `//= RFC 8033 4.2-1, deviation: text`. If a parameter
decides whether code follows it, the comment is `//= RFC 8033 4.2-1, by PARAMETER: text`. The head of the module gives
the reason for a deviation or parameter. A long text continues in lines that begin with `//=`. A clause without code is
`unclaimed` in the list, with a reason.
`--json` prints everything as JSON.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ANNOTATION = re.compile(r"//= RFC (\d+) (\S+?)(?:, (deviation|by) ?(\w*))?: (.*(?:\n *//= (?!RFC \d).*)*)")

TITLES = {
    "claimed": "followed",
    "by": "by a parameter",
    "deviations": "departed from",
    "unclaimed": "left out",
}


@dataclass
class Clause:
    """A clause of an RFC, with the files that follow it, depart from it, or do either depending on a parameter."""

    level: str
    text: str
    unclaimed: str = ""
    claimed: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    by: list[str] = field(default_factory=list)


@dataclass
class Rfc:
    """The list of an RFC: the sections covered, and its clauses by section and number."""

    title: str
    read: str
    clauses: dict[str, Clause]


def heads(path: Path) -> str:
    """Text of all module heads in the folder of `path`, and of the heads of its parent modules, as one line."""
    files = [*path.parent.glob("*.rs"), *(folder / "mod.rs" for folder in path.parents if (folder / "mod.rs").exists())]
    lines = re.findall(r"^//!(.*)", "\n".join(file.read_text(encoding="utf-8") for file in files), re.MULTILINE)
    return " ".join(line.strip() for line in lines)


def compare(root: Path) -> tuple[dict[str, Rfc], list[str]]:
    """Returns the lists, with the files of each clause, and the inconsistencies between lists and code."""
    rfcs, problems = {}, []
    for file in sorted((root / "site" / "data" / "clauses").glob("rfc*.toml")):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        clauses = {key: Clause(**clause) for key, clause in table["clauses"].items()}
        rfcs[file.stem.removeprefix("rfc")] = Rfc(table["title"], table["read"], clauses)
    for path in sorted((root / "crates").rglob("*.rs")):
        place = str(path.relative_to(root))
        for number, key, how, parameter, lines in _ANNOTATION.findall(path.read_text(encoding="utf-8")):
            text = re.sub(r"\s+//=", "", lines)
            clause = rfcs[number].clauses.get(key) if number in rfcs else None
            if clause is None or clause.text != text:
                problems.append(f"{place}: RFC {number} {key} is not in its list with these words")
                continue
            files = {"": clause.claimed, "deviation": clause.deviations, "by": clause.by}[how]
            entry = f"{place}: {parameter}" if parameter else place
            files.extend([entry] * (entry not in files))
            if how and not re.search(rf"Deviations.*RFC {number}", heads(path)):
                problems.append(f"{place}: no deviation of the head names RFC {number} ({key})")
    for number, rfc in rfcs.items():
        for key, clause in rfc.clauses.items():
            if bool(clause.unclaimed) == bool(clause.claimed or clause.deviations or clause.by):
                problems.append(f"RFC {number} {key}: code speaks of it, or a reason says why none does; one of both")
    return rfcs, problems


def counts(rfcs: dict[str, Rfc]) -> list[list[str]]:
    """A row for each RFC: number, title, covered sections, and number of clauses of each kind."""
    return [
        [number, rfc.title, rfc.read]
        + [str(sum(bool(getattr(clause, kind)) for clause in rfc.clauses.values())) for kind in TITLES]
        for number, rfc in rfcs.items()
    ]


def rows(rfcs: dict[str, Rfc]) -> list[list[str]]:
    """A row for each clause and kind: RFC, clause, level, text, kind, and the code or the reason."""
    found = []
    for kind, title in TITLES.items():
        for number, rfc in rfcs.items():
            for key, clause in rfc.clauses.items():
                if value := getattr(clause, kind):
                    where = value if kind == "unclaimed" else ", ".join(f"`{file}`" for file in value)
                    found.append([number, key, clause.level, clause.text, title, where])
    return found


def main() -> int:
    """Prints inconsistencies, or everything as JSON; returns 1 if there are inconsistencies."""
    rfcs, problems = compare(ROOT)
    if "--json" in sys.argv:
        print(json.dumps({number: asdict(rfc) for number, rfc in rfcs.items()}, indent=1))
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
