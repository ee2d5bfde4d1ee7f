//! The P4 program against the library: its test packets, a model of the switch, the file of golden vectors.
//!
//! The tests replay the file; the example `p4_vectors` records it on BMv2 and shares this folder.

pub mod file;
pub mod frame;
pub mod program;
pub mod setup;
pub mod switch;
pub mod train;
