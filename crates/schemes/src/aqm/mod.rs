//! Active queue management without labels: decisions of a port that sees packets, and perhaps flows, but no edge.
//!
//! Below the schemes: [`red_core`], [`pie_core`] and [`cobalt_core`], what several share; [`with_red`],
//! RED as a part of another scheme; [`sampled_queue`], from which BLACK and CHOKe draw packets; `virtual_queue`, the
//! last packets, of which BLACK and AFC take shares.

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
