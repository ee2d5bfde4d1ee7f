"""Results of runs: records, means with intervals, frames, documents, figures."""
