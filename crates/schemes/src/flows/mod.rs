//! Distinguishes flows: tables of their records, hashes into buckets, and counters of flows.

pub mod bitmap;
pub mod expiring_table;
pub mod flow_table;
pub mod hash;
pub mod lru_cache;
