"""The verbs `run` and `compare`, and what watches a run."""
