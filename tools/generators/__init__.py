"""What writes tables of the documentation, and modules of types: see tools/generate.py."""
