//! Active queue management without labels: what a port can do that sees packets, and perhaps flows, but no edge.
//!
//! - [`droptail`]: the baseline, which drops only what finds the queue full
//! - [`red`]: random early detection; [`red_core`]: its average and probability, which other schemes share
//! - [`ared`]: adaptive RED
//! - [`fred`]: RED with the buffer use of each flow
//! - [`blue`]: a probability moved by overflow and idle time
//! - [`sfb`]: BLUE in hashed bins, with a rate limit for flows that do not react
//! - [`red_pd`]: RED with a prefilter for flows found in its history of drops
//! - [`pie`]: a controller of the queueing delay; [`pie_core`]: its probability, which other schemes share
//! - [`codel`]: drops at the head while the least delay stays too long
//! - [`dualpi2`]: two queues for scalable and classic congestion control
//! - [`care`]: fair shares from captured packets
//! - [`with_red`]: parameters of RED as a part of other schemes
//! - [`choke`]: an arrival and a packet drawn from the queue are dropped if they are of one flow
//! - `virtual_queue`: the last packets, of which BLACK and AFC take shares
//! - [`black`]: flows that hold more than their share of the queue lose packets, sampled
//! - [`afc`]: flows above their share of the enqueued bytes are shut out, unless they have credit
//! - [`afd`]: what exceeds a fair share of sampled arrivals is dropped
//! - [`cp_aqm`]: users pay for congestion from an allowance

pub mod afc;
pub mod afd;
pub mod ared;
pub mod black;
pub mod blue;
pub mod care;
pub mod choke;
pub mod codel;
pub mod cp_aqm;
pub mod droptail;
pub mod dualpi2;
pub mod fred;
pub mod pie;
pub mod pie_core;
pub mod red;
pub mod red_core;
pub mod red_pd;
pub mod sfb;
mod virtual_queue;
pub mod with_red;
