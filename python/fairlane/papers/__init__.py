"""Papers as data, in a folder each, and code that several papers share. judge/library.py loads the papers."""
