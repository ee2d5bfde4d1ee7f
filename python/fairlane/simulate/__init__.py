"""Scenarios, and running them in the simulator."""
