"""Measured points, the rule that decides, and what it decides: claims of papers, expectations of scenarios."""
