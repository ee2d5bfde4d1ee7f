"""Generators of documentation tables and typed modules: see tools/generate.py."""
