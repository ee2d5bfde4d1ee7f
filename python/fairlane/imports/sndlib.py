"""Networks of SNDlib (https://sndlib.put.poznan.pl/html/docu/io-formats/): native text and XML.

Sources: `native/network.description.html`, `native/conventions.html`, the element names of the XML schema, and
NetworkXmlWriter.java of SNDlib.

Deviations:
1. A link without pre-installed capacity has one module of the smallest capacity, as in SNDlib's model
   SINGLE_MODULAR_CAPACITIES.
2. Capacities and values of demands have no unit in SNDlib, except `unit` in the META section. Without one, they are in
   Mbit/s, or in the unit of `--rate-unit`.
3. Native text does not state the type of coordinates: they are geographical if all are in the range of degrees.
4. Every link has its capacity in both directions, and a demand has one direction, as in the models BIDIRECTED and
   DIRECTED. A network file does not state its models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fairlane.base.quantities import UNITS
from fairlane.base.text import counted, quoted
from fairlane.imports import xml
from fairlane.imports.imported import MOST, number, problem, text
from fairlane.imports.network import Demand, Link, Network, Node

HEADER = "?SNDlib native format"
UNIT = "Mbit/s"
_META_UNITS = {"KBITPERSEC": 1e3, "MBITPERSEC": 1e6, "GBITPERSEC": 1e9}
_TOKEN = re.compile(r"[()]|[^\s()]+")
_UNLIMITED = "UNLIMITED"

Token = tuple[int, str]


class _Builder:
    """Collects nodes, links and demands, and checks their references."""

    def __init__(self, file: Path, unit: str | None) -> None:
        self._file = file
        self._unit = unit
        self._factor = UNITS["bit/s"][unit or UNIT]
        self._links: list[tuple[str, str, float]] = []
        self._demands: list[tuple[str, str, str, float]] = []
        self._nodes: dict[str, tuple[float, float]] = {}
        self.is_geographical = True
        self.modules = 0
        self.paths = False

    def meta(self, line: int, unit: str) -> None:
        if self._unit is None:
            if unit not in _META_UNITS:
                raise problem(
                    self._file, line, f"unit {quoted(unit)} is not {' or '.join(_META_UNITS)}; --rate-unit sets one"
                )
            self._unit, self._factor = unit, _META_UNITS[unit]

    def node(self, line: int, name: str, x: float, y: float) -> None:
        if name in self._nodes:
            raise problem(self._file, line, f"node {quoted(name)} exists already")
        self._nodes[name] = (y, x)
        self.is_geographical &= abs(y) <= 90 and abs(x) <= 180

    def link(self, line: int, ends: tuple[str, str], capacity: float, modules: list[float]) -> None:
        if not capacity and modules:
            capacity = min(modules)
            self.modules += 1
        self._links.append((*self._known(line, ends), capacity))

    def demand(self, line: int, name: str, ends: tuple[str, str], value: float) -> None:
        self._demands.append((name, *self._known(line, ends), value))

    def _known(self, line: int, ends: tuple[str, str]) -> tuple[str, str]:
        for end in ends:
            if end not in self._nodes:
                raise problem(self._file, line, f"{quoted(end)} is not a node")
        return ends

    def network(self) -> Network:
        notes = []
        if self._unit is None:
            notes.append(f"Capacities and demands have no unit: they are in {UNIT}; --rate-unit sets another.")
        if self.modules:
            notes.append(f"{counted(self.modules, 'link')} without pre-installed capacity: one module of the smallest.")
        if self.paths:
            notes.append("Admissible paths and hop limits are not taken over: demands take the path of least delay.")
        notes.append("Costs are not taken over.")
        nodes = {name: Node(name, place if self.is_geographical else None) for name, place in self._nodes.items()}
        links = [Link(source, target, capacity * self._factor or None) for source, target, capacity in self._links]
        demands = [Demand(name, source, target, value * self._factor) for name, source, target, value in self._demands]
        return Network(nodes, links, demands, notes)


def of_xml(file: Path, root: xml.Element, unit: str | None) -> Network:
    """The network of an XML file.

    Raises:
        UserError: A part is missing or wrong.
    """
    builder = _Builder(file, unit)
    for meta in root.all("meta"):
        if word := meta.word("unit", ""):
            builder.meta(meta.line, word)
    for node in root.all("node"):
        builder.node(node.line, node.word("id"), node.number("x", least=-MOST), node.number("y", least=-MOST))
    for nodes in root.all("nodes"):
        builder.is_geographical &= nodes.word("coordinatesType", "geographical") == "geographical"
    for link in root.all("link"):
        installed = next(link.all("preInstalledModule"), None)
        modules = [
            module.number("capacity") for module in link.all("addModule") if module.word("capacity") != _UNLIMITED
        ]
        capacity = installed.number("capacity") if installed else 0.0
        builder.link(link.line, (link.word("source"), link.word("target")), capacity, modules)
    for demand in root.all("demand"):
        value = demand.number("demandValue") * demand.number("routingUnit", 1.0)
        builder.demand(demand.line, demand.word("id"), (demand.word("source"), demand.word("target")), value)
        builder.paths |= bool(demand.word("maxPathLength", "") or next(demand.all("admissiblePath"), None))
    return builder.network()


def of_native(file: Path, unit: str | None) -> Network:
    """The network of a file in native text.

    Raises:
        UserError: A line is wrong.
    """
    builder = _Builder(file, unit)
    for section, line, item in _items(file):
        fields = _Fields(file, line, item)
        match section:
            case "META":
                if fields.name() == "unit":
                    fields.word("=")
                    builder.meta(line, fields.name())
            case "NODES":
                name, (x, y) = fields.name(), fields.pair()
                builder.node(line, name, fields.value(x), fields.value(y))
            case "LINKS":
                fields.name()
                ends, capacity = fields.pair(), fields.number()
                for _ in ("pre-installed cost", "routing cost", "setup cost"):
                    fields.number()
                modules = fields.inner()[::2]
                builder.link(line, ends, capacity, [fields.value(one) for one in modules if one != _UNLIMITED])
            case "DEMANDS":
                name, ends, routing_unit = fields.name(), fields.pair(), fields.number()
                builder.demand(line, name, ends, fields.number() * routing_unit)
                builder.paths |= fields.name() != _UNLIMITED
            case "ADMISSIBLE_PATHS":
                builder.paths = True
    return builder.network()


class _Fields:
    """The words of an item, read in order."""

    def __init__(self, file: Path, line: int, words: list[str]) -> None:
        self._file, self._line, self._words = file, line, iter(words)
        self._shown = quoted(" ".join(words))

    def fail(self, wanted: str) -> Exception:
        return problem(self._file, self._line, f"{self._shown} is not in SNDlib's native format: {wanted} is missing")

    def name(self) -> str:
        found = next(self._words, None)
        if found is None or found in "()":
            raise self.fail("a name")
        return found

    def word(self, wanted: str) -> None:
        if next(self._words, None) != wanted:
            raise self.fail(quoted(wanted))

    def value(self, word: str) -> float:
        if (found := number(word)) is None:
            raise problem(self._file, self._line, f"{quoted(word)} is not a number, in {self._shown}")
        return found

    def number(self) -> float:
        return self.value(self.name())

    def inner(self) -> list[str]:
        """The words between the next pair of brackets."""
        self.word("(")
        found: list[str] = []
        for word in self._words:
            if word == ")":
                return found
            found.append(word)
        raise self.fail("')'")

    def pair(self) -> tuple[str, str]:
        found = self.inner()
        if len(found) != 2:
            raise self.fail("a pair in brackets")
        return found[0], found[1]


def _items(file: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Items of all sections: the section, the line, and the words. Each item is on one line."""
    section, last = "", 0
    for at, line in enumerate(text(file).splitlines(), 1):
        words = _TOKEN.findall(line.partition("#")[0])
        if not words or words[0].startswith("?"):
            continue
        last = at
        if not section:
            if words[-1] not in "()" or len(words) < 2 or words[1] != "(":
                raise problem(file, at, f"{quoted(line.strip())} does not open a section, such as NODES (")
            section = "" if words[-1] == ")" else words[0]
        elif words == [")"]:
            section = ""
        else:
            yield section, at, words
    if section:
        raise problem(file, last, f"the section {section} has no end")
