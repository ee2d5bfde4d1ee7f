"""Reads files of other tools as scenarios, one module per kind of file; the command is `fairlane import`."""
