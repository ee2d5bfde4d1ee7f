"""Sweeps: one scenario at many points, each with replications. docs/howto/sweep.md shows how."""

from fairlane.sweeps.plan import Plan
from fairlane.sweeps.result import SweepResult
from fairlane.sweeps.sweep import sweep

__all__ = ["Plan", "SweepResult", "sweep"]
