"""Claims of the authors of FQ-PIE and COBALT about their implementations in Linux and ns-3."""

from __future__ import annotations

from fairlane.judge.paper import declared, load_paper
from fairlane.papers.fqpie import metrics, scenarios

PAPER = load_paper(
    key="fqpie",
    title="Tahiliani et al.: FQ-PIE, and Morton et al.: COBALT, as described in the sources of Linux "
    "(sch_fq_pie.c, 2019; sch_cake.c, 2018) and the manual of ns-3",
    folder=scenarios.FOLDER,
    scenario=scenarios.scenario,
    **declared(metrics, scenarios),
)
