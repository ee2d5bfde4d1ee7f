//! Compares the P4 programs with the library: test packets, a model of the switch, and files of golden vectors.
//!
//! The tests replay the files. The example `p4_vectors` records them on BMv2 and shares this folder.

pub mod abc;
pub mod csfq;
pub mod file;
pub mod frame;
pub mod program;
pub mod scheme;
pub mod setup;
pub mod switch;
pub mod train;
