//! Tests of the C interface, in one binary: each file is a module.

mod support;

mod c_control;
mod c_host;
mod extern_module;
mod ranges;
