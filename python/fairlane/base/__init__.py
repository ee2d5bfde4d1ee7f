"""Utilities for all packages: text, files, errors, signals, progress."""
