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

import fairlane_command.as_module  # noqa: F401 first, for an interrupt while the others load

# isort: split
from fairlane import search
from fairlane._fairlane import version as _version
from fairlane.base.errors import FairlaneError, Interrupted, ScenarioError, ScenarioWarning, SchemeError, UserError
from fairlane.checks.check import Check, check
from fairlane.evaluate import evaluate
from fairlane.evaluate.result import Evaluation
from fairlane.judge.reproduce import Reproduction, reproduce
from fairlane.pairs import pairs
from fairlane.pairs.result import Pairs
from fairlane.report import report
from fairlane.results.result import Comparison, Result
from fairlane.runs.run import compare, run
from fairlane.schemas import schema
from fairlane.simulate import scenario as _scenario
from fairlane.simulate.catalogue import congestion_controls, schemes, topologies
from fairlane.simulate.external import (
    EarlyDrop,
    Packet,
    Port,
    QueueDiscipline,
    SchemeFactory,
    load_scheme_lib,
    register_scheme,
)
from fairlane.simulate.external_control import (
    Ack,
    CongestionControl,
    Connection,
    Event,
    Growth,
    Segment,
    register_congestion_control,
)
from fairlane.simulate.scenario import *  # noqa: F403 its __all__ is part of this one
from fairlane.store import Store
from fairlane.sweeps.result import SweepResult
from fairlane.sweeps.sweep import sweep

__version__ = _version()

__all__ = [
    "Ack",
    "Check",
    "Comparison",
    "CongestionControl",
    "Connection",
    "EarlyDrop",
    "Evaluation",
    "Event",
    "FairlaneError",
    "Growth",
    "Interrupted",
    "Packet",
    "Pairs",
    "Port",
    "QueueDiscipline",
    "Reproduction",
    "Result",
    "ScenarioError",
    "ScenarioWarning",
    "SchemeError",
    "SchemeFactory",
    "Segment",
    "Store",
    "SweepResult",
    "UserError",
    "__version__",
    "check",
    "compare",
    "congestion_controls",
    "evaluate",
    "load_scheme_lib",
    "pairs",
    "register_congestion_control",
    "register_scheme",
    "report",
    "reproduce",
    "run",
    "schema",
    "schemes",
    "search",
    "sweep",
    "topologies",
]
__all__ += _scenario.__all__
