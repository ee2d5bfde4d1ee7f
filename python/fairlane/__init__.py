"""Fairlane: a packet-level simulator and library of schemes that share a link fairly.

import fairlane

result = fairlane.run("scenario.toml")
print(result.summary["throughput_ratio"])
comparison = fairlane.compare("scenario.toml", ["droptail", "abc"])
reproduction = fairlane.reproduce("abc2018.fig4a")
swept = fairlane.sweep("sweep.toml")
assert fairlane.check("scenario.toml").passed
fairlane.report("abc2018", out="report")
"""

import fairlane_command.as_module  # noqa: F401 first, for an interrupt while the others load

# isort: split
from fairlane._fairlane import version as _version
from fairlane.base.errors import FairlaneError, Interrupted, ScenarioError, SchemeError, UserError
from fairlane.checks.check import Check, check
from fairlane.papers.reproduce import Reproduction, reproduce
from fairlane.report import report
from fairlane.results.result import Comparison, Result
from fairlane.schemas import schema
from fairlane.simulate import scenario as _scenario
from fairlane.simulate.catalogue import congestion_controls, schemes, topologies
from fairlane.simulate.external import EarlyDrop, Packet, Port, QueueDiscipline, SchemeFactory, register_scheme
from fairlane.simulate.run import compare, run
from fairlane.simulate.scenario import *  # noqa: F403 its __all__ is part of this one
from fairlane.store import Store
from fairlane.sweeps.result import SweepResult
from fairlane.sweeps.sweep import sweep

__version__ = _version()

__all__ = [
    "Check",
    "Comparison",
    "EarlyDrop",
    "FairlaneError",
    "Interrupted",
    "Packet",
    "Port",
    "QueueDiscipline",
    "Reproduction",
    "Result",
    "ScenarioError",
    "SchemeError",
    "SchemeFactory",
    "Store",
    "SweepResult",
    "UserError",
    "__version__",
    "check",
    "compare",
    "congestion_controls",
    "register_scheme",
    "report",
    "reproduce",
    "run",
    "schema",
    "schemes",
    "sweep",
    "topologies",
]
__all__ += _scenario.__all__
