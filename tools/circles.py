"""Finds import cycles among files of the Rust crates: `python tools/circles.py`. Exits with 1 if it finds one.

An import is attributed to the file that defines the name, so re-exports (`pub use`) are followed. Rust is parsed as
text, without tests. import-linter checks the Python package, see pyproject.toml.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = (
    "crates/schemes/src",
    "crates/sim/src",
    "crates/memory/src",
    "crates/node/src",
    "crates/capi/src",
    "crates/py/src",
)
Name = tuple[str, ...]
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.DOTALL)
_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:mod|use|fn|impl|struct|const)\b"
)
_TEST_MODULE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")
_USE = re.compile(r"(?<!\w)(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:$])(?:\$?[A-Za-z_]\w*::)+[A-Za-z_]\w*")
_DEFINED = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|union|mod|macro_rules!)\s+([A-Za-z_]\w*)")


@dataclass
class File:
    """A file: its module path, the names it uses, and its re-exports."""

    path: Path
    module: Name
    uses: list[Name] = field(default_factory=list)
    doors: dict[str, Name] = field(default_factory=dict)
    every: list[Name] = field(default_factory=list)
    """Modules re-exported as a whole."""
    defined: set[str] = field(default_factory=set)


def main(folders: Iterable[str]) -> int:
    """Prints one cycle of each folder that has any."""
    found = [circle for folder in folders if (circle := a_circle(ROOT / folder))]
    for circle in found:
        print(" -> ".join(str(path.relative_to(ROOT)) for path in circle))
    return min(len(found), 1)


def a_circle(folder: Path) -> list[Path] | None:
    """A dependency cycle among the files of a crate's source folder; None if there is none."""
    try:
        TopologicalSorter(arrows(folder)).prepare()
    except CycleError as error:
        circle: list[Path] = error.args[1]
        return circle[::-1]
    return None


def arrows(folder: Path) -> dict[Path, set[Path]]:
    """For each file of a crate, the files on which it depends."""
    files = {file.module: file for file in _rust(folder)}
    return {file.path: set(_arrows(file, files)) - {file.path} for file in files.values()}


def _arrows(file: File, files: dict[Name, File]) -> Iterator[Path]:
    for name in file.uses:
        # Importing a whole module, such as a prelude, includes its re-exports.
        behind = (*files[name].doors.values(), *files[name].every) if name in files else ()
        yield from filter(None, (_home(one, files) for one in (name, *behind)))


def _home(name: Name, files: dict[Name, File], depth: int = 0) -> Path | None:
    """The file that defines a name; None for a name of another package."""
    if name in files:
        return files[name].path
    owner = next((files[name[:end]] for end in range(len(name) - 1, 0, -1) if name[:end] in files), None)
    if owner is None:
        return None
    first, rest = name[len(owner.module)], name[len(owner.module) + 1 :]
    if depth < len(files) and first not in owner.defined:
        if first in owner.doors:
            return _home((*owner.doors[first], *rest), files, depth + 1) or owner.path
        for every in owner.every:
            target = files.get(every)
            if target is not None and (first in target.defined or first in target.doors):
                return _home((*every, first, *rest), files, depth + 1)
    return owner.path


def _rust(folder: Path) -> Iterator[File]:
    tests = set[Name]()
    for path in sorted(folder.rglob("*.rs"), key=lambda path: (len(path.parts), path.stem != "mod")):
        parts = path.relative_to(folder).with_suffix("").parts
        file = File(path, ("crate", *(parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts)))
        text = _NOT_CODE.sub('""', path.read_text())
        tests.update((*file.module, name) for name in _TEST_MODULE.findall(text))
        if not any(file.module[: len(test)] == test for test in tests):
            _read_rust(file, _without_tests(text))
            yield file


def _without_tests(text: str) -> str:
    while test := _TESTS.search(text):
        end, depth = test.end(), 0
        while end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0 and text[end - 1] in "};":
                break
        text = text[: test.start()] + text[end:]
    return text


def _read_rust(file: File, text: str) -> None:
    file.defined = set(_DEFINED.findall(_USE.sub("", text)))
    children = set(re.findall(r"\bmod\s+([a-z_]\w*)\s*;", text))
    file.defined -= children
    known = {child: (*file.module, child) for child in children}
    uses = [(public, name) for public, tree in _USE.findall(text) for name in _branches(" ".join(tree.split()))]
    for public, (spelled, alias) in uses:
        name = _absolute(spelled, file.module, known)
        if alias == "*":
            (file.every if public else file.uses).append(name)
            continue
        known.setdefault(alias, name)
        if public:
            file.doors[alias] = name
        else:
            file.uses.append(name)
    for path in _PATH.findall(_USE.sub("", text)):
        spelled = tuple(path.removeprefix("$").split("::"))
        if spelled[0] in ("crate", "super", "self") or spelled[0] in known:
            file.uses.append(_absolute(spelled, file.module, known))


def _branches(tree: str) -> Iterator[tuple[Name, str]]:
    """Names imported by the tree of a `use`, with their local names."""
    head, brace, inside = tree.partition("{")
    if not brace:
        name, _, alias = tree.partition(" as ")
        parts = tuple(part.strip() for part in name.split("::"))
        parts, last = (parts[:-1], parts[-1]) if parts[-1] in ("*", "self") else (parts, parts[-1])
        yield parts, alias.strip() or ("*" if last == "*" else parts[-1])
        return
    depth, start = 0, 0
    inside = inside.rstrip()[:-1]
    for place, letter in enumerate(inside + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if branch := inside[start:place].strip():
                yield from _branches(head.strip() + branch)
            start = place + 1


def _absolute(name: Name, module: Name, known: dict[str, Name]) -> Name:
    if name[0] == "crate":
        return name
    if name[0] == "self":
        return (*module, *name[1:])
    here = module
    while name and name[0] == "super":
        here, name = here[:-1], name[1:]
    if here != module:
        return (*here, *name)
    return (*known.get(name[0], (name[0],)), *name[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ROOMS))
