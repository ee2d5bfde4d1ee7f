"""Topologies: Internet Topology Zoo (GraphML and GML), and SNDlib (native text and XML).

networkx reads GraphML and GML, and finds routes.

Deviations:
1. The delay of a link is its great-circle distance at 2/3 of the speed of light, since files have no delays. Fibres are
   longer.
2. A group takes the path of least delay.
3. In a file without demands, each node has one TCP user that sends to the farthest node.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.text import counted, quoted
from fairlane.imports import sndlib, xml
from fairlane.imports.imported import Imported, Table, content, number, problem, rate, text, time, unique
from fairlane.imports.network import Link, Network, Node, delay_s
from fairlane.simulate.scenario import Scenario, group, poisson, tcp

RATE_BPS = 100e6
"""Default rate of a link whose rate the file does not have."""
DELAY_S = 5e-3
"""Default delay of a link of a scenario."""
_LINE = re.compile(r" at \((\d+), \d+\)")


def imported(file: Path, *, scheme: str, rate_bps: float | None, rate_unit: str | None) -> Imported:
    """The scenario of a topology.

    Args:
        file: The topology.
        scheme: Scheme of the queues.
        rate_bps: Rate of links whose rate the file does not have; 100 Mbit/s if None.
        rate_unit: Unit of SNDlib's capacities and demands.

    Raises:
        UserError: A line is wrong, or networkx is not installed.
    """
    nx = _networkx()
    network = _read(nx, file, rate_unit)
    notes = list(network.notes)
    links = _links(network, rate_bps or RATE_BPS, notes)
    graph = nx.DiGraph()
    graph.add_nodes_from(network.nodes)
    # Of parallel links, routes take the one of least delay, and then of the highest rate: it is the last one added.
    for name, (link, _, seconds) in sorted(
        links.items(), key=lambda one: (-one[1][2], one[1][0].bits_per_s or rate_bps or RATE_BPS)
    ):
        graph.add_edge(link.source, link.target, delay=seconds, name=name)
    groups = _demands(nx, graph, network, notes) if network.demands else _farthest(nx, graph, network, notes)
    if not groups:
        raise problem(file, None, "no node reaches another, so a scenario has no route")
    most = max(link.bits_per_s or rate_bps or RATE_BPS for link, _, _ in links.values())
    topology = {
        "kind": "graph",
        "access_rate": rate(most),
        "receiver_rate": rate(most),
        "links": [table for _, table, _ in links.values()],
    }
    run: Any = {"warmup": "1 s", "measure": "5 s", "replications": 5}
    return Imported(Scenario(file.stem, *groups, queue=scheme, topology=topology, run=run), notes)


def _networkx() -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError:
        raise UserError(
            "import topology needs the package networkx, which is not installed: pip install 'fairlane[import]'"
        ) from None


def _read(nx: Any, file: Path, unit: str | None) -> Network:
    head = content(file)[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<"):
        root = xml.read(file)
        if root.name == "network":
            return sndlib.of_xml(file, root, unit)
        if root.name != "graphml":
            raise problem(file, root.line, f"<{root.name}> is neither <graphml> nor <network> of SNDlib")
        return _zoo(file, lambda: nx.parse_graphml(content(file)), nx)
    if head.startswith(sndlib.HEADER.encode()):
        return sndlib.of_native(file, unit)
    # Many files of the Zoo have parallel edges without the key that networkx needs to accept them.
    several = re.sub(
        r"^(\s*graph\s*\[)", r"\1 multigraph 1", re.sub(r"multigraph\s+[01]", "", text(file)), count=1, flags=re.M
    )
    return _zoo(file, lambda: nx.parse_gml(several, label=None), nx)


def _zoo(file: Path, parse: Callable[[], Any], nx: Any) -> Network:
    """The network of a file of the Topology Zoo (http://www.topology-zoo.org/dataset.html).

    Nodes have `label`, `Latitude` and `Longitude`; links have `LinkSpeedRaw` in bit/s.
    """
    try:
        graph = parse()
    except (nx.NetworkXException, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        found = _LINE.search(str(error))
        raise problem(file, int(found[1]) if found else None, f"neither GML nor GraphML: {error}") from error
    taken: dict[str, int] = {}
    nodes = {}
    for identifier, data in graph.nodes(data=True):
        north, east = _number(file, data, "Latitude"), _number(file, data, "Longitude")
        place = None if north is None or east is None else (north, east)
        nodes[str(identifier)] = Node(unique(str(data.get("label", identifier)), taken), place)
    links = [
        Link(str(source), str(target), _number(file, data, "LinkSpeedRaw") or None)
        for source, target, data in graph.edges(data=True)
        if source != target
    ]
    return Network(nodes, links, is_directed=graph.is_directed())


def _number(file: Path, data: Table, name: str) -> float | None:
    if (value := data.get(name)) is None:
        return None
    if (found := number(str(value))) is None:
        raise problem(file, None, f"{name}: {quoted(value)} is not a number")
    return found


def _links(network: Network, default_bps: float, notes: list[str]) -> dict[str, tuple[Link, Table, float]]:
    """All links in each of their directions by name, with their table in a scenario and their delay in s."""
    found: dict[str, tuple[Link, Table, float]] = {}
    taken: dict[str, int] = {}
    bare = far = 0
    for link in network.links:
        bare += link.bits_per_s is None
        far += delay_s(network.nodes[link.source], network.nodes[link.target]) is None
        for source, target in ((link.source, link.target), (link.target, link.source))[
            : 1 if network.is_directed else 2
        ]:
            ends = network.nodes[source], network.nodes[target]
            seconds = delay_s(*ends)
            name = unique(f"{ends[0].name}-{ends[1].name}", taken)
            table = {
                "name": name,
                "rate": rate(link.bits_per_s or default_bps),
                "delay": time(DELAY_S if seconds is None else seconds),
            }
            found[name] = (Link(source, target, link.bits_per_s), table, DELAY_S if seconds is None else seconds)
    notes.append("Delays are great-circle distances at 2/3 of the speed of light.")
    if bare:
        notes.append(f"{counted(bare, 'link')} without a rate: {rate(default_bps)}; --rate sets another.")
    if far:
        notes.append(f"{counted(far, 'link')} without coordinates of both ends: a delay of {time(DELAY_S)}.")
    return found


def _route(graph: Any, path: list[str]) -> list[str]:
    return [graph.edges[pair]["name"] for pair in pairwise(path)]


def _demands(nx: Any, graph: Any, network: Network, notes: list[str]) -> list[Table]:
    """A group for each demand, with a Poisson source at its rate."""
    groups: list[Table] = []
    taken: dict[str, int] = {}
    zero = cut = 0
    paths: dict[str, Any] = {}
    for demand in network.demands:
        if round(demand.bits_per_s) < 1 or demand.source == demand.target:
            zero += 1
            continue
        if demand.source not in paths:
            paths[demand.source] = nx.single_source_dijkstra_path(graph, demand.source, weight="delay")
        path = paths[demand.source].get(demand.target)
        if path is None:
            cut += 1
            continue
        source = poisson(rate(demand.bits_per_s))
        groups.append(
            group(unique(demand.name, taken), source, route=_route(graph, path), access_rate=_access(demand.bits_per_s))
        )
    notes.append("A demand is a group of one user that sends UDP at this rate, with exponential gaps.")
    if zero:
        notes.append(f"{counted(zero, 'demand')} of zero, or of a node to itself, left out.")
    if cut:
        notes.append(f"{counted(cut, 'demand')} without a path left out.")
    return groups


def _access(bits_per_s: float) -> str:
    """Rate of the access link of a demand: ten times the demand, so that it adds little delay."""
    return rate(min(max(10 * bits_per_s, 1e6), 10e12))


def _farthest(nx: Any, graph: Any, network: Network, notes: list[str]) -> list[Table]:
    """A group for each node, with one TCP flow to the farthest node that it reaches."""
    groups: list[Table] = []
    for source, node in network.nodes.items():
        delays, paths = nx.single_source_dijkstra(graph, source, weight="delay")
        target = max(delays, key=lambda other: (delays[other], len(paths[other])))
        if target != source:
            groups.append(group(node.name, tcp(), route=_route(graph, paths[target])))
    notes.append("The file has no demands: each node has one TCP user that sends to the farthest node.")
    return groups
