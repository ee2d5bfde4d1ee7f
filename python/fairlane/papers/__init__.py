"""Papers as data, in a folder each, and code that several of them share. judge/library.py loads them."""
