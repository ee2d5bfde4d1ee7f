"""Sweeps: one scenario at many points, each with replications. docs/howto/sweep.md shows how."""

from fairlane.sweeps.outcome import SweepResult
from fairlane.sweeps.plan import Plan
from fairlane.sweeps.verb import sweep

__all__ = ["Plan", "SweepResult", "sweep"]
