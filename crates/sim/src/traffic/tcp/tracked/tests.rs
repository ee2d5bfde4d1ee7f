//! Tests of the whole sender, against a path of fixed delay that loses what a test chooses.

mod path;
mod quic;
mod random;
mod recovery;
