"""Sweeps run one scenario at many points, each with replications. See docs/howto/sweep.md."""
