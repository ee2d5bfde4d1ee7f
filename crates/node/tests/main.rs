//! Tests of the node that need no links and no clock. All tests are in one binary; each file is a module.

#[cfg(feature = "ebpf")]
#[macro_use]
mod common;
#[path = "common/mutate.rs"]
mod mutate;

mod carriers;
mod ecn;
mod far_end;
mod golden;
mod hostile;
mod kills;
mod lists;
mod manual;
mod many_users;
mod p4;
mod parsers;
mod recent;
mod records;
mod subscribers;
mod sweep;
mod threat_model;
mod user_lists;
