//! Fair queueing: schedulers with a queue per flow, user or bucket, ideal and practical.
