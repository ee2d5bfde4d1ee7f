"""The scenarios of `scenarios.toml` for Fairlane."""

from __future__ import annotations

import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fairlane._fairlane import ScenarioError, canonical

from ..rank_cells import WIRE_BITS, queue

Table: TypeAlias = dict[str, Any]

RATE_BPS = 10e6
ACCESS_DELAY_S = 0.1e-3
# If a parameter selects between ns-3 and another source, it selects ns-3.
NS3_BEHAVIOUR: dict[str, Table] = {
    "red": {"forced_restarts": False},
    # ns-3's minimum of max_p departs from the paper (docs/schemes/ared.md); Fairlane and ns-3 use that of ared2001.
    "ared": {"forced_restarts": False, "bottom": 0.01},
    "pie": {"derandomize": False},
    "cobalt": {"ecn": False, "blue_threshold": "400 ms", "spared_packets": 0, "keep_last": False},
    "fq_pie": {"derandomize": False, "overflow": "longest"},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario of the table."""

    family: str
    name: str
    canonical: str
    """Canonical JSON; empty if Fairlane cannot run the scenario."""
    missing: str
    """Reason why Fairlane cannot run the scenario; empty if it can."""
    ns3_options: Table
    """Additional options of `dumbbell`."""


def cases(path: Path, replications: int | None = None) -> list[Case]:
    """All scenarios, in the order of the file."""
    table = tomllib.loads(path.read_text())
    run = {key: table[key] for key in ("warmup", "measure", "replications")}
    if replications is not None:
        run["replications"] = replications
    return [case for family in table["family"] for case in _family(family, run)]


def default_case(scheme: str) -> Case:
    """The default scenario of abc2018 at full length: 100 s of warm-up, 100 s of measurement."""
    return _case("default", scheme, "1 x 10 tcp, 10 x 1 tcp", "5 ms", "24", {"run": {"replications": 10}})


def _family(family: Table, run: Table) -> Iterator[Case]:
    axes = (family[key] for key in ("queue", "traffic", "delay", "limit"))
    for scheme, traffic, delay, limit in itertools.product(*axes):
        yield _case(family["name"], scheme, traffic, delay, limit, {"run": run} | family)


def _case(family: str, scheme: str, traffic: str, delay: str, limit: str, rest: Table) -> Case:
    packets = _bdp_packets(delay) if limit == "bdp" else int(limit)
    name = f"{scheme}, {traffic}, {delay}, {packets} packets"
    scenario: Table = {
        "name": f"{family}: {name}",
        "run": rest["run"],
        "topology": {"bottleneck_delay": delay},
        "queue": queue(scheme, packets) | NS3_BEHAVIOUR.get(scheme, {}),
        "tcp": {"profile": "ns3.26", **rest.get("tcp", {})},
        "groups": [_group(index, text.strip()) for index, text in enumerate(traffic.split(","))],
    }
    try:
        return Case(family, name, canonical(json.dumps(scenario)), "", rest.get("ns3", {}))
    except ScenarioError as error:
        problem = str(error).partition(";")[0]
        if any(f"tcp.{key}:" in problem for key in rest.get("needs", [])):
            return Case(family, name, "", f"Fairlane cannot do this yet: {problem}", {})
        raise


def _group(index: int, text: str) -> Table:
    if match := re.fullmatch(r"(\d+) x (\d+) tcp", text):
        users, source = match[1], {"kind": "tcp", "flows": int(match[2])}
    elif match := re.fullmatch(r"(\d+) x (.+) poisson", text):
        users, source = match[1], {"kind": "poisson", "rate": match[2]}
    else:
        raise ValueError(f'scenarios.toml: traffic "{text}" must be "USERS x FLOWS tcp" or "USERS x RATE poisson"')
    return {"name": f"group{index}", "users": int(users), "sources": [source]}


def _bdp_packets(delay: str) -> int:
    rtt = 2 * (float(delay.removesuffix(" ms")) * 1e-3 + ACCESS_DELAY_S)
    return math.ceil(RATE_BPS * rtt / WIRE_BITS)
