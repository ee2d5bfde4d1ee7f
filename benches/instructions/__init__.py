"""Instructions per delivered packet against a baseline."""
