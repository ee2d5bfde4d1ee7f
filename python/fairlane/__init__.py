"""Fairlane: a packet-level simulator and library of schemes that share a link fairly.

import fairlane

result = fairlane.run("scenario.toml")
print(result.summary["throughput_ratio"])
comparison = fairlane.compare("scenario.toml", ["droptail", "abc"])
reproduction = fairlane.reproduce("abc2018.fig4a")
swept = fairlane.sweep("sweep.toml")
pairs = fairlane.pairs(["cubic", "bbr1"], ["droptail", "abc"])
evaluation = fairlane.evaluate(["abc", "fq_codel"], quick=True)
found = fairlane.search.adversary(["abc"])
assert fairlane.check("scenario.toml").passed
fairlane.report("abc2018", out="report")
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import fairlane_command.as_module  # noqa: F401 for an interrupt while the others load

MEMBERS = {
    "base.errors": ["FairlaneError", "Interrupted", "ScenarioError", "ScenarioWarning", "SchemeError", "UserError"],
    "checks.check": ["Check", "check"],
    "evaluate": ["evaluate"],
    "evaluate.result": ["Evaluation"],
    "judge.reproduce": ["Reproduction", "reproduce"],
    "pairs": ["pairs"],
    "pairs.result": ["Pairs"],
    "report": ["report"],
    "results.result": ["Comparison", "Result"],
    "runs.run": ["compare", "run"],
    "schemas": ["schema"],
    "simulate.catalogue": ["congestion_controls", "schemes", "topologies"],
    "simulate.external": [
        "EarlyDrop",
        "Packet",
        "Port",
        "QueueDiscipline",
        "SchemeFactory",
        "load_scheme_lib",
        "register_scheme",
    ],
    "simulate.external_control": [
        "Ack",
        "CongestionControl",
        "Connection",
        "Event",
        "Growth",
        "Segment",
        "register_congestion_control",
    ],
    "store": ["Store"],
    "sweeps.result": ["SweepResult"],
    "sweeps.sweep": ["sweep"],
}
"""Public names, by the module that defines them. The first use of a name loads its module. All names of
`simulate.scenario` are public, too."""
MODULES = ["lab", "markers", "queues", "search"]
"""Public modules."""
_MODULE_OF = {name: module for module, names in MEMBERS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        found: Any = import_module("fairlane._fairlane").version()
    elif name == "__all__":
        found = sorted([*_MODULE_OF, *MODULES, "__version__", *import_module("fairlane.simulate.scenario").__all__])
    elif name in MODULES:
        return import_module(f"fairlane.{name}")
    elif name in _MODULE_OF:
        found = getattr(import_module(f"fairlane.{_MODULE_OF[name]}"), name)
    elif not name.startswith("_") and name in (scenario := import_module("fairlane.simulate.scenario")).__all__:
        found = getattr(scenario, name)
    else:
        raise AttributeError(f"module 'fairlane' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        """Keeps `fairlane.evaluate` a function: loading the package of that name would overwrite it."""
        if not (isinstance(value, ModuleType) and name in _MODULE_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
