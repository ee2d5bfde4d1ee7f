//! Tests the node in real time on the links of network namespaces. All tests are in one binary; each file is a module.
//!
//! `make test-live` runs four at a time.

#[cfg(feature = "ebpf")]
#[macro_use]
mod common;
#[cfg(feature = "ebpf")]
#[macro_use]
#[path = "common/lab.rs"]
mod lab;
#[macro_use]
mod testbed;

mod forward;
mod forward_xdp;
mod howto;
mod live;
mod live_carriers;
mod live_datapath;
mod live_labels;
mod live_lists;
mod live_radius;
mod live_subscribers;
mod live_users;
mod operate;
mod pilot;
mod pop;
mod qdisc;
mod soak;
mod spoofing;
