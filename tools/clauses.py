"""Compares the lists of clauses of RFCs with the code: `python tools/clauses.py` writes docs/clauses.md.

A list, docs/clauses/rfcNNNN.toml, has each clause in our words. Code that follows one says so in a comment,
`//= RFC 8033 4.2-1: text of the list`, code that departs from one in `//= RFC 8033 4.2-1, deviation: text`, code that
does either as a parameter says in `//= RFC 8033 4.2-1, by PARAMETER: text`; the head of its module tells why. A long
text goes on in lines that begin with `//=`. A clause that no code speaks of is `unclaimed` for a reason. `--json`
prints all of it as JSON.
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
    "unclaimed": "Unclaimed, and why",
    "deviations": "Departed from",
    "by": "Followed or not, by a parameter",
    "claimed": "Claimed",
}
HEAD = """# Clauses of RFCs

What the RFCs of the schemes and senders ask, in our words, and the code that does it; the RFC's own words rule.
`make clauses` writes this page from the lists in `docs/clauses/` and the comments `//= RFC ...` in `crates/`, which a
test compares. Levels are those of RFC 2119; "rule" is a step of an algorithm without one. Where code departs from a
clause, always or by a parameter, the head of its module says why.

| RFC | title | sections read | unclaimed | departed from | by a parameter | claimed |
| --- | --- | --- | --- | --- | --- | --- |"""


@dataclass
class Clause:
    """A clause of an RFC, and the files that follow it, depart from it, or do so by a parameter."""

    level: str
    text: str
    unclaimed: str = ""
    claimed: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)
    by: list[str] = field(default_factory=list)


@dataclass
class Rfc:
    """The list of an RFC: what was read of it, and its clauses by section and number."""

    title: str
    read: str
    clauses: dict[str, Clause]


def heads(path: Path) -> str:
    """The heads of the modules in a folder and of those around it, each in one line."""
    files = [*path.parent.glob("*.rs"), *(folder / "mod.rs" for folder in path.parents if (folder / "mod.rs").exists())]
    lines = re.findall(r"^//!(.*)", "\n".join(file.read_text(encoding="utf-8") for file in files), re.MULTILINE)
    return " ".join(line.strip() for line in lines)


def compare(root: Path) -> tuple[dict[str, Rfc], list[str]]:
    """The lists with the code that speaks of each clause, and what is wrong with the two."""
    rfcs, problems = {}, []
    for file in sorted((root / "docs" / "clauses").glob("rfc*.toml")):
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


def page(rfcs: dict[str, Rfc]) -> str:
    """docs/clauses.md."""
    lines = [HEAD]
    for number, rfc in rfcs.items():
        counts = [str(sum(bool(getattr(clause, kind)) for clause in rfc.clauses.values())) for kind in TITLES]
        lines.append(f"| {number} | {rfc.title} | {rfc.read} | {' | '.join(counts)} |")
    for kind, title in TITLES.items():
        lines += ["", f"## {title}", "", "| RFC | clause | level | text | |", "| --- | --- | --- | --- | --- |"]
        for number, rfc in rfcs.items():
            for key, clause in rfc.clauses.items():
                if value := getattr(clause, kind):
                    where = value if kind == "unclaimed" else ", ".join(f"`{file}`" for file in value)
                    text = clause.text.replace("|", r"\|")
                    lines.append(f"| {number} | {key} | {clause.level} | {text} | {where} |")
    return "\n".join([*lines, "", "Checked against: `docs/clauses/`, `crates/`.", ""])


def main() -> int:
    """Writes the page, or prints JSON; exit code 1 if something is wrong."""
    rfcs, problems = compare(ROOT)
    if "--json" in sys.argv:
        print(json.dumps({number: asdict(rfc) for number, rfc in rfcs.items()}, indent=1))
    else:
        (ROOT / "docs" / "clauses.md").write_text(page(rfcs), encoding="utf-8")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
