//! A packet-level network simulator.
