//! Telling flows apart: tables of their records, hashes into buckets, and counting them.

pub mod bitmap;
pub mod expiring_table;
pub mod flow_table;
pub mod hash;
pub mod lru_cache;
