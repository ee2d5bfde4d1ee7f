"""Sweeps: one scenario at many points, each with replications. docs/howto/sweep.md shows how."""
