"""The functions `run` and `compare`, and recording of a run."""
