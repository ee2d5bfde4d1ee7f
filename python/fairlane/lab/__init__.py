"""The lab runs scenarios on real packets, in network namespaces of one machine, alongside the simulator."""

from fairlane.lab.comparison import compare
from fairlane.lab.experiments import lab
from fairlane.lab.namespaces import LabError, clean

__all__ = ["LabError", "clean", "compare", "lab"]
