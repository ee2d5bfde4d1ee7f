"""Compares the lists of clauses of RFCs with the code: `python tools/clauses.py` writes docs/clauses.md.

A list, docs/clauses/rfcNNNN.toml, has each clause in our words. Code that follows one says so in a comment,
`//= RFC 8033 4.2-1: text of the list`, code that departs from one in `//= RFC 8033 4.2-1, deviation: text`; the head
of its module tells why. A clause that no code speaks of is `unclaimed` for a reason. `--json` prints all of it as JSON.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ANNOTATION = re.compile(r"//= RFC (\d+) (\S+?)(, deviation)?: (.*)")


@dataclass
class Clause:
    """A clause of an RFC, and the files that follow it or depart from it."""

    level: str
    text: str
    unclaimed: str = ""
    claimed: list[str] = field(default_factory=list)
    deviations: list[str] = field(default_factory=list)


@dataclass
class Rfc:
    """The list of an RFC: what was read of it, and its clauses by section and number."""

    title: str
    read: str
    clauses: dict[str, Clause]


def heads(path: Path) -> str:
    """The heads of the modules in a folder and of those around it."""
    files = [*path.parent.glob("*.rs"), *(folder / "mod.rs" for folder in path.parents if (folder / "mod.rs").exists())]
    return "\n".join(re.findall(r"^//!.*", "\n".join(file.read_text(encoding="utf-8") for file in files), re.MULTILINE))


def compare(root: Path) -> tuple[dict[str, Rfc], list[str]]:
    """The lists with the code that speaks of each clause, and what is wrong with the two."""
    rfcs, problems = {}, []
    for file in sorted((root / "docs" / "clauses").glob("rfc*.toml")):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        clauses = {key: Clause(**clause) for key, clause in table["clauses"].items()}
        rfcs[file.stem.removeprefix("rfc")] = Rfc(table["title"], table["read"], clauses)
    for path in sorted((root / "crates").rglob("*.rs")):
        place = str(path.relative_to(root))
        for number, key, deviation, text in _ANNOTATION.findall(path.read_text(encoding="utf-8")):
            clause = rfcs[number].clauses.get(key) if number in rfcs else None
            if clause is None or clause.text != text:
                problems.append(f"{place}: RFC {number} {key} is not in its list with these words")
                continue
            files = clause.deviations if deviation else clause.claimed
            files.extend([place] * (place not in files))
            if deviation and not re.search(rf"Deviations(?:.|\n)*RFC {number}", heads(path)):
                problems.append(f"{place}: no deviation of the head names RFC {number} ({key})")
    for number, rfc in rfcs.items():
        for key, clause in rfc.clauses.items():
            if bool(clause.unclaimed) == bool(clause.claimed or clause.deviations):
                problems.append(f"RFC {number} {key}: code speaks of it, or a reason says why none does; one of both")
    return rfcs, problems


def page(rfcs: dict[str, Rfc]) -> str:
    """docs/clauses.md."""
    lines = [
        "# Clauses of RFCs",
        "",
        "What the RFCs of the schemes and senders ask, in our words, and the code that does it. Written by",
        "`make clauses` from the lists in `docs/clauses/` and the comments `//= RFC ...` in `crates/`; a test compares",
        'both. The RFC\'s own words rule. Levels are those of RFC 2119; "rule" is a step of an algorithm without one.',
        "",
        "| RFC | sections read | clauses | claimed | deviations | unclaimed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for number, rfc in rfcs.items():
        all_ = rfc.clauses.values()
        counts = (
            len(all_),
            *(sum(1 for c in all_ if getattr(c, kind)) for kind in ("claimed", "deviations", "unclaimed")),
        )
        lines.append(f"| [{number}](#rfc-{number}) {rfc.title} | {rfc.read} | {' | '.join(map(str, counts))} |")
    for number, rfc in rfcs.items():
        lines += ["", f"## RFC {number}"]
        for kind, title in (
            ("unclaimed", "Unclaimed, and why"),
            ("deviations", "Departed from, as the head of the module says"),
            ("claimed", "Claimed"),
        ):
            rows = [(key, clause) for key, clause in rfc.clauses.items() if getattr(clause, kind)]
            lines += ["", f"{title}:", "", "| clause | level | text | |", "| --- | --- | --- | --- |"] if rows else []
            for key, clause in rows:
                value = getattr(clause, kind)
                where = value if kind == "unclaimed" else ", ".join(f"`{file}`" for file in value)
                lines.append(f"| {key} | {clause.level} | {clause.text.replace('|', chr(92) + '|')} | {where} |")
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
