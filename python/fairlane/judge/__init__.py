"""Measured points, and the rule that decides claims of papers and expectations of scenarios."""
