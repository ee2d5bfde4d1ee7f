"""The command `search` finds the worst scenarios and good parameters for a scheme.

import fairlane

found = fairlane.search.adversary(["abc"], out="adversaries")
tuned = fairlane.search.designer("abc", {"queue.gamma": "2..20 packets"}, "suites/fairlane-1.0")
"""

from __future__ import annotations

from fairlane.search.adversary import adversary
from fairlane.search.designer import Tuned, designer
from fairlane.search.optimiser import CmaOptimiser, Optimiser, OptimiserFactory
from fairlane.search.result import Adversaries

__all__ = ["Adversaries", "CmaOptimiser", "Optimiser", "OptimiserFactory", "Tuned", "adversary", "designer"]
