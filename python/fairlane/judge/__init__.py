"""Measured points, the decision rule, and what it decides: claims of papers and expectations of scenarios."""
