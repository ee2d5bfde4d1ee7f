"""Papers as data: a folder each, and what several of them share. judge/library.py loads them."""
