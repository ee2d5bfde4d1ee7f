"""Elements of an XML file with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from fairlane.base.text import quoted
from fairlane.imports.imported import content, number, problem


@dataclass
class Element:
    """An element. Names have no namespace."""

    file: Path
    line: int
    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> Iterator[Element]:
        """All elements of this name below the element, in order."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)

    def word(self, name: str, default: str | None = None) -> str:
        """The attribute of this name, or else the text of the first element of this name.

        Raises:
            UserError: There is none, and no default.
        """
        found = self.attributes.get(name)
        if found is None:
            found = next((child.text.strip() for child in self.all(name)), default)
        if found is None:
            raise problem(self.file, self.line, f"<{self.name}> has no {name}")
        return found

    def number(self, name: str, default: float | None = None, unit: str = "", least: float = 0.0) -> float:
        """Like `word`, but a number from `least` up, which may be followed by `unit`."""
        word = self.word(name, None if default is None else str(default))
        found = number(word.removesuffix(unit))
        if found is None or found < least:
            raise problem(self.file, self.line, f"{name} {quoted(word)} of <{self.name}> is not a number in its range")
        return found


def read(file: Path) -> Element:
    """The root of a file.

    Raises:
        UserError: The file cannot be read, or is not XML.
    """
    root = Element(file, 1, "", {})
    path = [root]
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(file, parser.CurrentLineNumber, name.rpartition(" ")[2], attributes)
        path[-1].children.append(element)
        path.append(element)

    def end(_name: str) -> None:
        path.pop()

    def characters(text: str) -> None:
        path[-1].text += text

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        parser.Parse(content(file), True)
    except expat.ExpatError as error:
        raise problem(file, error.lineno, f"not XML: {expat.ErrorString(error.code)}") from error
    return root.children[0]
