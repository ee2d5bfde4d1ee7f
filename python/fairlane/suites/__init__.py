"""Suites of scenarios that schemes are evaluated on, a folder each; `fairlane.evaluate.suite` reads them."""
