"""Expectations of scenarios and what became of them."""
