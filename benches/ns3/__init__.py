"""Comparisons with ns-3."""
