"""Checks of scenarios' expectations."""
