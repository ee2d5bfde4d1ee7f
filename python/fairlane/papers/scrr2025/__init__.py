"""Sharafzadeh et al.: Self-Clocked Round-Robin Packet Scheduling, 2025.

The claims are from its abstract and from its qdisc.
"""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.scrr2025 import metrics, scenarios

PAPER = load_paper(
    key="scrr2025",
    title="Sharafzadeh, Matson, Tourrilhes, Sharma, Ghorbani: Self-Clocked Round-Robin Packet Scheduling, NSDI, 2025 "
    "(abstract, qdisc)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
