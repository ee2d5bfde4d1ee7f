"""Scenarios and their simulation."""
