//! External schemes: the interface between a simulator and a library of schemes, from both sides.
//!
//! - [`abi`]: the tables of functions of the C interface, declared as `fairlane_scheme` and related types in
//!   `crates/capi/include/fairlane.h`
//! - [`packet`]: a packet in C, also used by the rest of the C interface
//! - [`guest`]: builds such a library from schemes written in Rust: [`export!`]
//! - `host` (cargo feature `host`): loads a library and runs its schemes as [external
//!   schemes](fairlane_schemes::registry::external)
//!
//! A library in Rust implements [`SchemeSpec`](prelude::SchemeSpec) like a built-in scheme, so that it can become one
//! without changes, and names it in [`export!`].

#![allow(unsafe_code, reason = "pointers across the C interface: checked for null, each use with its reason")]

pub mod abi;
pub mod guest;
#[cfg(feature = "host")]
pub mod host;
pub mod packet;
mod text;

/// Imports for writing a scheme.
pub mod prelude {
    pub use crate::export;
    pub use fairlane_schemes::base::units::Probability;
    pub use fairlane_schemes::contract::prelude::*;
    pub use fairlane_schemes::queue::managed_queue::ManagedQueue;
}
