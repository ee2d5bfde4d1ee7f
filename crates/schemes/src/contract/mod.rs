//! The interface between schemes and hosts. No part of it depends on a particular scheme.

pub mod aqm;
pub mod buffer;
pub mod class_tree;
pub mod discipline;
pub mod flow_key;
pub mod marker;
pub mod packet;
pub mod prelude;
pub mod scheme;
pub mod weights;
