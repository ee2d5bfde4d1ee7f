"""Yu et al.: Programmable Packet Scheduling with a Single Queue, 2021.

The claims are from its abstract and from the data of its figures.
"""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.aifo2021 import metrics, scenarios

PAPER = load_paper(
    key="aifo2021",
    title="Yu, Hu, Wu, Sun, Braverman, Chowdhury, Liu, Jin: Programmable Packet Scheduling with a Single Queue, "
    "SIGCOMM, 2021 (abstract, data of its figures)",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
