"""Comparisons with a Linux kernel."""
