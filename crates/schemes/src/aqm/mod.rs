//! Active queue management without labels: a port decides only from the packets, and in some schemes the flows, that
//! cross it.
//!
//! Shared parts: [`red_core`], [`pie_core`] and [`cobalt_core`] are used by several schemes. [`with_red`] is RED as a
//! part of another scheme. [`sampled_queue`] is the queue from which BLACK and CHOKe draw packets. `virtual_queue`
//! measures flows' shares of recent packets for BLACK and AFC.

pub mod afc;
pub mod afd;
pub mod ahab;
pub mod ared;
pub mod black;
pub mod blue;
pub mod care;
pub mod choke;
pub mod cobalt;
pub mod cobalt_core;
pub mod codel;
pub mod codel_af;
pub mod cp_aqm;
pub mod docsis_qp;
pub mod droptail;
pub mod dualpi2;
pub mod fred;
pub mod pie;
pub mod pie_core;
pub mod red;
pub mod red_core;
pub mod red_pd;
mod sampled_queue;
pub mod sfb;
mod virtual_queue;
pub mod with_red;
