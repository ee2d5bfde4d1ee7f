"""Comparisons with this machine's kernel."""
