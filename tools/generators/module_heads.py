"""Extracts documentation of modules (`//!`, in the form of CONTRIBUTING.md) and of enums from Rust."""

import re
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

_PARAGRAPH = r"(?:(?!\n\n).)+"
_ITEM = r"\d+\. [^\n]+(?:\n {3,4}[^\n]+)*"
_FORM = re.compile(
    rf"(?P<summary>{_PARAGRAPH})\n\nSource: (?P<source>{_PARAGRAPH})\n\n(?P<rules>.+?)\n\nCost: (?P<cost>{_PARAGRAPH})"
    rf"(?:\n\nDeviations:\n(?P<deviations>{_ITEM}(?:\n{_ITEM})*))?(?:\n\nNot implemented: (?P<missing>{_PARAGRAPH}))?",
    re.DOTALL,
)
_MARKER = re.compile(r" *(?:[-*]|\d+\.) +")
WIDTH = 120
_LINK = re.compile(r"\[`(?:\w+::)*?((?:[A-Z]\w*::)?\w+)`\](?!\()")


class HeadError(Exception):
    """A module is missing, or its head has another form; the message names the module."""


class Head(NamedTuple):
    """The parts of a head, as Markdown; `deviations` and `missing` may be empty."""

    summary: str
    source: str
    rules: str
    cost: str
    deviations: str
    missing: str


def module(name: str, crates: Path) -> Path:
    """Returns the file of the module whose path ends in `name`. If there are several, returns that of the scheme."""
    found = [file for ending in (f"{name}.rs", f"{name}/mod.rs") for file in crates.glob(f"*/src/**/{ending}")]
    if len(found) > 1:
        found = [file for file in found if "impl SchemeSpec for" in file.read_text(encoding="utf-8")]
    if len(found) != 1:
        raise HeadError(f"{name}: {len(found)} modules of this name in {crates}")
    return found[0]


def filled(text: str) -> str:
    """Rewraps each paragraph and list item of Markdown at the same width."""
    lines: list[str] = []
    is_code = is_open = False
    for line in text.split("\n"):
        is_fence = line.startswith("```")
        is_text = bool(line) and not (is_code or is_fence or line.startswith(("|", "#")))
        if is_text and is_open and not _MARKER.match(line):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
        is_open = is_text
        is_code ^= is_fence
    return "\n".join(_wrapped(line) if len(line) > WIDTH and not line.startswith("|") else line for line in lines)


def _wrapped(line: str) -> str:
    """Wraps a paragraph or an item with hanging indent. No line begins with a Markdown marker."""
    marker = _MARKER.match(line)
    indent = " " * len(marker[0] if marker else "")
    # A break before such a word would start a list, a heading or a quotation.
    glued = re.sub(r" (?=(?:[-*+>]|#+|\d+[.)])(?: |$))", "\0", line[len(indent) :])
    rows = wrap(glued, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return (line[: len(indent)] + f"\n{indent}".join(rows)).replace("\0", " ")


def text(file: Path, chapters: Path) -> str:
    """Returns the head of a module. Links to schemes point to their chapters; other links become code."""
    lines = file.read_text(encoding="utf-8").splitlines()
    head = "\n".join(line[4:] for line in lines if line.startswith("//!"))
    linked = _LINK.sub(
        lambda link: f"[{link[1]}]({link[1]}.md)" if (chapters / f"{link[1]}.md").exists() else f"`{link[1]}`", head
    )
    return filled(linked)


def head(file: Path, chapters: Path) -> Head:
    """Returns the parsed head of a scheme's module.

    Raises:
        HeadError: The head doesn't have the required form.
    """
    parts = _FORM.fullmatch(text(file, chapters))
    numbers = re.findall(r"^(\d+)\. ", (parts and parts["deviations"]) or "", re.MULTILINE)
    if parts is None or numbers != [str(number + 1) for number in range(len(numbers))]:
        raise HeadError(f"{file}: the head is not in the form of CONTRIBUTING.md")
    return Head(**{name: part or "" for name, part in parts.groupdict().items()})


def variants(name: str, crates: Path) -> list[tuple[str, str]]:
    """Returns the name and the sentence of each variant of the enum `name`.

    A variant's name is the string after `=` in its declaration, or without `=`, the identifier in snake case.
    """
    declaration = re.compile(rf"^ *pub enum {name} \{{\n(.*?)^ *\}}$", re.MULTILINE | re.DOTALL)
    for file in sorted(crates.glob("*/src/**/*.rs")):
        if body := declaration.search(file.read_text(encoding="utf-8")):
            found = re.findall(r"((?: *///[^\n]*\n)+) *(\w+)(?: = \"([^\"]+)\")?,", body[1])
            return [
                (given or re.sub(r"(?<!^)(?=[A-Z])", "_", variant).lower(), " ".join(doc.replace("///", "").split()))
                for doc, variant, given in found
            ]
    raise HeadError(f"enum {name}: not in {crates}")
