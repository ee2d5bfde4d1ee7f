//! Tests of the schemes through their public interface. All tests are in one binary; each file is a module.

mod p4;

mod fixed_in_c;
mod harness;
mod p4_vectors;
mod port;
mod state;
mod vectors;
