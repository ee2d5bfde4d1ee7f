"""Measured points, the decision rule, and its applications: claims of papers, expectations of scenarios."""
