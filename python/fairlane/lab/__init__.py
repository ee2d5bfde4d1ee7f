"""The lab: scenarios on real packets, in network namespaces of one machine, beside the simulator."""

from fairlane.lab import p4 as p4  # its plane joins the list before anybody reads that
from fairlane.lab.namespaces import LabError, clean
from fairlane.lab.verb import lab

__all__ = ["LabError", "clean", "lab"]
