"""Data of the papers, one folder per paper, and code that several papers share. judge/library.py loads the papers."""
